"""The paper's noise: a fixed power, whatever the share of the band, Eq. (9)."""

from dataclasses import dataclass
from typing import Self

import numpy as np
from numpy.typing import NDArray

from fl.allocation.problem import Problem


@dataclass(frozen=True)
class FixedNoise:
    """The rate is proportional to the share: r_k = b_k W_k.

    It is a simplification: in half the band there is half the noise.
    """

    whole_band_bps: NDArray[np.float64]
    """W_k = B log2(1 + h_k p_k / sigma^2)."""

    @property
    def heard(self) -> NDArray[np.bool_]:
        """Whether the device has a rate at all."""
        return self.whole_band_bps > 0

    def rate_bps(self, shares: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return r_k(b_k)."""
        return shares * self.whole_band_bps

    def marginal_rate_bps(self, _shares: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return dr_k/db_k."""
        return self.whole_band_bps

    def share_for(self, rate_bps: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the share with which a device has this rate; above 1 where none gives it."""
        return rate_bps / self.whole_band_bps

    def demand(
        self, problem: Problem, least: NDArray[np.float64], most: NDArray[np.float64]
    ) -> "WaterFilling":
        """Return the demand of each device, kept between a least and a most share."""
        bottoms = np.sqrt(problem.sending_rate_bps / self.whole_band_bps)
        return WaterFilling(bottoms, bottoms / problem.computing_part, least, most)

    def only(self, devices: NDArray[np.bool_]) -> Self:
        """Return the channel state of some of the devices."""
        return type(self)(self.whole_band_bps[devices])


class WaterFilling:
    r"""Theorem 3, Eq. (54), within bounds.

    With :math:`q_k = \sqrt{s_k / (W_k T_k)}` and the water level
    :math:`\mu = 1/\sqrt{\lambda}`, Eq. (54) is

    .. math:: b_k = \frac{q_k T_k}{a_k} (\mu - q_k):

    vessels of different width are filled to one level, each from its own bottom :math:`q_k`.
    The sum is linear in the level between two devices' meeting a bound, so Newton's method
    ends at the exact level. A device that computes in no time is infinitely wide: it
    takes all it can use once the level exceeds its bottom.
    """

    def __init__(
        self,
        bottoms: NDArray[np.float64],
        widths: NDArray[np.float64],
        least: NDArray[np.float64],
        most: NDArray[np.float64],
    ) -> None:
        self._bottoms = bottoms
        self._widths = widths
        self._least = least
        self._most = most

    def first_guess(self) -> float:
        """Return the level if no bound mattered, lambda* of Theorem 3 from sum b = 1."""
        return float((1.0 + (self._widths * self._bottoms).sum()) / self._widths.sum())

    def __call__(self, level: float) -> tuple[NDArray[np.float64], float]:
        """Return the shares at a water level, and how fast their sum rises with it."""
        unbound = (level - self._bottoms) * self._widths
        shares = np.minimum(np.maximum(unbound, self._least), self._most)
        return shares, float(self._widths @ (unbound == shares))
