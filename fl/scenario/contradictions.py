"""What is wrong with a scenario that no key alone is guilty of."""

from collections.abc import Iterator

from pydantic import BaseModel

from fl.scenario.channel import (
    AtDistance,
    ConstantChannel,
    Generate,
    GeneratedChannel,
    GivenLoss,
    RicianFading,
    TraceChannel,
    Waypoints,
)
from fl.scenario.document import KeyPath
from fl.scenario.faults import fault_contradictions
from fl.scenario.learning import GivenSizes, Partition
from fl.scenario.quantity import PerDevice
from fl.scenario.scenario import Scenario
from fl.schemes import Layers

#: Of one device: more would not fit into memory.
_MOST_SAMPLES = 10**8

Problems = Iterator[tuple[KeyPath, str]]


def contradictions(scenario: Scenario) -> Problems:
    """Yield the keys that do not go together, each with what is wrong."""
    count = scenario.devices.count
    yield from _lengths(scenario, (), count)
    yield from _participant_contradictions(scenario)
    yield from _model_contradictions(scenario)
    yield from _learning_contradictions(scenario)
    yield from _scheme_contradictions(scenario)
    if scenario.deadline is None and scenario.late == "drop":
        yield ("deadline",), "is missing; late: drop needs it"
    elif scenario.late == "drop" and scenario.network.broadcast >= (scenario.deadline or 0):
        yield ("network", "broadcast"), "must end before the deadline, at which the round is cut"
    yield from _channel_contradictions(scenario)
    if scenario.faults is not None:
        yield from fault_contradictions(scenario.faults, count)


def _participant_contradictions(scenario: Scenario) -> Problems:
    count, number = scenario.devices.count, scenario.num_participants
    if number > count:
        yield ("participants",), f"must be at most devices.count, {count}, got {number}"
    if number == count:
        return
    if isinstance(scenario.scheme.bandwidth, tuple):
        yield (
            ("scheme", "bandwidth"),
            f"must be a rule, not a list, where participants are drawn: only {number} of {count} "
            + "devices share the band in a round, each time others",
        )
    if scenario.learning is not None and scenario.learning.bound is not None:
        yield ("learning", "bound"), "holds where all devices take part: leave participants at all"


def _scheme_contradictions(scenario: Scenario) -> Problems:
    scheme, count = scenario.scheme, scenario.devices.count
    place: KeyPath = ("scheme", "bandwidth")
    if isinstance(scheme.bandwidth, tuple):
        given = scheme.bandwidth
        if len(given) != count:
            yield place, f"must have one share for each of {count} devices, has {len(given)}"
        if sum(given) > 1 + 1e-9:
            yield place, f"must sum to at most 1, got {sum(given):g}"
    for_deadline = scheme.pruning in ("deadline", "deadline-common")
    if for_deadline and scenario.deadline is None:
        yield ("deadline",), f"is missing; scheme.pruning: {scheme.pruning} needs it"
    if scheme.bandwidth in ("optimal", "max-min") and scheme.pruning != "deadline":
        yield place, f"{scheme.bandwidth} shares the band for pruning: deadline, and only for that"
    if scheme.max_pruning_ratio < 1 and not for_deadline:
        yield ("scheme", "max_pruning_ratio"), "has no effect without pruning for a deadline"
    if isinstance(scheme.split, Layers) and not scheme.split.personal + scheme.split.unpruned:
        yield ("scheme", "split"), "must name what is personal, or unpruned; or be none"


def _model_contradictions(scenario: Scenario) -> Problems:
    model, scheme = scenario.model, scenario.scheme
    if isinstance(model, GivenSizes):
        weights = model.personal_weights + model.global_weights
        if weights * scenario.uplink.bits_per_weight * scenario.num_participants >= 2**62:
            yield ("model",), "is too large: all devices of a round would send more than 2**62 bits"
        if isinstance(scheme.split, Layers):
            yield ("scheme", "split"), "needs a model with layers, as model: {name: cnn}"
        if scenario.learning is not None:
            yield ("model",), "must be a network to be trained, as {name: cnn}"
        return
    of = {"kernel_size": "cnn", "hidden": "mlp", "options": "module:Class"}
    kind = model.name if model.name in ("cnn", "mlp") else "module:Class"
    for key, owner in of.items():
        if getattr(model, key) is not None and owner != kind:
            yield ("model", key), f"belongs to the model {owner}, not to {model.name}"
    if model.kernel_size is not None and model.kernel_size % 2 == 0:
        yield ("model", "kernel_size"), f"must be odd, got {model.kernel_size}"


def _learning_contradictions(scenario: Scenario) -> Problems:
    iterations, scheme = scenario.iterations, scenario.scheme
    if scheme.update == "simultaneous" and iterations.personal != iterations.global_:
        yield (
            ("iterations",),
            "must be as many personal as global ones with update: simultaneous, "
            + f"got {iterations.personal} and {iterations.global_}",
        )
    learning = scenario.learning
    if learning is None:
        return
    yield from _partition_contradictions(learning.partition)
    if learning.bound is not None and (scheme.update, learning.optimizer) != ("alternate", "sgd"):
        yield ("learning", "bound"), "holds for update: alternate with optimizer: sgd, and only so"
    if learning.momentum is not None and learning.optimizer != "momentum":
        yield ("learning", "momentum"), f"belongs to optimizer: momentum, not {learning.optimizer}"
    if scheme.pruning == "none":
        return
    if learning.importance == "update" and iterations.warmup == 0:
        yield ("iterations", "warmup"), "must be at least 1: it ranks the weights to be pruned"
    if learning.importance == "exact" and iterations.warmup > 0:
        yield (
            ("iterations", "warmup"),
            "must be 0: importance: exact ranks the weights without it, and takes "
            + "devices.pruning_cycles_per_weight",
        )


