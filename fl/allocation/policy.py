"""The decision that a scheme takes at the start of each round."""

import numpy as np
from numpy.typing import NDArray

from fl.allocation.allocation import Decision, Status
from fl.allocation.pruning import deadline_ratio, time_for_global_part
from fl.models import Cost, pruned_weights
from fl.schemes import FixedRatio, Scheme


class Policy:
    """First the shares of the band, then, at these, the pruning ratios."""

    def __init__(
        self, scheme: Scheme, cost: Cost, deadline_s: float | None, *, count_warmup: bool
    ) -> None:
        """Settle what does not depend on the channel.

        Args:
            scheme: The choices to follow.
            cost: What a round takes of each device.
            deadline_s: Of every round; a scheme that prunes for it needs it.
            count_warmup: Whether the warm-up is to end before the deadline, too. The paper
                leaves it out of Eq. (46), and so overshoots by it.
        """
        self._cost = cost
        num_devices = len(cost.frequency_hz)
        equal = np.full(num_devices, 1.0 / num_devices)
        self._shares = equal if scheme.bandwidth == "equal" else np.array(scheme.bandwidth)
        self._status = np.full(num_devices, Status.SOLVED, dtype=np.int8)
        self._budget_s: NDArray[np.float64] | None = None
        if scheme.pruning == "deadline":
            assert deadline_s is not None  # a scenario without one is refused
            self._budget_s = time_for_global_part(cost, deadline_s, count_warmup=count_warmup)
            self._status[self._budget_s < 0] = Status.INFEASIBLE
        fixed = scheme.pruning.fixed if isinstance(scheme.pruning, FixedRatio) else 0.0
        self._kept = self._keep(np.full(num_devices, fixed))

    def decide(self, whole_band_bps: NDArray[np.float64]) -> Decision:
        """Return shares and pruning for the channel state that the server knows.

        Args:
            whole_band_bps: The rate of each device, had it the band for itself.
        """
        kept = self._kept
        if self._budget_s is not None:
            rate_bps = self._shares * whole_band_bps
            kept = self._keep(deadline_ratio(self._cost, self._budget_s, rate_bps))
        return Decision(whole_band_bps, self._shares, kept, self._status)

    def _keep(self, ratio: NDArray[np.float64]) -> NDArray[np.int64]:
        return self._cost.global_weights - pruned_weights(ratio, self._cost.global_weights)
