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
from fl.own_code import load_class
from fl.schemes import FixedRatio, Scheme

Shares = NDArray[np.float64]
Statuses = NDArray[np.int8]


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
    ) -> None:
        """Settle what does not depend on the channel.

        Args:
            scheme: The choices to follow.
            cost: What a round takes of each device.
            noise_at: Gives the rates of any shares, from the bit/s/Hz on the whole band.
            deadline_s: Of every round; a scheme that prunes for it needs it.
            count_warmup: Whether the warm-up is to end before the deadline, too.

        Raises:
            InputError: The scheme names a rule that is not there.
        """
        self._cost = cost
        self._noise_at = noise_at
        self._num_devices = len(cost.frequency_hz)
        self._common = scheme.pruning == "deadline-common"
        self._problem: Problem | None = None
        if scheme.pruning in ("deadline", "deadline-common"):
            assert deadline_s is not None  # a scenario without one is refused
            self._problem = deadline_problem(
                cost,
                deadline_s,
                count_warmup=count_warmup,
                max_pruning_ratio=scheme.max_pruning_ratio,
            )
            # Who sends nothing has no delivery to wait for.
            on_time = self._problem.budget_s + cost.delivery_s >= 0
            self._silent_in_time = on_time & ~self._problem.feasible
        fixed = scheme.pruning.fixed if isinstance(scheme.pruning, FixedRatio) else 0.0
        prunable = cost.global_weights - cost.unpruned_weights
        pruned = pruned_weights(np.full(self._num_devices, fixed), prunable)
        self._kept = cost.global_weights - pruned
        self._solved = np.full(self._num_devices, Status.SOLVED, dtype=np.int8)
        self._share = self._sharing(scheme)

    def decide(self, round_: int, efficiency: NDArray[np.float64]) -> Decision:
        """Return shares and pruning for the channel state that the server knows.

        Args:
            round_: Which round begins.
            efficiency: The bit/s/Hz of each device, had it the band for itself.
        """
        noise = self._noise_at(efficiency)
        shares, status = self._share(round_, noise)
        rate_bps = noise.rate_bps(shares)
        if self._problem is None:
            return Decision(efficiency, shares, rate_bps, self._kept, self._solved)
        rule = common_kept if self._common else Problem.kept
        kept = rule(self._problem, rate_bps)
        if status is None:
            status = status_of(self._problem, kept)
        if not self._problem.all_feasible:
            status = np.where(self._silent_in_time, np.int8(Status.SOLVED), status)
        return Decision(efficiency, shares, rate_bps, self._whole(kept), status)

    def _whole(self, kept: NDArray[np.float64]) -> NDArray[np.int64]:
        """Return a part of the global part in whole weights; some of them cannot be pruned."""
        weights = self._cost.global_weights
        whole = weights - pruned_weights(1.0 - kept, weights)
        return np.maximum(whole, self._cost.unpruned_weights)

    def _sharing(self, scheme: Scheme) -> Callable[[int, Noise], tuple[Shares, Statuses | None]]:
        """Return what gives the shares of a round, and where it is known the status of each."""
        named = scheme.bandwidth
        if named == "equal" or isinstance(named, tuple):
            equal = np.full(self._num_devices, 1.0 / self._num_devices)
            always = equal if named == "equal" else np.array(named)
            return lambda _round, _noise: (always, None)
        if named == "optimal":
            return self._optimal
        rule = self._rule(named, scheme)

        def ask(round_: int, noise: Noise) -> tuple[Shares, None]:
            situation = Situation(round_, noise, self._problem, self._cost)
            return np.asarray(rule.shares(situation)), None

        return ask

    def _optimal(self, _round: int, noise: Noise) -> tuple[Shares, Statuses]:
        assert self._problem is not None  # a scenario without is refused
        best = optimum(self._problem, noise)
        return best.shares, best.status

    def _rule(self, name: str, scheme: Scheme) -> Bandwidth:
        if name == "max-min":
            return MaxMin()
        if name == "channel-inversion":
            # Whatever the deadline, the head starts are the same.
            head_starts = deadline_problem(self._cost, 0.0, count_warmup=True)
            pruning = scheme.pruning
            fixed = pruning.fixed if isinstance(pruning, FixedRatio) else 0.0
            return ChannelInversion(head_starts, max(1.0 - fixed, 1e-9))
        return OwnRule(name, load_class(name, "scheme.bandwidth")())
