"""What a run directory says of itself: ``running``, ``finished`` or ``failed``, and of what."""

import hashlib
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from fl.files import write_atomically
from netsim.errors import InputError

MANIFEST = "manifest.json"
_MOST_BYTES = 10**7


class RunDirectoryError(InputError):
    """A directory that cannot take a run, or does not hold one."""


def read_manifest(folder: Path) -> dict[str, Any] | None:
    """Return what *folder* says of itself; None, if it says nothing.

    Raises:
        RunDirectoryError: It says something else than a run does.
    """
    path = folder / MANIFEST
    if not path.exists():
        return None
    try:
        if not path.is_file() or path.stat().st_size > _MOST_BYTES:
            raise ValueError("is too large, or no file")  # noqa: TRY301 -- told like the others
        manifest = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError) as error:
        reason = str(error).splitlines()[0]
        raise RunDirectoryError(f"{folder}: holds no results: {MANIFEST}: {reason}") from None
    if not isinstance(manifest, dict):
        raise RunDirectoryError(f"{folder}: holds no results: {MANIFEST} is of something else")
    return manifest


def write_manifest(folder: Path, manifest: Mapping[str, Any]) -> None:
    """Write what *folder* says of itself, and a hash of that."""
    sealed = dict(manifest) | {"seal": seal(manifest)}
    write_atomically(folder / MANIFEST, json.dumps(sealed, indent=2) + "\n")


def seal(manifest: Mapping[str, Any]) -> str:
    """Return the hash of all that a manifest says, but for this hash.

    It keeps no one from writing another: it shows what has changed by accident.
    """
    said = {key: value for key, value in manifest.items() if key != "seal"}
    return hashlib.sha256(json.dumps(said, sort_keys=True).encode()).hexdigest()


def check_over(folder: Path) -> dict[str, Any]:
    """Return the manifest of a run that is over, one way or the other.

    Raises:
        RunDirectoryError: There is no run, or it is under way, or was interrupted.
    """
    manifest = read_manifest(folder)
    if manifest is None:
        raise RunDirectoryError(f"{folder}: holds no results: there is no {MANIFEST}")
    if manifest.get("status") == "running":
        raise RunDirectoryError(
            f"{folder}: holds no results yet: its run is under way, or was interrupted; wait for "
            "it, or go on with it: straggler run ... --resume --out " + str(folder)
        )
    return manifest
