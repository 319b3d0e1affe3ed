"""Schemes: named combinations of four orthogonal choices.

split      which part of the model is personal
update     in which order the two parts are trained
pruning    which ratio of the global part a device prunes
bandwidth  which share of the band a device gets
"""

from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Discriminator, Field, Tag
from pydantic_core import PydanticCustomError


class FixedRatio(BaseModel):
    """The same pruning ratio for every device in every round."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    fixed: float = Field(strict=True, ge=0, le=1, description="The pruning ratio.")


class PersonalLayers(BaseModel):
    """Which parameters of the model are personal."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    personal: tuple[Annotated[str, Field(strict=True, min_length=1)], ...] = Field(
        min_length=1, description="Patterns of parameter names, as [conv1.*, fc2.bias]."
    )


def _kind_of_split(value: object) -> str:
    return "<personal>" if isinstance(value, dict | PersonalLayers) else "<word>"


def _kind_of_pruning(value: object) -> str:
    return "<fixed>" if isinstance(value, dict | FixedRatio) else "<word>"


def _kind_of_bandwidth(value: object) -> str:
    return "<given>" if isinstance(value, list | tuple) else "<word>"


Share = Annotated[float, Field(strict=True, ge=0, le=1)]


class Scheme(BaseModel):
    """The four choices."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    split: Annotated[
        Annotated[Literal["conv", "none"], Tag("<word>")]
        | Annotated[PersonalLayers, Tag("<personal>")],
        Discriminator(_kind_of_split),
    ] = Field(
        "conv",
        description="conv: the convolutional layers (conv*), or the personal_weights of a model "
        "given by its size, stay on the device. none: there is no personal part, every weight is "
        "global. Or patterns of what is personal.",
    )
    update: Literal["alternate", "simultaneous"] = Field(
        "alternate",
        description="alternate: first the personal part, then the global one (FedAlt). "
        "simultaneous: both at once, after the pruning (FedSim).",
    )
    pruning: Annotated[
        Annotated[Literal["none", "deadline"], Tag("<word>")]
        | Annotated[FixedRatio, Tag("<fixed>")],
        Discriminator(_kind_of_pruning),
    ] = Field(
        "none",
        description="none: nothing is pruned, and there is no warm-up. {fixed: RATIO}: the same "
        "for all. deadline: for each device the least ratio that meets the deadline, Eq. (47).",
    )
    bandwidth: Annotated[
        Annotated[Literal["equal"], Tag("<word>")] | Annotated[tuple[Share, ...], Tag("<given>")],
        Discriminator(_kind_of_bandwidth),
    ] = Field("equal", description="equal, or a list with the share of each device.")


PRESETS: dict[str, Scheme] = {
    "equal-resource": Scheme(pruning="deadline", bandwidth="equal"),
    "personalization": Scheme(pruning="none", bandwidth="equal"),
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
