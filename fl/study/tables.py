"""The files that a study leaves beside its runs.

``runs.parquet`` has a row a run, ``summary.parquet`` a row an arm, ``comparisons.parquet`` a row
for each arm and metric that is compared with another arm's. ``dataset/`` is one table of all rounds
of all runs, in a folder for each arm.
"""

import shutil
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple, Self

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from fl.columns import ROUNDS
from fl.files import appearing, naming
from fl.interval import Interval, difference, interval, unpaired_difference
from fl.study.arms import Arm, Plan
from fl.study.labels import short_keys, told_value
from fl.study.metrics import METRICS, Measured, Metric, measure
from fl.study.study import Study, TimeToAccuracy

DATASET = "dataset"
_COMPARISONS = pa.schema(
    [
        ("arm", pa.string()),
        ("baseline", pa.string()),
        ("metric", pa.string()),
        ("runs", pa.int32()),
        ("difference", pa.float64()),
        ("difference_low", pa.float64()),
        ("difference_high", pa.float64()),
    ]
)
_TIME_TO = "time_to_accuracy_"
#: Columns that a varied key must not be called.
_TAKEN = {"arm", "label", "seed", "status", "reason", "runs", "baseline", "wall_seconds"}


@dataclass(frozen=True)
class Row:
    """One run of a study."""

    arm: Arm
    seed: int
    numbers: Mapping[str, float | None]
    """Of each metric; empty, if the run has failed."""
    wall_s: float | None
    reason: str | None
    """Why it has failed; None, if it has not."""


def metric_name(metric: str | TimeToAccuracy) -> str:
    """Return the column of a metric that a study names.

    >>> metric_name(TimeToAccuracy(time_to_accuracy=0.9))
    'time_to_accuracy_0.9_s'
    """
    if isinstance(metric, str):
        return metric
    return f"{_TIME_TO}{metric.time_to_accuracy:g}_s"


def metric_of(name: str) -> Metric:
    """Return how the metric in a column is shown."""
    if name in METRICS:
        return METRICS[name]
    accuracy = float(name.removeprefix(_TIME_TO).removesuffix("_s"))
    return Metric(f"s to {accuracy:.4g}", 1.0, f"Simulated time to an accuracy of {accuracy:.4g}.")


def write_tables(plan: Plan, folder: Path, failed: Mapping[Path, str]) -> list[Row]:
    """Write all files, and return the runs that they are made of.

    Args:
        plan: The study.
        folder: Where its runs are, and where the files go.
        failed: Why some runs failed, by their folder.

    Raises:
        OSError: Some cannot be written; the error names it.
    """
    rows = _write_dataset(plan, folder, failed)
    tables = {
        "runs": _runs_table(plan, rows),
        "summary": summary_table(plan, rows),
        "comparisons": comparisons_table(plan, rows),
    }
    for name, table in tables.items():
        with appearing(folder / f"{name}.parquet") as path:
            pq.write_table(table, path)
    return rows


def _write_dataset(plan: Plan, folder: Path, failed: Mapping[Path, str]) -> list[Row]:
    """Write the rounds of all runs, and return the runs; the dataset appears when it is whole."""
    partial = folder / f".{DATASET}.partial"
    shutil.rmtree(partial, ignore_errors=True)
    rows: list[Row] = []
    try:
        with naming(folder / DATASET):
            for arm in plan.arms:
                with _DatasetPart(partial, plan, arm) as part:
                    rows += _append_runs(plan, arm, folder, failed, part)
            shutil.rmtree(folder / DATASET, ignore_errors=True)
            partial.replace(folder / DATASET)
    except BaseException:
        shutil.rmtree(partial, ignore_errors=True)
        raise
    return rows


def _append_runs(
    plan: Plan, arm: Arm, folder: Path, failed: Mapping[Path, str], part: "_DatasetPart"
) -> Iterator[Row]:
    for seed in arm.seeds:
        run = folder / arm.folder(seed)
        if run in failed:
            yield Row(arm, seed, {}, None, failed[run])
            continue
        measured = measure(run)
        part.append(seed, measured.rounds)
        yield Row(arm, seed, _numbers(plan.study, measured), measured.wall_s, None)


def _numbers(study: Study, measured: Measured) -> dict[str, float | None]:
    times = {
        metric_name(metric): measured.seconds_to(metric.time_to_accuracy)
        for metric in study.metrics
        if isinstance(metric, TimeToAccuracy)
    }
    return measured.metrics | times


class _DatasetPart:
    """Writes the rounds of one arm."""

    def __init__(self, dataset: Path, plan: Plan, arm: Arm) -> None:
        self._values = value_columns(plan, [arm])
        fields = [pa.field("seed", pa.int64()), *_fields(self._values), *ROUNDS]
        folder = dataset / f"arm={arm.name}"
        folder.mkdir(parents=True)
        self._writer = pq.ParquetWriter(folder / "rounds.parquet", pa.schema(fields))

    def append(self, seed: int, rounds: pa.Table) -> None:
        """Take the rounds of a run."""
        size = rounds.num_rows
        columns = [pa.array(np.full(size, seed))]
        columns += [pa.repeat(values[0], size) for values in self._values.values()]
        columns += [rounds[field.name] for field in ROUNDS]
        self._writer.write_table(pa.Table.from_arrays(columns, schema=self._writer.schema))

    def __enter__(self) -> Self:
        """Begin."""
        return self

    def __exit__(self, *_error: object) -> None:
        """Give the file its end."""
        self._writer.close()


