"""The shares with the least pruning of all: Eq. (43) under all its bounds."""

import math
from itertools import count

import numpy as np
from numpy.typing import NDArray

from fl.allocation.allocation import Status
from fl.allocation.noise import Demand, Noise
from fl.allocation.problem import ROUNDING, Problem
from fl.allocation.sharing import max_min
from fl.allocation.solution import Solution, share_bounds, solution, status_of

#: How far from 1 the shares may sum: some roundings.
_CLEARED = 1e-14


def optimum(problem: Problem, noise: Noise) -> Solution:
    """Return the allocation that minimises the sum of the pruning ratios.

    Every y_k is concave in b_k, so the Karush-Kuhn-Tucker conditions are sufficient: a device
    gets band until its marginal dy/db falls to the multiplier of sum b <= 1, but no less than
    the floor takes and no more than it takes to prune nothing. Theorem 3 leaves these bounds
    out. The optimum is fair to nobody: a device whose first sliver of band is worth less
    than the multiplier gets nothing and prunes all, unless there is a floor.

    Devices without time or without a rate get nothing. Equal devices get equal shares. If
    nobody has to prune and there is band to spare, it is handed out in proportion to what each
    needs, so that all finish earlier; the multiplier is then 0.

    A floor out of a device's reach is left out for it, and it is marked `Status.FLOOR_MISSED`. Where
    the floors of the others need more than the band, there is no optimum: these then get
    the highest floor that fits, the same for all, and are marked `Status.FLOORS_CROWDED`; the
    multiplier is not a number.
    """
    live = problem.feasible & noise.heard
    if np.count_nonzero(live) < len(live):
        return _among(live, problem, noise)
    least, most = share_bounds(problem, noise)
    if problem.min_kept > 0 and least.sum() > 1.0 + ROUNDING:
        return _crowded(problem, noise, least > 0)
    wanted = float(most.sum())
    if wanted < 1.0:
        return solution(problem, noise, most / wanted, 0.0)
    shares, level, iterations = _fill(noise.demand(problem, least, most))
    return solution(problem, noise, shares, level**-2, iterations)


def _fill(demand: Demand) -> tuple[NDArray[np.float64], float, int]:
    """Return the shares that sum to 1, the water level that gives them, and the steps to it.

    Newton's method, with bisection whenever it leaves the bracket or does not halve the
    excess. Where the shares jump, because some device takes all or nothing, the bracket closes
    round the jump, and what is left is split among those that jump.
    """
    low, high = 0.0, math.inf
    level, last_excess = demand.first_guess(), math.inf
    below = above = np.zeros(0)
    for step in count(1):
        shares, slope = demand(level)
        excess = float(shares.sum()) - 1.0
        if abs(excess) <= _CLEARED:
            return shares, level, step
        if excess < 0:
            low, below = level, shares
        else:
            high, above = level, shares
        newton = level - excess / slope if slope > 0 else math.nan
        halved, last_excess = abs(excess) <= 0.5 * abs(last_excess), excess
        level = newton if halved and low < newton < high else _between(low, high)
        if level in (low, high):
            break
    part = (1.0 - below.sum()) / (above.sum() - below.sum())
    return below + part * (above - below), level, step


def _between(low: float, high: float) -> float:
    if high == math.inf:
        return 4.0 * low
    return math.sqrt(low) * math.sqrt(high) if low > 0 else high / 4.0


def _among(live: NDArray[np.bool_], problem: Problem, noise: Noise) -> Solution:
    """Return the optimum of the devices that have time and rate; the others get nothing."""
    shares, kept = np.zeros(len(live)), np.zeros(len(live))
    if not live.any():
        return solution(problem, noise, shares, 0.0)
    part = optimum(problem.only(live), noise.only(live))
    shares[live], kept[live] = part.shares, 1.0 - part.pruning_ratio
    status = status_of(problem, kept)
    status[live] = part.status
    return Solution(shares, 1.0 - kept, status, problem, noise, part.multiplier, part.iterations)


def _crowded(problem: Problem, noise: Noise, able: NDArray[np.bool_]) -> Solution:
    """Return what is shared among those whose floors are within reach, but not all at once."""
    shares = np.zeros(len(able))
    shares[able] = max_min(problem.only(able), noise.only(able)).shares
    fallback = solution(problem, noise, shares)
    fallback.status[:] = np.where(able, Status.FLOORS_CROWDED, Status.FLOOR_MISSED)
    return fallback
