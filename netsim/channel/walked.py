"""A channel replayed on one share of the band, by walking over the trace.

A device's share changes from round to round, and with it, in noise of a fixed density, the
efficiency within every segment. So nothing is summed up in advance: an upload walks over
the segments that it touches. One that is not through by the end of the trace, nor within one
more repetition, is worth the table of its share; so all else that follows the end is the
same as for any `Replayed`.
"""

import math

import numpy as np
from numpy.typing import NDArray

from netsim.channel.channel import shannon_efficiency
from netsim.channel.playback import AtEnd, Playback
from netsim.channel.replayed import Replayed
from netsim.channel.segments import Segments

#: How many segments are walked over at once; most uploads need few.
_FIRST_STRIDE = 64
_LONGER = 4


def efficiency_on(snr: float, share: float) -> float:
    """Return the efficiency where the signal-to-noise ratio over the whole band is *snr*.

    The same as `shannon_efficiency`, which takes much longer for one number.
    """
    return math.log1p(snr / share) / math.log(2.0)


class SegmentsInNoise(Segments):
    """The stretches of one trace, each with its signal-to-noise ratio over the whole band."""

    __slots__ = ("edges", "peak_snr", "snr")

    def __init__(
        self, starts_s: NDArray[np.float64], whole_band_snr: NDArray[np.float64], span_s: float
    ) -> None:
        """Lay out the segments.

        Args:
            starts_s: When each segment begins, from 0 and increasing.
            whole_band_snr: The signal-to-noise ratio within each.
            span_s: When the last one ends.
        """
        super().__init__(starts_s, shannon_efficiency(whole_band_snr), span_s)
        self.edges = np.asarray(self.edges_s)
        self.snr = np.ascontiguousarray(whole_band_snr)
        self.peak_snr = float(whole_band_snr.max())


class Walked(Playback[SegmentsInNoise]):
    """One device's trace on the share it has now."""

    __slots__ = ("_share",)

    def __init__(
        self, share: float, segments: SegmentsInNoise, at_end: AtEnd, offset_s: float, who: str
    ) -> None:
        super().__init__(segments, at_end, offset_s, who)
        self._share = share

    @property
    def peak(self) -> float:
        """The highest efficiency of the trace, in bit/s/Hz."""
        return efficiency_on(self._segments.peak_snr, self._share)

    def efficiency(self, at_s: float) -> float:
        """Return the efficiency at time *at_s*, in bit/s/Hz."""
        return self._rate(self._segments.index(self._place(at_s)[1]))

    def carried(self, from_s: float, to_s: float) -> float:
        """Return the bits per hertz carried between two times."""
        first, begin = self._place(from_s)
        last, end = self._place(to_s)
        if first != last:
            return self._tabled().carried(from_s, to_s)
        segments = self._segments
        index, until = segments.index(begin), segments.index(end)
        if index == until:
            return self._rate(index) * (end - begin)
        into_first = self._rate(index) * (segments.edges_s[index + 1] - begin)
        into_last = self._rate(until) * (end - segments.edges_s[until])
        return into_first + float(self._carried_in(index + 1, until)[1].sum()) + into_last

    def seconds_to_carry(self, from_s: float, bits_per_hz: float) -> float:
        """Return how long *bits_per_hz* take from *from_s* on; ``inf`` if they never pass."""
        if bits_per_hz == 0:
            return 0.0
        segments = self._segments
        _, begin = self._place(from_s)
        index = segments.index(begin)
        rate = self._rate(index)
        left_s = segments.edges_s[index + 1] - begin
        held = left_s <= 0 < rate and self._at_end is AtEnd.HOLD
        if held or bits_per_hz <= rate * left_s:
            return bits_per_hz / rate
        reached_at, need = self._walk(index + 1, bits_per_hz - rate * left_s)
        seconds = reached_at - begin
        if need > 0 and self._repeats:
            reached_at, need = self._walk(0, need)
            seconds += reached_at
        return self._tabled().seconds_to_carry(from_s, bits_per_hz) if need > 0 else seconds

    def _place(self, at_s: float) -> tuple[float, float]:
        """Return how often the trace has been played by a time, and where in it that is."""
        position = at_s + self._offset_s
        return (0.0, position) if position < self._segments.span_s else self._past_end(position)

    def _rate(self, index: int) -> float:
        return efficiency_on(self._segments.snr.item(index), self._share)

    def _carried_in(
        self, index: int, until: int
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Return the efficiency within each of some segments, and what each carries."""
        rates = shannon_efficiency(self._segments.snr[index:until] / self._share)
        edges = self._segments.edges[index : until + 1]
        return rates, rates * (edges[1:] - edges[:-1])

    def _walk(self, index: int, need: float) -> tuple[float, float]:
        """Carry *need* > 0 bits per hertz from the beginning of a segment on.

        Returns:
            The position reached, and what of the need is left there: the trace has ended.
        """
        edges_s, stride = self._segments.edges_s, _FIRST_STRIDE
        while index < len(self._segments.snr):
            rates, carried = self._carried_in(index, index + stride)
            carried = carried.cumsum()
            if need <= carried[-1]:
                # The sum rises to the entry found, so its rate is above zero.
                found = int(carried.searchsorted(need))
                before = carried.item(found - 1) if found else 0.0
                reached_at = edges_s[index + found] + (need - before) / rates.item(found)
                return min(reached_at, edges_s[index + found + 1]), 0.0
            need -= carried.item(-1)
            index, stride = index + stride, stride * _LONGER
        return self._segments.span_s, need

    def _tabled(self) -> Replayed[Segments]:
        """Return the same channel with its table."""
        rates, _ = self._carried_in(0, len(self._segments.snr))
        segments = Segments(self._segments.edges[:-1], rates, self._segments.span_s)
        return Replayed(segments, self._at_end, self._offset_s, self._who)
