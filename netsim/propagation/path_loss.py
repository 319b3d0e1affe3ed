"""Mean attenuation over distance, and the probability of a line of sight.

Urban models are those of 3GPP TR 38.901, tables 7.4.1-1 and 7.4.2-1. They hold from 10 m
on; a device nearer than that counts as 10 m away. Outdoor devices only: the losses of
walls and cars are left out.
"""

from abc import ABC, abstractmethod
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

LIGHT_MPS = 299_792_458.0
_NEAREST_M = 10.0


class PathLoss(ABC):
    """Attenuation over the distance on the ground."""

    def los_probability(self, distance_m: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the probability of a line of sight; one, where the model knows no other."""
        return np.ones_like(distance_m)

    @abstractmethod
    def loss_db(
        self, distance_m: NDArray[np.float64], los: NDArray[np.bool_]
    ) -> NDArray[np.float64]:
        """Return the attenuation in dB, with and without a line of sight."""


@dataclass(frozen=True)
class Given(PathLoss):
    """The same attenuation at any distance, for a channel known by its mean gain alone."""

    loss: float
    """In dB."""

    def loss_db(
        self, distance_m: NDArray[np.float64], los: NDArray[np.bool_]
    ) -> NDArray[np.float64]:
        """Return the attenuation in dB."""
        del los
        return np.full_like(distance_m, self.loss)


@dataclass(frozen=True)
class LogDistance(PathLoss):
    """A power law: so many dB at the reference distance, and 10 n dB more for each decade."""

    exponent: float
    reference_loss_db: float
    reference_m: float = 1.0

    def loss_db(
        self, distance_m: NDArray[np.float64], los: NDArray[np.bool_]
    ) -> NDArray[np.float64]:
        """Return the attenuation in dB; not nearer than the reference distance."""
        del los
        decades = np.log10(np.maximum(distance_m, self.reference_m) / self.reference_m)
        return self.reference_loss_db + 10.0 * self.exponent * decades


def free_space(carrier_hz: float) -> LogDistance:
    """Return Friis' law: 20 lg(4 pi d f / c), from a metre on.

    >>> round(free_space(3.5e9).reference_loss_db, 2)
    43.33
    """
    return LogDistance(2.0, float(20.0 * np.log10(4.0 * np.pi * carrier_hz / LIGHT_MPS)))


@dataclass(frozen=True)
class Urban(PathLoss):
    """TR 38.901 street canyon (UMi) and macro cell (UMa): what both have in common."""

    carrier_hz: float
    base_station_height_m: float
    device_height_m: float = 1.5

    def __post_init__(self) -> None:
        if not 1.5 <= self.device_height_m <= 22.5:
            raise ValueError(
                f"device_height_m must be between 1.5 and 22.5, got {self.device_height_m}"
            )
        if not self.base_station_height_m > 1:
            raise ValueError(f"base_station_height_m must be > 1, got {self.base_station_height_m}")

    def loss_db(
        self, distance_m: NDArray[np.float64], los: NDArray[np.bool_]
    ) -> NDArray[np.float64]:
        """Return the attenuation in dB, with and without a line of sight."""
        ground_m = np.maximum(distance_m, _NEAREST_M)
        height_m = self.base_station_height_m - self.device_height_m
        direct_m = np.hypot(ground_m, height_m)
        seen = self._los_db(ground_m, direct_m)
        return np.where(los, seen, np.maximum(seen, self._nlos_db(direct_m)))

    @abstractmethod
    def _los_db(
        self, ground_m: NDArray[np.float64], direct_m: NDArray[np.float64]
    ) -> NDArray[np.float64]: ...

    @abstractmethod
    def _nlos_db(self, direct_m: NDArray[np.float64]) -> NDArray[np.float64]: ...

    def _two_slopes(
        self,
        ground_m: NDArray[np.float64],
        direct_m: NDArray[np.float64],
        near: tuple[float, float],
        height_factor: float,
    ) -> NDArray[np.float64]:
        """Return a + b lg(d) up to the breakpoint, and a + 40 lg(d) - height term beyond it."""
        offset_db, slope = near
        common = offset_db + 20.0 * np.log10(self.carrier_hz / 1e9)
        # Effective heights: a metre less than the antennas', table 7.4.1-1, note 1.
        heights = (self.base_station_height_m - 1.0) * (self.device_height_m - 1.0)
        breakpoint_m = 4.0 * heights * self.carrier_hz / LIGHT_MPS
        difference_m = self.base_station_height_m - self.device_height_m
        beyond = 40.0 * np.log10(direct_m) - height_factor * np.log10(
            breakpoint_m**2 + difference_m**2
        )
        return common + np.where(ground_m <= breakpoint_m, slope * np.log10(direct_m), beyond)


@dataclass(frozen=True)
class UrbanMicro(Urban):
    """UMi, street canyon: base stations below the roofs.

    >>> umi = UrbanMicro(3.5e9, 10.0)
    >>> umi.loss_db(np.array([100.0, 100.0]), np.array([True, False])).round(2).tolist()
    [85.31, 104.64]
    """

    def los_probability(self, distance_m: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the probability of a line of sight, table 7.4.2-1."""
        return _los_probability(distance_m, 36.0)

    def _los_db(
        self, ground_m: NDArray[np.float64], direct_m: NDArray[np.float64]
    ) -> NDArray[np.float64]:
        return self._two_slopes(ground_m, direct_m, (32.4, 21.0), 9.5)

    def _nlos_db(self, direct_m: NDArray[np.float64]) -> NDArray[np.float64]:
        heights_db = 0.3 * (self.device_height_m - 1.5)
        frequency_db = 21.3 * np.log10(self.carrier_hz / 1e9)
        return 35.3 * np.log10(direct_m) + 22.4 + frequency_db - heights_db


@dataclass(frozen=True)
class UrbanMacro(Urban):
    """UMa: base stations above the roofs.

    >>> uma = UrbanMacro(3.5e9, 25.0)
    >>> uma.loss_db(np.array([100.0, 100.0]), np.array([True, False])).round(2).tolist()
    [83.14, 103.04]
    """

    def los_probability(self, distance_m: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the probability of a line of sight, table 7.4.2-1; higher up it is better."""
        low = _los_probability(distance_m, 63.0)
        above = np.clip((self.device_height_m - 13.0) / 10.0, 0.0, None) ** 1.5
        lift = above * 1.25 * (distance_m / 100.0) ** 3 * np.exp(-distance_m / 150.0)
        return np.minimum(np.where(distance_m <= 18.0, 1.0, low * (1.0 + lift)), 1.0)

    def _los_db(
        self, ground_m: NDArray[np.float64], direct_m: NDArray[np.float64]
    ) -> NDArray[np.float64]:
        return self._two_slopes(ground_m, direct_m, (28.0, 22.0), 9.0)

    def _nlos_db(self, direct_m: NDArray[np.float64]) -> NDArray[np.float64]:
        heights_db = 0.6 * (self.device_height_m - 1.5)
        frequency_db = 20.0 * np.log10(self.carrier_hz / 1e9)
        return 13.54 + 39.08 * np.log10(direct_m) + frequency_db - heights_db


def _los_probability(distance_m: NDArray[np.float64], scale_m: float) -> NDArray[np.float64]:
    far_m = np.maximum(distance_m, 18.0)
    return 18.0 / far_m + np.exp(-far_m / scale_m) * (1.0 - 18.0 / far_m)
