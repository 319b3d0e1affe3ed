"""What a study file may say: every key, its meaning, its default."""

from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, Discriminator, Field, Tag
from pydantic_core import PydanticCustomError

from fl.scenario.channel import Block, told_by
from fl.study.metrics import METRICS

_MOST_SEEDS = 10**5
#: A scenario has fewer.
_MOST_KEYS = 100


class TimeToAccuracy(Block):
    """The simulated seconds until the devices' models were so good."""

    time_to_accuracy: float = Field(
        strict=True, gt=0, le=1, description="The mean test accuracy to reach."
    )


class UniformRange(Block):
    """Anywhere between two ends."""

    uniform: tuple[Any, Any] = Field(description="Both ends, with the same unit.")


class LogUniformRange(Block):
    """Anywhere between two ends, with as much below their geometric mean as above it."""

    log_uniform: tuple[Any, Any] = Field(description="Both ends, with the same unit, above 0.")


class OneOf(Block):
    """One of some values."""

    choice: tuple[Any, ...] = Field(min_length=1, description="The values.")


Range = Annotated[
    Annotated[UniformRange, Tag("<uniform>")]
    | Annotated[LogUniformRange, Tag("<log_uniform>")]
    | Annotated[OneOf, Tag("<choice>")],
    Discriminator(
        told_by("uniform", "log_uniform", "choice"),
        custom_error_type="range",
        custom_error_message="must be {uniform: [low, high]}, {log_uniform: [low, high]} or "
        "{choice: [a, b, ...]}",
    ),
]


class Sample(Block):
    """Settings drawn from ranges."""

    count: int = Field(strict=True, ge=1, le=10**5, description="How many to draw.")
    by: Literal["latin-hypercube", "random"] = Field(
        "latin-hypercube",
        description="latin-hypercube: each key's range is divided evenly among the draws. random: "
        "independent draws.",
    )
    seed: int = Field(1, strict=True, ge=0, lt=2**63, description="Of the draws.")
    keys: dict[str, Range] = Field(
        min_length=1, max_length=_MOST_KEYS, description="Of each key of the scenario, where."
    )


Values = Annotated[tuple[Any, ...], Field(min_length=1)]


class Vary(Block):
    """What differs from arm to arm; all combinations of grid, zip and sample are run."""

    grid: dict[str, Values] = Field(
        default_factory=dict,
        max_length=_MOST_KEYS,
        description="Keys of the scenario, as uplink.bandwidth, each with its values: every "
        "combination is an arm.",
    )
    zip: dict[str, Values] = Field(
        default_factory=dict,
        max_length=_MOST_KEYS,
        description="Keys with lists of the same length: the first values of all make an arm, the "
        "second ones another.",
    )
    sample: Sample | None = Field(None, description="Keys whose values are drawn.")


def _check_metric(value: str) -> str:
    if value not in METRICS:
        raise PydanticCustomError(
            "metric", "{message}", {"message": f"must be one of {', '.join(METRICS)}"}
        )
    return value


Metric = Annotated[
    Annotated[str, AfterValidator(_check_metric), Tag("<word>")]
    | Annotated[TimeToAccuracy, Tag("<time_to_accuracy>")],
    Discriminator(told_by("time_to_accuracy")),
]


def _different(seeds: int | tuple[int, ...]) -> int | tuple[int, ...]:
    if isinstance(seeds, tuple) and len(set(seeds)) < len(seeds):
        raise PydanticCustomError("seeds", "must be different from each other")
    return seeds


Seeds = Annotated[
    Annotated[int, Field(strict=True, ge=1, le=_MOST_SEEDS), Tag("<number>")]
    | Annotated[
        tuple[Annotated[int, Field(strict=True, ge=0, lt=2**31)], ...],
        Field(min_length=1, max_length=_MOST_SEEDS),
        Tag("<list>"),
    ],
    Discriminator(lambda value: "<list>" if isinstance(value, list | tuple) else "<number>"),
    AfterValidator(_different),
]


class Study(Block):
    """One question over many runs."""

    name: str = Field(
        pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]{0,99}$",
        description="Letters, digits, dot, dash and underscore; names the study's directory.",
    )
    base: Path = Field(description="The scenario that all runs begin with, relative to this file.")
    settings: dict[str, Any] = Field(
        default_factory=dict,
        max_length=_MOST_KEYS,
        alias="set",
        description="Keys of the scenario that have another value in all runs.",
    )
    vary: Vary = Field(description="What differs from arm to arm.")
    seeds: Seeds = Field(5, description="How many, from 1 on, or a list of them.")
    common_random_numbers: bool = Field(
        True,
        strict=True,
        description="The same seeds in every arm: the same channel and data, so that differences "
        "between arms are taken seed by seed. If not, no two runs share a seed.",
    )
    baseline: dict[str, Any] = Field(
        default_factory=dict,
        max_length=_MOST_KEYS,
        description="Values of varied keys. An arm is compared with the one that has these, and "
        "else the same. By default the first value of the first key.",
    )
    metrics: tuple[Metric, ...] = Field(
        ("latency_mean_s", "latency_p50_s", "latency_p95_s", "latency_p99_s", "uploads_missed"),
        min_length=1,
        description="What is shown; the files of the study hold all of them.",
    )

    @property
    def seed_list(self) -> tuple[int, ...]:
        """The seeds of each arm."""
        return tuple(range(1, self.seeds + 1)) if isinstance(self.seeds, int) else self.seeds
