"""From a file, or values given in Python, to a checked scenario."""

import difflib
import io
import os
import reprlib
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ValidationError
from pydantic_core import ErrorDetails
from ruamel.yaml import YAML

from fl.scenario.document import (
    Document,
    KeyPath,
    ScenarioError,
    assignments,
    from_mapping,
    overlay,
    read_document,
)
from fl.scenario.quantity import PerDevice
from fl.scenario.scenario import ConstantChannel, Scenario, TraceChannel, blocks_in

#: What pydantic says, and what a person would.
_PLAINER = {
    "Input should be a valid dictionary or instance of": "must be a mapping: the block",
    "String should match pattern": "must match",
    "Input should be": "must be",
    "greater than or equal to": ">=",
    "less than or equal to": "<=",
    "greater than": ">",
    "less than": "<",
    "a valid integer, unable to parse string as an integer": "a whole number",
    "a valid integer, got a number with a fractional part": "a whole number",
    "a valid integer": "a whole number",
    "a valid number, unable to parse string as a number": "a number",
    "a valid boolean, unable to interpret input": "true or false",
    "a valid": "a",
}


def load_scenario(
    source: str | Path | Mapping[str, Any],
    settings: Sequence[str] = (),
    overrides: Mapping[str, Any] | None = None,
) -> Scenario:
    """Read a scenario and check it.

    Args:
        source: The path of a YAML file, or the mapping it would hold.
        settings: ``path.to.key=value``, as on the command line.
        overrides: Values laid over the file's, as nested mappings.

    Raises:
        ScenarioError: Something is wrong with it; the message names each place.
    """
    if isinstance(source, Mapping):
        document = from_mapping(source, "scenario")
    else:
        document = read_document(Path(source))
    document = overlay(document, assignments(settings))
    if overrides:
        document = overlay(document, from_mapping(overrides, "override"))
    try:
        scenario = Scenario.model_validate(document.data)
    except ValidationError as error:
        details = error.errors(include_url=False)
        raise ScenarioError("\n".join(_explain(document, one) for one in details)) from None
    problems = [
        f"{document.place(path)}: {_dotted(path)}: {message}"
        for path, message in _contradictions(scenario)
    ]
    if problems:
        raise ScenarioError("\n".join(problems))
    return scenario


def write_scenario(scenario: Scenario, folder: Path) -> str:
    """Return the resolved scenario as YAML; paths in it are relative to *folder*."""
    data = scenario.written()
    channel = scenario.uplink.channel
    if isinstance(channel, TraceChannel):
        data["uplink"]["channel"]["trace"] = os.path.relpath(channel.trace, folder)
    stream = io.StringIO()
    yaml = YAML()
    yaml.default_flow_style = None
    yaml.dump(data, stream)
    return stream.getvalue()


def _explain(document: Document, detail: ErrorDetails) -> str:
    """Return one line on what pydantic found: place, key, what is wrong, what is accepted."""
    path = tuple(step for step in detail["loc"] if not _is_tag(step))
    place = f"{document.place(path)}: {_dotted(path)}: "
    if detail["type"] == "missing":
        return f"{place}is missing"
    if detail["type"] == "extra_forbidden":
        known = _known_keys(detail["loc"][:-1])
        nearest = difflib.get_close_matches(str(path[-1]), known, n=1, cutoff=0.5)
        hint = f"did you mean {nearest[0]}? " if nearest else ""
        return f"{place}unknown key; {hint}Known here: {', '.join(known)}"
    message = detail["msg"]
    for wordy, plain in _PLAINER.items():
        message = message.replace(wordy, plain)
    got = "" if ", got " in message else f", got {reprlib.repr(detail['input'])}"
    return f"{place}{message}{got}"


def _known_keys(location: KeyPath) -> list[str]:
    """Return the keys that may stand in the block at *location*."""
    blocks: list[type[BaseModel]] = [Scenario]
    for step in location:
        if _is_tag(step):  # it names a key of the one alternative that was meant
            blocks = [block for block in blocks if str(step)[1:-1] in block.model_fields]
        elif isinstance(step, str):
            blocks = [
                inner
                for block in blocks
                for name, field in block.model_fields.items()
                if step == (field.alias or name)
                for inner in blocks_in(field.annotation)
            ]
    return sorted({f.alias or name for b in blocks for name, f in b.model_fields.items()})


def _is_tag(step: str | int) -> bool:
    return str(step).startswith("<")


def _contradictions(scenario: Scenario) -> Iterator[tuple[KeyPath, str]]:
    """Yield what no key alone is guilty of."""
    count = scenario.devices.count
    for path, value in _per_device(scenario, ()):
        if value.law == "each" and len(value.numbers) != count:
            yield path, f"must have one value for each of {count} devices, has {len(value.numbers)}"
    scheme = scenario.scheme
    if scheme.bandwidth != "equal":
        if len(scheme.bandwidth) != count:
            yield (
                ("scheme", "bandwidth"),
                f"must have one share for each of {count} devices, has {len(scheme.bandwidth)}",
            )
        if sum(scheme.bandwidth) > 1 + 1e-9:
            yield ("scheme", "bandwidth"), f"must sum to at most 1, got {sum(scheme.bandwidth):g}"
    if scenario.deadline is None and (scheme.pruning == "deadline" or scenario.late == "drop"):
        wants = "scheme.pruning: deadline" if scheme.pruning == "deadline" else "late: drop"
        yield ("deadline",), f"is missing; {wants} needs it"
    elif scenario.late == "drop" and scenario.network.broadcast >= (scenario.deadline or 0):
        yield ("network", "broadcast"), "must end before the deadline, at which the round is cut"
    if isinstance(scenario.uplink.channel, ConstantChannel):
        yield from gains_need_powers(scenario)


def gains_need_powers(scenario: Scenario) -> Iterator[tuple[KeyPath, str]]:
    """Yield what is missing to make a signal-to-noise ratio out of a gain."""
    if scenario.devices.transmit_power is None:
        yield ("devices", "transmit_power"), "is missing; the channel is given as gains"
    if scenario.uplink.noise_power is None:
        yield ("uplink", "noise_power"), "is missing; the channel is given as gains"


def _per_device(block: BaseModel, path: KeyPath) -> Iterator[tuple[KeyPath, PerDevice]]:
    for name, field in type(block).model_fields.items():
        value = getattr(block, name)
        here = (*path, field.alias or name)
        if isinstance(value, PerDevice):
            yield here, value
        elif isinstance(value, BaseModel):
            yield from _per_device(value, here)


def _dotted(path: KeyPath) -> str:
    return ".".join(map(str, path))
