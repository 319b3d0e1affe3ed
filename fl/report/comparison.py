"""Several runs side by side: arms that differ in their scenario, each with some seeds."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fl.interval import Interval, interval
from fl.manifest import RunDirectoryError
from fl.report.recording import Recording
from fl.scenario import TraceChannel
from fl.schemes import PRESETS, Scheme


@dataclass(frozen=True)
class Arm:
    """Runs of one scenario, one for each seed."""

    label: str
    runs: Sequence[Recording]

    def each(self, column: str) -> list[float]:
        """Return the mean over rounds of a column of the rounds' tables, for each run."""
        return [float(np.asarray(run.rounds[column]).astype(float).mean()) for run in self.runs]

    @property
    def latency_ms(self) -> Interval:
        """Of a round."""
        return interval([value * 1e3 for value in self.each("latency_s")])

    @property
    def all_latencies_ms(self) -> NDArray[np.float64]:
        """Of all rounds of all runs, sorted."""
        return (
            np.sort(np.concatenate([run.rounds["latency_s"].to_numpy() for run in self.runs])) * 1e3
        )

    @property
    def missed(self) -> Interval | None:
        """The fraction of rounds that missed the deadline; None without one."""
        if any(run.scenario.deadline is None for run in self.runs):
            return None
        return interval(self.each("deadline_missed"))

    @property
    def sent_megabits(self) -> Interval:
        """By all devices in a round."""
        return interval([value / 1e6 for value in self.each("uplink_bits")])

    @property
    def has_learnt(self) -> bool:
        """Whether every run has."""
        return all(run.has_learnt for run in self.runs)

    @property
    def accuracy(self) -> Interval:
        """At the last test."""
        return interval([tests(run)[1][-1] for run in self.runs])

    def seconds_to(self, accuracy: float) -> Interval | None:
        """Return the simulated time to an accuracy; None, if some run never had it."""
        reached = []
        for run in self.runs:
            at_s, values, _ = tests(run)
            if not (values >= accuracy).any():
                return None
            reached.append(float(at_s[(values >= accuracy).argmax()]))
        return interval(reached)


def tests(run: Recording) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]]:
    """Return when a run was tested, and its accuracies and losses."""
    tested = run.rounds.filter(run.rounds["test_accuracy"].is_valid())
    at_s, accuracy, loss = (
        tested[name].to_numpy() for name in ("end_s", "test_accuracy", "test_loss")
    )
    return at_s, accuracy, loss


def find_runs(folders: Sequence[Path]) -> list[Recording]:
    """Open every run directory among *folders*, and below those that are none.

    Raises:
        RunDirectoryError: One of them holds no run.
    """
    found: dict[Path, None] = {}
    for folder in folders:
        below = [folder] if (folder / "manifest.json").exists() else _below(folder)
        if not below:
            raise RunDirectoryError(f"{folder}: holds no run, nor does any folder below it")
        found |= dict.fromkeys(below)
    return [Recording.open(folder) for folder in found]


def _below(folder: Path) -> list[Path]:
    return sorted(path.parent for path in folder.rglob("manifest.json"))


def arms_of(runs: Sequence[Recording]) -> list[Arm]:
    """Return the runs by scenario: those that differ in nothing but the seed are one arm."""
    groups: dict[str, list[Recording]] = {}
    for run in runs:
        groups.setdefault(json.dumps(_but_for_the_seed(run), sort_keys=True), []).append(run)
    labels = labels_of([json.loads(group) for group in groups])
    return [Arm(label, made) for label, made in zip(labels, groups.values(), strict=True)]


def _but_for_the_seed(run: Recording) -> dict[str, Any]:
    said = run.scenario.written()
    del said["seed"]
    if isinstance(run.scenario.uplink.channel, TraceChannel):
        # Written from where the run lies: the same trace has another path in every run.
        said["uplink"]["channel"]["trace"] = str(run.scenario.uplink.channel.trace.resolve())
    return said


def labels_of(scenarios: Sequence[Mapping[str, Any]]) -> list[str]:
    """Return what to call each: its name and, where others share it, what sets it apart."""
    plain = [flat(dict(said) | {"scheme": scheme_name(said["scheme"])}) for said in scenarios]
    labels = []
    for said in plain:
        rivals = [other for other in plain if other["name"] == said["name"]]
        keys = _telling_keys(rivals)
        labels.append(", ".join([str(said["name"]), *(f"{k} {said.get(k)}" for k in keys)]))
    return labels


def _telling_keys(scenarios: Sequence[Mapping[str, Any]]) -> list[str]:
    """Return as few keys as tell all scenarios apart, the most telling one first."""
    keys = dict.fromkeys(key for said in scenarios for key in said)

    def distinct(chosen: Sequence[str]) -> int:
        return len({tuple(repr(said.get(key)) for key in chosen) for said in scenarios})

    chosen: list[str] = []
    while distinct(chosen) < len(scenarios):
        chosen.append(max(keys, key=lambda key: distinct([*chosen, key])))
    return chosen


def scheme_name(scheme: Mapping[str, Any]) -> str:
    """Return the name of a scheme or, if it has none, what it says that is not the default.

    >>> scheme_name(PRESETS["proposed"].model_dump(mode="json"))
    'proposed'
    """
    for name, known in PRESETS.items():
        if known.model_dump(mode="json") == scheme:
            return name
    usual = Scheme().model_dump(mode="json")
    said = (f"{key} {value}" for key, value in scheme.items() if value != usual.get(key))
    return " + ".join(said)


def flat(data: Any, path: str = "") -> dict[str, Any]:  # noqa: ANN401 -- whatever a scenario holds
    """Return nested mappings as one, with dotted keys.

    >>> flat({"a": {"b": 1}, "c": [2]})
    {'a.b': 1, 'c': [2]}
    """
    if not isinstance(data, dict):
        return {path: data}
    found: dict[str, Any] = {}
    for key, value in data.items():
        found |= flat(value, f"{path}.{key}" if path else str(key))
    return found
