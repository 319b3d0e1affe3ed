"""Classes of one's own that a scenario names as ``module:Class``."""

import importlib
import re
import sys
import traceback
from pathlib import Path

from netsim.errors import InputError


class OwnCodeError(InputError):
    """A class that a scenario names and that cannot be used."""


CLASS_NAME = r"^[A-Za-z_][\w.]*:[A-Za-z_]\w*$"
"""What ``module:Class`` looks like."""


def is_class_name(text: str) -> bool:
    """Return whether *text* has the form ``module:Class``."""
    return re.fullmatch(CLASS_NAME, text) is not None


def at_fault(error: Exception) -> str:
    """Return where an error was raised, and what it says, in one line."""
    frames = traceback.extract_tb(error.__traceback__)
    place = f"{Path(frames[-1].filename).name}:{frames[-1].lineno}: " if frames else ""
    said = (str(error) or "no message").splitlines()[0]
    return f"{place}{type(error).__name__}: {said}"


def load_class(name: str, key: str) -> type:
    """Return the class ``module:Class``; modules of the current folder are found, too.

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
