"""From weights to cycles and bits: what a round costs each device.

Everything is counted in whole weights. A ratio prunes so many of them, and from then on
only that number is used: by the prediction, by the clock and in the results.
"""

from dataclasses import dataclass, replace
from functools import cached_property
from typing import NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

#: Times and counts closer than this, relatively, are the same: the rounding of a float.
SAME = 1e-9
#: How far the rounding of floats may lift a ratio, which lies between 0 and 1.
_ROUNDING = 1e-12


def pruned_weights(ratio: NDArray[np.float64], global_weights: int) -> NDArray[np.int64]:
    """Return how many weights a pruning ratio prunes: the next whole number up.

    >>> pruned_weights(np.array([0.0, 0.3, 0.31, 1.0]), 10).tolist()
    [0, 3, 4, 10]
    """
    pruned: NDArray[np.int64] = np.ceil((ratio - _ROUNDING) * global_weights).astype(np.int64)
    return pruned


class Workload(NamedTuple):
    """What a round asks of one device; the fields are those of `Cost`."""

    personal_cycles: float
    joint_cycles: float
    """Of the personal part, where it is updated together with the global one."""
    warmup_cycles: float
    prune_cycles: float
    global_cycles_per_weight: float
    bits_per_weight: int


@dataclass(frozen=True)
class Cost:
    """What each phase of a round takes of each device; arrays are indexed by device."""

    frequency_hz: NDArray[np.float64]
    """f_k."""
    personal_cycles: NDArray[np.float64]
    """tau_v C_k N_v: the whole personal update."""
    warmup_cycles: NDArray[np.float64]
    """tau-hat_u C_k N_u: the whole warm-up."""
    prune_cycles: NDArray[np.float64]
    """To rank and mask the global part."""
    global_cycles_per_weight: NDArray[np.float64]
    """tau_u C_k: the global update, for each weight kept."""
    bits_per_weight: int
    """q-hat."""
    global_weights: int
    """N_u."""
    unpruned_weights: int = 0
    """Of these, how many are always sent: nobody may prune them."""
    broadcast_s: float = 0.0
    """From the server's decision to the device's start."""
    delivery_s: float = 0.0
    """From the last bit sent until it has arrived: latency of radio and backhaul."""
    delivery_s_per_bit: float = 0.0
    """What the wires of the backhaul add for each bit, if nobody queues before it."""
    joint: bool = False
    """Whether both parts are updated at the same time; it takes as long, at another time."""

    @cached_property
    def personal_s(self) -> NDArray[np.float64]:
        """T^cmp-Per of Eq. (47)."""
        return self.personal_cycles / self.frequency_hz

    @cached_property
    def warmup_s(self) -> NDArray[np.float64]:
        """The second term of Eq. (24), and the pruning itself."""
        return (self.warmup_cycles + self.prune_cycles) / self.frequency_hz

    @cached_property
    def global_part_s(self) -> NDArray[np.float64]:
        """T^cmp-G of Eq. (47), and what the whole global part occupies the wires."""
        computing_s = self.global_cycles_per_weight * self.global_weights / self.frequency_hz
        return computing_s + self.global_part_bits * self.delivery_s_per_bit

    @property
    def prunable_weights(self) -> int:
        """How many weights of the global part may be pruned."""
        return self.global_weights - self.unpruned_weights

    @property
    def global_part_bits(self) -> int:
        """The size of the whole global part."""
        return self.global_weights * self.bits_per_weight

    def only(self, devices: NDArray[np.int64]) -> Self:
        """Return the cost of some of the devices; arrays are of the shape of *devices*."""
        return replace(
            self,
            frequency_hz=self.frequency_hz[devices],
            personal_cycles=self.personal_cycles[devices],
            warmup_cycles=self.warmup_cycles[devices],
            prune_cycles=self.prune_cycles[devices],
            global_cycles_per_weight=self.global_cycles_per_weight[devices],
        )

    def workloads(self) -> list[Workload]:
        """Return what a round asks of each device."""
        none = np.zeros_like(self.personal_cycles)
        first, together = (
            (none, self.personal_cycles) if self.joint else (self.personal_cycles, none)
        )
        per_device = zip(
            first.tolist(),
            together.tolist(),
            self.warmup_cycles.tolist(),
            self.prune_cycles.tolist(),
            self.global_cycles_per_weight.tolist(),
            strict=True,
        )
        return [Workload(*cycles, self.bits_per_weight) for cycles in per_device]

    def global_cycles(self, kept: NDArray[np.int64]) -> NDArray[np.float64]:
        """Return the cycles of the global update with *kept* weights: (1 - rho) tau_u C N_u."""
        return self.global_cycles_per_weight * kept

    def upload_bits(self, kept: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return the bits to upload *kept* weights: q-hat (1 - rho) N_u, as in Eq. (25)."""
        return kept * self.bits_per_weight

    def latency_s(
        self, kept: NDArray[np.int64], rate_bps: NDArray[np.float64]
    ) -> NDArray[np.float64]:
        r"""Return the latency of each device at a rate that does not change, Eq. (28).

        .. math::

            \frac{\tau_v C N_v + \hat\tau_u C N_u + (1-\rho)\,\tau_u C N_u}{f}
            + \frac{\hat q\,(1-\rho)\,N_u}{R}

        with the pruning's own cycles beside the warm-up, and before and after it the broadcast
        and the backhaul, which the paper neglects. Nothing to send takes no time, whatever
        the rate; something to send at no rate takes for ever.
        """
        bits = self.upload_bits(kept)
        computed = self.personal_s + self.warmup_s + self.global_cycles(kept) / self.frequency_hz
        delivered = np.where(bits > 0, self.delivery_s + bits * self.delivery_s_per_bit, 0.0)
        return self.broadcast_s + computed + seconds_to_send(bits, rate_bps) + delivered


def seconds_to_send(
    bits: NDArray[np.int64] | int, rate_bps: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Return bits / rate, Eq. (10); no bits take no time, no rate takes for ever."""
    if np.count_nonzero(rate_bps) == rate_bps.size:
        return bits / rate_bps
    silent = np.where(np.broadcast_to(bits, rate_bps.shape) == 0, 0.0, np.inf)
    return np.divide(bits, rate_bps, out=silent, where=rate_bps > 0)
