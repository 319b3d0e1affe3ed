"""What a scenario may say of the channel: a gain, a trace, or how to generate one."""

from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Discriminator, Field, Tag

from fl.scenario.quantity import (
    Bandwidth,
    Distance,
    DistanceEach,
    Duration,
    DurationEach,
    GainEach,
    Level,
    LevelEach,
    PositiveDuration,
    Quantity,
    Speed,
    SpeedEach,
    Spread,
)
from netsim.channel import AtEnd


class Block(BaseModel):
    """A mapping in the file: no key but those named, nothing changed afterwards."""

    model_config = ConfigDict(extra="forbid", frozen=True)


def zero() -> Quantity:
    """Return no time at all."""
    return Quantity(0.0, "0 s")


def told_by(*keys: str) -> Callable[[object], str]:
    """Return what tells the alternatives of a value apart: which of *keys* a block holds.

    The tag of a block is one of its keys in angle brackets; that of a plain word <word>.
    """

    def tag(value: object) -> str:
        held = value if isinstance(value, dict) else vars(value) if isinstance(value, Block) else {}
        return next((f"<{key}>" for key in keys if key in held), "<word>")

    return tag


class GivenLoss(Block):
    """A mean attenuation that is known."""

    loss: LevelEach = Field(description="Mean attenuation, whatever the distance.")


class PowerLaw(Block):
    """Attenuation that grows with a power of the distance."""

    exponent: float = Field(strict=True, gt=0, le=10, description="2 is free space, 3 to 4 a city.")
    reference_loss: Level = Field(description="Attenuation at the reference distance.")
    reference_distance: Distance = Field(
        default_factory=lambda: Quantity(1.0, "1 m"), description="Nearer counts as this."
    )


class AtDistance(Block):
    """Devices at known distances, in directions that are drawn."""

    distance: DistanceEach = Field(description="From the base station, on the ground.")


class InDisc(Block):
    """Devices anywhere in a disc."""

    disc: Distance = Field(description="Its radius; places are uniform in its area.")


class ConstantVelocity(Block):
    """Straight on, in a direction that is drawn."""

    speed: SpeedEach = Field(description="Of the device.")


class Waypoints(Block):
    """Straight to a random point of the disc, a pause, and on to another one."""

    waypoint: tuple[Speed, Speed] = Field(description="Slowest and fastest speed of a leg.")
    pause: Duration = Field(default_factory=zero, description="At each waypoint.")


class Obstacles(Block):
    """Shadowing with or without a line of sight."""

    sigma: Spread = Field(description="Standard deviation.")
    decorrelation: Distance = Field(description="At which the correlation is 1/e.")


class RicianFading(Block):
    """A steady path beside the scattered ones."""

    rician: Level = Field(description="K: the steady path's power over that of the others.")


class BlockFading(Block):
    """Rayleigh fading that is drawn anew now and then."""

    block_rayleigh: PositiveDuration = Field(description="How long each draw holds.")


class Generate(Block):
    """How to make a trace from the laws of propagation."""

    duration: PositiveDuration = Field(description="How long the trace is.")
    step: PositiveDuration = Field(description="From sample to sample.")
    carrier: Bandwidth = Field(
        default_factory=lambda: Quantity(3.5e9, "3.5 GHz"), description="Carrier frequency."
    )
    path_loss: Annotated[
        Annotated[Literal["free-space", "umi", "uma"], Tag("<word>")]
        | Annotated[GivenLoss, Tag("<loss>")]
        | Annotated[PowerLaw, Tag("<exponent>")],
        Discriminator(told_by("loss", "exponent")),
    ] = Field(description="Mean attenuation; umi and uma as in TR 38.901.")
    base_station_height: Distance | None = Field(
        None, description="For umi (10 m if not said) and uma (25 m)."
    )
    device_height: Distance = Field(
        default_factory=lambda: Quantity(1.5, "1.5 m"), description="For umi and uma."
    )
    placement: Annotated[
        Annotated[AtDistance, Tag("<distance>")] | Annotated[InDisc, Tag("<disc>")],
        Discriminator(
            told_by("distance", "disc"),
            custom_error_type="placement",
            custom_error_message="must be {distance: DISTANCE} or {disc: RADIUS}",
        ),
    ] = Field(
        default_factory=lambda: AtDistance(distance="100 m"),
        description="Where devices begin.",
    )
    mobility: Annotated[
        Annotated[Literal["static"], Tag("<word>")]
        | Annotated[ConstantVelocity, Tag("<speed>")]
        | Annotated[Waypoints, Tag("<waypoint>")],
        Discriminator(told_by("speed", "waypoint")),
    ] = Field("static", description="How they move; it drives path loss and Doppler.")
    shadowing: Annotated[
        Annotated[Literal["none", "tr-38.901"], Tag("<word>")]
        | Annotated[Obstacles, Tag("<sigma>")],
        Discriminator(told_by("sigma")),
    ] = Field("none", description="tr-38.901: that of umi or uma.")
    fading: Annotated[
        Annotated[Literal["none", "clarke"], Tag("<word>")]
        | Annotated[RicianFading, Tag("<rician>")]
        | Annotated[BlockFading, Tag("<block_rayleigh>")],
        Discriminator(told_by("rician", "block_rayleigh")),
    ] = Field("none", description="clarke: Rayleigh, correlated over the way travelled.")


class ConstantChannel(Block):
    """A channel that does not move."""

    gain: GainEach = Field(description="h_k: power gain, path loss included.")


class MovingChannel(Block):
    """A channel that is replayed."""

    at_end: AtEnd = Field(AtEnd.ERROR, description="What follows the end of the trace.")
    offset: DurationEach = Field(
        "0 s", description="The trace's time at which the run begins.", validate_default=True
    )


class TraceChannel(MovingChannel):
    """A channel replayed from a file."""

    trace: Path = Field(description="Parquet file, relative to the file that names it.")
    devices: Annotated[
        Annotated[Literal["index", "random"], Tag("<word>")]
        | Annotated[tuple[Annotated[int, Field(strict=True, ge=0)], ...], Tag("<given>")],
        Discriminator(lambda value: "<given>" if isinstance(value, list | tuple) else "<word>"),
    ] = Field(
        "index",
        description="Which of the trace's devices each one replays. index: the one of its own "
        "number; random: any, drawn once; or a list. A trace may serve many devices.",
    )


class GeneratedChannel(MovingChannel):
    """A channel that is generated, with the run's seed, and replayed."""

    generate: Generate = Field(description="How; the same as `straggler trace generate`.")


Channel = Annotated[
    Annotated[ConstantChannel, Tag("<gain>")]
    | Annotated[TraceChannel, Tag("<trace>")]
    | Annotated[GeneratedChannel, Tag("<generate>")],
    Discriminator(
        told_by("gain", "trace", "generate"),
        custom_error_type="channel",
        custom_error_message="must be {gain: GAIN}, {trace: FILE, ...} or {generate: {...}}",
    ),
]
