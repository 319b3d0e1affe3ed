"""From run directories to the numbers of tables and figures; one number for each seed."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from numpy.typing import NDArray

from fl.models import SAME
from fl.reproduction.plan import Arm
from fl.scenario import GeneratedChannel

#: Accuracy and loss at the end are means over this part of the tests.
LAST_FRACTION = 0.25
#: What is nearly the accuracy of the end.
NEARLY = 0.95
_TIMES = 40


@dataclass(frozen=True)
class Latency:
    """Of the rounds of one arm, in milliseconds; each a number for each seed."""

    predicted_ms: list[float]
    """The mean of Eq. (29), at the channel state of the decision."""
    emergent_ms: list[float]
    """The mean of what the clock came to."""
    predicted_median_ms: list[float]
    emergent_median_ms: list[float]
    """Medians: a single deep fade may be worth seconds in the prediction, and move a mean."""
    late: list[float]
    """The fraction of the uploads that came after the deadline."""
    late_rounds: list[float]
    """The fraction of the rounds with such an upload."""
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

    @property
    def rounds_to_converge(self) -> list[float]:
        """After how many rounds each seed first had nearly the accuracy of its end."""
        near = self.accuracy >= NEARLY * np.array(self.last_accuracy)[:, None]
        return [float(self.rounds[seed.argmax()]) for seed in near]

    def seconds_to(self, accuracy: float) -> list[float] | None:
        """Return after how much simulated time each seed had it; None, if some never had."""
        reached = self.accuracy >= accuracy
        if not reached.any(axis=1).all():
            return None
        return [
            float(times[hits.argmax()]) for times, hits in zip(self.time_s, reached, strict=True)
        ]

    def over_time(
        self, values: NDArray[np.float64]
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Return times that all seeds have come to, and *values* of each seed at these."""
        times_s = np.linspace(self.time_s[:, 0].max(), self.time_s[:, -1].min(), _TIMES)
        seeds = zip(self.time_s, values, strict=True)
        return times_s, np.array([np.interp(times_s, at_s, each) for at_s, each in seeds])


