"""The decision that a scheme takes at the start of each round."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

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
        self._noise_at = noise_at
        self._rated = cost.global_weights if count_unpruned else cost.prunable_weights
        problem = None
        if scheme.pruning in ("deadline", "deadline-common"):
            assert deadline_s is not None  # a scenario without one is refused
            problem = deadline_problem(
                cost,
                deadline_s,
                count_warmup=count_warmup,
                count_unpruned=count_unpruned,
                max_pruning_ratio=scheme.max_pruning_ratio,
            )
        fixed = scheme.pruning.fixed if isinstance(scheme.pruning, FixedRatio) else 0.0
        pruned = pruned_weights(np.array([fixed]), cost.prunable_weights)
        self._kept = int(cost.global_weights - pruned[0])
        self._all = self._group(np.arange(len(cost.frequency_hz)), cost, problem)
        self._rule: Bandwidth | None = None
        if self._all.shares is None and scheme.bandwidth != "optimal":
            assert isinstance(scheme.bandwidth, str)  # given ones are shares already
            self._rule = _rule(scheme.bandwidth, self._kept / cost.global_weights)
        self._last: Decision | None = None
        self._question = b""

    def decide(
        self,
        round_: int,
        efficiency: NDArray[np.float64],
        devices: NDArray[np.int64] | None = None,
    ) -> Decision:
        """Return shares and pruning for the channel state that the server knows.

        Args:
            round_: Which round begins.
            efficiency: The bit/s/Hz of each who takes part, had it the band for itself.
            devices: Who takes part, in increasing order; None: everybody.
        """
        if devices is not None:
            return self._decide(round_, self._only(devices), efficiency)
        # The same question has the same answer, but for rules of somebody's own.
        question = efficiency.tobytes()
        asks = isinstance(self._rule, OwnRule)
        if self._last is None or asks or question != self._question:
            self._last = self._decide(round_, self._all, efficiency)
            self._question = question
        return self._last

    def _group(self, devices: NDArray[np.int64], cost: Cost, problem: Problem | None) -> "_Group":
        """Settle what does not depend on the channel."""
        size, named = len(devices), self._scheme.bandwidth
        shares = None
        if named == "equal":
            shares = np.full(size, 1.0 / size)
        elif isinstance(named, tuple):
            shares = np.array(named)
        kept = np.full(size, self._kept)
        solved = np.full(size, Status.SOLVED, dtype=np.int8)
        return _Group(devices, cost, problem, shares, kept, solved)

    def _only(self, devices: NDArray[np.int64]) -> "_Group":
        everybody = self._all
        problem = None if everybody.problem is None else everybody.problem.only(devices)
        return self._group(devices, everybody.cost.only(devices), problem)

    def _decide(self, round_: int, group: "_Group", efficiency: NDArray[np.float64]) -> Decision:
        noise, problem, devices = self._noise_at(efficiency), group.problem, group.devices
        if self._scheme.bandwidth == "optimal":
            assert problem is not None  # a scenario without is refused
            best = optimum(problem, noise)
            kept = self._whole(best.pruning_ratio)
            rate_bps = noise.rate_bps(best.shares)
            status = group.in_time(best.status, kept)
            return Decision(devices, efficiency, best.shares, rate_bps, kept, status)
        shares = group.shares
        if shares is None:
            assert self._rule is not None
            situation = Situation(round_, devices, noise, problem, group.cost)
            shares = np.asarray(self._rule.shares(situation))
        rate_bps = noise.rate_bps(shares)
        if problem is None:
            return Decision(devices, efficiency, shares, rate_bps, group.kept, group.solved)
        common = self._scheme.pruning == "deadline-common"
        part = common_kept(problem, rate_bps) if common else problem.kept(rate_bps)
        kept = self._whole(1.0 - part)
        status = group.in_time(status_of(problem, part), kept)
        return Decision(devices, efficiency, shares, rate_bps, kept, status)

    def _whole(self, ratio: NDArray[np.float64]) -> NDArray[np.int64]:
        """Return what a ratio leaves, in whole weights; some of them cannot be pruned."""
        cost = self._all.cost
        kept = cost.global_weights - pruned_weights(ratio, self._rated)
        unpruned = cost.unpruned_weights
        return np.maximum(kept, unpruned) if unpruned else kept


@dataclass(frozen=True)
class _Group:
    """Who takes part in a round, and what is known of them whatever the channel."""

    devices: NDArray[np.int64]
    cost: Cost
    problem: Problem | None
    shares: NDArray[np.float64] | None
    """None, if the channel has a say in them."""
    kept: NDArray[np.int64]
    """Where nothing is pruned for a deadline."""
    solved: NDArray[np.int8]

    @cached_property
    def silent_in_time(self) -> NDArray[np.bool_]:
        """Who could not make the deadline with any upload, but without one."""
        assert self.problem is not None
        on_time = self.problem.budget_s + self.cost.delivery_s >= 0
        return on_time & ~self.problem.feasible

    def in_time(self, status: NDArray[np.int8], kept: NDArray[np.int64]) -> NDArray[np.int8]:
        """Return the status of each device, where some are in time only by sending nothing."""
        problem = self.problem
        assert problem is not None
        if problem.all_feasible:
            return status
        silent = self.silent_in_time & (kept == 0)
        made = Status.FLOOR_MISSED if problem.min_kept > 0 else Status.SOLVED
        return np.where(silent, np.int8(made), status)


def _rule(name: str, kept: float) -> Bandwidth:
    if name == "max-min":
        return MaxMin()
    if name == "channel-inversion":
        return ChannelInversion(max(kept, 1e-9))
    return OwnRule.load(name)
