"""What is trained, and what that costs.

cost      weights to cycles and bits; the latency of Eq. (28)
networks  the networks that come with it
split     a network as a function of its personal and its global part
building  what a scenario says of its model, to a network
"""

from fl.models.cost import SAME, Cost, Workload, pruned_weights, seconds_to_send

__all__ = ["SAME", "Cost", "Workload", "pruned_weights", "seconds_to_send"]
