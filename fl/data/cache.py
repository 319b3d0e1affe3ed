"""Where data sets are kept on this computer, and whether what lies there is whole."""

import hashlib
import os
from enum import StrEnum
from pathlib import Path

from fl.data.catalogue import Entry


class Kept(StrEnum):
    """What a cache holds of a data set."""

    WHOLE = "whole"
    MISSING = "missing"
    DAMAGED = "damaged"


def cache_folder() -> Path:
    """Return the folder of all data sets.

    ``$STRAGGLER_DATA``, or else ``straggler`` in ``$XDG_CACHE_HOME``, which is ``~/.cache``
    if not set.
    """
    if own := os.environ.get("STRAGGLER_DATA"):
        return Path(own).expanduser()
    if general := os.environ.get("XDG_CACHE_HOME"):
        return Path(general) / "straggler"
    return Path.home() / ".cache" / "straggler"


def file_path(entry: Entry, file: str, folder: Path) -> Path:
    """Return where a file of a data set is kept."""
    return folder / entry.name / file


def kept(entry: Entry, folder: Path) -> Kept:
    """Look at the files of a data set: are they there, with the right content?"""
    paths = [file_path(entry, file, folder) for file in entry.sha256]
    if not all(path.is_file() for path in paths):
        return Kept.MISSING
    hashes = zip(paths, entry.sha256.values(), strict=True)
    if all(_sha256(path) == expected for path, expected in hashes):
        return Kept.WHOLE
    return Kept.DAMAGED


def _sha256(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
