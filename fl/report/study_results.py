"""A study's directory as a report reads it."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from fl.interval import Interval
from fl.manifest import RunDirectoryError
from fl.scenario.document import read_document
from fl.scenario.loading import read_block
from fl.study.study import Study
from fl.study.tables import metric_name, value_names

FILE = "study.yaml"
"""What makes a folder a study's."""


@dataclass(frozen=True)
class StudyResults:
    """What a study has found."""

    folder: Path
    study: Study
    arms: Sequence[Mapping[str, Any]]
    """The rows of its summary."""
    comparisons: Sequence[Mapping[str, Any]]
    runs: Sequence[Mapping[str, Any]]

    @classmethod
    def open(cls, folder: Path) -> "StudyResults":
        """Open a study's directory.

        Raises:
            RunDirectoryError: It holds no results yet.
            InputError: Its study cannot be read.
        """
        study = read_block(read_document(folder / FILE), Study)
        try:
            tables = {
                name: pq.read_table(folder / f"{name}.parquet").to_pylist()
                for name in ("summary", "comparisons", "runs")
            }
        except (OSError, pa.ArrowException) as error:
            reason = str(error).splitlines()[0]
            raise RunDirectoryError(f"{folder}: holds no results of a study: {reason}") from None
        found = cls(folder, study, tables["summary"], tables["comparisons"], tables["runs"])
        missing = [name for name in found.needed if any(name not in arm for arm in found.arms)]
        if missing or not found.arms:
            what = missing[0] if missing else "any arm"
            raise RunDirectoryError(f"{folder}: summary.parquet does not have {what}")
        return found

    @property
    def needed(self) -> list[str]:
        """The columns of the summary that a report shows."""
        return ["arm", "label", "runs", *self.keys.values(), *self.metrics]

    @property
    def metrics(self) -> list[str]:
        """The metrics that the study names."""
        return [metric_name(metric) for metric in self.study.metrics]

    @property
    def keys(self) -> dict[str, str]:
        """The varied keys, each with its column."""
        vary = self.study.vary
        sampled = vary.sample.keys if vary.sample else {}
        return value_names([*vary.grid, *vary.zip, *sampled])

    @property
    def failed(self) -> list[Mapping[str, Any]]:
        """The runs that failed."""
        return [run for run in self.runs if run["status"] == "failed"]

    def mean(self, arm: Mapping[str, Any], metric: str) -> Interval | None:
        """Return a metric of an arm; None, if it has none."""
        mean, high = arm[metric], arm[f"{metric}_high"]
        if mean is None:
            return None
        return Interval(mean, float("inf") if high is None else high - mean)

    def differences(self, metric: str) -> list[tuple[str, str, int, Interval]]:
        """Return how far arms are from their baselines: both labels, how many runs, and that."""
        labels = {arm["arm"]: arm["label"] for arm in self.arms}
        found = []
        for row in self.comparisons:
            if row["metric"] == metric:
                apart, high = row["difference"], row["difference_high"]
                width = float("inf") if high is None else high - apart
                both = labels[row["arm"]], labels[row["baseline"]]
                found.append((*both, row["runs"], Interval(apart, width)))
        return found
