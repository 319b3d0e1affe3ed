"""The decision that a scheme takes at the start of each round."""

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from fl.allocation.allocation import Decision, Status
from fl.allocation.bandwidth import Bandwidth, ChannelInversion, MaxMin, OwnRule, Situation
from fl.allocation.deadline import deadline_problem
from fl.allocation.noise import Noise
from fl.allocation.optimum import optimum
from fl.allocation.problem import Problem
from fl.allocation.sharing import common_kept
from fl.allocation.solution import status_of
from fl.models import Cost, pruned_weights
from fl.schemes import FixedRatio, Scheme


class Policy:
    """First the shares of the band, then, at these, the pruning ratios."""

    def __init__(
        self,
        scheme: Scheme,
        cost: Cost,
        noise_at: Callable[[NDArray[np.float64]], Noise],
        deadline_s: float | None,
        *,
        count_warmup: bool,
        count_unpruned: bool = True,
    ) -> None:
        """Settle what does not depend on the channel.

        Args:
            scheme: The choices to follow.
            cost: What a round takes of each device.
            noise_at: Gives the rates of any shares, from the bit/s/Hz on the whole band.
            deadline_s: Of every round; a scheme that prunes for it needs it.
            count_warmup: Whether the warm-up is to end before the deadline, too.
            count_unpruned: Whether what must not be pruned is to be sent before it, too.

        Raises:
            InputError: The scheme names a rule that is not there.
        """
        self._scheme = scheme
        self._cost = cost
        self._noise_at = noise_at
        self._problem: Problem | None = None
        self._rated = cost.global_weights if count_unpruned else cost.prunable_weights
        if scheme.pruning in ("deadline", "deadline-common"):
            assert deadline_s is not None  # a scenario without one is refused
            self._problem = deadline_problem(
                cost,
                deadline_s,
                count_warmup=count_warmup,
                count_unpruned=count_unpruned,
                max_pruning_ratio=scheme.max_pruning_ratio,
            )
            # Who sends nothing has no delivery to wait for.
            on_time = self._problem.budget_s + cost.delivery_s >= 0
            self._silent_in_time = on_time & ~self._problem.feasible
        num_devices = len(cost.frequency_hz)
        fixed = scheme.pruning.fixed if isinstance(scheme.pruning, FixedRatio) else 0.0
        ratios = np.full(num_devices, fixed)
        self._kept = cost.global_weights - pruned_weights(ratios, cost.prunable_weights)
        self._solved = np.full(num_devices, Status.SOLVED, dtype=np.int8)
        self._shares: NDArray[np.float64] | None = None
        self._rule: Bandwidth | None = None
        named = scheme.bandwidth
        if named == "equal":
            self._shares = np.full(num_devices, 1.0 / num_devices)
        elif isinstance(named, tuple):
            self._shares = np.array(named)
        elif named != "optimal":
            self._rule = _rule(named, cost, self._kept[0] / cost.global_weights)
        self._last: Decision | None = None
        self._question = b""

    def decide(self, round_: int, efficiency: NDArray[np.float64]) -> Decision:
        """Return shares and pruning for the channel state that the server knows.

        Args:
            round_: Which round begins.
            efficiency: The bit/s/Hz of each device, had it the band for itself.
        """
        # The same question has the same answer, but for rules of somebody's own.
        question = efficiency.tobytes()
        asks = isinstance(self._rule, OwnRule)
        if self._last is None or asks or question != self._question:
            self._last, self._question = self._decide(round_, efficiency), question
        return self._last

    def _decide(self, round_: int, efficiency: NDArray[np.float64]) -> Decision:
        noise, problem = self._noise_at(efficiency), self._problem
        if self._scheme.bandwidth == "optimal":
            assert problem is not None  # a scenario without is refused
            best = optimum(problem, noise)
            kept = self._whole(best.pruning_ratio)
            rate_bps = noise.rate_bps(best.shares)
            status = self._in_time(best.status, kept)
            return Decision(efficiency, best.shares, rate_bps, kept, status)
        shares = self._shares
        if shares is None:
            assert self._rule is not None
            situation = Situation(round_, noise, problem, self._cost)
            shares = np.asarray(self._rule.shares(situation))
        rate_bps = noise.rate_bps(shares)
        if problem is None:
            return Decision(efficiency, shares, rate_bps, self._kept, self._solved)
        common = self._scheme.pruning == "deadline-common"
        part = common_kept(problem, rate_bps) if common else problem.kept(rate_bps)
        kept = self._whole(1.0 - part)
        status = self._in_time(status_of(problem, part), kept)
        return Decision(efficiency, shares, rate_bps, kept, status)

    def _in_time(self, status: NDArray[np.int8], kept: NDArray[np.int64]) -> NDArray[np.int8]:
        """Return the status of each device, where some are in time only by sending nothing."""
        problem = self._problem
        assert problem is not None
        if problem.all_feasible:
            return status
        silent = self._silent_in_time & (kept == 0)
        made = Status.FLOOR_MISSED if problem.min_kept > 0 else Status.SOLVED
        return np.where(silent, np.int8(made), status)

    def _whole(self, ratio: NDArray[np.float64]) -> NDArray[np.int64]:
        """Return what a ratio leaves, in whole weights; some of them cannot be pruned."""
        kept = self._cost.global_weights - pruned_weights(ratio, self._rated)
        unpruned = self._cost.unpruned_weights
        return np.maximum(kept, unpruned) if unpruned else kept


def _rule(name: str, cost: Cost, kept: float) -> Bandwidth:
    if name == "max-min":
        return MaxMin()
    if name == "channel-inversion":
        # Whatever the deadline, the head starts are the same.
        head_starts = deadline_problem(cost, 0.0, count_warmup=True)
        return ChannelInversion(head_starts, max(kept, 1e-9))
    return OwnRule.load(name)
