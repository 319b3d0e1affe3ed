"""Files that are there whole, or not at all; even if the machine stops."""

import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path


@contextmanager
def appearing(path: Path) -> Iterator[Path]:
    """Give a path to write to; what was written there gets its name *path* with the block's end.

    If the block fails, nothing of it is left, and a file that was there before is as it was.

    Raises:
        OSError: It cannot be written; the error names a file.
    """
    partial = path.with_name(f".{path.name}.partial")
    try:
        with naming(path):
            partial.unlink(missing_ok=True)  # a stranger may have left a link to anywhere
            yield partial
            with partial.open("rb") as written:
                os.fsync(written.fileno())
            partial.replace(path)
    except BaseException:
        with suppress(OSError):  # the disk may be what failed
            partial.unlink(missing_ok=True)
        raise
    sync_folder(path.parent)


def write_atomically(path: Path, text: str) -> None:
    """Write a file that is there whole, or not at all."""
    with appearing(path) as partial:
        partial.write_text(text, encoding="utf-8")


def sync_folder(folder: Path) -> None:
    """Wait until the names in *folder* are on the disk."""
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


@contextmanager
def naming(path: Path) -> Iterator[None]:
    """Say of what fails on the disk within the block that it failed at *path*, and why.

    Arrow's errors, and those of a write, name no file.
    """
    try:
        yield
    except OSError as error:
        reason = os.strerror(error.errno) if error.errno else str(error).splitlines()[0]
        raise OSError(error.errno, reason, error.filename or str(path)) from error
