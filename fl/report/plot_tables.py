"""The numbers behind each figure: from the tables of a run to what is drawn of it.

Percentiles and distributions are those of all rows. What is drawn of them is bounded, however
large the run: points are thinned by rank, so that the lowest and the highest stay, and the
notes say so.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
import pyarrow as pa
from numpy.lib.stride_tricks import sliding_window_view
from numpy.typing import NDArray

from fl.phases import PHASES

MOST_POINTS = 20_000
MOST_STEPS = 2_000
MOST_DEVICES = 40
PERCENTILES = (50, 95, 99)
GAP_PERCENTILES = (5, 50, 95)
_QUARTILES = {"lowest": 0, "quartile_1": 25, "median": 50, "quartile_3": 75, "highest": 100}
_WINDOW = 50
_LONGEST_WINDOW = 500


class NothingToShowError(ValueError):
    """The run has nothing of what the figure is about."""


class Columns(Protocol):
    """The columns of a table: an Arrow table, or something that reads them when asked."""

    def __getitem__(self, name: str) -> pa.ChunkedArray:
        """Return a column."""


@dataclass(frozen=True)
class Shown:
    """What a figure shows."""

    table: pa.Table
    notes: tuple[str, ...] = ()
    """What it leaves out, in a sentence each."""


def latency_over_time(rounds: pa.Table) -> Shown:
    """Return the latency of rounds, with the median and p95 of the last rounds up to each."""
    latency_s = rounds["latency_s"].to_numpy()
    drawn = thinned([latency_s], MOST_POINTS)
    window = min(max(_WINDOW, len(latency_s) // 100), _LONGEST_WINDOW, len(latency_s) // 4)
    columns = ["round", "start_s", "latency_s", "deadline_s", "deadline_missed"]
    table = rounds.select(columns).take(drawn)
    for q in (50, 95):
        rolling = pa.array(_rolling(latency_s, drawn, window, q), from_pandas=True)
        table = table.append_column(f"rolling_p{q}_s", rolling)
    notes = _thinning(len(drawn), len(latency_s), "rounds")
    if window >= 2:
        notes = (f"Lines: over the last {window} rounds.", *notes)
    return Shown(table, notes)


def latency_distribution(rounds: pa.Table) -> Shown:
    """Return the distribution of round latency, and the percentiles of all rounds.

    Rows with a percentile are the marks; the others are the curve.
    """
    latency_s = rounds["latency_s"].to_numpy()
    return Shown(_distribution(latency_s, "latency_s", PERCENTILES))


def time_by_phase(rounds: pa.Table, devices: Columns) -> Shown:
    """Return the mean seconds a device spent in each phase of a round."""
    of = _Owners.of(rounds, devices)
    mean_s = {phase: of.means(devices[f"{phase}_s"].to_numpy()) for phase in PHASES}
    busy_s = np.sum([mean_s[phase] for phase in PHASES if phase != "wait"], axis=0)
    drawn = thinned([busy_s], MOST_DEVICES)
    columns = {f"{phase}_s": seconds[drawn] for phase, seconds in mean_s.items()}
    table = pa.table({"device": of.numbers[drawn]} | columns)
    return Shown(table, _thinning(len(drawn), len(busy_s), "devices"))


def predicted_and_emergent(devices: Columns) -> Shown:
    """Return predicted beside emergent latencies, and the distribution of the gap between them.

    The gap is (emergent - predicted) / predicted. Uploads that were cut have no latency, and on a
    dead channel none is predicted: these have no gap.

    Raises:
        NothingToShowError: No upload has both.
    """
    predicted_s = devices["predicted_latency_s"].to_numpy()
    emergent_s = devices["latency_s"].to_numpy()  # NaN for those that were cut
    both = np.flatnonzero(np.isfinite(emergent_s) & np.isfinite(predicted_s) & (predicted_s > 0))
    if not len(both):
        raise NothingToShowError("no upload of the run has arrived: there is nothing to compare")
    left_out = len(predicted_s) - len(both)
    predicted_s, emergent_s = predicted_s[both], emergent_s[both]
    gap = emergent_s / predicted_s - 1.0
    drawn = thinned([gap, predicted_s, emergent_s], MOST_POINTS)
    scatter = {name: devices[name].take(both[drawn]) for name in ("round", "device")}
    scatter |= {"predicted_latency_s": predicted_s[drawn], "latency_s": emergent_s[drawn]}
    parts = [pa.table(scatter), _distribution(gap, "gap", GAP_PERCENTILES).drop(["ccdf"])]
    names = ("scatter", "gap")
    table = pa.concat_tables(
        [
            part.add_column(0, "panel", pa.array([name] * part.num_rows))
            for part, name in zip(parts, names, strict=True)
        ],
        promote_options="default",
    )
    notes = _thinning(len(drawn), len(both), "uploads")
    if left_out:
        notes += (f"Not shown: {left_out:,} uploads that were cut or had no channel.",)
    return Shown(table, notes)


def allocated(rounds: pa.Table, devices: Columns) -> Shown:
    """Return the quartiles over rounds of each device's share and pruning ratio."""
    quantities = ("bandwidth_fraction", "pruning_ratio")
    of = _Owners.of(rounds, devices)
    values = {name: devices[name].to_numpy() for name in quantities}
    means = [of.means(values[name]) for name in reversed(quantities)]
    drawn = thinned(means, MOST_DEVICES)
    parts = []
    for name in quantities:
        each = [of.values(values[name], owner) for owner in drawn.tolist()]
        quartiles = [np.percentile(rows, list(_QUARTILES.values())) for rows in each]
        columns = dict(zip(_QUARTILES, np.transpose(quartiles), strict=True))
        whose = {"quantity": [name] * len(drawn), "device": of.numbers[drawn]}
        parts.append(pa.table(whose | columns))
    return Shown(pa.concat_tables(parts), _thinning(len(drawn), len(means[0]), "devices"))


