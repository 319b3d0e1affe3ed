"""A run in a few numbers: how long its rounds were, and who made them so."""

from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import NDArray

from fl.models import SAME

_COMPUTING = ("personal_s", "warmup_s", "prune_s", "global_s")
_SENDING = ("lost_s", "upload_s", "backhaul_s")
#: What a summary needs of the devices' table.
DEVICE_COLUMNS = [
    *("device", "status", "arrived", "latency_s", "predicted_latency_s"),
    *(*_COMPUTING, *_SENDING, "slowed_s", "attempts", "outcome"),
]


@dataclass(frozen=True)
class Straggler:
    """A device that held up rounds."""

    device: int
    rounds: int
    """How many rounds it was the last of."""
    computing: int
    """In how many of these its computing made it so; in the others its upload did."""


@dataclass(frozen=True)
class Learnt:
    """What has come of the learning, by the last round that was tested."""

    round: int
    at_s: float
    """Of simulated time."""
    accuracy: float
    """Mean over the devices."""
    accuracy_std: float
    """Standard deviation over the devices."""
    test_loss: float
    train_loss: float | None
    """Of the last round."""


@dataclass(frozen=True)
class Summary:
    """What the end of a run tells."""

    num_rounds: int
    num_devices: int
    """In a round."""
    simulated_s: float
    latency_s: dict[int, float]
    """Percentiles of the round latency: 50, 95, 99."""
    deadline_s: float | None
    missed: int
    """Rounds that some device did not make by the deadline."""
    late: int
    """Device-rounds that did not make it; with ``late: drop`` they do not count."""
    median_gap: float
    """Median over devices and rounds of (emergent - predicted) / predicted latency."""
    lowest_gap: float
    highest_gap: float
    infeasible: int
    """Device-rounds for which no pruning ratio meets the deadline."""
    faults: dict[str, int]
    """How often something went wrong, by what; what never did is not there."""
    stragglers: list[Straggler]
    """Most rounds first."""
    learnt: Learnt | None
    """None, if nothing was learnt."""


def summarise(rounds: pa.Table, devices: pa.Table) -> Summary:
    """Return the summary of a run from its tables; of devices, `DEVICE_COLUMNS` will do."""
    num_rounds = rounds.num_rows
    num_devices = devices.num_rows // num_rounds
    latency_s = rounds["latency_s"].to_numpy()
    deadlines = rounds["deadline_s"].drop_null()
    deadline_s = deadlines[0].as_py() if len(deadlines) else None
    status = devices["status"].combine_chunks().cast(pa.string())
    arrived = devices["arrived"].to_numpy()
    gap = _gaps(devices, arrived)
    return Summary(
        num_rounds=num_rounds,
        num_devices=num_devices,
        simulated_s=rounds["end_s"][-1].as_py(),
        latency_s={q: float(np.percentile(latency_s, q)) for q in (50, 95, 99)},
        deadline_s=deadline_s,
        missed=int(sum(filter(None, rounds["deadline_missed"].to_pylist()))),
        late=_late(devices, arrived, deadline_s),
        median_gap=float(np.median(gap)) if len(gap) else np.nan,
        lowest_gap=float(gap.min()) if len(gap) else np.nan,
        highest_gap=float(gap.max()) if len(gap) else np.nan,
        infeasible=int((np.asarray(status) == "infeasible").sum()),
        faults=_faults(devices),
        stragglers=_stragglers(rounds, devices, num_rounds, num_devices),
        learnt=_learnt(rounds),
    )


def _learnt(rounds: pa.Table) -> Learnt | None:
    tested = rounds.filter(rounds["test_accuracy"].is_valid())
    if not tested.num_rows:
        return None
    last = tested.slice(tested.num_rows - 1).to_pylist()[0]
    return Learnt(
        round=last["round"],
        at_s=last["end_s"],
        accuracy=last["test_accuracy"],
        accuracy_std=last["test_accuracy_std"],
        test_loss=last["test_loss"],
        train_loss=rounds["train_loss"][-1].as_py(),
    )


def summarise_directory(folder: Path) -> Summary:
    """Return the summary of a run directory, reading no more than it needs."""
    rounds = pq.read_table(folder / "rounds.parquet")
    return summarise(rounds, pq.read_table(folder / "devices.parquet", columns=DEVICE_COLUMNS))


