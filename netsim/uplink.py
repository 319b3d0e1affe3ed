"""Bits over a share of the band to seconds: the OFDMA uplink of one base station.

A device that holds a share of the band sends at

    rate = share x bandwidth x spectral efficiency of its channel at that time,

Eq. (9) of Liu et al.; where the noise grows with the share, the efficiency is that on the
share (`Channel.at_share`). An upload ends when the integral of its rate reaches its bits.
That time is found by inverting the integral (`Channel.seconds_to_carry`), not by stepping
through time, so it is exact.

What becomes of a share when its device has finished is the difference between the two
uplinks there are: with `HeldUplink` it lies idle until the next round, with the one of
`netsim.redistribution` the devices still sending divide it.
"""

import math
from abc import ABC, abstractmethod
from collections.abc import Sequence

from simpy import Environment, Event
from simpy.events import Timeout

from netsim.channel import Channel


class Uplink(ABC):
    """The band of a base station, divided among its devices."""

    def __init__(self, env: Environment, bandwidth_hz: float, channels: Sequence[Channel]) -> None:
        """Open the band, with no share given to anybody yet.

        Args:
            env: The clock.
            bandwidth_hz: The width of the whole band, over all spatial layers.
            channels: The channel of each device, by its number.
        """
        if not 0 < bandwidth_hz < math.inf:
            raise ValueError(f"bandwidth_hz must be > 0, got {bandwidth_hz}")
        self._env = env
        self._bandwidth_hz = bandwidth_hz
        self._channels = channels
        self._shares: Sequence[float] = [0.0] * len(channels)

    def allot(self, shares: Sequence[float]) -> None:
        """Give each device its share of the band; nobody may be sending.

        Args:
            shares: Fractions of the band, which sum to at most 1 but for rounding.
        """
        if len(shares) != len(self._channels):
            raise ValueError(f"shares must be {len(self._channels)}, got {len(shares)}")
        if not (min(shares) >= 0 and math.fsum(shares) <= 1 + 1e-9):
            raise ValueError("shares must be >= 0 and sum to at most 1")
        self._shares = shares

    def connect(self, channels: Sequence[Channel]) -> None:
        """Put other devices in the places of those before; nobody may be sending.

        Args:
            channels: The channel of each, as many as before.
        """
        if len(channels) != len(self._channels):
            raise ValueError(f"channels must be {len(self._channels)}, got {len(channels)}")
        self._channels = channels

    @abstractmethod
    def send(self, device: int, bits: float) -> Event:
        """Return the event of *bits* having left *device*; its value is the seconds taken.

        An upload that can never finish (no share, or a channel that stays silent) is an
        event that never comes.
        """

    @abstractmethod
    def cut(self, device: int) -> float:
        """Stop the upload of *device* and return the bits it has sent."""


class HeldUplink(Uplink):
    """Every device keeps its share until the round is over, as in the paper.

    Nothing that others do changes the rate of a device, so the end of an upload is known
    at its beginning.
    """

    def __init__(self, env: Environment, bandwidth_hz: float, channels: Sequence[Channel]) -> None:
        super().__init__(env, bandwidth_hz, channels)
        self._began_at_s = [0.0] * len(channels)
        self.connect(channels)

    def connect(self, channels: Sequence[Channel]) -> None:
        """Put other devices in the places of those before; nobody may be sending."""
        super().connect(channels)
        self._shares_matter = any(channel.depends_on_share for channel in channels)
        self._on_share = channels

    def allot(self, shares: Sequence[float]) -> None:
        """Give each device its share of the band; nobody may be sending."""
        super().allot(shares)
        if self._shares_matter:
            pairs = zip(self._channels, shares, strict=True)
            self._on_share = [channel.at_share(share) for channel, share in pairs]

    def send(self, device: int, bits: float) -> Event:
        """Return the event of *bits* having left *device*; its value is the seconds taken."""
        env = self._env
        now = self._began_at_s[device] = env.now
        width_hz = self._shares[device] * self._bandwidth_hz
        if bits == 0:
            seconds = 0.0
        elif width_hz == 0:
            seconds = math.inf
        else:
            seconds = self._on_share[device].seconds_to_carry(now, bits / width_hz)
        return Timeout(env, seconds, seconds) if seconds < math.inf else Event(env)

    def cut(self, device: int) -> float:
        """Stop the upload of *device* and return the bits it has sent."""
        width_hz = self._shares[device] * self._bandwidth_hz
        carried = self._on_share[device].carried(self._began_at_s[device], self._env.now)
        return width_hz * carried
