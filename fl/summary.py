"""A run in a few numbers: how long its rounds were, and who made them so."""

from collections import Counter
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from fl.models import SAME
from fl.results import Run

_COMPUTING = ("personal_s", "warmup_s", "prune_s", "global_s")
_SENDING = ("upload_s", "backhaul_s")


@dataclass(frozen=True)
class Straggler:
    """A device that held up rounds."""

    device: int
    rounds: int
    """How many rounds it was the last of."""
    computing: int
    """In how many of these its computing made it so; in the others its upload did."""


@dataclass(frozen=True)
class Summary:
    """What the end of a run tells."""

    num_rounds: int
    num_devices: int
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
    worst_gap: float
    """The same at its worst."""
    infeasible: int
    """Device-rounds for which no pruning ratio meets the deadline."""
    stragglers: list[Straggler]
    """Most rounds first."""


def summarise(run: Run) -> Summary:
    """Return the summary of a run."""
    rounds, devices = run.rounds, run.devices
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
        worst_gap=float(gap.max()) if len(gap) else np.nan,
        infeasible=int((np.asarray(status) == "infeasible").sum()),
        stragglers=_stragglers(rounds, devices, num_rounds, num_devices),
    )


def _late(devices: pa.Table, arrived: NDArray[np.bool_], deadline_s: float | None) -> int:
    if deadline_s is None:
        return 0
    emerged_s = devices["latency_s"].to_numpy()[arrived]
    return int((~arrived).sum() + (emerged_s > deadline_s * (1 + SAME)).sum())


def _gaps(devices: pa.Table, arrived: NDArray[np.bool_]) -> NDArray[np.float64]:
    predicted_s = devices["predicted_latency_s"].to_numpy()[arrived]
    emerged_s = devices["latency_s"].to_numpy()[arrived]
    known = (predicted_s > 0) & np.isfinite(predicted_s)
    gaps: NDArray[np.float64] = emerged_s[known] / predicted_s[known] - 1.0
    return gaps


def _stragglers(
    rounds: pa.Table, devices: pa.Table, num_rounds: int, num_devices: int
) -> list[Straggler]:
    """Count who was last, and why: which part of its time was further above the median's."""
    shape = (num_rounds, num_devices)
    last = rounds["straggler"].to_numpy()
    row = np.arange(num_rounds)
    excess = []
    for columns in (_COMPUTING, _SENDING):
        spent_s = np.sum([devices[name].to_numpy() for name in columns], axis=0).reshape(shape)
        excess.append(spent_s[row, last] - np.median(spent_s, axis=1))
    computing = excess[0] > excess[1]
    by_computing = Counter(last[computing].tolist())
    return [
        Straggler(device, count, by_computing[device])
        for device, count in sorted(Counter(last.tolist()).items(), key=lambda i: (-i[1], i[0]))
    ]
