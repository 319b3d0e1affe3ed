"""Who held up rounds, why, and what each round would have been without.

A straggler is compared with the median of its round: in what was predicted for it, part by
part, and in what came on top.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from enum import StrEnum

import numpy as np
from numpy.typing import NDArray

from fl.phases import OUTCOMES
from fl.summary import places

Columns = Mapping[str, NDArray[np.float64]]
"""Of the table of devices, each [rounds, participants]."""

_COMPUTING = ("broadcast_s", "personal_s", "warmup_s", "prune_s", "global_s")
COLUMNS = (
    "device",
    *_COMPUTING,
    "backhaul_s",
    "bandwidth_fraction",
    "upload_bits",
    "predicted_latency_s",
    "latency_s",
    "lost_s",
    "slowed_s",
    "attempts",
    "outcome",
)
"""What is needed of the table of devices."""


class Cause(StrEnum):
    """What made a device the last."""

    CPU = "slow CPU"
    BITS = "more to send"
    SHARE = "small share"
    CHANNEL = "weak channel"
    FADE = "fade"
    CUT = "cut at the deadline"
    LOST = "lost upload"
    SLOWED = "slowed CPU"
    OFFLINE = "went offline"


_FAULTS = ("lost_s", "slowed_s", "outcome")
_UNARRIVED = {Cause.CUT: "cut", Cause.OFFLINE: "offline", Cause.LOST: "lost"}
#: What a predicted upload is the product of.
_FACTORS = (Cause.BITS, Cause.SHARE, Cause.CHANNEL)


@dataclass(frozen=True)
class Straggler:
    """A device that held up rounds."""

    device: int
    causes: Mapping[Cause, int]
    """How many rounds, by cause."""
    saved_s: float
    """By how much all these rounds together would have been shorter without it."""

    @property
    def rounds(self) -> int:
        """How many rounds it was the last of."""
        return sum(self.causes.values())


def straggler_board(last: NDArray[np.int64], chunks: Iterable[Columns]) -> list[Straggler]:
    """Return everybody who was last in some round, most rounds first.

    Args:
        last: The straggler of each round.
        chunks: The columns `COLUMNS`, some rounds at a time.
    """
    causes: dict[int, dict[Cause, int]] = {}
    saved_s: dict[int, float] = {}
    begin = 0
    for columns in chunks:
        size = len(columns["latency_s"])
        who = last[begin : begin + size]
        begin += size
        place = places(columns["device"], who)
        without_s = saved_by_leaving_out(place, columns["latency_s"])
        for device, cause, saved in zip(
            who.tolist(), causes_of(place, columns), without_s, strict=True
        ):
            counts = causes.setdefault(device, {})
            counts[cause] = counts.get(cause, 0) + 1
            saved_s[device] = saved_s.get(device, 0.0) + float(saved)
    board = [Straggler(device, counts, saved_s[device]) for device, counts in causes.items()]
    return sorted(board, key=lambda one: (-one.rounds, one.device))


def saved_by_leaving_out(
    who: NDArray[np.int64], latency_s: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Return by how much each round would have been shorter without a device of it, at this place.

    The others keep their shares, so the round would have ended with the next to last. A device
    that was cut at the deadline has no latency, and leaving it out saves nothing: others were
    cut with it, or the server would still have waited.
    """
    rows = np.arange(len(who))
    others_s = latency_s.copy()
    others_s[rows, who] = -np.inf
    saved_s = latency_s[rows, who] - np.fmax.reduce(others_s, axis=1)
    return np.where(np.isfinite(saved_s), np.maximum(saved_s, 0.0), 0.0)


def causes_of(who: NDArray[np.int64], columns: Columns) -> list[Cause]:
    """Return what made each round's straggler, at this place in it, the last.

    It was late by what was known at the decision, or by what came since: mostly by a fault, and else
    that is a fade. What was known is computing or upload, whichever was further above the median's; and
    of the upload the factor that is furthest off, bits, share or channel.
    """
    # As it was predicted: of slowness, nothing was known.
    computing_s = np.sum([columns[name] for name in _COMPUTING], axis=0) - columns["slowed_s"]
    predicted_s, latency_s = columns["predicted_latency_s"], columns["latency_s"]
    sending_s = predicted_s - computing_s
    factors = _upload_factors(sending_s - columns["backhaul_s"], columns)
    off = np.array([_above_median(factors[cause], who) for cause in _FACTORS])
    causes = np.array(_FACTORS, dtype=object)[np.argmax(off, axis=0)]
    by_cpu = _above_median(computing_s, who) > _above_median(sending_s, who)
    causes[by_cpu] = Cause.CPU
    faded = _above_median(latency_s - predicted_s, who) > _above_median(predicted_s, who)
    causes[faded] = Cause.FADE
    own = {name: columns[name][np.arange(len(who)), who] for name in _FAULTS}
    late_s = np.nan_to_num(latency_s - predicted_s)[np.arange(len(who)), who]
    by_fault = faded & (own["lost_s"] + own["slowed_s"] > late_s / 2)
    causes[by_fault & (own["lost_s"] > own["slowed_s"])] = Cause.LOST
    causes[by_fault & (own["lost_s"] <= own["slowed_s"])] = Cause.SLOWED
    for cause, outcome in _UNARRIVED.items():
        causes[own["outcome"] == OUTCOMES.index(outcome)] = cause
    return list(causes)


def _above_median(values: NDArray[np.float64], who: NDArray[np.int64]) -> NDArray[np.float64]:
    """Return how far a device of each round is above the median of it; 0 where it is not known."""
    known = np.where(np.isfinite(values).any(axis=1, keepdims=True), values, 0.0)
    off = known[np.arange(len(who)), who] - np.nanmedian(known, axis=1)
    return np.nan_to_num(off)


def _upload_factors(
    upload_s: NDArray[np.float64], columns: Columns
) -> dict[Cause, NDArray[np.float64]]:
    """Return the logarithms of what a predicted upload is the product of; NaN for no upload."""
    bits, share = columns["upload_bits"], columns["bandwidth_fraction"]
    bits = bits / np.maximum(columns["attempts"], 1)
    sent = (bits > 0) & (share > 0) & (upload_s > 0)
    bits, share, upload_s = (np.where(sent, column, np.nan) for column in (bits, share, upload_s))
    return {
        Cause.BITS: np.log(bits),
        Cause.SHARE: -np.log(share),
        Cause.CHANNEL: np.log(upload_s * share / bits),
    }
