"""The work as it is ordered: a scenario of ours, and the same as an order and arrays.

Whatever a scenario leaves to chance (first weights, who has which samples, and which of them
each iteration sees) is written out, so that a framework that knows no named streams can do the
same.
"""

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

import fl
from fl.experiment import Experiment
from fl.scenario import load_scenario
from fl.training.batches import Batches
from fl.training.cohort import Cohort
from fl.training.engine import EngineChoice

CELL = {
    "uplink": {"bandwidth": "20 MHz", "noise_power": "-110 dBm"},
    "devices": {"cpu_frequency": "3 GHz", "cycles_per_weight": 20, "transmit_power": "28 dBm"},
    "scheme": "fedavg",
}


@dataclass(frozen=True)
class Size:
    """How much is to be learnt, and on how many cores."""

    rounds: int
    devices: int
    iterations: int
    cores: int
    dataset: str = "synthetic"
    batch_size: int = 128
    learning_rate: float = 0.02


def learning_scenario(size: Size) -> dict[str, Any]:
    """Return FedAvg of the whole network of the paper; all data alike."""
    return {
        "name": "peers",
        "rounds": size.rounds,
        "scheme": CELL["scheme"],
        "iterations": {"personal": 0, "warmup": 0, "global": size.iterations},
        "devices": CELL["devices"] | {"count": size.devices},
        "uplink": CELL["uplink"] | {"channel": {"gain": "-100 dB"}},
        "model": {"name": "cnn", "kernel_size": 5},
        "learning": {
            "dataset": size.dataset,
            "partition": {"by": "iid"},
            "batch_size": size.batch_size,
            "learning_rate": {"global": size.learning_rate},
            "evaluate_every": size.rounds,
            "test_samples": 1,  # who has learnt what is compared afterwards, for all alike
        },
    }


class Indices:
    """In the place of images: a batch is which samples it has."""

    def batch(self, chosen: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return the indices themselves."""
        return chosen


def chosen_samples(cohort: Cohort, rounds: int) -> NDArray[np.int64]:
    """Return what each iteration sees, [rounds, devices, iterations, batch]."""
    recipe = cohort.recipe

    def of(round_: int, device: int) -> list[NDArray[np.int64]]:
        stream = cohort.streams("learning.update", device, round_)
        held = cohort.held_train[device]
        batches = Batches(Indices(), held, recipe.batch_size, recipe.num_batches, stream)
        return list(batches.take(recipe.personal_iterations, recipe.global_iterations))

    devices = range(len(cohort.held_train))
    return np.array([[of(round_, device) for device in devices] for round_ in range(rounds)])


def write_learning(folder: Path, size: Size) -> Path:
    """Write the order and the arrays of learning work, and return the order's path."""
    scenario = learning_scenario(size)
    enrolment = Experiment(load_scenario(scenario)).enrolment
    assert enrolment is not None
    with enrolment.learning(EngineChoice()) as learning:
        cohort = learning.cohort
        arrays = {
            "pixels": cohort.train.pixels.numpy(),
            "labels": cohort.train.labels.numpy(),
            "mean": cohort.train.mean.numpy(),
            "deviation": cohort.train.deviation.numpy(),
            "test_pixels": cohort.test.pixels.numpy(),
            "test_labels": cohort.test.labels.numpy(),
            "weights": cohort.shared.numpy(),
            "chosen": chosen_samples(cohort, size.rounds),
        }
    return write(folder / "learning", asdict(size) | {"scenario": scenario}, arrays)


def latency_scenario(rounds: int, devices: int) -> dict[str, Any]:
    """Return a run of the clock alone, each device on a channel of its own that stands still."""
    return {
        "name": "peers-latency",
        "rounds": rounds,
        "scheme": CELL["scheme"],
        "devices": CELL["devices"] | {"count": devices},
        "uplink": CELL["uplink"] | {"channel": {"gain": {"uniform": ["-110 dB", "-90 dB"]}}},
        "model": {"personal_weights": 52_096, "global_weights": 402_826},
    }


def write_latency(folder: Path, rounds: int, devices: int) -> Path:
    """Write the order of latency-only work: what each device computes and sends, and how fast.

    Nothing moves, so a round of ours tells what a formula would.
    """
    scenario = latency_scenario(rounds, devices)
    round_ = fl.run(scenario, rounds=1).devices
    arrays = {name: round_[name].to_numpy() for name in ("global_s", "upload_s", "upload_bits")}
    order = {"rounds": rounds, "devices": devices, "scenario": scenario}
    return write(folder / f"latency-{devices}", order, arrays)


def write(stem: Path, order: Mapping[str, Any], arrays: Mapping[str, NDArray[Any]]) -> Path:
    """Write both files, and return the order's path."""
    path = stem.with_suffix(".npz")
    np.savez(path, **arrays)
    told = dict(order) | {"arrays": str(path), "result": str(stem.with_suffix(".npy"))}
    stem.with_suffix(".json").write_text(json.dumps(told, indent=2), encoding="utf-8")
    return stem.with_suffix(".json")


def variant(path: Path, **changes: object) -> Path:
    """Write an order like the one at *path* with some entries changed, and return its path."""
    order = json.loads(path.read_text(encoding="utf-8")) | changes
    other = path.with_stem("-".join([path.stem, *map(str, changes.values())]))
    other.write_text(json.dumps(order, indent=2), encoding="utf-8")
    return other
