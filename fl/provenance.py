"""What the results of a run depend on: its scenario, its inputs, and what computes them."""

import hashlib
import platform
import reprlib
import sys
from collections.abc import Iterator, Mapping
from functools import cache
from importlib.metadata import version
from pathlib import Path
from typing import Any

from fl.experiment import Experiment
from fl.own_code import is_class_name
from fl.scenario import NamedModel, Scenario

_LIBRARIES = ("straggler", "simpy", "numpy", "pyarrow")
_LEARNING_LIBRARIES = ("torch", "torchvision")
_PACKAGES = ("fl", "netsim")
#: A path says where the trace is, its hash what is in it.
_PLACES = {"uplink.channel.trace"}


def provenance(experiment: Experiment) -> dict[str, Any]:
    """Return what an experiment depends on, beside its scenario: versions, code, inputs."""
    enrolment, trace = experiment.enrolment, experiment.trace
    libraries = _LIBRARIES if enrolment is None else (*_LIBRARIES, *_LEARNING_LIBRARIES)
    hashes = {trace.path.name: trace.sha256()} if trace is not None and trace.path else {}
    if enrolment is not None:
        hashes[enrolment.dataset.name] = enrolment.dataset.sha256()
    return {
        "versions": {name: version(name) for name in libraries}
        | {"python": platform.python_version()},
        "code": {"straggler": own_sources()} | _named_sources(experiment.scenario),
        "sha256": hashes,
    }


def differences(before: object, now: object) -> list[str]:
    """Return what has changed between two trees of values, as ``key: old -> new``.

    >>> differences({"a": {"b": 1}, "c": 2}, {"a": {"b": 3}, "c": 2, "d": [4]})
    ['a.b: 1 -> 3', 'd.0: none -> 4']
    """
    old, new = dict(_leaves(before)), dict(_leaves(now))
    return [
        f"{key}: {_told(old.get(key))} -> {_told(new.get(key))}"
        for key in dict.fromkeys([*old, *new])
        if old.get(key) != new.get(key) and key not in _PLACES
    ]


def _leaves(tree: object, key: str = "") -> Iterator[tuple[str, object]]:
    if isinstance(tree, Mapping):
        items = list(tree.items())
    elif isinstance(tree, list):
        items = list(enumerate(tree))
    else:
        yield key, tree
        return
    for name, value in items:
        yield from _leaves(value, f"{key}.{name}" if key else str(name))


def _told(value: object) -> str:
    return "none" if value is None else reprlib.repr(value) if value != "" else "nothing"


@cache
def own_sources() -> str:
    """Return the hash of all of our own code: names and contents of its files."""
    digest = hashlib.sha256()
    root = Path(__file__).parent.parent
    for package in _PACKAGES:
        for path in sorted((root / package).rglob("*.py")):
            digest.update(path.relative_to(root).as_posix().encode() + b"\0")
            digest.update(hashlib.sha256(path.read_bytes()).digest())
    return digest.hexdigest()


def _named_sources(scenario: Scenario) -> dict[str, str]:
    """Return the hash of each module that a scenario names; not of what that imports."""
    named = [scenario.scheme.bandwidth]
    if isinstance(scenario.model, NamedModel):
        named.append(scenario.model.name)
    hashes = {}
    for name in named:
        if isinstance(name, str) and is_class_name(name):
            module = name.partition(":")[0]
            source = getattr(sys.modules.get(module), "__file__", None)
            content = Path(source).read_bytes() if source else b""
            hashes[module] = hashlib.sha256(content).hexdigest()
    return hashes
