"""What arms are called, in tables and in paths."""

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

_LONGEST_NAME = 100


def label_of(values: Mapping[str, Any]) -> str:
    """Return what sets an arm apart, for people.

    >>> label_of({"deadline": "25 ms", "uplink.channel.generate.mobility.speed": "3 km/h"})
    'deadline 25 ms, speed 3 km/h'
    """
    short = short_keys(list(values))
    return ", ".join(f"{short[key]} {told_value(value)}" for key, value in values.items())


def short_keys(keys: Sequence[str]) -> dict[str, str]:
    """Return the last step of each key or, where two share it, the whole key."""
    last = [key.rpartition(".")[2] for key in keys]
    return {
        key: key if last.count(short) > 1 else short for key, short in zip(keys, last, strict=True)
    }


def told_value(value: object) -> str:
    """Return a value as it would stand in a file, in one line.

    >>> told_value({"fixed": 0.5}), told_value(None), told_value(True)
    ('{fixed: 0.5}', 'default', 'true')
    """
    if value is None:
        return "default"
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, Mapping):
        return "{" + ", ".join(f"{key}: {told_value(one)}" for key, one in value.items()) + "}"
    if isinstance(value, list | tuple):
        return "[" + ", ".join(map(told_value, value)) + "]"
    return str(value)


def names_of(combinations: Sequence[Mapping[str, Any]]) -> list[str]:
    """Return names that may stand in a path, and that no two arms share."""
    names = []
    for values in combinations:
        name = re.sub(r"[^A-Za-z0-9_.+-]+", "-", label_of(values)).strip("-.")
        names.append(name[:_LONGEST_NAME].rstrip("-."))
    times = Counter(name.lower() for name in names)  # some file systems see no difference
    return [
        f"{index:05}-{name}" if times[name.lower()] > 1 else name
        for index, name in enumerate(names)
    ]
