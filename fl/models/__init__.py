"""What is trained, and what that costs.

cost      weights to cycles and bits; the latency of Eq. (28)
"""

from fl.models.cost import SAME, Cost, Workload, pruned_weights, seconds_to_send

__all__ = ["SAME", "Cost", "Workload", "pruned_weights", "seconds_to_send"]
