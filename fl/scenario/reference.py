"""The reference of scenario files, out of the model that checks them."""

from collections.abc import Iterator
from enum import StrEnum
from pathlib import Path
from typing import Any, Literal, get_args, get_origin

from annotated_types import Ge, Gt, Le
from pydantic import BaseModel
from pydantic.fields import FieldInfo

from fl.scenario.quantity import Reader
from fl.scenario.scenario import Scenario, blocks_in
from fl.schemes import PRESETS

_NAMES: dict[object, str] = {
    bool: "`true`, `false`",
    int: "a whole number",
    float: "a number",
    str: "text",
    Path: "a path",
}


def reference() -> str:
    """Return a Markdown table of every key: what it accepts, its default, its meaning."""
    lines = ["| key | accepts | default | meaning |", "|---|---|---|---|"]
    lines += [
        f"| `{key}` | {_accepts(field)} | {_default(field)} | {field.description} |"
        for key, field in _keys(Scenario, "")
    ]
    return "\n".join(lines)


def json_schema() -> dict[str, Any]:
    """Return the JSON schema of scenario files, for editors.

    A file that extends another may leave out what that one says, so nothing is required.
    """
    schema = Scenario.model_json_schema()
    del schema["required"]
    schema["properties"]["extends"] = {
        "type": "string",
        "description": "Another scenario, relative to this file, to lay this one over.",
    }
    schema["properties"]["scheme"] = {
        "anyOf": [{"enum": list(PRESETS)}, {"$ref": "#/$defs/Scheme"}],
        "description": schema["properties"]["scheme"]["description"],
    }
    for block in schema["$defs"].values():
        block.pop("required", None)
    return schema


def _keys(block: type[BaseModel], prefix: str) -> Iterator[tuple[str, FieldInfo]]:
    """Yield each key that holds a value, with its path."""
    for name, field in block.model_fields.items():
        key = prefix + (field.alias or name)
        yield key, field
        for inner in blocks_in(field.annotation):
            yield from _keys(inner, f"{key}.")


def _accepts(field: FieldInfo) -> str:
    parts = [*field.metadata, *_parts(field.annotation)]
    readers = [part for part in parts if isinstance(part, Reader)]
    if readers:
        return readers[0].accepts
    words = [
        f"`{word}`" for part in parts if get_origin(part) is Literal for word in get_args(part)
    ]
    for part in parts:
        if isinstance(part, type) and issubclass(part, StrEnum):
            words += [f"`{word}`" for word in part]
    blocks = list(blocks_in(field.annotation))
    alternatives = [", ".join(words)] if words else []
    if words and str in parts:
        alternatives.append("`module:Class`")
    alternatives += [_list_of(part) for part in parts if get_origin(part) is tuple]
    if blocks and not any(get_origin(part) is tuple for part in parts):
        alternatives.append("a mapping, see below")
    if not alternatives or alternatives == ["`all`"]:
        alternatives += _plain(parts)
    return " or ".join(alternatives)


def _list_of(annotation: object) -> str:
    """Return what a list may hold."""
    parts = list(_parts(annotation))
    if any(isinstance(part, type) and issubclass(part, BaseModel) for part in parts):
        return "a list of mappings, see below"
    kinds = {int: "whole numbers", float: "numbers", str: "texts"}
    return "a list of " + next(kind for plain, kind in kinds.items() if plain in parts)


def _plain(parts: list[object]) -> list[str]:
    """Return the plain value among the parts of a type, with its bounds."""
    bounds = [_bound(x) for part in parts for x in (part, *getattr(part, "metadata", ()))]
    if dict in map(get_origin, parts):
        return ["a mapping"]
    named = next(_NAMES[part] for part in parts if part in _NAMES)
    return [named + "".join(dict.fromkeys(bounds))]


def _parts(annotation: object) -> Iterator[object]:
    yield annotation
    yield from getattr(annotation, "__metadata__", ())
    if get_origin(annotation) is not Literal:
        for argument in get_args(annotation):
            yield from _parts(argument)


def _bound(limit: Any) -> str:  # noqa: ANN401 -- whatever constrains a field
    match limit:
        case Ge(ge=least):
            return f" >= {least}"
        case Gt(gt=least):
            return f" > {least}"
        case Le(le=most) if isinstance(most, int) and most < 10**6:
            return f", <= {most}"
    return ""


def _default(field: FieldInfo) -> str:
    if field.is_required():
        return "required"
    value = field.get_default(call_default_factory=True, validated_data={})
    if isinstance(value, BaseModel):
        return "as below"
    if value is None or value == ():
        return "none"
    if isinstance(value, bool):
        return f"`{str(value).lower()}`"
    return f"`{getattr(value, 'text', value)}`"
