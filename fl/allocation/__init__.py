"""Who gets which share of the band, and who prunes how much.

allocation  what the server decides
pruning     the least pruning that meets a deadline (Theorem 2)
policy      the decision that a scheme takes each round
"""

from fl.allocation.allocation import Decision, Status
from fl.allocation.policy import Policy

__all__ = ["Decision", "Policy", "Status"]