def _partition_contradictions(partition: Partition) -> Problems:
    place: KeyPath = ("learning", "partition")
    needs = {"labels_per_device": "label", "alpha": "dirichlet", "shards_per_device": "shards"}
    for key, law in (needs | {"min_samples": "dirichlet"}).items():
        given = getattr(partition, key) is not None
        if given and law != partition.by:
            yield (*place, key), f"belongs to by: {law}, not to by: {partition.by}"
        if not given and law == partition.by and key in needs:
            yield (*place, key), f"is missing; by: {law} needs it"


def _noise_contradictions(scenario: Scenario) -> Problems:
    uplink = scenario.uplink
    if uplink.noise_density is None:
        if uplink.noise_figure is not None:
            yield ("uplink", "noise_figure"), "belongs to noise_density, which is missing"
        return
    if uplink.noise_power is not None:
        yield ("uplink", "noise_density"), "stands in place of noise_power: leave one of them out"
    if uplink.release == "redistribute":
        yield (
            ("uplink", "release"),
            "must be hold with noise_density: a share that changes while it is used changes its "
            + "noise, which is not simulated",
        )


def _channel_contradictions(scenario: Scenario) -> Problems:
    channel, count = scenario.uplink.channel, scenario.devices.count
    place: KeyPath = ("uplink", "channel")
    yield from _noise_contradictions(scenario)
    if isinstance(channel, ConstantChannel | GeneratedChannel):
        yield from gains_need_powers(scenario)
    if isinstance(channel, GeneratedChannel):
        yield from generate_contradictions(channel.generate, (*place, "generate"), None)
    given = channel.devices if isinstance(channel, TraceChannel) else "index"
    if isinstance(given, tuple) and len(given) != count:
        yield (*place, "devices"), f"must name one for each of {count} devices, has {len(given)}"


def gains_need_powers(scenario: Scenario) -> Problems:
    """Yield what is missing to make a signal-to-noise ratio out of a gain."""
    if scenario.devices.transmit_power is None:
        yield ("devices", "transmit_power"), "is missing; the channel is given as gains"
    if scenario.uplink.noise_power is None and scenario.uplink.noise_density is None:
        yield (
            ("uplink", "noise_power"),
            "is missing, or noise_density; the channel is given as gains",
        )


def _lengths(block: BaseModel, place: KeyPath, count: int) -> Problems:
    """Yield the lists that do not have one value for each device."""
    for path, value in _per_device(block, place):
        if value.law == "each" and len(value.numbers) != count:
            yield path, f"must have one value for each of {count} devices, has {len(value.numbers)}"


def generate_contradictions(generate: Generate, place: KeyPath, count: int | None) -> Problems:
    """Yield what does not go together in how to generate a trace.

    Args:
        generate: How to.
        place: Where it stands.
        count: How many devices; None, if the lists were checked with the whole scenario.
    """
    if count is not None:
        yield from _lengths(generate, place, count)
    if generate.duration > _MOST_SAMPLES * generate.step:
        yield (*place, "duration"), f"must be at most {_MOST_SAMPLES:g} steps"
    fading = generate.fading
    if isinstance(fading, RicianFading) and not abs(fading.rician) <= 200:
        yield (*place, "fading", "rician"), "must be between -200 dB and 200 dB"
    urban = generate.path_loss in ("umi", "uma")
    if generate.duration < generate.step:
        yield (*place, "duration"), f"must be at least the step, {generate.step.text}"
    if generate.shadowing == "tr-38.901" and not urban:
        yield (
            (*place, "shadowing"),
            "must be none or {sigma: ..., decorrelation: ...}: only umi and uma have their own",
        )
    if urban and not 1.5 <= generate.device_height <= 22.5:
        yield (*place, "device_height"), "must be between 1.5 m and 22.5 m for umi and uma"
    if urban and generate.base_station_height is not None and generate.base_station_height <= 1:
        yield (*place, "base_station_height"), "must be above 1 m for umi and uma"
    if isinstance(generate.mobility, Waypoints):
        slowest, fastest = generate.mobility.waypoint
        if slowest > fastest:
            yield (*place, "mobility", "waypoint"), "must be [slowest, fastest]"
        if isinstance(generate.placement, AtDistance):
            yield (*place, "placement"), "must be {disc: RADIUS}: waypoints lie in a disc"
    placed = "placement" in generate.model_fields_set
    if not placed and not isinstance(generate.path_loss, GivenLoss):
        yield (*place, "placement"), "is missing; path loss depends on it"


def _per_device(block: BaseModel, path: KeyPath) -> Iterator[tuple[KeyPath, PerDevice]]:
    for name, field in type(block).model_fields.items():
        value = getattr(block, name)
        here = (*path, field.alias or name)
        if isinstance(value, PerDevice):
            yield here, value
        elif isinstance(value, BaseModel):
            yield from _per_device(value, here)
