"""Who gets which share of the band, and who prunes how much.

allocation     what the server decides
pruning        the least pruning that meets a deadline (Theorem 2)
problem        the least pruning of all: the problem, Eqs. (43)-(45)
noise          what a model of the noise tells the server
fixed_noise    the paper's noise, Eq. (9), and its water-filling (Theorem 3)
noise_density  noise as physics has it
root           where an increasing function crosses zero
solution       shares and ratios, and how far they are from the optimum
sharing        rules to compare with: equal, common ratio, max-min, channel inversion
optimum        the solution of the problem under all its bounds
interior       Theorem 3 as it is printed, without bounds
policy         the decision that a scheme takes each round
"""

from fl.allocation.allocation import Decision, Status
from fl.allocation.policy import Policy

__all__ = ["Decision", "Policy", "Status"]
