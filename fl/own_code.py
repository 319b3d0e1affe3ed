"""Classes of one's own that a scenario names as ``module:Class``.

To use one is to run its module, which may do whatever the person who runs it may do. So a
scenario that names one is refused until that person allows it: see `refuse_code`.
"""

import importlib
import re
import sys
import traceback
from collections.abc import Mapping
from pathlib import Path

from netsim.errors import InputError


class OwnCodeError(InputError):
    """A class that a scenario names and that cannot be used."""


CLASS_NAME = r"^[A-Za-z_][\w.]*:[A-Za-z_]\w*$"
"""What ``module:Class`` looks like."""


def is_class_name(text: str) -> bool:
    """Return whether *text* has the form ``module:Class``."""
    return re.fullmatch(CLASS_NAME, text) is not None


def refuse_code(scenario: str, named: Mapping[str, str]) -> None:
    """Refuse a scenario that names classes, where nobody has allowed that.

    Args:
        scenario: Its name.
        named: The classes that it names, by key.

    Raises:
        OwnCodeError: There are some.
    """
    lines = [
        f"{scenario}: {key}: {name} is code that is not part of Straggler, and running it may do "
        "anything that you may do; if you trust it, add --allow-code (in Python: allow_code=True)"
        for key, name in named.items()
    ]
    if lines:
        raise OwnCodeError("\n".join(lines))


def at_fault(error: Exception) -> str:
    """Return where an error was raised, and what it says, in one line."""
    frames = traceback.extract_tb(error.__traceback__)
    place = f"{Path(frames[-1].filename).name}:{frames[-1].lineno}: " if frames else ""
    said = (str(error) or "no message").splitlines()[0]
    return f"{place}{type(error).__name__}: {said}"


def load_class(name: str, key: str) -> type:
    """Return the class ``module:Class``; modules of the current folder are found, too.

    This runs the module: whoever asks has seen to it that somebody allows that.

    Args:
        name: As written in the scenario.
        key: Where it stands there, for messages.

    Raises:
        OwnCodeError: There is no such module, or no such class in it.
    """
    module_name, _, class_name = name.partition(":")
    here = str(Path.cwd())
    if here not in sys.path:  # for this process and, later, its workers
        sys.path.append(here)
    try:
        module = importlib.import_module(module_name)
    except ImportError as error:
        raise OwnCodeError(f"{key}: {name}: {error}; looked in {here}, too") from None
    except Exception as error:
        raise OwnCodeError(f"{key}: {name}: cannot be imported: {at_fault(error)}") from error
    found = getattr(module, class_name, None)
    if not isinstance(found, type):
        classes = [n for n, value in vars(module).items() if isinstance(value, type)]
        has = f"it has {', '.join(classes)}" if classes else "it has none"
        raise OwnCodeError(f"{key}: {name}: no class {class_name} in {module_name}; {has}")
    return found
