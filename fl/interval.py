"""Means over seeds, with how far they can be trusted.

Rounds of one run resemble each other, runs of different seeds do not: so a run counts as one
observation. Arms with the same seed have the same data, weights and channel, so differences
between arms are taken seed by seed.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.special import stdtrit

CONFIDENCE = 0.95


@dataclass(frozen=True)
class Interval:
    """A mean, and how far from it the true one is to be expected."""

    mean: float
    half_width: float
    """Infinite, if there was one observation only."""

    @property
    def low(self) -> float:
        """The lower end."""
        return self.mean - self.half_width

    @property
    def high(self) -> float:
        """The upper end."""
        return self.mean + self.half_width

    @property
    def in_percent(self) -> "Interval":
        """A part as a percentage."""
        return self.scaled(100)

    def scaled(self, factor: float) -> "Interval":
        """Return it in another unit."""
        return Interval(self.mean * factor, self.half_width * factor)

    def __str__(self) -> str:
        """Return it for people: two digits of the half width, and the mean to match."""
        if (
            not 1e-5 * abs(self.mean) < self.half_width < np.inf
        ):  # there is nothing to doubt, or all
            return f"{self.mean:#.4g}"
        decimals = max(1 - math.floor(math.log10(self.half_width)), 0)
        return f"{self.mean:.{decimals}f} ± {self.half_width:.{decimals}f}"

    def told_with_sign(self) -> str:
        """Return a difference for people: with its sign and, if it cannot be by chance, a star.

        >>> Interval(2.0, 0.5).told_with_sign(), Interval(-0.1, 0.5).told_with_sign()
        ('+2.00 ± 0.50 *', '-0.10 ± 0.50')
        """
        sign = "" if self.mean < 0 else "+"
        return f"{sign}{self}{' *' if self.low > 0 or self.high < 0 else ''}"


def interval(observations: Sequence[float]) -> Interval:
    """Return the mean and its interval of 95 % confidence, by Student's t.

    >>> interval([1.0, 2.0, 3.0])
    Interval(mean=2.0, half_width=2.484...)
    """
    values = np.asarray(observations, dtype=np.float64)
    if len(values) < 2:
        return Interval(float(values.mean()), np.inf)
    quantile = stdtrit(len(values) - 1, (1 + CONFIDENCE) / 2)
    return Interval(
        float(values.mean()), float(quantile * values.std(ddof=1) / np.sqrt(len(values)))
    )


def difference(ours: Sequence[float], others: Sequence[float]) -> Interval:
    """Return the mean of *ours* - *others*, seed by seed."""
    return interval(np.subtract(ours, others).tolist())


def unpaired_difference(ours: Sequence[float], others: Sequence[float]) -> Interval:
    """Return the mean of *ours* less that of *others*, which share no seeds (Welch's t)."""
    means, squares = [], []
    for values in (ours, others):
        if len(values) < 2:
            return Interval(float(np.mean(ours) - np.mean(others)), np.inf)
        means.append(float(np.mean(values)))
        squares.append(float(np.var(values, ddof=1)) / len(values))
    total = sum(squares)
    if total == 0:
        return Interval(means[0] - means[1], 0.0)
    sizes = (len(ours), len(others))
    freedom = total**2 / sum(s**2 / (n - 1) for s, n in zip(squares, sizes, strict=True))
    half_width = float(stdtrit(freedom, (1 + CONFIDENCE) / 2)) * math.sqrt(total)
    return Interval(means[0] - means[1], half_width)


def slope(at: Sequence[float], observations: Sequence[Sequence[float]]) -> Interval:
    """Return the slope of a straight line through what each seed gives, per unit of *at*.

    Args:
        at: Where: a ratio, a deadline.
        observations: For each of these, what each seed gives there.
    """
    by_seed = np.array(observations, dtype=np.float64).T  # [seeds, points]
    return interval([_slope(np.asarray(at), values) for values in by_seed])


def _slope(at: NDArray[np.float64], values: NDArray[np.float64]) -> float:
    if np.ptp(values) == 0:  # not even by rounding
        return 0.0
    return float(np.polyfit(at, values, 1)[0])
