"""What a run will take of memory and disk, told before anything large is made.

The bytes are measured ones, on a 64-bit Python: of 20,000 and 131,072 devices in rounds of
their own, of traces of some million samples, of the files of runs of ten devices and one. An
estimate is right to about a third: enough to tell what fits from what never will.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from fl.room import free_disk, free_memory, told_bytes
from fl.scenario import (
    BYTES_A_DEVICE,
    Generate,
    GeneratedChannel,
    NamedModel,
    Scenario,
    ScenarioError,
    TraceChannel,
)

#: Of Python and its libraries, with a batch of rounds on its way to the files.
_BYTES_AT_ALL = 1e8
#: Of a device that takes part in other rounds only.
_BYTES_A_DEVICE_AWAY = 300
#: Of a device in a round: within the tables, and in their files.
_BYTES_OF_ROW_KEPT = 400
_BYTES_OF_ROW_WRITTEN = 110
#: Of a round: in its file.
_BYTES_OF_ROUND_WRITTEN = 30
#: Of a sample that is replayed, and in noise of a density; of one that is made; in a file.
_BYTES_OF_SAMPLE = 24
_BYTES_OF_SAMPLE_IN_NOISE = 32
_BYTES_OF_SAMPLE_MADE = 120
_BYTES_OF_SAMPLE_WRITTEN = 9
#: Of a weight of a network: itself, its gradients, what is made of it in a round.
_BYTES_OF_WEIGHT = 24
_BYTES_OF_WEIGHT_HELD = 4
#: Inputs of the first layer and outputs of the last, of the images there are.
_PIXELS, _LABELS = 784, 10


@dataclass(frozen=True)
class Need:
    """Bytes, and the key of the scenario that asks for them."""

    key: str
    count: float


def check_memory(scenario: Scenario) -> None:
    """Refuse a scenario that does not fit into memory.

    Raises:
        ScenarioError: It does not; the message has the estimate, and what to lower.
    """
    _refuse(scenario.name, "memory", _memory(scenario), free_memory())


def check_kept(scenario: Scenario) -> None:
    """Refuse a scenario whose results, if none are written, do not fit into memory, either."""
    rows = scenario.rounds * scenario.num_participants
    kept = Need("rounds", rows * _BYTES_OF_ROW_KEPT)
    _refuse(scenario.name, "memory", [*_memory(scenario), kept], free_memory())


def check_disk(scenario: Scenario, folder: Path, held: int = 0) -> None:
    """Refuse a scenario whose results do not fit where *folder* is.

    Args:
        scenario: What is to be run.
        folder: Where its results go.
        held: Bytes of them that are there already, of a run that goes on.

    Raises:
        ScenarioError: They do not.
    """
    rows = scenario.rounds * scenario.num_participants
    # While the run goes, its rounds lie in a journal, as large as in memory.
    journal = rows * _BYTES_OF_ROW_KEPT
    written = journal + rows * _BYTES_OF_ROW_WRITTEN + scenario.rounds * _BYTES_OF_ROUND_WRITTEN
    needs = [Need("rounds", max(written - held, 0.0))]
    _refuse(scenario.name, f"disk in {folder}", needs, free_disk(folder))


def check_personal_parts(scenario: Scenario, num_weights: int) -> None:
    """Refuse devices whose personal parts, of so many weights each, do not fit into memory."""
    held = scenario.devices.count * num_weights * _BYTES_OF_WEIGHT_HELD
    needs = [Need("devices.count", held)]
    _refuse(f"{scenario.name}: the personal parts", "memory", needs, free_memory())


def check_trace(settings: Generate, num_devices: int, out: Path) -> None:
    """Refuse to generate a trace that does not fit where *out* is, or into memory.

    Raises:
        ScenarioError: It does not.
    """
    samples = settings.duration / settings.step
    made = [
        Need("duration", samples * _BYTES_OF_SAMPLE_MADE),
        Need("--devices", num_devices * BYTES_A_DEVICE),
    ]
    _refuse(f"{out}: making it", "memory", made, free_memory())
    written = [Need("--devices", num_devices * samples * _BYTES_OF_SAMPLE_WRITTEN)]
    _refuse(str(out), f"disk in {out.parent}", written, free_disk(out.parent))


def _memory(scenario: Scenario) -> Iterator[Need]:
    """Yield what a run takes, by key."""
    seats, count = scenario.num_participants, scenario.devices.count
    away = (count - seats) * _BYTES_A_DEVICE_AWAY
    yield Need("devices.count", _BYTES_AT_ALL + seats * BYTES_A_DEVICE + away)
    yield from _channels(scenario)
    model = scenario.model
    if isinstance(model, NamedModel) and model.hidden is not None:
        sizes = [_PIXELS, *model.hidden, _LABELS]
        weights = sum(a * b for a, b in pairwise(sizes))
        yield Need("model.hidden", weights * _BYTES_OF_WEIGHT)


def _channels(scenario: Scenario) -> Iterator[Need]:
    channel, count = scenario.uplink.channel, scenario.devices.count
    in_noise = scenario.uplink.noise_density is not None
    each = _BYTES_OF_SAMPLE_IN_NOISE if in_noise else _BYTES_OF_SAMPLE
    if isinstance(channel, GeneratedChannel):
        samples = channel.generate.duration / channel.generate.step
        held = samples * (count * each + _BYTES_OF_SAMPLE_MADE)
        yield Need("uplink.channel.generate.duration", held)
    elif isinstance(channel, TraceChannel):
        yield Need("uplink.channel.trace", _laid_out(scenario, channel) * each)


def _laid_out(scenario: Scenario, channel: TraceChannel) -> float:
    """Return how many samples of a trace are held: devices of like power share them."""
    try:
        found = pq.read_metadata(channel.trace)
    except (OSError, ValueError, pa.ArrowException):  # who reads it says what is wrong with it
        return 0.0
    count, groups = scenario.devices.count, max(found.num_row_groups, 1)
    power = scenario.devices.transmit_power
    if channel.devices == "index":
        held = min(count, groups)
    elif power is None or power.law == "all" or groups == 1:
        held = groups
    else:
        held = count
    return found.num_rows / groups * held


def _refuse(what: str, of: str, needs: Iterable[Need], free: int | None) -> None:
    needs = list(needs)
    total = sum(need.count for need in needs)
    if free is None or total <= free:
        return
    most = max(needs, key=lambda need: need.count)
    raise ScenarioError(
        f"{what}: takes about {told_bytes(total)} of {of}, and {told_bytes(free)} are free; "
        f"{most.key} asks for {told_bytes(most.count)} of it: give it less"
    )
