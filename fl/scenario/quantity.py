"""The values a scenario holds: quantities with their unit, one or one a device."""

import reprlib
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, Literal, Self

import numpy as np
from numpy.typing import NDArray
from pydantic import Discriminator, Field, Tag
from pydantic_core import CoreSchema, PydanticCustomError, core_schema

from netsim.units import (
    DATA_RATE,
    DISTANCE,
    FREQUENCY,
    GAIN,
    LEVEL,
    POWER,
    POWER_DENSITY,
    SPEED,
    TIME,
    Dimension,
    gains_to_linear,
    ratios_to_db,
)

#: Of a plain number: whatever is counted, fewer than that.
_LARGEST = 1e18


class Quantity(float):
    """A number in SI units that remembers how it was written."""

    text: str
    logarithmic: bool = False
    """Whether it was written in decibels."""

    def __new__(cls, value: float, text: str) -> Self:
        """Return *value*, written as *text*."""
        quantity = super().__new__(cls, value)
        quantity.text = text
        return quantity

    def __reduce__(self) -> tuple[object, ...]:  # so that scenarios go to other processes
        return type(self), (float(self), self.text), vars(self)


class Reader(ABC):
    """How pydantic reads, writes and describes a type of value."""

    @abstractmethod
    def read(self, value: object) -> object:
        """Return what *value* stands for, or say what is wrong with it."""

    @abstractmethod
    def write(self, value: Any) -> object:  # noqa: ANN401 -- what `read` returned
        """Return it as it stands in a scenario."""

    @property
    @abstractmethod
    def schema(self) -> dict[str, Any]:
        """The JSON schema of such a value."""

    @property
    @abstractmethod
    def accepts(self) -> str:
        """What may be written, in a few words."""

    def __get_pydantic_core_schema__(self, source: object, handler: object) -> CoreSchema:
        del source, handler
        return core_schema.no_info_plain_validator_function(
            self.read, serialization=core_schema.plain_serializer_function_ser_schema(self.write)
        )

    def __get_pydantic_json_schema__(self, schema: object, handler: object) -> dict[str, Any]:
        del schema, handler
        return self.schema


@dataclass(frozen=True)
class Rule(Reader):
    """What a value must be: with a unit or a plain number, and above what."""

    dimension: Dimension | None = None
    above: float | None = None
    at_least: float | None = None
    at_most: float | None = None

    def read(self, value: object) -> Quantity:
        """Return the number that *value* stands for, or say what is wrong with it."""
        if self.dimension is None:
            if isinstance(value, bool) or not isinstance(value, int | float):
                raise _wrong("must be a number")
            if not abs(value) < _LARGEST:
                raise _wrong(f"must be a number below {_LARGEST:g}")
            number = Quantity(float(value), repr(value))
        elif isinstance(value, bool) or not isinstance(value, str | int | float):
            raise _wrong(f"must be {self.dimension.name}, like {self.dimension.example}")
        else:
            try:
                number = Quantity(self.dimension.parse(str(value)), str(value).strip())
                number.logarithmic = self.dimension.is_logarithmic(number.text)
            except ValueError as error:
                raise _wrong(str(error)) from None
        if self.above is not None and not number > self.above:
            raise _wrong(f"must be > {self.above:g}")
        if self.at_least is not None and not number >= self.at_least:
            raise _wrong(f"must be >= {self.at_least:g}")
        if self.at_most is not None and not number <= self.at_most:
            raise _wrong(f"must be <= {self.at_most:g}")
        return number

    def write(self, value: Quantity) -> object:
        """Return it as it stands in a scenario: a plain number, or text with the unit."""
        if self.dimension is not None:
            return value.text
        return int(value) if value.is_integer() else float(value)

    @property
    def schema(self) -> dict[str, Any]:
        """The JSON schema of such a value."""
        if self.dimension is None:
            bounds = {
                "exclusiveMinimum": self.above,
                "minimum": self.at_least,
                "maximum": self.at_most,
            }
            return {"type": "number", **{k: v for k, v in bounds.items() if v is not None}}
        units = "|".join([*self.dimension.linear, *self.dimension.logarithmic])
        return {
            "type": "string",
            "pattern": rf"^\s*[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?\s*({units})\s*$",
            "examples": [self.dimension.example],
        }

    @property
    def accepts(self) -> str:
        """What may be written, in a few words."""
        limits = {">": self.above, ">=": self.at_least, "<=": self.at_most}
        told = [f" {sign} {value:g}" for sign, value in limits.items() if value is not None]
        bound = ",".join(told)
        if self.dimension is None:
            return f"a number{bound}"
        return f"{self.dimension.name}{bound}: {self.dimension.units}"


