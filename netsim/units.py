"""Decibels, prefixes and bits: the one place where units are converted.

Everything inside the packages is SI and linear (seconds, hertz, watts, bits). A
quantity is text, a number and its unit, only at the edge: in a scenario or a table.
"""

import math
import re
import reprlib
from collections.abc import Mapping
from dataclasses import dataclass
from decimal import Decimal

import numpy as np
from numpy.typing import NDArray

# Nothing is tried twice (``++``): a million digits, and then something else, are refused at once.
_NUMBER_AND_UNIT = re.compile(
    r"\s*+([+-]?(?:\d++(?:\.\d*+)?|\.\d++)(?:[eE][+-]?\d++)?)\s*+(\S*+)\s*+"
)


def db_to_linear(db: float) -> float:
    """Return the power ratio of *db* decibels.

    >>> db_to_linear(30.0)
    1000.0
    """
    return float(10.0 ** (db / 10.0))


def gains_to_linear(db: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the power ratios of an array of decibels; -inf dB is no power at all."""
    return np.power(10.0, db / 10.0)


def ratios_to_db(linear: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the decibels of an array of power ratios; nothing at all is -inf dB."""
    with np.errstate(divide="ignore"):
        return 10.0 * np.log10(linear)


def _exact_product(number: str, factor: str) -> float:
    try:
        return float(Decimal(number) * Decimal(factor))
    except ArithmeticError:  # an exponent beyond even decimals: nothing, or infinity
        return float(number)


@dataclass(frozen=True, eq=False)
class Dimension:
    """What a quantity measures, and the units it may be written in.

    Linear units hold their factor to SI as decimal text, so that ``100 us`` becomes
    exactly the double a person would write as 0.0001. Logarithmic units say how many
    decibels zero of theirs is from SI: 0 dBm is -30 dB from a watt.
    """

    name: str
    linear: Mapping[str, str]
    logarithmic: Mapping[str, float]
    example: str

    @property
    def units(self) -> str:
        """The accepted units, for a message."""
        return ", ".join([*self.linear, *self.logarithmic])

    def is_logarithmic(self, text: str) -> bool:
        """Return whether a quantity is written in decibels."""
        return any(text.endswith(unit) for unit in self.logarithmic)

    def parse(self, text: str) -> float:
        """Return the SI value of a number with its unit.

        >>> TIME.parse("25 ms")
        0.025
        >>> POWER.parse("-110 dBm")
        1e-14

        Raises:
            ValueError: *text* is not a finite number followed by one of the units.
        """
        match = _NUMBER_AND_UNIT.fullmatch(text)
        if match is None:
            raise ValueError(f"must be a number with its unit, like {self.example}")
        number, unit = match.groups()
        unit = unit.replace("\u03bc", "\u00b5")  # a Greek mu for a micro sign
        if unit in self.linear:
            value = _exact_product(number, self.linear[unit])
        elif unit in self.logarithmic:
            try:
                value = db_to_linear(float(number) + self.logarithmic[unit])
            except OverflowError:
                value = math.inf
        elif not unit:
            raise ValueError(f"must carry its unit ({self.units}), like {self.example}")
        else:
            raise ValueError(f"is not {self.name}: {reprlib.repr(unit)} is not one of {self.units}")
        if not math.isfinite(value):
            raise ValueError("is too large a number")
        return value


TIME = Dimension(
    "a time",
    {"s": "1", "ms": "1e-3", "us": "1e-6", "µs": "1e-6", "ns": "1e-9", "min": "60", "h": "3600"},
    {},
    "25 ms",
)
FREQUENCY = Dimension(
    "a frequency", {"Hz": "1", "kHz": "1e3", "MHz": "1e6", "GHz": "1e9"}, {}, "20 MHz"
)
POWER = Dimension("a power", {"W": "1", "mW": "1e-3"}, {"dBm": -30.0, "dBW": 0.0}, "28 dBm")
POWER_DENSITY = Dimension(
    "a power density", {"W/Hz": "1", "mW/Hz": "1e-3"}, {"dBm/Hz": -30.0}, "-174 dBm/Hz"
)
GAIN = Dimension("a gain", {}, {"dB": 0.0}, "-100 dB")
LEVEL = Dimension("a level", {"dB": "1"}, {}, "97 dB")
DISTANCE = Dimension("a distance", {"m": "1", "km": "1e3"}, {}, "100 m")
SPEED = Dimension("a speed", {"m/s": "1", "km/h": "0.2777777777777777777777777778"}, {}, "30 km/h")
DATA_RATE = Dimension(
    "a data rate",
    {"bit/s": "1", "kbit/s": "1e3", "Mbit/s": "1e6", "Gbit/s": "1e9"},
    {},
    "10 Gbit/s",
)