def learnt(rounds: pa.Table) -> Shown:
    """Return accuracy and losses, of rounds in which some of them is known.

    Raises:
        NothingToShowError: The run was one of latencies only.
    """
    losses = ["train_loss", "test_loss", "test_accuracy", "test_accuracy_std"]
    table = rounds.select(["round", "end_s", *losses])
    known = np.any([table[name].is_valid().to_numpy() for name in losses], axis=0)
    if not known.any():
        raise NothingToShowError(
            "nothing was learnt: the scenario has no `learning` block, so there is neither "
            "accuracy nor loss"
        )
    return Shown(table.filter(pa.array(known)))


def thinned(columns: Sequence[NDArray[np.float64]], most: int) -> NDArray[np.int64]:
    """Return which rows to draw, in their order: all, or *most* of them.

    Rows stand at equal distances in the order of the first column, so they are distributed as
    all are; rows at equal distances in the table could all be of one device. The lowest and the
    highest of every column are among them.

    >>> thinned([np.array([5.0, 1.0, 4.0, 3.0, 2.0])], 3).tolist()
    [0, 1, 3]
    """
    num_rows = len(columns[0])
    if num_rows <= most:
        return np.arange(num_rows)
    ends = [end for column in columns for end in (column.argmin(), column.argmax())]
    ranked = np.argsort(columns[0], kind="stable")
    # The first column's own ends are the ends of the ranks, too.
    ranks = np.linspace(0, num_rows - 1, most - len(ends) + 2).round().astype(np.int64)
    chosen: NDArray[np.int64] = np.unique(np.concatenate([ends, ranked[ranks]]))[:most]
    return chosen


def _distribution(values: NDArray[np.float64], name: str, percentiles: Sequence[int]) -> pa.Table:
    """Return the distribution of *values*: a row for each step, then one for each percentile."""
    distinct, times = np.unique(values, return_counts=True)
    below, total = np.cumsum(times), len(values)
    steps = _steps(len(distinct))
    marks = np.percentile(values, percentiles)
    at_most = np.concatenate([below[steps] / total, np.array(percentiles) / 100])
    over = np.concatenate([(total - below[steps]) / total, 1 - np.array(percentiles) / 100])
    return pa.table(
        {
            "percentile": pa.array([None] * len(steps) + list(percentiles), pa.int8()),
            name: np.concatenate([distinct[steps], marks]),
            "cdf": at_most,
            "ccdf": over,
        }
    )


def _steps(num: int) -> NDArray[np.int64]:
    """Return which of *num* steps to draw: evenly, and ever closer towards the last, the tail."""
    if num <= MOST_STEPS:
        return np.arange(num)
    half = MOST_STEPS // 2
    even = np.linspace(0, num - 1, half).round().astype(np.int64)
    tail = num - np.geomspace(1, num, half).round().astype(np.int64)
    return np.union1d(even, tail)


def _rolling(
    values: NDArray[np.float64], at: NDArray[np.int64], window: int, q: int
) -> NDArray[np.float64]:
    """Return a percentile of the last *window* values up to each place; NaN, if they are fewer."""
    rolling = np.full(len(at), np.nan)
    if window >= 2:
        full = at >= window - 1
        windows = sliding_window_view(values, window)[at[full] - window + 1]
        rolling[full] = np.percentile(windows, q, axis=1)
    return rolling


@dataclass(frozen=True)
class _Owners:
    """Which rows of the table of devices are whose."""

    numbers: NDArray[np.int32]
    """Of the devices that took part in some round, in increasing order."""
    of_row: NDArray[np.int64] | None
    """Whose each row is, as a place in *numbers*; None: theirs in turn, as all take part."""

    @classmethod
    def of(cls, rounds: pa.Table, devices: Columns) -> "_Owners":
        by_round = devices["device"].to_numpy().reshape(rounds.num_rows, -1)
        if (by_round == by_round[0]).all():
            return cls(by_round[0], None)
        return cls(*np.unique(by_round.ravel(), return_inverse=True))

    def means(self, values: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the mean of a column for each device."""
        if self.of_row is None:
            means: NDArray[np.float64] = values.reshape(-1, len(self.numbers)).mean(axis=0)
            return means
        return np.bincount(self.of_row, values) / np.bincount(self.of_row)

    def values(self, values: NDArray[np.float64], owner: int) -> NDArray[np.float64]:
        """Return what a column says of one device."""
        if self.of_row is None:
            return values[owner :: len(self.numbers)]
        return values[self.of_row == owner]


def _thinning(drawn: int, of: int, what: str) -> tuple[str, ...]:
    return (f"Drawn: {drawn:,} of {of:,} {what}.",) if drawn < of else ()
