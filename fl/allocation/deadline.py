"""The problem that a deadline poses, out of what a round costs."""

import numpy as np

from fl.allocation.problem import Problem
from fl.models import Cost


def deadline_problem(
    cost: Cost,
    deadline_s: float,
    *,
    count_warmup: bool,
    count_unpruned: bool = True,
    max_pruning_ratio: float = 1.0,
) -> Problem:
    """Return the problem of meeting a deadline.

    What it leaves for the global part is the T_th - T^cmp-Per of Eq. (47), less the warm-up
    where that is counted, and less broadcast, and latency of radio and backhaul, which the
    paper neglects.

    Args:
        cost: What a round takes of each device.
        deadline_s: T_th.
        count_warmup: Whether the warm-up is to end before it, too. The paper leaves it out of
            Eq. (46), and so overshoots by it.
        count_unpruned: Whether what must not be pruned is to be computed and sent before it, too.
            If not, the ratio is one of what may be pruned, and all the rest comes on top.
        max_pruning_ratio: The highest ratio that is wanted.
    """
    budget_s = deadline_s - cost.broadcast_s - cost.delivery_s - cost.personal_s
    if count_warmup:
        budget_s = budget_s - cost.warmup_s
    counted = cost.global_weights if count_unpruned else cost.prunable_weights
    # Where nothing may be pruned, any ratio will do.
    part = max(counted, 1) / cost.global_weights
    bits = np.full(len(budget_s), part * cost.global_part_bits)
    fixed = cost.unpruned_weights / cost.global_weights if count_unpruned else 0.0
    min_kept = max(1.0 - max_pruning_ratio, fixed)
    return Problem(budget_s, part * cost.global_part_s, bits, min_kept)
