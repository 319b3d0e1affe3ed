"""The stretches of a trace, with what a channel has carried by the end of each.

The efficiency is constant within a segment of the trace, so what the channel has carried
by a time is a piecewise linear function of it. Its values at the segment ends are summed
up once, as a table to be searched.
"""

from bisect import bisect_left, bisect_right

import numpy as np
from numpy.typing import NDArray


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
