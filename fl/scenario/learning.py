"""What a scenario may say of what is trained: the model, the data, the training."""

from collections.abc import Mapping
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, Discriminator, Field, Tag, model_validator
from pydantic_core import PydanticCustomError

from fl.own_code import is_class_name
from fl.scenario.channel import Block, told_by
from fl.scenario.quantity import AllOrNumber


class GivenSizes(Block):
    """The size of a model, for a run that does not train it."""

    personal_weights: int = Field(
        strict=True, ge=0, le=10**12, description="N_v: weights that stay on the device."
    )
    global_weights: int = Field(
        strict=True, ge=1, le=10**12, description="N_u: weights that are shared."
    )


def filled(data: Any, choice: str, defaults: Mapping[str, Mapping[str, Any]]) -> Any:  # noqa: ANN401
    """Return a block as it stands in a file, with the defaults of what it chooses filled in."""
    if not isinstance(data, dict):
        return data
    own = defaults.get(str(data.get(choice)), {})
    return data | {key: value for key, value in own.items() if data.get(key) is None}


def _check_name(name: str) -> str:
    if name not in ("cnn", "mlp") and not is_class_name(name):
        raise PydanticCustomError("name", "must be cnn, mlp, or a class as module:Class")
    return name


class NamedModel(Block):
    """A network; its weights are counted."""

    name: Annotated[str, AfterValidator(_check_name)] = Field(
        strict=True,
        description="cnn (the paper's), mlp, or a torch.nn.Module of one's own as module:Class.",
    )
    kernel_size: int | None = Field(
        None, strict=True, ge=1, le=31, description="Of cnn: odd, 5 if not said."
    )
    hidden: tuple[Annotated[int, Field(strict=True, ge=1, le=10**6)], ...] | None = Field(
        None, description="Of mlp: the outputs of each layer but the last, [128] if not said."
    )
    options: dict[str, Any] | None = Field(
        None, description="Of module:Class: what its constructor is called with."
    )

    @model_validator(mode="before")
    @classmethod
    def _fill(cls, data: Any) -> Any:  # noqa: ANN401 -- whatever stands in the file
        defaults: dict[str, dict[str, Any]] = {"cnn": {"kernel_size": 5}, "mlp": {"hidden": [128]}}
        return filled(data, "name", defaults)


Model = Annotated[
    Annotated[GivenSizes, Tag("<personal_weights>")] | Annotated[NamedModel, Tag("<name>")],
    Discriminator(
        told_by("name", "personal_weights"),
        custom_error_type="model",
        custom_error_message="must be {name: MODEL, ...} or "
        "{personal_weights: N, global_weights: N}",
    ),
]


class Partition(Block):
    """Which device has which samples."""

    by: Literal["label", "dirichlet", "shards", "iid"] = Field(
        description="label: a few labels each, and all samples of a label divided among those who "
        "have it. dirichlet: each label divided at random. shards: sorted by label, cut and "
        "dealt. iid: all labels alike."
    )
    labels_per_device: int | None = Field(
        None, strict=True, ge=1, description="Of label: how many."
    )
    alpha: float | None = Field(
        None, strict=True, gt=0, le=10**6, description="Of dirichlet: small is uneven."
    )
    min_samples: int | None = Field(
        None, strict=True, ge=1, description="Of dirichlet: at least so many each, 10 if not said."
    )
    shards_per_device: int | None = Field(
        None, strict=True, ge=1, description="Of shards: how many each."
    )

    @model_validator(mode="before")
    @classmethod
    def _fill(cls, data: Any) -> Any:  # noqa: ANN401 -- whatever stands in the file
        return filled(data, "by", {"dirichlet": {"min_samples": 10}})


class LearningRate(Block):
    """How far each step goes."""

    personal: float = Field(0.001, strict=True, gt=0, le=10**6, description="eta_v.")
    global_: float = Field(0.001, strict=True, gt=0, le=10**6, alias="global", description="eta_u.")


def _constant(description: str) -> Any:  # noqa: ANN401 -- as pydantic's own
    return Field(strict=True, ge=0, lt=float("inf"), description=description)


class BoundConstants(Block):
    """What Theorem 1 assumes of the losses."""

    global_smoothness: float = _constant("L_u: of the gradient of the global part.")
    personal_smoothness: float = _constant("L_v: of the gradient of the personal part.")
    global_gradient: float = _constant("phi_u: root of the mean squared norm of a gradient.")
    global_noise: float = _constant("sigma-hat_u: deviation of a mini-batch's gradient.")
    personal_noise: float = _constant("sigma-hat_v: likewise, of the personal part.")
    weight_norm: float = _constant("D of Assumption 2.")
    initial_gap: float = _constant("F(u^0, V^0) - F^*.")


def _kind_of_bound(value: object) -> str | None:
    if isinstance(value, dict | BoundConstants):
        return "<global_smoothness>"
    return "<word>" if isinstance(value, str) else None


class Learning(Block):
    """What the devices train on, and how."""

    dataset: Literal["mnist", "fashion-mnist", "cifar-10", "synthetic"] = Field(
        description="synthetic needs nothing; the others are fetched with `straggler data fetch`."
    )
    partition: Partition = Field(description="Which device has which samples.")
    batch_size: int = Field(
        128,
        strict=True,
        ge=1,
        le=10**6,
        description="Samples in a mini-batch; a device that has fewer takes all it has.",
    )
    learning_rate: LearningRate = Field(
        default_factory=LearningRate, description="How far each step goes."
    )
    optimizer: Literal["sgd", "momentum", "adam"] = Field(
        "sgd", description="sgd is the paper's. The others begin anew in each phase of a round."
    )
    momentum: float | None = Field(
        None, strict=True, ge=0, lt=1, description="Of optimizer: momentum; 0.9 if not said."
    )
    importance: Literal["update", "exact"] = Field(
        "update",
        description="What ranks the weights. update: how far the warm-up moves them, Eq. (20). "
        "exact: what removing each does to the loss, Eq. (19); a pass for each weight.",
    )
    weighting: Literal["equal", "samples"] = Field(
        "equal",
        description="What a device counts for in the mean of Eq. (26): as much as any other, or "
        "as much as it has samples.",
    )
    evaluate_every: int = Field(
        5, strict=True, ge=1, description="Rounds from test to test; the last is always tested."
    )
    test_samples: AllOrNumber = Field(
        200, description="Of each device, with its own labels; or all there are with these."
    )
    bound: (
        Annotated[
            Annotated[Literal["estimated"], Tag("<word>")]
            | Annotated[BoundConstants, Tag("<global_smoothness>")],
            Discriminator(
                _kind_of_bound,
                custom_error_type="bound",
                custom_error_message="must be estimated, or a mapping of its constants",
            ),
        ]
        | None
    ) = Field(
        None,
        description="Report the bound of Theorem 1. estimated: from the first weights, some "
        "seconds of work; or its constants.",
    )

    @model_validator(mode="before")
    @classmethod
    def _fill(cls, data: Any) -> Any:  # noqa: ANN401 -- whatever stands in the file
        return filled(data, "optimizer", {"momentum": {"momentum": 0.9}})
