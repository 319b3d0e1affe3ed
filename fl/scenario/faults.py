"""What a scenario may say of faults: by chance, round by round, or by a schedule on the clock."""

from collections.abc import Iterator, Sequence
from itertools import chain
from typing import Annotated, Literal

from pydantic import Discriminator, Field, Tag

from fl.scenario.channel import Block, zero
from fl.scenario.document import KeyPath
from fl.scenario.quantity import Duration, Factor, FactorEach, PositiveDuration, ProbabilityEach

RETRIES = 3
"""How often an upload that was lost is sent again, unless said otherwise."""


class Offline(Block):
    """Devices that go offline for the rest of a round."""

    probability: ProbabilityEach = Field(
        description="Of a device going offline within a round, at any moment of its predicted "
        "latency; it is back in the next one.",
    )


class Lost(Block):
    """Uploads that are lost, and sent again."""

    probability: ProbabilityEach = Field(
        0, description="Of each attempt being lost; told at its end.", validate_default=True
    )
    retries: int = Field(
        RETRIES, strict=True, ge=0, le=1000, description="How often a device tries again."
    )
    pause: Duration = Field(default_factory=zero, description="Before each of these.")


class Slow(Block):
    """Processors that are slow for a round."""

    probability: ProbabilityEach = Field(description="Of a device being slow in a round.")
    factor: FactorEach = Field(description="So many times longer does computing take then.")


_Device = Annotated[int, Field(strict=True, ge=0)]


def _kind(value: object) -> str | None:
    if value == "all":
        return "<word>"
    return (
        "<list>" if isinstance(value, list | tuple) else "<number>" if type(value) is int else None
    )


class Scheduled(Block):
    """A fault at a given time."""

    fault: Literal["offline", "lost", "slow"] = Field(
        description="offline: takes no part, or no further part, in a round. lost: every upload "
        "that ends then is lost. slow: computes more slowly."
    )
    devices: Annotated[
        Annotated[Literal["all"], Tag("<word>")]
        | Annotated[_Device, Tag("<number>")]
        | Annotated[tuple[_Device, ...], Field(min_length=1), Tag("<list>")],
        Discriminator(
            _kind,
            custom_error_type="which_devices",
            custom_error_message="must be the number of a device, a list of them, or all",
        ),
    ] = Field("all", description="Whom it befalls: a device, a list of them, or all.")
    from_: Duration = Field(alias="from", description="When it begins, in simulated time.")
    until: PositiveDuration = Field(description="When it is over.")
    factor: Factor | None = Field(
        None, description="Of slow: so many times longer does computing take."
    )

    @property
    def numbers(self) -> tuple[int, ...]:
        """The devices it befalls; none named are all."""
        if self.devices == "all":
            return ()
        return (self.devices,) if isinstance(self.devices, int) else self.devices


class Faults(Block):
    """What goes wrong."""

    offline: Offline | None = Field(None, description="Devices that go offline within a round.")
    lost: Lost | None = Field(None, description="Uploads that are lost, and sent again.")
    slow: Slow | None = Field(None, description="Processors that are slow for a round.")
    schedule: tuple[Scheduled, ...] = Field((), description="Faults at given times.")


def fault_contradictions(faults: Faults, count: int) -> Iterator[tuple[KeyPath, str]]:
    """Yield the keys of the schedule that do not go together, each with what is wrong."""
    slow: dict[int | str, list[Scheduled]] = {}
    for index, one in enumerate(faults.schedule):
        place: KeyPath = ("faults", "schedule", index)
        if one.until <= one.from_:
            yield (*place, "until"), f"must be after from, {one.from_.text}"
        for device in one.numbers:
            if device >= count:
                yield (*place, "devices"), f"must be below devices.count, {count}, got {device}"
        if one.fault != "slow":
            if one.factor is not None:
                yield (*place, "factor"), f"belongs to fault: slow, not to {one.fault}"
            continue
        if one.factor is None:
            yield (*place, "factor"), "is missing; fault: slow needs it"
        who: Sequence[int | str] = one.numbers or ("all",)
        others = slow.values() if who == ("all",) else (slow.get(key, []) for key in (*who, "all"))
        for other in chain.from_iterable(others):
            if one.from_ < other.until and other.from_ < one.until:
                yield place, "a device must not be slow twice at the same time"
                break
        for key in who:
            slow.setdefault(key, []).append(one)
