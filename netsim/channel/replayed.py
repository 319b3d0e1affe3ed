"""A channel replayed from a trace, exactly: no time step is chosen anywhere.

The efficiency is constant within a segment of the trace, so what the channel has carried
by a time is a piecewise linear function of it. Its values at the segment ends are summed
up once; carrying so many bits is then a search in that table, however many segments, or
repetitions of the whole trace, it takes.
"""

import math
from bisect import bisect_left, bisect_right
from enum import StrEnum

import numpy as np
from numpy.typing import NDArray

from netsim.channel.channel import Channel
from netsim.channel.constant import Constant
from netsim.errors import TraceError

#: The clock may round the end of an upload to just beyond the end of the trace.
_ROUNDED_UP = 1 + 1e-12


class AtEnd(StrEnum):
    """What follows the end of a trace."""

    REPEAT = "repeat"
    HOLD = "hold"
    ERROR = "error"


class Segments:
    """The stretches of one trace, each with its spectral efficiency.

    Many channels may replay the same segments, at different offsets; nothing is copied.
    """

    __slots__ = ("carried", "edges_s", "efficiency", "peak", "span_s", "total", "trough")

    def __init__(
        self, starts_s: NDArray[np.float64], efficiency: NDArray[np.float64], span_s: float
    ) -> None:
        """Lay out the segments.

        Args:
            starts_s: When each segment begins, from 0 and increasing.
            efficiency: The efficiency within each, in bit/s/Hz.
            span_s: When the last one ends.
        """
        lengths = np.diff(starts_s, append=span_s)
        if starts_s[0] != 0 or not (lengths > 0).all():
            raise ValueError("starts_s must begin at 0 and increase, up to span_s")
        carried = np.concatenate(([0.0], np.cumsum(efficiency * lengths)))
        # Views that give Python floats: faster to search and to compute with than arrays.
        self.edges_s = np.append(starts_s, span_s).data
        """Where each segment begins, and where the last one ends."""
        self.efficiency = np.ascontiguousarray(efficiency).data
        self.carried = carried.data
        """Bits per hertz carried up to each edge."""
        self.total = float(carried[-1])
        self.peak = float(efficiency.max())
        self.trough = float(efficiency.min())
        self.span_s = span_s

    def index(self, position: float) -> int:
        """Return which segment *position* lies in; the last one goes on beyond the end."""
        return bisect_right(self.edges_s, position, 0, len(self.efficiency)) - 1

    def carried_by(self, position: float) -> float:
        """Return the bits per hertz carried from the start up to *position*."""
        index = self.index(position)
        into = position - self.edges_s[index]
        return self.carried[index] + into * self.efficiency[index]

    def reached_at(self, target: float) -> float:
        """Return the earliest position by which *target* > 0 bits per hertz are carried."""
        # The table rises to its first entry that holds the target, so the segment before
        # that entry has a rate above zero: silence is never divided by. A rate too low to
        # be seen in the table may lead past the segment; it ends where the segment does.
        index = bisect_left(self.carried, target) - 1
        into = (target - self.carried[index]) / self.efficiency[index]
        return min(self.edges_s[index] + into, self.edges_s[index + 1])


def replay(
    segments: Segments, at_end: AtEnd, offset_s: float = 0.0, who: str = "the trace"
) -> Channel:
    """Return the channel that replays *segments*; one that does not move is a `Constant`."""
    if at_end is not AtEnd.ERROR and segments.trough == segments.peak:
        return Constant(segments.peak)
    return Replayed(segments, at_end, offset_s, who)