@dataclass(frozen=True)
class PerDevice:
    """A value for each device: one for all, a list, or drawn from a named stream.

    What is uniform between two values in decibels is uniform in decibels.
    """

    law: str
    numbers: tuple[Quantity, ...]

    def values(self, count: int, draw: Callable[[], np.random.Generator]) -> NDArray[np.float64]:
        """Return the values of *count* devices.

        Args:
            count: How many devices.
            draw: Gives the stream to draw from; asked only where something is drawn.
        """
        numbers = np.array(self.numbers, dtype=np.float64)
        if self.law == "uniform":
            if all(number.logarithmic for number in self.numbers):
                low_db, high_db = ratios_to_db(numbers)
                return gains_to_linear(draw().uniform(low_db, high_db, count))
            return draw().uniform(numbers[0], numbers[1], count)
        if self.law == "choice":
            return numbers[draw().integers(len(numbers), size=count)]
        return np.broadcast_to(numbers, count) if self.law == "all" else numbers


@dataclass(frozen=True)
class Each(Reader):
    """The rule that a value of each device obeys."""

    rule: Rule

    def read(self, value: object) -> PerDevice:
        """Return the values that *value* stands for, or say what is wrong with it."""
        if isinstance(value, PerDevice):
            return value
        if isinstance(value, dict):
            return self._read_law(value)
        if isinstance(value, list):
            return PerDevice("each", self._read_list(value, "device"))
        return PerDevice("all", (self.rule.read(value),))

    def write(self, value: PerDevice) -> object:
        """Return it as it stands in a scenario."""
        texts = [self.rule.write(number) for number in value.numbers]
        if value.law == "all":
            return texts[0]
        return texts if value.law == "each" else {value.law: texts}

    @property
    def schema(self) -> dict[str, Any]:
        """The JSON schema of such values."""
        many = {"type": "array", "items": self.rule.schema, "minItems": 1}
        laws = [
            {"type": "object", "properties": {law: many}, "required": [law]}
            for law in ("uniform", "choice")
        ]
        return {"anyOf": [self.rule.schema, many, *laws]}

    @property
    def accepts(self) -> str:
        """What may be written, in a few words."""
        return f"{self.rule.accepts}; per device"

    def _read_law(self, value: dict[str, object]) -> PerDevice:
        law, numbers = next(iter(value.items()), ("", None))
        if len(value) != 1 or law not in ("uniform", "choice") or not isinstance(numbers, list):
            raise _wrong(
                "must be one value, a list with one value a device, {uniform: [low, high]} "
                "or {choice: [a, b, ...]}"
            )
        read = self._read_list(numbers, "value")
        if law == "uniform" and (len(read) != 2 or read[0] > read[1]):
            raise _wrong("uniform must be [low, high]")
        return PerDevice(law, read)

    def _read_list(self, values: Sequence[object], what: str) -> tuple[Quantity, ...]:
        if not values:
            raise _wrong("must not be an empty list")
        read = []
        for index, value in enumerate(values):
            try:
                read.append(self.rule.read(value))
            except PydanticCustomError as error:
                raise _wrong(
                    f"{what} {index} {error.message()}, got {reprlib.repr(value)}"
                ) from None
        return tuple(read)


def _wrong(message: str) -> PydanticCustomError:
    # Braces would be taken for a template by pydantic.
    return PydanticCustomError("value", "{message}", {"message": message})


AllOrNumber = Annotated[
    Annotated[Literal["all"], Tag("<word>")]
    | Annotated[int, Field(strict=True, ge=1), Tag("<number>")],
    Discriminator(
        lambda value: "<number>" if type(value) is int else "<word>" if value == "all" else None,
        custom_error_type="all_or_number",
        custom_error_message="must be a whole number >= 1, or all",
    ),
]
Duration = Annotated[Quantity, Rule(TIME, at_least=0)]
PositiveDuration = Annotated[Quantity, Rule(TIME, above=0)]
Bandwidth = Annotated[Quantity, Rule(FREQUENCY, above=0)]
Power = Annotated[Quantity, Rule(POWER, above=0)]
PowerDensity = Annotated[Quantity, Rule(POWER_DENSITY, above=0)]
DataRate = Annotated[Quantity, Rule(DATA_RATE, above=0)]

Distance = Annotated[Quantity, Rule(DISTANCE, above=0)]
Speed = Annotated[Quantity, Rule(SPEED, above=0)]
Level = Annotated[Quantity, Rule(LEVEL)]
Spread = Annotated[Quantity, Rule(LEVEL, at_least=0)]

Factor = Annotated[Quantity, Rule(at_least=1, at_most=1e9)]

ProbabilityEach = Annotated[PerDevice, Each(Rule(at_least=0, at_most=1))]
FactorEach = Annotated[PerDevice, Each(Rule(at_least=1, at_most=1e9))]
DistanceEach = Annotated[PerDevice, Each(Rule(DISTANCE, above=0))]
SpeedEach = Annotated[PerDevice, Each(Rule(SPEED, at_least=0))]
LevelEach = Annotated[PerDevice, Each(Rule(LEVEL))]
DurationEach = Annotated[PerDevice, Each(Rule(TIME, at_least=0))]
FrequencyEach = Annotated[PerDevice, Each(Rule(FREQUENCY, above=0))]
PowerEach = Annotated[PerDevice, Each(Rule(POWER, at_least=0))]
GainEach = Annotated[PerDevice, Each(Rule(GAIN))]
CountEach = Annotated[PerDevice, Each(Rule(above=0))]
CostEach = Annotated[PerDevice, Each(Rule(at_least=0))]
