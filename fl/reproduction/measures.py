"""From run directories to the numbers of tables and figures; one number for each seed."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import NDArray

from fl.models import SAME
from fl.reproduction.plan import Arm
from fl.scenario import GeneratedChannel

#: Accuracy and loss at the end are means over this part of the tests.
LAST_FRACTION = 0.25


@dataclass(frozen=True)
class Latency:
    """Of the rounds of one arm, in milliseconds; each a mean for each seed."""

    predicted_ms: list[float]
    """Eq. (29), at the channel state of the decision."""
    emergent_ms: list[float]
    """What the clock came to."""
    late: list[float]
    """The part of the uploads that came after the deadline."""
    pruning_ratio: list[float]


@dataclass(frozen=True)
class Curves:
    """What one arm learns; [seeds, tests] unless said otherwise."""

    rounds: NDArray[np.int64]
    """How many rounds were over at each test, [tests]."""
    time_s: NDArray[np.float64]
    """Simulated."""
    accuracy: NDArray[np.float64]
    loss: NDArray[np.float64]
    sent_weights: list[float]
    """Of one device in one round, for each seed."""
    pruning_ratio: list[float]
    """The mean over devices and rounds, for each seed."""
    latency_ms: list[float]
    """The mean over rounds, for each seed."""

    @property
    def last_accuracy(self) -> list[float]:
        """At the end, for each seed."""
        return _at_the_end(self.accuracy)

    @property
    def last_loss(self) -> list[float]:
        """At the end, for each seed."""
        return _at_the_end(self.loss)

    def rounds_to(self, accuracy: float) -> list[float]:
        """Return after how many rounds each seed first had *accuracy*; all, if it never had."""
        return [float(self.rounds[test]) for test in self._first(accuracy)]

    def seconds_to(self, accuracy: float) -> list[float] | None:
        """Return after how much simulated time each seed had it; None, if some never had."""
        if not (self.accuracy >= accuracy).any(axis=1).all():
            return None
        return [float(self.time_s[seed, test]) for seed, test in enumerate(self._first(accuracy))]

    def _first(self, accuracy: float) -> list[int]:
        reached = self.accuracy >= accuracy
        last = len(self.rounds) - 1
        return [int(one.argmax()) if one.any() else last for one in reached]


class Measures:
    """Reads the runs of a plan."""

    def __init__(self, arms: Sequence[Arm], folder: Path) -> None:
        self._arms = {(arm.experiment, arm.name): arm for arm in arms}
        self._folder = folder

    def latency(self, experiment: str, name: str) -> Latency:
        """Return the latencies of an arm.

        Where the channel holds each draw for a while, a draw counts once, with the first round
        that begins in it: else draws with short rounds would count more often.
        """
        channel = self._arm(experiment, name).scenario(1).uplink.channel
        draw_s = float(channel.generate.step) if isinstance(channel, GeneratedChannel) else 0.0
        seeds = [_latency(folder, draw_s) for folder in self._folders(experiment, name)]
        return Latency(*map(list, zip(*seeds, strict=True)))

    def curves(self, dataset: str, name: str) -> Curves:
        """Return what an arm learns."""
        tables = [_rounds(folder) for folder in self._folders(dataset, name)]
        tested = [table.filter(table["test_accuracy"].is_valid()) for table in tables]
        columns = {
            column: np.array([table[column].to_numpy() for table in tested])
            for column in ("end_s", "test_accuracy", "test_loss")
        }
        scenario = self._arm(dataset, name).scenario(1)
        bits = scenario.uplink.bits_per_weight * scenario.devices.count
        return Curves(
            rounds=tested[0]["round"].to_numpy() + 1,
            time_s=columns["end_s"],
            accuracy=columns["test_accuracy"],
            loss=columns["test_loss"],
            sent_weights=_means(tables, "uplink_bits", 1 / bits),
            pruning_ratio=_means(tables, "mean_pruning_ratio"),
            latency_ms=_means(tables, "latency_s", 1e3),
        )

    def largest_gap(self, dataset: str, name: str) -> float:
        """Return how far emergent latencies are from predicted ones at most, relatively."""
        gaps = []
        for folder in self._folders(dataset, name):
            devices = _devices(folder)
            predicted_s = devices["predicted_latency_s"].to_numpy()
            gaps.append(np.abs(devices["latency_s"].to_numpy() / predicted_s - 1).max())
        return float(max(gaps))

    def manifests(self) -> dict[str, list[Mapping[str, Any]]]:
        """Return the manifests of all runs, by experiment."""
        found: dict[str, list[Mapping[str, Any]]] = {}
        for arm in self._arms.values():
            for folder in self._folders(arm.experiment, arm.name):
                manifest = json.loads((folder / "manifest.json").read_text(encoding="utf-8"))
                manifest["rounds"] = _rounds(folder).num_rows
                found.setdefault(arm.experiment, []).append(manifest)
        return found

    def _arm(self, experiment: str, name: str) -> Arm:
        return self._arms[experiment, name]

    def _folders(self, experiment: str, name: str) -> list[Path]:
        arm = self._arm(experiment, name)
        return [self._folder / arm.folder(seed) for seed in arm.seeds]


def _rounds(folder: Path) -> pa.Table:
    return pq.read_table(folder / "rounds.parquet")


def _devices(folder: Path) -> pa.Table:
    columns = ["predicted_latency_s", "latency_s"]
    return pq.read_table(folder / "devices.parquet", columns=columns)


def _latency(folder: Path, draw_s: float) -> tuple[float, ...]:
    """Return the numbers of `Latency` for one run."""
    rounds, devices = _rounds(folder), _devices(folder)
    start_s = rounds["start_s"].to_numpy()
    chosen = np.arange(len(start_s))
    if draw_s > 0:
        _, chosen = np.unique(np.floor(start_s / draw_s * (1 + SAME)), return_index=True)
    predicted_s, emergent_s = (
        devices[column].to_numpy().reshape(len(start_s), -1)[chosen]
        for column in ("predicted_latency_s", "latency_s")
    )
    deadline_s = rounds["deadline_s"][0].as_py()
    return (
        float(predicted_s.max(axis=1).mean()) * 1e3,
        float(emergent_s.max(axis=1).mean()) * 1e3,
        float((emergent_s > deadline_s * (1 + SAME)).mean()),
        float(rounds["mean_pruning_ratio"].to_numpy()[chosen].mean()),
    )


def _means(tables: Sequence[pa.Table], column: str, scale: float = 1.0) -> list[float]:
    return [float(table[column].to_numpy().mean()) * scale for table in tables]


def _at_the_end(values: NDArray[np.float64]) -> list[float]:
    last = max(1, round(LAST_FRACTION * values.shape[1]))
    return [float(value) for value in values[:, -last:].mean(axis=1)]
