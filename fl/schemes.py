"""Schemes: named combinations of four orthogonal choices.

split      which part of the model is personal
update     in which order the two parts are trained
pruning    which ratio of the global part a device prunes
bandwidth  which share of the band a device gets
"""

from typing import Annotated, Any, Literal

from pydantic import AfterValidator, BaseModel, ConfigDict, Discriminator, Field, Tag
from pydantic_core import PydanticCustomError

from fl.own_code import CLASS_NAME, is_class_name


class FixedRatio(BaseModel):
    """The same pruning ratio for every device in every round."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    fixed: float = Field(strict=True, ge=0, le=1, description="The pruning ratio.")


Pattern = Annotated[str, Field(strict=True, min_length=1)]


class Layers(BaseModel):
    """Which parameters of the model are personal, and which are shared but never pruned."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    personal: tuple[Pattern, ...] = Field(
        (), description="Patterns of parameter names that stay on the device, as [conv1.*]."
    )
    unpruned: tuple[Pattern, ...] = Field(
        (), description="Patterns of parameter names that are shared whole, as [fc2.bias]."
    )


def _kind_of_split(value: object) -> str:
    return "<personal>" if isinstance(value, dict | Layers) else "<word>"


def _kind_of_pruning(value: object) -> str:
    return "<fixed>" if isinstance(value, dict | FixedRatio) else "<word>"


def _kind_of_bandwidth(value: object) -> str:
    if isinstance(value, list | tuple):
        return "<given>"
    return "<own>" if isinstance(value, str) and ":" in value else "<word>"


def _check_class(name: str) -> str:
    if not is_class_name(name):
        raise PydanticCustomError("own_class", "must be a class, as module:Class")
    return name


OwnClass = Annotated[
    str,
    # For editors: without it, a word would be two kinds of value at once.
    Field(strict=True, json_schema_extra={"pattern": CLASS_NAME}),
    AfterValidator(_check_class),
]
"""A class of one's own."""
Share = Annotated[float, Field(strict=True, ge=0, le=1)]


class Scheme(BaseModel):
    """The four choices."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    split: Annotated[
        Annotated[Literal["conv", "none", "unpruned-conv"], Tag("<word>")]
        | Annotated[Layers, Tag("<personal>")],
        Discriminator(_kind_of_split),
    ] = Field(
        "conv",
        description="conv: the convolutional layers (conv*), or the personal_weights of a model "
        "given by its size, stay on the device. none: there is no personal part, every weight is "
        "global. unpruned-conv: likewise, but these layers are never pruned. Or patterns.",
    )
    update: Literal["alternate", "simultaneous"] = Field(
        "alternate",
        description="alternate: first the personal part, then the global one (FedAlt). "
        "simultaneous: both at once, after the pruning (FedSim).",
    )
    pruning: Annotated[
        Annotated[Literal["none", "deadline", "deadline-common"], Tag("<word>")]
        | Annotated[FixedRatio, Tag("<fixed>")],
        Discriminator(_kind_of_pruning),
    ] = Field(
        "none",
        description="none: nothing is pruned, and there is no warm-up. {fixed: RATIO}: the same "
        "for all. deadline: for each device the least ratio that meets the deadline, Eq. (47). "
        "deadline-common: one for all, which meets it at the mean rate.",
    )
    bandwidth: Annotated[
        Annotated[Literal["equal", "optimal", "max-min", "channel-inversion"], Tag("<word>")]
        | Annotated[OwnClass, Tag("<own>")]
        | Annotated[tuple[Share, ...], Tag("<given>")],
        Discriminator(_kind_of_bandwidth),
    ] = Field(
        "equal",
        description="equal. optimal: the least pruning of all, Theorem 3 within its bounds. "
        "max-min: the least common pruning. channel-inversion: all would finish together. A list "
        "with the share of each device. Or a rule of one's own, as module:Class.",
    )
    max_pruning_ratio: float = Field(
        1.0,
        strict=True,
        ge=0,
        le=1,
        description="The highest ratio that pruning for a deadline is to choose. A device that "
        "would need a higher one takes it, and is marked floor_missed.",
    )


PRESETS: dict[str, Scheme] = {
    "proposed": Scheme(pruning="deadline", bandwidth="optimal"),
    "equal-resource": Scheme(pruning="deadline", bandwidth="equal"),
    "equal-resource-common": Scheme(pruning="deadline-common", bandwidth="equal"),
    "personalization": Scheme(pruning="none", bandwidth="equal"),
    "pruning-only": Scheme(split="unpruned-conv", pruning="deadline", bandwidth="equal"),
    "fedavg": Scheme(split="none", pruning="none", bandwidth="equal"),
}


def read_scheme(value: Any) -> Any:  # noqa: ANN401 -- whatever stands in the file
    """Return the four choices that a preset's name stands for; a mapping is left as it is."""
    if isinstance(value, dict | Scheme):
        return value
    if isinstance(value, str) and value in PRESETS:
        return PRESETS[value]
    known = ", ".join(PRESETS)
    raise PydanticCustomError(
        "scheme",
        "{message}",
        {"message": f"must be one of {known}, or a mapping of split, update, pruning, bandwidth"},
    )