def _late(devices: pa.Table, arrived: NDArray[np.bool_], deadline_s: float | None) -> int:
    if deadline_s is None:
        return 0
    emerged_s = devices["latency_s"].to_numpy()[arrived]
    return int((~arrived).sum() + (emerged_s > deadline_s * (1 + SAME)).sum())


def _faults(devices: pa.Table) -> dict[str, int]:
    outcome = np.asarray(devices["outcome"].combine_chunks().cast(pa.string()))
    attempts = devices["attempts"].to_numpy()
    # All but the last attempt were lost, and that one, too, of who has given up.
    lost = int(np.maximum(attempts - 1, 0).sum()) + int((outcome == "lost").sum())
    told = {
        "went offline": int((outcome == "offline").sum()),
        "uploads lost": lost,
        "gave up": int((outcome == "lost").sum()),
        "slowed": int((devices["slowed_s"].to_numpy() > 0).sum()),
    }
    return {what: number for what, number in told.items() if number}


def _gaps(devices: pa.Table, arrived: NDArray[np.bool_]) -> NDArray[np.float64]:
    predicted_s = devices["predicted_latency_s"].to_numpy()[arrived]
    emerged_s = devices["latency_s"].to_numpy()[arrived]
    known = (predicted_s > 0) & np.isfinite(predicted_s)
    gaps: NDArray[np.float64] = emerged_s[known] / predicted_s[known] - 1.0
    return gaps


def _stragglers(
    rounds: pa.Table, devices: pa.Table, num_rounds: int, num_devices: int
) -> list[Straggler]:
    """Count who was last, and why."""
    last = rounds["straggler"].to_numpy()
    shape, row = (num_rounds, num_devices), np.arange(num_rounds)
    place = places(devices["device"].to_numpy().reshape(shape), last)
    spent, excess = [], []
    for columns in (_COMPUTING, _SENDING):
        seconds = np.sum([devices[name].to_numpy() for name in columns], axis=0).reshape(shape)
        spent.append(seconds[row, place])
        excess.append(seconds[row, place] - np.median(seconds, axis=1))
    # Why: the part of its time that was further above the median's. Where all are alike, the
    # larger part; of a device that was cut, the part it was cut in.
    alike = np.abs(excess[0] - excess[1]) <= 1e-9 * (spent[0] + spent[1])
    computing = np.where(alike, spent[0] > spent[1], excess[0] > excess[1])
    cut = ~devices["arrived"].to_numpy().reshape(shape)[row, place]
    computing = np.where(cut, spent[1] == 0, computing)
    by_computing = Counter(last[computing].tolist())
    return [
        Straggler(device, count, by_computing[device])
        for device, count in sorted(Counter(last.tolist()).items(), key=lambda i: (-i[1], i[0]))
    ]


def places(
    devices: NDArray[np.integer[Any]] | NDArray[np.float64], who: NDArray[np.int64]
) -> NDArray[np.int64]:
    """Return where one device of each round stands among those who took part in it.

    Args:
        devices: Their numbers, [rounds, devices of a round].
        who: Of each round, one of them.
    """
    found: NDArray[np.int64] = (devices == who[:, None]).argmax(axis=1)
    return found


def told_size(summary: Summary, num_devices: int) -> str:
    """Return how many rounds and devices there were, for people.

    Args:
        summary: Of the run.
        num_devices: All devices there are, whether they took part or not.
    """
    size = f"{summary.num_rounds} x {summary.num_devices}"
    return size if summary.num_devices == num_devices else f"{size} of {num_devices}"


def told_gap(summary: Summary) -> str:
    """Return how far emergent latencies are from predicted ones, for people."""
    if np.isnan(summary.median_gap):
        return "nobody arrived"
    if max(-summary.lowest_gap, summary.highest_gap) < SAME:
        return "equal"
    extremes = f"{summary.lowest_gap:+.1%} to {summary.highest_gap:+.1%}"
    return f"{summary.median_gap:+.1%} median, {extremes}"


def told_seconds(value: float) -> str:
    """Return a time as a person would write it."""
    for unit, scale in (("s", 1.0), ("ms", 1e-3), ("us", 1e-6)):
        if value >= scale:
            return f"{value / scale:.4g} {unit}"
    return f"{value:.3g} s"
