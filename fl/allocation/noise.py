"""What a model of the noise tells the server: rates of shares, and the shares worth having."""

from typing import Protocol, Self

import numpy as np
from numpy.typing import NDArray

from fl.allocation.problem import Problem


class Demand(Protocol):
    """How much of the band each device is to have, as a function of the water level.

    A device is to have more band as long as its dy/db exceeds the multiplier lambda of the
    constraint sum b <= 1. The water level is lambda^(-1/2): zero when band is beyond price,
    infinite when there is band to spare. No share falls as it rises.
    """

    def first_guess(self) -> float:
        """Return a water level to begin with."""

    def __call__(self, level: float) -> tuple[NDArray[np.float64], float]:
        """Return the shares at a water level, and how fast their sum rises with it."""


class Noise(Protocol):
    """A model of the noise, with the channel state of each device."""

    @property
    def heard(self) -> NDArray[np.bool_]:
        """Whether the device has a rate at all."""

    def rate_bps(self, shares: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return r_k(b_k)."""

    def marginal_rate_bps(self, shares: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return dr_k/db_k."""

    def share_for(self, rate_bps: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the share with which a device has this rate; above 1 where none gives it."""

    def demand(
        self, problem: Problem, least: NDArray[np.float64], most: NDArray[np.float64]
    ) -> Demand:
        """Return the demand of each device, kept between a least and a most share."""

    def only(self, devices: NDArray[np.bool_]) -> Self:
        """Return the channel state of some of the devices."""
