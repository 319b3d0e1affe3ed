"""Where an increasing function of one number crosses zero."""

import math
from collections.abc import Callable

#: Of functions that are sums of some order of 1: the rounding.
_ZERO = 1e-15


def increasing_root(function: Callable[[float], float], low: float, high: float) -> float:
    """Return where *function* crosses zero between *low* and *high*, to the last digits.

    It is Ridders' method: the function is taken for an exponential through both ends and the
    middle, which suits one with a pole at an end. Where it is infinite the bracket is halved.

    Args:
        function: It must not fall, and its values should be of the order of 1.
        low: Where it is at most 0; if it is not, the answer is this.
        high: Where it is at least 0, or infinite; if it is not, the answer is this.

    >>> increasing_root(lambda x: x**3 - 0.125, 0.0, 2.0)
    0.5
    """
    at_low, at_high = function(low), function(high)
    if at_low >= 0 or at_high <= 0:
        return low if at_low >= 0 else high
    while low < (middle := 0.5 * (low + high)) < high:
        at_middle = function(middle)
        points = [(middle, at_middle)]
        if math.isfinite(at_low) and math.isfinite(at_high):
            root = math.sqrt(at_middle * at_middle - at_low * at_high) or math.inf
            guess = middle - (middle - low) * at_middle / root
            points.append((guess, function(guess)))
        for point, value in points:
            if abs(value) <= _ZERO:
                return point
            if value < 0 and point > low:
                low, at_low = point, value
            elif value > 0 and point < high:
                high, at_high = point, value
    return low
