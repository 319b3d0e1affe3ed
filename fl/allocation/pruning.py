"""The least pruning that meets the deadline at a given share of the band (Theorem 2)."""

import numpy as np
from numpy.typing import NDArray

from fl.models import Cost, seconds_to_send


def time_for_global_part(
    cost: Cost, deadline_s: float, *, count_warmup: bool
) -> NDArray[np.float64]:
    """Return the seconds that the deadline leaves each device for its global part.

    It is the T_th - T^cmp-Per of Eq. (47), less the warm-up where that is counted, and less
    the broadcast. Below zero no pruning ratio can meet the deadline: it has passed before
    the device comes to its global part.
    """
    left_s = deadline_s - cost.broadcast_s - cost.personal_s
    return left_s - cost.warmup_s if count_warmup else left_s


def deadline_ratio(
    cost: Cost, budget_s: NDArray[np.float64], rate_bps: NDArray[np.float64]
) -> NDArray[np.float64]:
    r"""Return the pruning ratio of each device, Theorem 2, Eq. (47).

    .. math::

        \rho_k = \left(1 - \frac{T_{th} - T_k^{cmp-Per}}{T_k^{cmp-G} + T_k^{com-G}}\right)^+

    A device without a rate, or without time left, prunes all. What is sent takes the latency
    of radio and backhaul, too, which the paper neglects.

    Args:
        cost: What a round takes of each device.
        budget_s: The numerator, from `time_for_global_part`.
        rate_bps: Of each device, at the share it has.
    """
    computing_s = cost.global_part_s
    sending_s = seconds_to_send(cost.global_part_bits, rate_bps)
    ratio = 1.0 - (budget_s - cost.delivery_s) / (computing_s + sending_s)
    return np.minimum(np.maximum(ratio, 0.0), 1.0)
