"""Device-rounds a second, against a bare SimPy loop that does nothing else.

The bare loop is a generator for each device and round with four timeouts. Ours does the same
round for real: the server decides, the channel is replayed and inverted, every phase is recorded,
and the run directory is written; only reading scenario and trace is left out. Both run in turns in
one process, so that a slow moment of the machine meets both; the ratio is the median over such
pairs, with the lowest and the highest.

    python benchmarks/events.py            10, 1,000 and 131,072 devices, and 1,000 of a million
    python benchmarks/events.py 10 1000    these
    python benchmarks/events.py 1000000    1,000 of a million: larger sizes are those of a fleet
"""

import gc
import statistics
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
import simpy

from fl.directory import run_directory
from fl.experiment import Experiment
from fl.scenario import load_scenario
from netsim.traces import Trace, read_trace, write_trace

#: From here on, a thousand take part in a round.
_FLEET = 1_000_000


def bare_loop(count: int, rounds: int) -> float:
    """Return the seconds of a SimPy simulation with the same number of phases and no content."""
    env = simpy.Environment()
    delays = np.random.default_rng(0).uniform(0.001, 0.01, (count, 4)).tolist()

    def device(first: float, second: float, third: float, fourth: float):  # noqa: ANN202
        yield env.timeout(first)
        yield env.timeout(second)
        yield env.timeout(third)
        yield env.timeout(fourth)

    def server():  # noqa: ANN202
        for _ in range(rounds):
            yield env.all_of([env.process(device(*four)) for four in delays])

    began = time.perf_counter()
    env.run(env.process(server()))
    return time.perf_counter() - began


def our_run(count: int, rounds: int, channel: dict, fleet: int) -> float:
    """Return the seconds of a run whose inputs are read: all rounds, and all files written."""
    changes = {"rounds": rounds, "devices": {"count": fleet}, "uplink": {"channel": channel}}
    changes["participants"] = count
    experiment = Experiment(load_scenario("scenarios/quickstart.yaml", overrides=changes))
    with tempfile.TemporaryDirectory() as folder:
        began = time.perf_counter()
        out = Path(folder) / "run"
        with run_directory(out, experiment) as directory:
            experiment.run(directory)
        return time.perf_counter() - began


def compare(name: str, count: int, channel: dict, fleet: int | None = None) -> None:
    """Print one row: what both do a second, and the ratio; *count* of a fleet, or all of it."""
    fleet = fleet or count
    rounds = max(40_000 // count, 2)
    bare, ours = [], []
    for _ in range(15 if count < 100_000 else 3):
        gc.collect()
        bare.append(bare_loop(count, rounds))
        gc.collect()
        ours.append(our_run(count, rounds, channel, fleet))
    per_second = [count * rounds / statistics.median(seconds) for seconds in (bare, ours)]
    ratios = sorted(one / other for one, other in zip(bare, ours, strict=True))
    row = f"{fleet:>8} {name:>10} {per_second[0]:>10.0f} {per_second[1]:>10.0f}"
    print(
        f"{row} {statistics.median(ratios):>7.2f}  ({ratios[0]:.2f} to {ratios[-1]:.2f})",
        flush=True,
    )


def fading_trace(count: int, path: Path) -> dict:
    """Write a trace for *count* devices: the quickstart's ten, over and over."""
    trace = read_trace(Path("traces/pedestrian.parquet"))
    devices = [trace.devices[k % len(trace.devices)] for k in range(count)]
    write_trace(path, Trace(trace.kind, devices, trace.step_s))
    return {"trace": str(path), "at_end": "repeat"}


def main() -> None:
    """Compare at each size; a trace of its own for each device of a city is beside the point."""
    sizes = [int(size) for size in sys.argv[1:]] or [10, 1000, 131_072, 1_000_000]
    print(f"{'devices':>8} {'channel':>10} {'bare/s':>10} {'ours/s':>10} {'ratio':>7}  (range)")
    constant = {"gain": {"uniform": ["-110 dB", "-90 dB"]}}
    for count in sizes:
        if count >= _FLEET:
            compare("1,000 of", 1000, constant, fleet=count)
            continue
        compare("constant", count, constant)
        if count <= 1000:
            with tempfile.TemporaryDirectory() as folder:
                compare("replayed", count, fading_trace(count, Path(folder) / "trace.parquet"))


if __name__ == "__main__":
    main()
