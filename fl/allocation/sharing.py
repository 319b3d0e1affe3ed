"""Rules that share the band without minimising anything, to compare the optimum with."""

import numpy as np
from numpy.typing import NDArray

from fl.allocation.noise import Noise
from fl.allocation.problem import Problem
from fl.allocation.root import increasing_root
from fl.allocation.solution import Solution, solution, status_of


def equal_share(problem: Problem, noise: Noise) -> Solution:
    """Give every device the same share; each prunes as little as meets the deadline at it."""
    return solution(problem, noise, _equal(len(problem.bits)))


def common_kept(problem: Problem, rate_bps: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the one part of the global part that all devices keep: that of the mean device.

    The ratio is Eq. (47) at the mean rate, the mean computing time, the mean size and the mean
    budget of all devices. Whoever is slower than the mean misses the deadline, and the
    slowest sets the round.

    Args:
        problem: What the deadline poses.
        rate_bps: Of each device, along the last axis; before it, as many draws as one likes.
    """
    of_mean = Problem(
        problem.budget_s.mean(keepdims=True),
        problem.computing_s.mean(keepdims=True),
        problem.bits.mean(keepdims=True),
    )
    kept = np.maximum(of_mean.kept(rate_bps.mean(axis=-1, keepdims=True)), problem.min_kept)
    return np.broadcast_to(kept, rate_bps.shape)


def max_min(problem: Problem, noise: Noise) -> Solution:
    """Give every device the share with which all keep the same fraction, the largest possible.

    Devices without time or without a rate get nothing, and hold up nobody. If nobody has to
    prune, spare band is handed out in proportion to what each needs.
    """
    live = problem.feasible & noise.heard
    shares = np.zeros(len(live))
    if live.any():
        shares[live] = _max_min_shares(problem.only(live), noise.only(live))
    return solution(problem, noise, shares)


def _max_min_shares(problem: Problem, noise: Noise) -> NDArray[np.float64]:
    def needed(kept: float) -> NDArray[np.float64]:
        return noise.share_for(problem.rate_for(kept))

    top = min(1.0, 1.0 / float(problem.computing_part.max()))
    shares = needed(top)
    if shares.sum() > 1.0:
        shares = needed(increasing_root(lambda y: float(needed(y).sum()) - 1.0, 0.0, top))
    return shares / shares.sum()


def channel_inversion(problem: Problem, noise: Noise, kept: float = 1.0) -> Solution:
    """Give the worse channel and the slower processor more band, so that all finish together.

    The deadline has no part in it: all are early or late by the same. Devices without a rate
    get nothing.

    Args:
        problem: Its budgets tell the devices' head starts.
        noise: The channel state.
        kept: What every device keeps of its global part, above 0; 1 is no pruning.

    Raises:
        ValueError: Nothing is kept, or more than all.
    """
    if not 0 < kept <= 1:
        raise ValueError(f"kept must be above 0 and at most 1, got {kept}")
    heard = noise.heard
    shares = np.zeros(len(heard))
    if heard.any():
        shares[heard] = _inverted(problem.only(heard), noise.only(heard), kept)
    all_kept = np.full(len(heard), kept)
    return Solution(shares, 1.0 - all_kept, status_of(problem, all_kept), problem, noise)


def _inverted(problem: Problem, noise: Noise, kept: float) -> NDArray[np.float64]:
    to_send_s = problem.budget_s - kept * problem.computing_s
    bits = kept * problem.bits

    def needed(early_s: float) -> NDArray[np.float64]:
        left_s = to_send_s - early_s
        never = np.full_like(left_s, np.inf)
        return noise.share_for(np.divide(bits, left_s, out=never, where=left_s > 0))

    # With equal shares the slowest is the last: when all take as long, nobody needs more.
    slowest = float((to_send_s - bits / noise.rate_bps(_equal(len(bits)))).min())
    early_s = increasing_root(
        lambda early_s: float(needed(early_s).sum()) - 1.0, slowest, float(to_send_s.min())
    )
    shares = needed(early_s)
    return shares / shares.sum()


def _equal(num_devices: int) -> NDArray[np.float64]:
    return np.full(num_devices, 1.0 / num_devices)
