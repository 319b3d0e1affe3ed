"""Which weights of the global part a device prunes.

importance  how much a weight matters: Eqs. (19) and (20)
mask        the given number of weights that matter most
"""

from fl.pruning.importance import exact_importance, update_importance
from fl.pruning.mask import keep_most

__all__ = ["exact_importance", "keep_most", "update_importance"]
