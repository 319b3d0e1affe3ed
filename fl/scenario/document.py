"""Scenario files as plain data, with the place where each value was written.

A document is a tree of dicts, lists and scalars beside a map from the path of a key to
its file and line, so that whatever is found wrong later can name its place.
"""

import copy
import os
import reprlib
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeGuard

from ruamel.yaml import YAML
from ruamel.yaml.comments import CommentedMap, CommentedSeq
from ruamel.yaml.composer import MaxDepthExceededError
from ruamel.yaml.error import MarkedYAMLError, YAMLError, YAMLWarning

from fl.scenario.errors import ScenarioError, cut
from fl.scenario.magnitude import (
    DEEPEST,
    LONGEST,
    LONGEST_KEY,
    MOST,
    check_values,
    most_values,
)
from fl.schemes import PRESETS

KeyPath = tuple[str | int, ...]

#: Of each set, a block holds one: they say which kind of block it is.
_KINDS = (
    {"gain", "trace", "generate"},
    {"uniform", "choice"},
    {"loss", "exponent"},
    {"distance", "disc"},
    {"speed", "waypoint"},
    {"rician", "block_rayleigh"},
    {"personal_weights", "name"},
)
#: A block in which one of these has another value is of another kind.
_CHOICES = ("by", "name")
#: Values that are paths, relative to the file in which they stand.
_PATHS: set[KeyPath] = {("uplink", "channel", "trace")}


@dataclass
class Document:
    """A tree of values, and where each was written."""

    data: dict[str, Any] = field(default_factory=dict)
    places: dict[KeyPath, str] = field(default_factory=dict)
    """``file:line`` of each key."""

    def place(self, path: KeyPath) -> str:
        """Return where *path*, or else something in it, or the block around it, was written."""
        if path in self.places:
            return self.places[path]
        within = (place for key, place in self.places.items() if key[: len(path)] == path)
        return next(within, None) or self.place(path[:-1])


def read_document(path: Path) -> Document:
    """Read a YAML file, and the files that it extends."""
    return _read_chain(path, ())


def overlay(base: Document, top: Document) -> Document:
    """Return *base* with what *top* says laid over it, block by block.

    A block of another kind than the base's (a channel with a ``trace`` over one with a
    ``gain``) replaces it whole.
    """
    merged = Document(copy.deepcopy(base.data), dict(base.places))
    _lay(merged.data, top.data, ())
    # What stands in *top* is named there, even where the same key stood below.
    merged.places = {**merged.places, **top.places, (): merged.place(())}
    return merged


def assignments(settings: Sequence[str]) -> Document:
    """Return the document that ``path.to.key=value`` settings of a command line spell out."""
    document = Document(places={(): "--set"})
    for setting in settings:
        name = f"--set {cut(setting)}"
        dotted, equals, text = setting.partition("=")
        keys = dotted.strip().split(".")
        if not equals or not all(keys) or len(keys) > DEEPEST:
            raise ScenarioError(f"{name}: must be path.to.key=value")
        if keys == ["extends"]:
            raise ScenarioError(f"{name}: extends stands only in a file")
        here = _plain(_parse(text, name), (), name, {})
        for key in reversed(keys):
            here = {key: here}
        one = Document(here, {tuple(keys): name})
        resolve_paths(one, Path())
        document = overlay(document, one)
    return document


def from_mapping(data: Mapping[str, Any], name: str) -> Document:
    """Return values given in Python as a document; *name* is how errors call it."""
    check_values(data, MOST, name)
    document = Document(_plain(data, (), name, {}), {(): name})
    resolve_paths(document, Path())
    return document


def is_there(path: Path) -> bool:
    """Return whether a file is there; one of an impossible name is not."""
    return os.path.isfile(path)  # noqa: PTH113 -- Path.is_file raises if a name is too long


def _read_chain(path: Path, below: tuple[Path, ...]) -> Document:
    resolved = Path(os.path.realpath(path))  # which goes round in no circle of links
    if resolved in below:
        chain = " -> ".join(step.name for step in (*below[below.index(resolved) :], resolved))
        raise ScenarioError(f"{path}: extends itself: {chain}")
    if len(below) > DEEPEST:
        raise ScenarioError(f"{path}: is the {len(below)}th file that extends another: too many")
    document = _read_file(path)
    extends = document.data.pop("extends", None)
    if extends is None:
        return document
    place = document.place(("extends",))
    if not isinstance(extends, str):
        raise ScenarioError(
            f"{place}: extends: must be the path of a scenario, got {reprlib.repr(extends)}"
        )
    base = path.parent / extends
    if not is_there(base):
        raise ScenarioError(f"{place}: extends: there is no file {cut(str(base))}")
    return overlay(_read_chain(base, (*below, resolved)), document)


