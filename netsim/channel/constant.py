"""A channel that does not move."""

import math

from netsim.channel.channel import Channel


class Constant(Channel):
    """The same spectral efficiency for ever; zero is allowed and carries nothing."""

    __slots__ = ("_efficiency",)

    def __init__(self, efficiency: float) -> None:
        if not 0 <= efficiency < math.inf:
            raise ValueError(f"efficiency must be finite and >= 0, got {efficiency}")
        self._efficiency = efficiency

    @property
    def peak(self) -> float:
        """The efficiency, in bit/s/Hz."""
        return self._efficiency

    @property
    def is_constant(self) -> bool:
        """Always."""
        return True

    def efficiency(self, at_s: float) -> float:
        """Return the efficiency, in bit/s/Hz."""
        del at_s
        return self._efficiency

    def carried(self, from_s: float, to_s: float) -> float:
        """Return the bits per hertz carried between two times."""
        return self._efficiency * (to_s - from_s)

    def seconds_to_carry(self, from_s: float, bits_per_hz: float) -> float:
        """Return how long *bits_per_hz* take."""
        del from_s
        if bits_per_hz == 0:
            return 0.0
        return bits_per_hz / self._efficiency if self._efficiency else math.inf
