"""How fast traces are generated and read, as ratios in one run.

Generating is compared with a plain vectorised NumPy sum of the same sinusoids, all at once; reading
one device of a file with 1,000 with reading the whole file.

    python benchmarks/traces.py
"""

import resource
import statistics
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq

from fl.generation import generated_trace
from fl.scenario import load_generate
from netsim.traces import read_trace, write_trace

SETTINGS = ["step=1 ms", "path_loss={loss: 100 dB}", "mobility={speed: 30 km/h}", "fading=clarke"]
WAVES = 16


def seconds(work: Callable[[], object]) -> float:
    """Return how long *work* takes."""
    began = time.perf_counter()
    work()
    return time.perf_counter() - began


def plain_sum(samples: int) -> np.ndarray:
    """Return the power of a sum of sinusoids, as one would write it down."""
    rng = np.random.default_rng(1)
    way = np.arange(samples) * 1e-3 * (30 / 3.6) * 3.5e9 / 299_792_458.0 * 2 * np.pi
    angles = (2 * np.pi * np.arange(1, WAVES + 1) - np.pi + rng.uniform(-np.pi, np.pi)) / 64
    phi, psi = rng.uniform(-np.pi, np.pi, (2, WAVES))
    real = np.cos(np.outer(way, np.cos(angles)) + phi).sum(axis=1)
    imaginary = np.cos(np.outer(way, np.sin(angles)) + psi).sum(axis=1)
    return 10 * np.log10((real**2 + imaginary**2) / WAVES)


def generating() -> None:
    """Compare a minute of one device, made whole: path, loss, fading, decibels."""
    samples = 60_000
    trace = generated_trace(load_generate(["duration=60 s", *SETTINGS], 1), 1, 1)
    plain, ours = [], []
    for _ in range(9):
        plain.append(seconds(lambda: plain_sum(samples)))
        ours.append(seconds(lambda: trace.devices[0]))
    ratio = statistics.median(one / other for one, other in zip(plain, ours, strict=True))
    rate = samples / statistics.median(ours)
    print(f"generating: {rate:,.0f} samples/s, {ratio:.2f} of plain NumPy's speed")


def writing_and_reading() -> None:
    """Compare one device with all, and show that memory does not grow with the devices."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "many.parquet"
        trace = generated_trace(load_generate(["duration=2 s", *SETTINGS], 1000), 1000, 1)
        wrote = seconds(lambda: write_trace(path, trace))
        whole = seconds(lambda: pq.read_table(path))
        opened = read_trace(path)
        one = statistics.median(seconds(lambda: opened.devices[500]) for _ in range(9))
        print(f"writing 1,000 devices x 2,000 samples: {wrote:.1f} s")
        print(f"reading one of them: {one * 1e3:.2f} ms, {one / whole:.4f} of reading the file")
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(f"peak memory of all this: {peak:.0f} MB")


if __name__ == "__main__":
    generating()
    writing_and_reading()
