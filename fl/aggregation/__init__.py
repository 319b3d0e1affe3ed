"""How the server makes one global part out of those that arrive.

masked_mean  each weight over the devices that kept it, Eq. (26)
"""

from fl.aggregation.masked_mean import MaskedMean

__all__ = ["MaskedMean"]
