"""Values drawn from ranges."""

import math
import re
import reprlib
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fl.study.study import LogUniformRange, OneOf, Range, Sample, UniformRange
from netsim.streams import Streams

_QUANTITY = re.compile(r"([-+]?[\d.]++(?:[eE][-+]?\d++)?)\s*+(\D.*)?")


class RangeError(ValueError):
    """A range that nothing can be drawn from."""


def draw_samples(sample: Sample) -> list[dict[str, Any]]:
    """Return the settings that are drawn: for each, the value of every key.

    Raises:
        RangeError: Nothing can be drawn from a range; the message begins with its key.
    """
    rng = Streams(sample.seed)("study.sample")
    shape = sample.count, len(sample.keys)
    if sample.by == "random":
        places = rng.random(shape)
    else:
        from scipy.stats.qmc import LatinHypercube  # noqa: PLC0415 -- takes a second to import

        places = LatinHypercube(shape[1], rng=rng).random(shape[0])
    columns = [
        _values(key, values, column)
        for (key, values), column in zip(sample.keys.items(), places.T, strict=True)
    ]
    return [dict(zip(sample.keys, row, strict=True)) for row in zip(*columns, strict=True)]


def _values(key: str, values: Range, places: NDArray[np.float64]) -> list[Any]:
    """Return the values at some *places* between 0 and 1 of a range."""
    if isinstance(values, OneOf):
        return [values.choice[int(place * len(values.choice))] for place in places]
    ends = values.uniform if isinstance(values, UniformRange) else values.log_uniform
    (low, unit), (high, other) = (_quantity(key, end) for end in ends)
    if unit != other:
        raise RangeError(f"{key}: both ends must have the same unit, got {ends[0]} and {ends[1]}")
    if not low < high:
        raise RangeError(f"{key}: must be [low, high], got [{ends[0]}, {ends[1]}]")
    if not math.isfinite(high - low):
        raise RangeError(f"{key}: is too wide a range")
    if isinstance(values, LogUniformRange):
        if low <= 0:
            raise RangeError(f"{key}: a logarithmic range must be above 0, got {ends[0]}")
        if not math.isfinite(high / low):
            raise RangeError(f"{key}: is too wide a range")
        numbers = low * (high / low) ** places
    elif all(type(end) is int for end in ends):
        return [int(number) for number in np.floor(low + (high + 1 - low) * places)]
    else:
        numbers = low + (high - low) * places
    # Six digits are more than a setting needs, and a person can read them.
    return [f"{number:.6g} {unit}" if unit else float(f"{number:.6g}") for number in numbers]


def _quantity(key: str, end: object) -> tuple[float, str]:
    """Return number and unit of what stands in the file."""
    found = _QUANTITY.fullmatch(str(end).strip())
    if isinstance(end, bool) or found is None:
        raise RangeError(f"{key}: must be a number or a quantity, got {reprlib.repr(end)}")
    try:
        return float(found[1]), found[2] or ""
    except ValueError:
        raise RangeError(
            f"{key}: must be a number or a quantity, got {reprlib.repr(end)}"
        ) from None
