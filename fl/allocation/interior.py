"""Theorem 3 as it is printed: the optimum if no bound mattered."""

import numpy as np

from fl.allocation.fixed_noise import FixedNoise
from fl.allocation.problem import Problem
from fl.allocation.solution import Solution, status_of


def interior(problem: Problem, noise: FixedNoise) -> Solution:
    r"""Return Eqs. (54) and (58), with the multiplier from sum b = 1 and nothing clipped.

    Shares and ratios can fall below 0 and exceed 1: they are for comparison, not for use. It
    is the optimum if and only if none of them does. Devices without time or without a rate
    have no closed form: they are left out, with no share and all pruned.

    Raises:
        ValueError: A device computes in no time; its closed form divides by it.
    """
    live = problem.feasible & noise.heard
    if not np.all(problem.computing_s[live] > 0):
        raise ValueError("computing_s must be > 0: Eq. (54) divides by it")
    shares, kept = np.zeros(len(live)), np.zeros(len(live))
    level = np.inf
    if live.any():
        some = problem.only(live)
        unbound = np.full(len(some.bits), np.inf)
        demand = noise.only(live).demand(some, -unbound, unbound)
        level = demand.first_guess()
        shares[live] = demand(level)[0]
        rate_bps = noise.rate_bps(shares)[live]
        kept[live] = some.budget_s * rate_bps / (some.computing_s * rate_bps + some.bits)
    status = status_of(problem, kept)
    return Solution(shares, 1.0 - kept, status, problem, noise, float(level) ** -2, 1)
