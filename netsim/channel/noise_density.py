r"""Channels in noise of a fixed density: a narrower share of the band holds less of it.

A device that sends with power p over a share b of the band B has

.. math:: \log_2\left(1 + \frac{p\,h(t)}{N_0 F\,b B}\right) = \log_2\left(1 + \frac{g(t)}{b}\right),
    \qquad g(t) = \frac{p\,h(t)}{N_0 F B}

bit/s/Hz, for a noise density N_0, a noise figure F and a gain h. The channels here are made
of g, the signal-to-noise ratio over the whole band. Taken as they are, they are the channel
of a device that has all of it.
"""

import math

import numpy as np

from netsim.channel.channel import Channel, shannon_efficiency
from netsim.channel.constant import Constant
from netsim.channel.playback import AtEnd
from netsim.channel.replayed import Replayed
from netsim.channel.walked import SegmentsInNoise, Walked, efficiency_on


class ConstantInNoise(Constant):
    """The same signal-to-noise ratio for ever, told as that over the whole band."""

    __slots__ = ("_snr",)

    def __init__(self, whole_band_snr: float) -> None:
        if not 0 <= whole_band_snr < math.inf:
            raise ValueError(f"whole_band_snr must be finite and >= 0, got {whole_band_snr}")
        super().__init__(float(shannon_efficiency(np.array([whole_band_snr]))[0]))
        self._snr = whole_band_snr

    @property
    def depends_on_share(self) -> bool:
        """Always."""
        return True

    def at_share(self, share: float) -> Channel:
        """Return the channel that a device with this share of the band has."""
        if share == 1:
            return self
        if not _is_wide_enough(share, self._snr):
            return Constant(0.0)
        return Constant(efficiency_on(self._snr, share))


def replay_in_noise(
    segments: SegmentsInNoise, at_end: AtEnd, offset_s: float = 0.0, who: str = "the trace"
) -> Channel:
    """Return the channel that replays *segments*; `ConstantInNoise` if it does not move."""
    if at_end is not AtEnd.ERROR and segments.snr.min() == segments.peak_snr:
        return ConstantInNoise(segments.peak_snr)
    return ReplayedInNoise(segments, at_end, offset_s, who)


class ReplayedInNoise(Replayed[SegmentsInNoise]):
    """One device's trace, as it is on the whole band, and from there on any share."""

    __slots__ = ()

    @property
    def depends_on_share(self) -> bool:
        """Always."""
        return True

    def at_share(self, share: float) -> Channel:
        """Return the channel that a device with this share of the band has."""
        if share == 1:
            return self
        if not _is_wide_enough(share, self._segments.peak_snr):
            return Constant(0.0)
        return Walked(share, self._segments, self._at_end, self._offset_s, self._who)


def _is_wide_enough(share: float, snr: float) -> bool:
    """Return whether a share can be sent in: its noise is some, and not below all numbers."""
    if not share >= 0:
        raise ValueError(f"share must be >= 0, got {share}")
    return share > 0 and snr / share < math.inf
