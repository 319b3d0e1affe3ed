"""From a file, or values given in Python, to a checked scenario."""

import difflib
import io
import os
import reprlib
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeVar

from pydantic import BaseModel, ValidationError
from pydantic_core import ErrorDetails
from ruamel.yaml import YAML

from fl.scenario.channel import Block, Generate, TraceChannel
from fl.scenario.contradictions import contradictions, generate_contradictions
from fl.scenario.document import (
    Document,
    KeyPath,
    assignments,
    from_mapping,
    overlay,
    read_document,
)
from fl.scenario.errors import ScenarioError, cut
from fl.scenario.scenario import Scenario, blocks_in

BlockT = TypeVar("BlockT", bound=Block)

#: Of what is wrong with one scenario.
_MOST_LINES = 20
_LONGEST_LINE = 1000
#: What pydantic says, and what a person would.
_PLAINER = {
    "Input should be a valid dictionary or instance of": "must be a mapping: the block",
    "a valid dictionary": "a mapping",
    "a valid tuple": "a list",
    "Tuple should have at least 1 item after validation, not 0": "must not be an empty list",
    "a valid string": "text",
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
    "a valid boolean": "true or false",
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
    return check_scenario(document)


def check_scenario(document: Document) -> Scenario:
    """Return the scenario that a document says.

    Raises:
        ScenarioError: Something is wrong with it; the message names each place.
    """
    scenario = read_block(document, Scenario)
    _refuse(document, contradictions(scenario))
    return scenario


def load_generate(settings: Sequence[str], count: int) -> Generate:
    """Read how to generate a trace of *count* devices from ``key=value`` settings."""
    document = overlay(Document(places={(): "generate"}), assignments(settings))
    generate = read_block(document, Generate)
    _refuse(document, generate_contradictions(generate, (), count))
    return generate


def read_block(document: Document, block: type[BlockT]) -> BlockT:
    """Return the checked block that a document holds."""
    try:
        return block.model_validate(_without_nulls(document.data))
    except ValidationError as error:
        details = error.errors(include_url=False)
        lines = [_explain(document, block, one) for one in details[:_MOST_LINES]]
        if len(details) > _MOST_LINES:
            lines.append(f"and {len(details) - _MOST_LINES} more")
        raise ScenarioError("\n".join(cut(line, _LONGEST_LINE) for line in lines)) from None


def _without_nulls(data: dict[str, Any]) -> dict[str, Any]:
    """Return *data* without the keys that were taken away; their defaults hold again."""
    return {
        key: _without_nulls(value) if isinstance(value, dict) and key != "options" else value
        for key, value in data.items()
        if value is not None
    }


def _refuse(document: Document, problems: Iterator[tuple[KeyPath, str]]) -> None:
    lines = [
        f"{document.place(path)}: {'.'.join(map(str, path))}: {message}"
        for path, message in problems
    ]
    if lines:
        raise ScenarioError("\n".join(cut(line, _LONGEST_LINE) for line in lines))


def write_scenario(scenario: Scenario, folder: Path) -> str:
    """Return the resolved scenario as YAML; paths in it are relative to *folder*."""
    data = scenario.written()
    channel = scenario.uplink.channel
    if isinstance(channel, TraceChannel):
        data["uplink"]["channel"]["trace"] = os.path.relpath(
            os.path.realpath(channel.trace), os.path.realpath(folder)
        )
    stream = io.StringIO()
    yaml = YAML()
    yaml.default_flow_style = None
    yaml.dump(data, stream)
    return stream.getvalue()


def _explain(document: Document, block: type[BaseModel], detail: ErrorDetails) -> str:
    """Return one line on what pydantic found: place, key, what is wrong, what is accepted."""
    path = tuple(step for step in detail["loc"] if not _is_tag(step))
    if detail["type"] == "extra_forbidden" and _is_tag(detail["loc"][-1]):
        path += detail["loc"][-1:]  # a key that only looks like a tag
    place = f"{document.place(path)}: {'.'.join(map(str, path))}: "
    if detail["type"] == "missing":
        return f"{place}is missing"
    if detail["type"] == "extra_forbidden":
        known = _known_keys(block, detail["loc"][:-1])
        nearest = difflib.get_close_matches(str(path[-1]), known, n=1, cutoff=0.5)
        hint = f"did you mean {nearest[0]}? " if nearest else ""
        return f"{place}unknown key; {hint}Known here: {', '.join(known)}"
    message = detail["msg"]
    for wordy, plain in _PLAINER.items():
        message = message.replace(wordy, plain)
    if detail["loc"] and detail["loc"][-1] == "<word>":  # not the only kind of value there
        blocks = _blocks_at(block, detail["loc"][:-1])
        kinds = [f"{{{next(iter(one.model_fields))}: ...}}" for one in blocks]
        if not kinds:
            kinds = ["module:Class"] * (path[-1] == "bandwidth") + ["a list, one for each device"]
        message += " or " + " or ".join(kinds)
    got = "" if ", got " in message else f", got {reprlib.repr(detail['input'])}"
    return f"{place}{message}{got}"


def _known_keys(root: type[BaseModel], location: KeyPath) -> list[str]:
    """Return the keys that may stand in the block at *location*."""
    blocks = _blocks_at(root, location)
    return sorted({f.alias or name for b in blocks for name, f in b.model_fields.items()})


def _blocks_at(root: type[BaseModel], location: KeyPath) -> list[type[BaseModel]]:
    """Return the blocks that may stand at *location*."""
    blocks: list[type[BaseModel]] = [root]
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
    return blocks


def _is_tag(step: str | int) -> bool:
    return str(step).startswith("<")
