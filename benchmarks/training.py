"""Local updates a second, against Algorithm 1 in plain PyTorch.

The round is the paper's: 10 devices, mini-batches of 128, its network with 5x5 kernels, five
personal, one warm-up and five global iterations, and 40 % pruned. The plain loop is that of the
tests (modules, autograd, optimisers, with as many threads as torch takes by itself). Ours is what the
clock waits for: batches out of stored bytes, updates, masked mean. The last line is how much of a whole
run, with clock and result files, is not local updates. Both run in
turns in one session, so that a slow moment of the machine meets both; ratios are medians over the
rounds, with the lowest and the highest.

    python benchmarks/training.py           4 rounds of each
    python benchmarks/training.py 10        more
"""

import statistics
import sys
import tempfile
import time
from pathlib import Path

import torch

sys.path.insert(0, str(Path(__file__).parent.parent / "tests"))

from plain_algorithm import PlainCnn, federate

from fl.directory import run_directory
from fl.experiment import Experiment
from fl.phases import WAIT
from fl.scenario import load_scenario
from fl.training.engine import EngineChoice

DEVICES, BATCH, TAUS = 10, 128, (5, 5, 1)  # personal, global, warm-up
SCENARIO = {
    "name": "paper-round",
    "rounds": 1,
    "scheme": {"split": "conv", "pruning": {"fixed": 0.4}},
    "iterations": {"personal": 5, "warmup": 1, "global": 5},
    "devices": {
        "count": DEVICES,
        "cpu_frequency": "3 GHz",
        "cycles_per_weight": 20,
        "transmit_power": "28 dBm",
    },
    "uplink": {"bandwidth": "20 MHz", "noise_power": "-110 dBm", "channel": {"gain": "-100 dB"}},
    "model": {"name": "cnn"},
    "learning": {
        "dataset": "synthetic",
        "partition": {"by": "label", "labels_per_device": 2},
        "evaluate_every": 10**6,
        "test_samples": 1,
    },
}


def plain_round(model: torch.nn.Module) -> float:
    """Return the seconds of one round of the plain loop."""
    images, labels = torch.rand(BATCH, 1, 28, 28), torch.randint(0, 10, (BATCH,))
    batches = [(images, labels)] * sum(TAUS)
    began = time.perf_counter()
    federate(
        model,
        {name for name, _ in model.named_parameters() if name.startswith("conv")},
        DEVICES,
        1,
        lambda _round, _device: batches,
        taus=TAUS,
        rates=(0.001, 0.001),
        kept=402_826 * 6 // 10,
    )
    return time.perf_counter() - began


def rounds_of(experiment: Experiment, choice: EngineChoice, rounds: int) -> list[float]:
    """Return the seconds of our rounds, the engine running and warm."""
    assert experiment.enrolment is not None
    kept = 402_826 * 6 // 10
    seconds = []
    with experiment.enrolment.learning(choice) as learning:
        for round_ in range(rounds + 1):
            began = time.perf_counter()
            learning.begin(round_, [kept] * DEVICES)
            learning.aggregate([WAIT] * DEVICES)
            seconds.append(time.perf_counter() - began)
    return seconds[1:]  # the first starts the workers


def overhead(rounds: int) -> float:
    """Return which part of a run, on one core, is not spent in local updates."""
    experiment = Experiment(load_scenario(SCENARIO | {"rounds": rounds}))
    with tempfile.TemporaryDirectory() as folder:
        began = time.perf_counter()
        with run_directory(Path(folder) / "run", experiment) as directory:
            experiment.run(directory)
        wall = time.perf_counter() - began
        facts = directory.facts
        return 1 - (facts["training_seconds"] + facts["evaluation_seconds"]) / wall


def main() -> None:
    """Compare, in turns."""
    turns = int(sys.argv[1]) if len(sys.argv) > 1 else 4
    experiment = Experiment(load_scenario(SCENARIO))
    choices = [EngineChoice.of("inline"), EngineChoice.of("processes")]
    model = PlainCnn()
    plain_round(model)
    plain: list[float] = []
    ours: dict[EngineChoice, list[float]] = {choice: [] for choice in choices}
    for _ in range(turns):
        plain.append(plain_round(model))
        for choice in choices:
            ours[choice].append(statistics.median(rounds_of(experiment, choice, 2)))
    threads = torch.get_num_threads()
    print(f"{'engine':>24} {'s/round':>9} {'ratio':>7}  (range)")
    print(f"{f'plain, {threads} threads':>24} {statistics.median(plain):>9.2f} {1:>7.2f}")
    for choice, seconds in ours.items():
        ratios = sorted(a / b for a, b in zip(plain, seconds, strict=True))
        name = f"{choice.name}, {choice.workers} worker{'s' * (choice.workers > 1)}"
        print(
            f"{name:>24} {statistics.median(seconds):>9.2f} {statistics.median(ratios):>7.2f}  "
            f"({ratios[0]:.2f} to {ratios[-1]:.2f})",
            flush=True,
        )
    print(f"not in local updates, of an inline run: {overhead(3):.1%}")


if __name__ == "__main__":
    main()
