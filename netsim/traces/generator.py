"""Traces made from the laws of propagation, a device at a time.

What a device's channel does depends on the seed and the device's number alone: not on how
many devices there are, nor on which were made before. So a trace of any size is written
in the memory of one device, and one device can be made without the others.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from netsim.propagation.fading import Fading
from netsim.propagation.mobility import Mobility, point_at_distance, point_in_disc
from netsim.propagation.path_loss import LIGHT_MPS, PathLoss
from netsim.propagation.shadowing import Shadowing
from netsim.streams import Streams
from netsim.traces.trace import OnDemand, Samples
from netsim.units import ratios_to_db


@dataclass(frozen=True)
class Propagation:
    """All that shapes the channel of one device."""

    path_loss: PathLoss
    shadowing: Shadowing
    fading: Fading
    mobility: Mobility
    radius_m: float
    """Where it begins: at this distance from the base station, or anywhere within it."""
    anywhere: bool = False
    """Whether it begins anywhere within the radius."""

    def gain_db(
        self, times_s: NDArray[np.float64], wavelength_m: float, streams: Streams, device: int
    ) -> NDArray[np.float64]:
        """Return the power gain of *device* over time.

        A device has a line of sight while a number drawn once for it is below the
        probability of one: it loses it once as it walks away, and regains it coming back.
        """
        place = point_in_disc if self.anywhere else point_at_distance
        start = place(self.radius_m, streams("placement", device))
        track = self.mobility.track(start, times_s, streams("mobility", device))
        likely = self.path_loss.los_probability(track.distance_m)
        los = streams("line of sight", device).random() < likely
        loss_db = self.path_loss.loss_db(track.distance_m, los)
        loss_db += self.shadowing.loss_db(track.travelled_m, los, streams("shadowing", device))
        power = self.fading.power(track, wavelength_m, streams("fading", device))
        return ratios_to_db(power) - loss_db


class Generated(OnDemand):
    """The traces of many devices, each made when it is asked for."""

    def __init__(
        self,
        devices: Sequence[Propagation],
        carrier_hz: float,
        times_s: NDArray[np.float64],
        streams: Streams,
    ) -> None:
        """Say what is to be made.

        Args:
            devices: What shapes the channel of each device.
            carrier_hz: The frequency of the carrier.
            times_s: When to sample.
            streams: Where to draw from.
        """
        if not carrier_hz > 0:
            raise ValueError(f"carrier_hz must be > 0, got {carrier_hz}")
        self._devices = devices
        self._wavelength_m = LIGHT_MPS / carrier_hz
        self._times_s = times_s
        self._streams = streams

    def __len__(self) -> int:
        return len(self._devices)

    def samples(self, device: int) -> Samples:
        """Make the trace of one device."""
        gain_db = self._devices[device].gain_db(
            self._times_s, self._wavelength_m, self._streams, device
        )
        return Samples(self._times_s, gain_db)
