"""Who gets which share of the band, and who prunes how much.

allocation     what the server decides
problem        the least pruning of all: the problem, Eqs. (43)-(45)
noise          what a model of the noise tells the server
fixed_noise    the paper's noise, Eq. (9), and its water-filling (Theorem 3)
noise_density  noise as physics has it
root           where an increasing function crosses zero
solution       shares and ratios, and how far they are from the optimum
sharing        rules to compare with: equal, common ratio, max-min, channel inversion
optimum        the solution of the problem under all its bounds
interior       Theorem 3 as it is printed, without bounds
deadline       the problem that a deadline poses, out of what a round costs
bandwidth      rules that a scheme may name, or somebody else may write
policy         the decision that a scheme takes each round
"""

from fl.allocation.allocation import Decision, Status
from fl.allocation.bandwidth import Bandwidth, Situation
from fl.allocation.deadline import deadline_problem
from fl.allocation.fixed_noise import FixedNoise
from fl.allocation.interior import interior
from fl.allocation.noise import Noise
from fl.allocation.noise_density import NoiseDensity
from fl.allocation.optimum import optimum
from fl.allocation.policy import Policy
from fl.allocation.problem import Problem
from fl.allocation.sharing import channel_inversion, common_kept, equal_share, max_min
from fl.allocation.solution import Solution

__all__ = [
    "Bandwidth",
    "Decision",
    "FixedNoise",
    "Noise",
    "NoiseDensity",
    "Policy",
    "Problem",
    "Situation",
    "Solution",
    "Status",
    "channel_inversion",
    "common_kept",
    "deadline_problem",
    "equal_share",
    "interior",
    "max_min",
    "optimum",
]
