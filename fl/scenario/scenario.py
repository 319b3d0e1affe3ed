"""What a scenario may say: every key, its meaning, its default."""

from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Any, Literal, get_args

from pydantic import BaseModel, BeforeValidator, ConfigDict, Discriminator, Field, Tag

from fl.scenario.quantity import (
    Bandwidth,
    CostEach,
    CountEach,
    DataRate,
    Duration,
    DurationEach,
    FrequencyEach,
    GainEach,
    PositiveDuration,
    Power,
    PowerEach,
    Quantity,
)
from fl.schemes import PRESETS, Scheme, read_scheme
from netsim.channel import AtEnd


class Block(BaseModel):
    """A mapping in the file: no key but those named, nothing changed afterwards."""

    model_config = ConfigDict(extra="forbid", frozen=True)


def _zero() -> Quantity:
    return Quantity(0.0, "0 s")


class Iterations(Block):
    """How often each part is updated in a round."""

    personal: int = Field(1, ge=0, description="tau_v: updates of the personal part.")
    warmup: int = Field(1, ge=0, description="tau-hat_u: updates that only rank the weights.")
    global_: int = Field(1, ge=0, alias="global", description="tau_u: updates of the global part.")


class Devices(Block):
    """The fleet; a value is one for all, a list, {uniform: [a, b]} or {choice: [a, b, ...]}."""

    count: int = Field(ge=1, description="K: how many devices.")
    cpu_frequency: FrequencyEach = Field(description="f_k: cycles a second.")
    cycles_per_weight: CountEach = Field(description="C_k: cycles to update one weight once.")
    pruning_cycles_per_weight: CostEach = Field(
        0, description="Cycles to rank and mask one weight.", validate_default=True
    )
    transmit_power: PowerEach | None = Field(
        None, description="p_k; needed where the channel is given as gains."
    )


class ConstantChannel(Block):
    """A channel that does not move."""

    gain: GainEach = Field(description="h_k: power gain, path loss included.")


class TraceChannel(Block):
    """A channel replayed from a file: device k is the trace's device k."""

    trace: Path = Field(description="Parquet file, relative to the file that names it.")
    at_end: AtEnd = Field(AtEnd.ERROR, description="What follows the end of the trace.")
    offset: DurationEach = Field(
        "0 s", description="The trace's time at which the run begins.", validate_default=True
    )


def _kind_of_channel(value: object) -> str:
    given = value if isinstance(value, dict) else vars(value) if isinstance(value, Block) else {}
    return "<gain>" if "gain" in given else "<trace>" if "trace" in given else "<unknown>"


Channel = Annotated[
    Annotated[ConstantChannel, Tag("<gain>")] | Annotated[TraceChannel, Tag("<trace>")],
    Discriminator(
        _kind_of_channel,
        custom_error_type="channel",
        custom_error_message="must be {gain: GAIN} or {trace: FILE, at_end: ..., offset: ...}",
    ),
]


class Uplink(Block):
    """The OFDMA uplink."""

    bandwidth: Bandwidth = Field(description="B: the width of the band.")
    noise_power: Power | None = Field(
        None, description="sigma^2; needed where the channel is given as gains."
    )
    bits_per_weight: int = Field(32, ge=1, le=64, description="q-hat: bits to send one weight.")
    spatial_layers: int = Field(1, ge=1, description="How often the band is reused in space.")
    release: Literal["hold", "redistribute"] = Field(
        "hold", description="What becomes of the share of a device that has finished."
    )
    latency: Duration = Field(
        default_factory=_zero, description="From the last bit sent to the last bit received."
    )
    channel: Channel = Field(description="What the links do over time.")


class Hop(Block):
    """One wired link between the base station and the edge server."""

    capacity: DataRate | None = Field(None, description="Without it, anything fits.")
    latency: Duration = Field(default_factory=_zero, description="Of one bit, end to end.")


class Network(Block):
    """What lies behind the radio; by default it takes no time."""

    backhaul: tuple[Hop, ...] = Field(
        (), description="The wired hops from base station to edge server, in order."
    )
    broadcast: Duration = Field(
        default_factory=_zero, description="From the server's decision to the devices' start."
    )
    aggregation: Duration = Field(
        default_factory=_zero, description="From the last upload to the new global part."
    )


class Model(Block):
    """The size of what is trained and sent."""

    personal_weights: int = Field(ge=0, description="N_v: weights that stay on the device.")
    global_weights: int = Field(ge=1, description="N_u: weights that are shared.")


class Scenario(Block):
    """All that a run depends on."""

    name: str = Field(
        pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]{0,99}$",
        description="Letters, digits, dot, dash and underscore; names the run directory.",
    )
    seed: int = Field(1, ge=0, lt=2**63, description="Of every random draw.")
    rounds: int = Field(ge=1, le=10**9, description="G: how many rounds.")
    scheme: Annotated[Scheme, BeforeValidator(read_scheme)] = Field(
        description=f"A preset ({', '.join(PRESETS)}), or the four choices below."
    )
    deadline: PositiveDuration | None = Field(None, description="T_th: of every round.")
    count_warmup: bool = Field(
        True, description="Does the deadline of the pruning ratio include the warm-up?"
    )
    late: Literal["wait", "drop"] = Field(
        "wait",
        description="wait: the round ends when all have arrived. drop: at the deadline, with "
        "those that have arrived.",
    )
    csi_age: Duration = Field(
        default_factory=_zero,
        description="How old the channel state is that the server decides on.",
    )
    iterations: Iterations = Field(
        default_factory=Iterations, description="How often each part is updated in a round."
    )
    devices: Devices = Field(description="The fleet.")
    uplink: Uplink = Field(description="The OFDMA uplink.")
    network: Network = Field(
        default_factory=Network, description="What lies behind the radio; by default no time."
    )
    model: Model = Field(description="The size of what is trained and sent.")

    def written(self) -> dict[str, Any]:
        """Return everything it says, defaults included, as it would stand in a file."""
        return self.model_dump(mode="json", by_alias=True)


def blocks_in(annotation: object) -> Iterator[type[BaseModel]]:
    """Yield the blocks that a value of this type may be."""
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        yield annotation
    for argument in get_args(annotation):
        yield from blocks_in(argument)