class Measures:
    """Reads the runs of a plan."""

    def __init__(self, arms: Sequence[Arm], folder: Path) -> None:
        self._arms = {(arm.experiment, arm.name): arm for arm in arms}
        self._folder = folder
        # Claims, tables and figures ask for the same again and again.
        self.latency = cache(self._latency)
        self.curves = cache(self._curves)

    def _latency(self, experiment: str, name: str) -> Latency:
        """Return the latencies of an arm.

        Where the channel holds each draw for a while, a draw counts once, with the first round
        that begins in it: else draws with short rounds would count more often.
        """
        draw_s = self._draw_s(experiment, name)
        seeds = [_latency(folder, draw_s) for folder in self._folders(experiment, name)]
        return Latency(*map(list, zip(*seeds, strict=True)))

    def _curves(self, dataset: str, name: str) -> Curves:
        """Return what an arm learns."""
        tables = [_rounds(folder) for folder in self._folders(dataset, name)]
        tested = [table.filter(table["test_accuracy"].is_valid()) for table in tables]
        columns = {
            column: np.array([table[column].to_numpy() for table in tested])
            for column in ("end_s", "test_accuracy", "test_loss")
        }
        scenario = self._arm(dataset, name).scenario(1)
        bits = scenario.uplink.bits_per_weight * scenario.num_participants
        return Curves(
            rounds=tested[0]["round"].to_numpy() + 1,
            time_s=columns["end_s"],
            accuracy=columns["test_accuracy"],
            loss=columns["test_loss"],
            sent_weights=_means(tables, "uplink_bits", 1 / bits),
            pruning_ratio=_means(tables, "mean_pruning_ratio"),
            latency_ms=_means(tables, "latency_s", 1e3),
        )

    def farthest(self, dataset: str, name: str) -> tuple[list[float], list[float]]:
        """Return pruning ratio and accuracy at the end of the farthest device, the last one.

        Each is a number for each seed.
        """
        ratios, accuracies = [], []
        for folder in self._folders(dataset, name):
            table = pq.read_table(
                folder / "devices.parquet", columns=["device", "pruning_ratio", "test_accuracy"]
            )
            last = table.filter(pc.equal(table["device"], pc.max(table["device"])))
            ratios.append(float(last["pruning_ratio"].to_numpy().mean()))
            tested = last["test_accuracy"].drop_null().to_numpy()[None]
            accuracies += _at_the_end(tested)
        return ratios, accuracies

    def largest_gap(self, experiment: str, name: str) -> float:
        """Return how far emergent latencies are from predicted ones at most, relatively.

        Only rounds within one draw of the channel are looked at: there it stands still.
        """
        draw_s = self._draw_s(experiment, name)
        gaps = []
        for folder in self._folders(experiment, name):
            rounds, devices = _rounds(folder), _devices(folder)
            begun, ended = (
                np.floor(rounds[at].to_numpy() / draw_s * (1 + SAME)) for at in ("start_s", "end_s")
            )
            predicted_s, emergent_s = (
                devices[column].to_numpy().reshape(len(begun), -1)[begun == ended]
                for column in ("predicted_latency_s", "latency_s")
            )
            gaps.append(np.abs(emergent_s / predicted_s - 1).max())
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

    def _draw_s(self, experiment: str, name: str) -> float:
        """Return how long the channel of an arm holds each draw; 0, if nothing is drawn."""
        channel = self._arm(experiment, name).scenario(1).uplink.channel
        return float(channel.generate.step) if isinstance(channel, GeneratedChannel) else 0.0

    def _arm(self, experiment: str, name: str) -> Arm:
        return self._arms[experiment, name]

    def _folders(self, experiment: str, name: str) -> list[Path]:
        arm = self._arm(experiment, name)
        return [self._folder / arm.folder(seed) for seed in arm.seeds]


def _rounds(folder: Path) -> pa.Table:
    return pq.read_table(folder / "rounds.parquet")


def _devices(folder: Path) -> pa.Table:
    columns = ["predicted_latency_s", "latency_s", "upload_bits"]
    return pq.read_table(folder / "devices.parquet", columns=columns)


def _latency(folder: Path, draw_s: float) -> tuple[float, ...]:
    """Return the numbers of `Latency` for one run."""
    rounds, devices = _rounds(folder), _devices(folder)
    start_s = rounds["start_s"].to_numpy()
    chosen = np.arange(len(start_s))
    if draw_s > 0:
        _, chosen = np.unique(np.floor(start_s / draw_s * (1 + SAME)), return_index=True)
    predicted_s, emergent_s, bits = (
        devices[column].to_numpy().reshape(len(start_s), -1)[chosen]
        for column in ("predicted_latency_s", "latency_s", "upload_bits")
    )
    late = emergent_s > rounds["deadline_s"][0].as_py() * (1 + SAME)
    predicted_ms, emergent_ms = predicted_s.max(axis=1) * 1e3, emergent_s.max(axis=1) * 1e3
    ratio = rounds["mean_pruning_ratio"].to_numpy()[chosen]
    return tuple(
        float(value)
        for value in (
            predicted_ms.mean(),
            emergent_ms.mean(),
            np.median(predicted_ms),
            np.median(emergent_ms),
            late[bits > 0].mean(),  # who sends nothing is no upload in time
            late.any(axis=1).mean(),
            ratio.mean(),
        )
    )


def _means(tables: Sequence[pa.Table], column: str, scale: float = 1.0) -> list[float]:
    return [float(table[column].to_numpy().mean()) * scale for table in tables]


def _at_the_end(values: NDArray[np.float64]) -> list[float]:
    last = max(1, round(LAST_FRACTION * values.shape[1]))
    return [float(value) for value in values[:, -last:].mean(axis=1)]
