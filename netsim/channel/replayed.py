"""A channel replayed from a trace, exactly: no time step is chosen anywhere.

What the channel has carried by the end of each segment is summed up once. Carrying so many
bits is then a search in that table, however many segments, or repetitions of the whole
trace, it takes.
"""

import math
from bisect import bisect_right

from netsim.channel.channel import Channel
from netsim.channel.constant import Constant
from netsim.channel.playback import ROUNDED_UP, AtEnd, Playback, S
from netsim.channel.segments import Segments


def replay(
    segments: Segments, at_end: AtEnd, offset_s: float = 0.0, who: str = "the trace"
) -> Channel:
    """Return the channel that replays *segments*; one that does not move is a `Constant`."""
    if at_end is not AtEnd.ERROR and segments.trough == segments.peak:
        return Constant(segments.peak)
    return Replayed(segments, at_end, offset_s, who)


class Replayed(Playback[S]):
    """A trace replayed by searching the table of what it has carried."""

    __slots__ = ()

    @property
    def peak(self) -> float:
        """The highest efficiency of the trace, in bit/s/Hz."""
        return self._segments.peak

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
            if target <= segments.total * ROUNDED_UP:
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
