"""The server's problem: prune as little as the deadline and the band allow, Eqs. (43)-(45)."""

from dataclasses import dataclass
from functools import cached_property
from typing import Self

import numpy as np
from numpy.typing import NDArray

#: How far the rounding of floats may take a fraction that lies between 0 and 1.
ROUNDING = 1e-12


@dataclass(frozen=True)
class Problem:
    r"""What does not change with the channel; arrays are indexed by device.

    Device k keeps the fraction y_k = 1 - rho_k of its global part. The server looks for

    .. math:: \min \sum_k \rho_k
        \quad\text{s.t.}\quad y_k \left(a_k + \frac{s_k}{r_k(b_k)}\right) \le T_k,
        \quad 0 \le b_k \le 1, \quad \sum_k b_k \le 1, \quad y_{min} \le y_k \le 1,

    which is Eqs. (43)-(45) with (17) and (18), and a floor under what each device keeps. The
    floor serves two ends: a greatest pruning ratio, and weights that are sent but must not be
    pruned. The rate r_k of a share b_k is the matter of `FixedNoise` or `NoiseDensity`.
    Weights are a continuum here; whoever prunes rounds to whole ones.

    Raises:
        ValueError: A value that has no meaning here.
    """

    budget_s: NDArray[np.float64]
    """T_k: what the deadline leaves for the global part; without any no ratio helps."""
    computing_s: NDArray[np.float64]
    """a_k: T^cmp-G of the whole global part."""
    bits: NDArray[np.float64]
    """s_k: the size of the whole global part."""
    min_kept: float = 0.0
    """y_min, the least fraction that each device is to keep."""

    def __post_init__(self) -> None:
        if not np.all(self.budget_s < np.inf):
            raise ValueError("budget_s must be finite: without a deadline nothing is pruned")
        if not np.all((self.computing_s >= 0) & (self.computing_s < np.inf)):
            raise ValueError("computing_s must be >= 0 and finite")
        if not np.all((self.bits > 0) & (self.bits < np.inf)):
            raise ValueError("bits must be > 0 and finite")
        if not 0 <= self.min_kept <= 1:
            raise ValueError(f"min_kept must be from 0 to 1, got {self.min_kept}")

    def kept(self, rate_bps: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return y_k at these rates: the most that meets the deadline, as in Eq. (58)."""
        fits = self.budget_s * rate_bps / (self.computing_s * rate_bps + self.bits)
        kept = np.minimum(fits, 1.0)
        return kept if self.all_feasible else np.maximum(kept, 0.0)

    def marginal_kept(self, rate_bps: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return dy_k/dr_k where y_k < 1, in seconds per bit."""
        return self.budget_s * self.bits / (self.computing_s * rate_bps + self.bits) ** 2

    def rate_for(self, kept: float) -> NDArray[np.float64]:
        """Return the rates at which each device keeps just *kept*; infinite where none does."""
        left_s = self.budget_s - kept * self.computing_s
        none = np.full_like(left_s, np.inf if kept > 0 else 0.0)
        return np.divide(kept * self.bits, left_s, out=none, where=left_s > 0)

    @cached_property
    def feasible(self) -> NDArray[np.bool_]:
        """Whether the deadline leaves the device any time."""
        return self.budget_s > 0

    @cached_property
    def all_feasible(self) -> bool:
        """Whether it does so for every device."""
        return bool(self.feasible.all())

    @cached_property
    def full_rate_bps(self) -> NDArray[np.float64]:
        """The rate at which a device need not prune."""
        return self.rate_for(1.0)

    @cached_property
    def floor_rate_bps(self) -> NDArray[np.float64]:
        """The rate without which a device cannot keep what it must."""
        return self.rate_for(self.min_kept)

    @cached_property
    def sending_rate_bps(self) -> NDArray[np.float64]:
        """s_k / T_k: the rate that would do if computing took no time."""
        return self.bits / self.budget_s

    @cached_property
    def computing_part(self) -> NDArray[np.float64]:
        """a_k / T_k; where it is 0, a positive number too small to be seen in any y_k."""
        return np.maximum(self.computing_s / self.budget_s, 1e-200)

    def only(self, devices: NDArray[np.bool_] | NDArray[np.int64]) -> Self:
        """Return the problem of some of the devices."""
        some = (self.budget_s[devices], self.computing_s[devices], self.bits[devices])
        return type(self)(*some, self.min_kept)
