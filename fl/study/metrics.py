"""A run as a few named numbers."""

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import NDArray

from fl.models import SAME


class Metric(NamedTuple):
    """How a number is shown."""

    title: str
    """With the unit it is shown in."""
    scale: float
    """From SI units to that."""
    meaning: str


METRICS = {
    "latency_mean_s": Metric("round latency, mean, ms", 1e3, "Mean latency of a round."),
    "latency_p50_s": Metric("round latency, p50, ms", 1e3, "Median latency of a round."),
    "latency_p95_s": Metric("round latency, p95, ms", 1e3, "5 % of the rounds take longer."),
    "latency_p99_s": Metric("round latency, p99, ms", 1e3, "1 % of the rounds take longer."),
    "simulated_s": Metric("simulated time, s", 1.0, "Simulated time of all rounds."),
    "rounds_missed": Metric(
        "late rounds, %", 1e2, "Rounds in which some device missed the deadline."
    ),
    "uploads_missed": Metric(
        "late uploads, %", 1e2, "Uploads that came after the deadline, or never."
    ),
    "arrived": Metric("arrived, %", 1e2, "Devices that arrived, of those who took part."),
    "prediction_gap": Metric(
        "emergent over predicted, %",
        1e2,
        "Median over uploads of (emergent - predicted) / predicted latency.",
    ),
    "pruning_ratio": Metric("pruned, %", 1e2, "Mean pruning ratio."),
    "sent_bits": Metric("sent in a round, Mbit", 1e-6, "Bits sent in a round, by all devices."),
    "airtime_s": Metric(
        "on the air in a round, s", 1.0, "Time spent sending in a round, all devices together."
    ),
    "computing_s": Metric(
        "computing in a round, s", 1.0, "Time spent computing in a round, all devices together."
    ),
    "idle_s": Metric(
        "idle in a round, s", 1.0, "Time spent waiting for the end of a round, likewise."
    ),
    "accuracy": Metric("accuracy, %", 1e2, "Test accuracy at the end, mean over devices."),
    "test_loss": Metric("test loss", 1.0, "At the end."),
    "train_loss": Metric("training loss", 1.0, "Of the last round."),
}
"""All but the times to an accuracy, in the order of tables."""
_AIRTIME = ("upload_s", "lost_s")
_COMPUTING = ("personal_s", "warmup_s", "prune_s", "global_s")
_NEEDED = ("latency_s", "predicted_latency_s", "arrived", "pruning_ratio", "wait_s")


@dataclass(frozen=True)
class Measured:
    """What there is to know of one finished run."""

    metrics: dict[str, float | None]
    """All of `METRICS`; None where one means nothing: nothing was learnt, there is no deadline."""
    rounds: pa.Table
    wall_s: float

    def seconds_to(self, accuracy: float) -> float | None:
        """Return the simulated time until the mean test accuracy was reached; None: never."""
        tested = self.rounds["test_accuracy"].to_numpy()
        reached = np.flatnonzero(tested >= accuracy)  # what is not known is NaN, and below
        return self.rounds["end_s"][int(reached[0])].as_py() if len(reached) else None


def measure(folder: Path) -> Measured:
    """Return the numbers of the finished run in *folder*."""
    manifest = json.loads((folder / "manifest.json").read_text(encoding="utf-8"))
    rounds = pq.read_table(folder / "rounds.parquet")
    file = pq.ParquetFile(folder / "devices.parquet")
    wanted = [*_NEEDED, *_AIRTIME, *_COMPUTING]
    devices = file.read([name for name in wanted if name in file.schema_arrow.names])
    metrics: dict[str, float | None] = dict.fromkeys(METRICS)
    metrics |= _of_rounds(rounds) | _of_devices(devices, rounds) | _of_learning(rounds)
    return Measured(metrics, rounds, manifest["wall_seconds"])


def _of_rounds(rounds: pa.Table) -> dict[str, float]:
    latency_s = rounds["latency_s"].to_numpy()
    found = {f"latency_p{q}_s": float(np.percentile(latency_s, q)) for q in (50, 95, 99)}
    found["latency_mean_s"] = float(latency_s.mean())
    found["simulated_s"] = rounds["end_s"][-1].as_py()
    found["sent_bits"] = float(rounds["uplink_bits"].to_numpy().mean())
    if not rounds["deadline_missed"].null_count:
        found["rounds_missed"] = float(np.mean(rounds["deadline_missed"].to_pylist()))
    return found


def _of_devices(devices: pa.Table, rounds: pa.Table) -> dict[str, float]:
    arrived = devices["arrived"].to_numpy()
    latency_s = devices["latency_s"].to_numpy()
    ratio = devices["pruning_ratio"].to_numpy()

    def a_round(names: tuple[str, ...]) -> float:
        held = (devices[name].to_numpy() for name in names if name in devices.column_names)
        return float(sum(column.sum() for column in held)) / rounds.num_rows

    found = {
        "arrived": float(arrived.mean()),
        "pruning_ratio": float(ratio.mean()),
        "airtime_s": a_round(_AIRTIME),
        "computing_s": a_round(_COMPUTING),
        "idle_s": a_round(("wait_s",)),
    }
    deadline_s = rounds["deadline_s"][0].as_py()
    uploads = ratio < 1  # who prunes all has nothing to send, and is never late with it
    if deadline_s is not None and uploads.any():
        late = ~arrived | (latency_s > deadline_s * (1 + SAME))
        found["uploads_missed"] = float(late[uploads].mean())
    sent = arrived & uploads
    gap = _gap(latency_s[sent], devices["predicted_latency_s"].to_numpy()[sent])
    return found if gap is None else found | {"prediction_gap": gap}


def _gap(latency_s: NDArray[np.float64], predicted_s: NDArray[np.float64]) -> float | None:
    known = (predicted_s > 0) & np.isfinite(predicted_s)
    if not known.any():
        return None
    gap = float(np.median(latency_s[known] / predicted_s[known])) - 1.0
    return gap if abs(gap) > SAME else 0.0  # sums rounded differently are no gap


def _of_learning(rounds: pa.Table) -> dict[str, Any]:
    tested = rounds.filter(rounds["test_accuracy"].is_valid())
    if not tested.num_rows:
        return {}
    return {
        "accuracy": tested["test_accuracy"][-1].as_py(),
        "test_loss": tested["test_loss"][-1].as_py(),
        "train_loss": rounds["train_loss"][-1].as_py(),
    }
