"""What a scenario may say: every key, its meaning, its default."""

from collections.abc import Iterator
from typing import Annotated, Any, Literal, get_args

from pydantic import BaseModel, BeforeValidator, Field, model_validator
from pydantic_core import PydanticCustomError

from fl.own_code import is_class_name
from fl.room import told_bytes
from fl.scenario.channel import Block, Channel, zero
from fl.scenario.faults import Faults
from fl.scenario.learning import Learning, Model, NamedModel
from fl.scenario.quantity import (
    AllOrNumber,
    Bandwidth,
    CostEach,
    CountEach,
    DataRate,
    Duration,
    FrequencyEach,
    PositiveDuration,
    Power,
    PowerDensity,
    PowerEach,
    Spread,
)
from fl.schemes import PRESETS, Scheme, read_scheme

#: Of memory, in a run: measured, see `fl.estimate`.
BYTES_A_DEVICE = 4300
_MOST_DEVICES = 10**7


def _check_count(count: object) -> object:
    """Say what too many devices would take; pydantic alone would only say that they are too many."""
    if isinstance(count, int) and count > _MOST_DEVICES:
        needed = told_bytes(float(min(count, 10**30)) * BYTES_A_DEVICE)
        text = f"must be <= {_MOST_DEVICES}: so many would take about {needed} of memory"
        raise PydanticCustomError("count", "{text}", {"text": text})
    return count


class Iterations(Block):
    """How often each part is updated in a round."""

    personal: int = Field(
        1, strict=True, ge=0, le=10**6, description="tau_v: updates of the personal part."
    )
    warmup: int = Field(
        1, strict=True, ge=0, le=10**6, description="tau-hat_u: updates that only rank the weights."
    )
    global_: int = Field(
        1,
        strict=True,
        ge=0,
        le=10**6,
        alias="global",
        description="tau_u: updates of the global part.",
    )


class Devices(Block):
    """The fleet; a value is one for all, a list, {uniform: [a, b]} or {choice: [a, b, ...]}."""

    count: Annotated[int, BeforeValidator(_check_count)] = Field(
        strict=True, ge=1, le=_MOST_DEVICES, description="K: how many devices."
    )
    cpu_frequency: FrequencyEach = Field(description="f_k: cycles a second.")
    cycles_per_weight: CountEach = Field(description="C_k: cycles to update one weight once.")
    pruning_cycles_per_weight: CostEach = Field(
        0, description="Cycles to rank and mask one weight.", validate_default=True
    )
    transmit_power: PowerEach | None = Field(
        None, description="p_k; needed where the channel is given as gains."
    )


class Uplink(Block):
    """The OFDMA uplink."""

    bandwidth: Bandwidth = Field(description="B: the width of the band.")
    noise_power: Power | None = Field(
        None,
        description="sigma^2, whatever the share of the band, as in the paper; this or "
        "noise_density is needed where the channel is given as gains.",
    )
    noise_density: PowerDensity | None = Field(
        None,
        description="N_0: in place of noise_power, so that a narrower share holds less noise; "
        "-174 dBm/Hz is thermal.",
    )
    noise_figure: Spread | None = Field(
        None, description="Of the receiver, beside noise_density; 0 dB if not said."
    )
    bits_per_weight: int = Field(
        32, strict=True, ge=1, le=64, description="q-hat: bits to send one weight."
    )
    spatial_layers: int = Field(
        1, strict=True, ge=1, le=10**4, description="How often the band is reused in space."
    )
    release: Literal["hold", "redistribute"] = Field(
        "hold", description="What becomes of the share of a device that has finished."
    )
    latency: Duration = Field(
        default_factory=zero, description="From the last bit sent to the last bit received."
    )
    channel: Channel = Field(description="What the links do over time.")

    @model_validator(mode="before")
    @classmethod
    def _fill(cls, data: Any) -> Any:  # noqa: ANN401 -- whatever stands in the file
        if isinstance(data, dict) and data.get("noise_density") is not None:
            return {"noise_figure": "0 dB"} | data
        return data


class Hop(Block):
    """One wired link between the base station and the edge server."""

    capacity: DataRate | None = Field(None, description="Without it, anything fits.")
    latency: Duration = Field(default_factory=zero, description="Of one bit, end to end.")


class Network(Block):
    """What lies behind the radio; by default it takes no time."""

    backhaul: tuple[Hop, ...] = Field(
        (), description="The wired hops from base station to edge server, in order."
    )
    broadcast: Duration = Field(
        default_factory=zero, description="From the server's decision to the devices' start."
    )
    aggregation: Duration = Field(
        default_factory=zero, description="From the last upload to the new global part."
    )


class Scenario(Block):
    """All that a run depends on."""

    name: str = Field(
        pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]{0,99}$",
        description="Letters, digits, dot, dash and underscore; names the run directory.",
    )
    seed: int = Field(1, strict=True, ge=0, lt=2**63, description="Of every random draw.")
    rounds: int = Field(strict=True, ge=1, le=10**9, description="G: how many rounds.")
    scheme: Annotated[Scheme, BeforeValidator(read_scheme)] = Field(
        description=f"A preset ({', '.join(PRESETS)}), or the four choices below."
    )
    participants: AllOrNumber = Field(
        "all",
        description="Who takes part in a round: all devices, or so many, drawn anew each time.",
    )
    deadline: PositiveDuration | None = Field(None, description="T_th: of every round.")
    count_warmup: bool = Field(
        True, strict=True, description="Does the deadline of the pruning ratio include the warm-up?"
    )
    count_unpruned: bool = Field(
        True,
        strict=True,
        description="Does it include what is sent but must not be pruned? If not, the ratio is "
        "one of the rest.",
    )
    late: Literal["wait", "drop"] = Field(
        "wait",
        description="wait: the round ends when all have arrived. drop: at the deadline, with "
        "those that have arrived.",
    )
    csi_age: Duration = Field(
        default_factory=zero,
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
    faults: Faults | None = Field(
        None, description="What goes wrong: devices offline, uploads lost, processors slow."
    )
    model: Model = Field(description="What is trained and sent, or only its size.")
    learning: Learning | None = Field(
        None,
        description="What devices train on; without it, they spend the time and learn nothing.",
    )

    @property
    def own_code(self) -> dict[str, str]:
        """The classes of somebody's own that it names, by key."""
        named = {"scheme.bandwidth": self.scheme.bandwidth}
        if isinstance(self.model, NamedModel):
            named["model.name"] = self.model.name
        return {k: v for k, v in named.items() if isinstance(v, str) and is_class_name(v)}

    @property
    def num_participants(self) -> int:
        """How many devices take part in a round."""
        return self.devices.count if self.participants == "all" else self.participants

    def written(self) -> dict[str, Any]:
        """Return everything it says, defaults included, as it would stand in a file."""
        return self.model_dump(mode="json", by_alias=True)


def blocks_in(annotation: object) -> Iterator[type[BaseModel]]:
    """Yield the blocks that a value of this type may be."""
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        yield annotation
    for argument in get_args(annotation):
        yield from blocks_in(argument)