def _read_file(path: Path) -> Document:
    try:
        with path.open(encoding="utf-8") as stream:
            text = stream.read(LONGEST + 1)
    except FileNotFoundError:
        raise ScenarioError(f"{path}: there is no such scenario file") from None
    except UnicodeDecodeError:
        raise ScenarioError(f"{path}: is not a text file in UTF-8") from None
    except OSError as error:
        raise ScenarioError(f"{path}: cannot be read: {error.strerror}") from None
    loaded = _parse(text, str(path))
    if not isinstance(loaded, CommentedMap):
        raise ScenarioError(f"{path}: must be a mapping of keys to values")
    places: dict[KeyPath, str] = {(): str(path)}
    document = Document(_plain(loaded, (), str(path), places), places)
    resolve_paths(document, path.parent)
    return document


def _parse(text: str, name: str) -> object:
    """Return what YAML makes of *text*; *name* is how errors call it."""
    if len(text) > LONGEST:
        raise ScenarioError(f"{name}: is longer than {LONGEST} characters")
    # The round-trip loader runs no code, knows the lines, and refuses a key given twice.
    yaml = YAML(typ="rt", pure=True)
    yaml.max_depth = DEEPEST
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error", YAMLWarning)
            loaded: object = yaml.load(text)
    except (MaxDepthExceededError, RecursionError):
        raise ScenarioError(f"{name}: is nested too deeply") from None
    except MarkedYAMLError as error:
        mark = error.problem_mark
        line = f":{mark.line + 1}" if mark is not None and not name.startswith("--set") else ""
        raise ScenarioError(f"{name}{line}: is not valid YAML: {cut(str(error.problem))}") from None
    except (YAMLError, YAMLWarning, ValueError) as error:
        reason = str(error).strip().partition("\n")[0] or "unreadable"
        raise ScenarioError(f"{name}: is not valid YAML: {cut(reason)}") from None
    except Exception:  # noqa: BLE001 -- ruamel trips over values such as +_ or !!bool x
        raise ScenarioError(f"{name}: is not valid YAML: a value cannot be made out") from None
    check_values(loaded, most_values(text), name)
    return loaded


def _plain(value: object, path: KeyPath, name: str, places: dict[KeyPath, str]) -> Any:  # noqa: ANN401
    """Return *value* as built-in types, and note the line of each key in *places*."""
    if isinstance(value, Mapping):
        plain: dict[str, Any] = {}
        for key, item in value.items():
            if not isinstance(key, str):
                raise ScenarioError(f"{name}: a key must be text, got {reprlib.repr(key)}")
            if len(key) > LONGEST_KEY:
                raise ScenarioError(f"{name}: a key is longer than {LONGEST_KEY} characters")
            places[*path, key] = _line(value, key, name)
            plain[key] = _plain(item, (*path, key), name, places)
        return plain
    if isinstance(value, list | tuple):
        items = []
        for index, item in enumerate(value):
            places[*path, index] = _line(value, index, name)
            items.append(_plain(item, (*path, index), name, places))
        return items
    if value is None or isinstance(value, bool):
        return value
    for kind in (int, float, str):
        if isinstance(value, kind):
            return kind(value)  # of what ruamel wraps
    place = places.get(path, name)
    what = reprlib.repr(getattr(value, "value", value))
    raise ScenarioError(f"{place}: {'.'.join(map(str, path))}: cannot be {what}")


def _line(block: object, key: str | int, name: str) -> str:
    """Return ``file:line`` of a key or item, as far as the parser has noted it."""
    if isinstance(block, CommentedMap | CommentedSeq) and key in (block.lc.data or {}):
        return f"{name}:{block.lc.data[key][0] + 1}"
    return name


def _lay(base: dict[str, Any], top: Mapping[str, Any], path: KeyPath) -> None:
    for key, value in top.items():
        below = base.get(key)
        if (*path, key) == ("scheme",) and isinstance(value, dict) and _is_preset(below):
            below = base[key] = PRESETS[below].model_dump(
                mode="json"
            )  # a choice laid over a preset's four
        alike = key == "options" or _same_kind(below, value)
        if isinstance(value, dict) and isinstance(below, dict) and alike:
            _lay(below, value, (*path, key))
        else:
            base[key] = copy.deepcopy(value)


def _is_preset(value: object) -> TypeGuard[str]:
    return isinstance(value, str) and value in PRESETS


def _same_kind(below: object, top: object) -> bool:
    if not isinstance(below, dict) or not isinstance(top, dict):
        return False
    return all(
        not kinds & top.keys() or kinds & below.keys() <= top.keys() for kinds in _KINDS
    ) and all(top[key] == below.get(key) for key in _CHOICES if key in top)


def resolve_paths(document: Document, folder: Path) -> None:
    """Make the paths in a document, which are relative to *folder*, ones from here."""
    for path in _PATHS:
        here: Any = document.data
        for key in path[:-1]:
            here = here.get(key) if isinstance(here, dict) else None
        if isinstance(here, dict) and isinstance(here.get(path[-1]), str):
            here[path[-1]] = str(folder / here[path[-1]])
