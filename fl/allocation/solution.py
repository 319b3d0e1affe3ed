"""Shares and pruning ratios, and how good they are."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from fl.allocation.allocation import Status
from fl.allocation.noise import Noise
from fl.allocation.problem import ROUNDING, Problem


class Solution(NamedTuple):
    """What a rule or an optimum comes to; arrays are indexed by device."""

    shares: NDArray[np.float64]
    """b_k."""
    pruning_ratio: NDArray[np.float64]
    """rho_k."""
    status: NDArray[np.int8]
    """A `Status` each."""
    problem: Problem
    noise: Noise
    multiplier: float = np.nan
    """lambda: by how much a little more band would lower the objective, for each unit of it.
    Not a number where no optimum is claimed."""
    iterations: int = 0
    """Of the search for the multiplier."""

    @property
    def objective(self) -> float:
        """The sum of the pruning ratios, Eq. (43) without its constant factor."""
        return float(self.pruning_ratio.sum())

    @property
    def kkt_residual(self) -> float:
        """How far the Karush-Kuhn-Tucker conditions are from holding, see `kkt_residual`."""
        return kkt_residual(self.problem, self.noise, self.shares, self.multiplier)


def solution(
    problem: Problem,
    noise: Noise,
    shares: NDArray[np.float64],
    multiplier: float = np.nan,
    iterations: int = 0,
) -> Solution:
    """Return the solution of given shares: the least pruning ratios that meet the deadline."""
    kept = problem.kept(noise.rate_bps(shares))
    status = status_of(problem, kept)
    return Solution(shares, 1.0 - kept, status, problem, noise, multiplier, iterations)


def status_of(problem: Problem, kept: NDArray[np.float64]) -> NDArray[np.int8]:
    """Return which devices have no time, and which keep less than they must."""
    status = np.zeros(len(kept), dtype=np.int8)
    if problem.min_kept > 0:
        status[kept < problem.min_kept - ROUNDING] = Status.FLOOR_MISSED
    if not problem.all_feasible:
        status[~problem.feasible] = Status.INFEASIBLE
    return status


def share_bounds(problem: Problem, noise: Noise) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return the least and the most band that is of use to each device, all of them heard.

    The least is what the floor takes, or nothing where not even the whole band would do. The
    most is what it takes to prune nothing; it can be more than there is.
    """
    most = noise.share_for(problem.full_rate_bps)
    if problem.min_kept == 0:
        return np.zeros(len(most)), most
    least = noise.share_for(problem.floor_rate_bps)
    return np.where(least <= 1.0, least, 0.0), most


def kkt_residual(
    problem: Problem, noise: Noise, shares: NDArray[np.float64], multiplier: float
) -> float:
    r"""Return how far, for a device in the mean, the solution can be from the best one.

    With the marginal :math:`m_k = dy_k/db_k` and b^max at most 1, it is the sum over devices of stationarity times
    slack, the complementary slackness of the band, and what is infeasible:

    .. math::

        \frac1K \left[\sum_k (m_k - \lambda)^+ (b_k^{max} - b_k)^+
        + (\lambda - m_k)^+ (b_k - b_k^{min})^+
        + \lambda \Bigl(1 - \sum_k b_k\Bigr)^+\right]
        + \Bigl(\sum_k b_k - 1\Bigr)^+ + \max_k (b_k^{min} - b_k)^+

    Zero if and only if all conditions hold. As every y_k is concave, the bracket bounds what
    any other allocation within the bounds could lower the sum of the ratios by. It has no unit.
    """
    live = problem.feasible & noise.heard
    if not live.any():
        return 0.0 * multiplier
    if not live.all():
        shares = shares[live]
        problem, noise = problem.only(live), noise.only(live)
    least, most = share_bounds(problem, noise)
    marginal = problem.marginal_kept(noise.rate_bps(shares)) * noise.marginal_rate_bps(shares)
    more = np.maximum(marginal - multiplier, 0.0) * np.maximum(np.minimum(most, 1.0) - shares, 0.0)
    less = np.maximum(multiplier - marginal, 0.0) * np.maximum(shares - least, 0.0)
    spare = 1.0 - float(shares.sum())
    gain = float((more + less).sum()) + multiplier * max(spare, 0.0)
    short = float(np.maximum(least - shares, 0.0).max())
    return gain / len(shares) + max(-spare, 0.0) + short