def value_names(keys: Sequence[str]) -> dict[str, str]:
    """Return what the column of each varied key is called: its last step, if that is free."""
    taken = _TAKEN | set(METRICS) | set(ROUNDS.names)
    return {key: key if short in taken else short for key, short in short_keys(keys).items()}


def value_columns(plan: Plan, arms: Sequence[Arm]) -> dict[str, pa.Array]:
    """Return the varied keys as columns: as they are written and, with _si, in SI units."""
    columns: dict[str, pa.Array] = {}
    for key, name in value_names(plan.keys).items():
        numbers = all(type(arm.values[key]) in (int, float) for arm in plan.arms)
        if numbers:
            columns[name] = pa.array([float(arm.values[key]) for arm in arms], pa.float64())
            continue
        columns[name] = pa.array([told_value(arm.values[key]) for arm in arms], pa.string())
        if any(arm.si(key) is not None for arm in plan.arms):
            columns[f"{name}_si"] = pa.array([arm.si(key) for arm in arms], pa.float64())
    return columns


def _fields(columns: Mapping[str, pa.Array]) -> list[pa.Field]:
    return [pa.field(name, column.type) for name, column in columns.items()]


def _runs_table(plan: Plan, rows: Sequence[Row]) -> pa.Table:
    columns: dict[str, Any] = {
        "arm": [row.arm.name for row in rows],
        "seed": pa.array([row.seed for row in rows], pa.int64()),
        **value_columns(plan, [row.arm for row in rows]),
        "status": ["finished" if row.reason is None else "failed" for row in rows],
        "reason": pa.array([row.reason for row in rows], pa.string()),
        "wall_seconds": pa.array([row.wall_s for row in rows], pa.float64()),
    }
    for name in _all_metrics(plan.study):
        columns[name] = pa.array([row.numbers.get(name) for row in rows], pa.float64())
    return pa.table(columns)


def summary_table(plan: Plan, rows: Sequence[Row]) -> pa.Table:
    """Return a row an arm: of each metric the mean over its runs and the ends of its interval.

    Where some run has no such number, as an accuracy that was never reached, the arm has none.
    """
    columns: dict[str, Any] = {
        "arm": [arm.name for arm in plan.arms],
        "label": [arm.label for arm in plan.arms],
        **value_columns(plan, plan.arms),
        "runs": pa.array([len(_finished(rows, arm)) for arm in plan.arms], pa.int32()),
    }
    for name in _all_metrics(plan.study):
        found = [mean_of(name, _finished(rows, arm)) for arm in plan.arms]
        for suffix, part in (("", "mean"), ("_low", "low"), ("_high", "high")):
            ends = [None if one is None else _finite(getattr(one, part)) for one in found]
            columns[name + suffix] = pa.array(ends, pa.float64())
    return pa.table(columns)


def comparisons_table(plan: Plan, rows: Sequence[Row]) -> pa.Table:
    """Return a row for each arm and metric: how far it is from its baseline.

    With common random numbers differences are taken seed by seed.
    """
    found = [
        {
            "arm": one.arm.name,
            "baseline": one.arm.baseline,
            "metric": one.metric,
            "runs": one.runs,
            "difference": one.apart.mean,
            "difference_low": _finite(one.apart.low),
            "difference_high": _finite(one.apart.high),
        }
        for one in differences(plan, rows)
    ]
    return pa.Table.from_pylist(found, schema=_COMPARISONS)


class Difference(NamedTuple):
    """How far an arm is from its baseline."""

    arm: Arm
    metric: str
    runs: int
    """How many of each."""
    apart: Interval


def differences(plan: Plan, rows: Sequence[Row]) -> Iterator[Difference]:
    """Yield how far each arm is from its baseline, metric by metric."""
    by_arm = {arm.name: _finished(rows, arm) for arm in plan.arms}
    for arm in plan.arms:
        if arm.baseline is None or arm.baseline == arm.name:
            continue
        for name in _all_metrics(plan.study):
            ours, others = _values(by_arm[arm.name], name), _values(by_arm[arm.baseline], name)
            if plan.study.common_random_numbers:
                seeds = sorted(ours.keys() & others.keys())
                ours, others = ({s: v[s] for s in seeds} for v in (ours, others))
            if ours and others:
                compare = difference if plan.study.common_random_numbers else unpaired_difference
                apart = compare(list(ours.values()), list(others.values()))
                yield Difference(arm, name, min(len(ours), len(others)), apart)


def _values(rows: Sequence[Row], name: str) -> dict[int, float]:
    return {row.seed: value for row in rows if (value := row.numbers.get(name)) is not None}


def _finished(rows: Sequence[Row], arm: Arm) -> list[Row]:
    return [row for row in rows if row.arm is arm and row.reason is None]


def mean_of(name: str, rows: Sequence[Row]) -> Interval | None:
    """Return the mean of a metric over runs; None, if some run does not have it."""
    values = [row.numbers[name] for row in rows]
    known = [value for value in values if value is not None]
    return interval(known) if known and len(known) == len(values) else None


def _all_metrics(study: Study) -> list[str]:
    """Return the columns of metrics: all there are, and the times to an accuracy that it names."""
    return list(dict.fromkeys([*METRICS, *map(metric_name, study.metrics)]))


def _finite(value: float) -> float | None:
    return value if np.isfinite(value) else None