class Replayed(Channel):
    """One device's trace on absolute simulated time."""

    __slots__ = ("_at_end", "_offset_s", "_repeats", "_segments", "_who")

    def __init__(
        self, segments: Segments, at_end: AtEnd, offset_s: float = 0.0, who: str = "the trace"
    ) -> None:
        """Replay *segments*.

        Args:
            segments: What the channel did.
            at_end: What follows their end.
            offset_s: Where in them the simulation begins.
            who: How an error calls this trace.
        """
        if not offset_s >= 0:
            raise ValueError(f"offset_s must be >= 0, got {offset_s}")
        self._segments = segments
        self._at_end = at_end
        self._repeats = at_end is AtEnd.REPEAT
        self._offset_s = offset_s
        self._who = who

    @property
    def peak(self) -> float:
        """The highest efficiency of the trace, in bit/s/Hz."""
        return self._segments.peak

    @property
    def is_constant(self) -> bool:
        """Never: `replay` gives a `Constant` for a trace that does not move."""
        return False

    def efficiency(self, at_s: float) -> float:
        """Return the efficiency at time *at_s*, in bit/s/Hz."""
        segments = self._segments
        position = at_s + self._offset_s
        if position >= segments.span_s:
            position = position % segments.span_s if self._repeats else self._past_end(position)[1]
        return segments.efficiency[segments.index(position)]

    def carried(self, from_s: float, to_s: float) -> float:
        """Return the bits per hertz carried between two times."""
        segments = self._segments
        first, begin = 0.0, from_s + self._offset_s
        if begin >= segments.span_s:
            first, begin = self._past_end(begin)
        last, end = 0.0, to_s + self._offset_s
        if end >= segments.span_s:
            last, end = self._past_end(end)
        whole = (last - first) * segments.total
        return whole + segments.carried_by(end) - segments.carried_by(begin)

    def seconds_to_carry(self, from_s: float, bits_per_hz: float) -> float:
        """Return how long *bits_per_hz* take from *from_s* on; ``inf`` if they never pass."""
        if bits_per_hz == 0:
            return 0.0
        segments = self._segments
        begin = from_s + self._offset_s
        if begin >= segments.span_s:
            begin = begin % segments.span_s if self._repeats else self._past_end(begin)[1]
        index = bisect_right(segments.edges_s, begin, 0, len(segments.efficiency)) - 1
        rate = segments.efficiency[index]
        # Within one segment nothing is looked up, and nothing lost to rounding.
        left_s = segments.edges_s[index + 1] - begin
        held = left_s <= 0 < rate and self._at_end is AtEnd.HOLD
        if held or bits_per_hz <= rate * left_s:
            return bits_per_hz / rate
        into = begin - segments.edges_s[index]
        target = segments.carried[index] + into * rate + bits_per_hz
        if target > segments.total:
            return self._seconds_past_end(begin, target)
        seconds = segments.reached_at(target) - begin
        # Less than the table resolves may seem to have been carried before *begin*.
        return seconds if seconds > 0 else 0.0

    def _seconds_past_end(self, begin: float, target: float) -> float:
        """Return how long *target* takes that the rest of the trace does not reach."""
        segments = self._segments
        left_s = segments.span_s - begin
        if self._at_end is AtEnd.ERROR:
            if target <= segments.total * _ROUNDED_UP:
                return left_s
            raise self._too_short()
        if self._at_end is AtEnd.HOLD:
            rate = segments.efficiency[-1]
            return left_s + (target - segments.total) / rate if rate else math.inf
        if segments.total == 0:
            return math.inf
        periods, target = divmod(target, segments.total)
        if target == 0:  # reached at the end of a period, or before it if that is silent
            periods, target = periods - 1, segments.total
        return periods * segments.span_s + segments.reached_at(target) - begin

    def _past_end(self, position: float) -> tuple[float, float]:
        """Return how often the trace has been played by *position*, and where that leads."""
        span_s = self._segments.span_s
        if self._at_end is AtEnd.REPEAT:
            return divmod(position, span_s)
        if self._at_end is AtEnd.HOLD:
            return 0.0, position
        if position > span_s * _ROUNDED_UP:
            raise self._too_short()
        return 0.0, span_s

    def _too_short(self) -> TraceError:
        ends_at_s = self._segments.span_s - self._offset_s
        return TraceError(
            f"{self._who} ends at {ends_at_s:g} s of simulated time, and the simulation goes on; "
            "give a longer trace, or say at_end: repeat or hold"
        )
