"""One process at a time in a folder."""

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO

from netsim.errors import InputError

LOCK = ".lock"
"""The file that is locked; it says nothing, and means nothing when nobody holds it."""


class LockedError(InputError):
    """A folder in which another process works."""


@contextmanager
def locked(folder: Path) -> Iterator[None]:
    """Keep other processes out of *folder* for as long as the block lasts.

    The kernel holds the lock, and lets go of it with the process, however that ends: so none is
    ever stale. A folder that was made for the block goes with it, if nothing is left in it.

    Raises:
        LockedError: Another process holds it, or the folder cannot be made.
    """
    made = not folder.exists()
    try:
        folder.mkdir(parents=True, exist_ok=True)
        lock = _take(folder)
    except FileExistsError:
        raise LockedError(f"{folder}: is no folder; give another --out, or remove it") from None
    except OSError as error:
        if made:
            with suppress(OSError):  # there may be none
                folder.rmdir()
        raise LockedError(f"{folder}: cannot be written: {error.strerror}") from None
    try:
        yield
    finally:
        with lock, suppress(OSError):  # it would do no harm if it stayed
            (folder / LOCK).unlink(missing_ok=True)
            if made:
                folder.rmdir()


def _take(folder: Path) -> IO[str]:
    """Open and lock the file.

    Whoever had it before takes it away when it is done. It may have done so after we opened it:
    then the next one would lock another file, so we do that, too.
    """
    while True:
        lock = (folder / LOCK).open("a")  # nothing is lost, should it be a link
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            if os.path.samestat(os.fstat(lock.fileno()), (folder / LOCK).stat()):
                return lock
        except BlockingIOError:
            lock.close()
            raise LockedError(
                f"{folder}: another process is at work here; wait for it, or give another --out"
            ) from None
        except FileNotFoundError:
            pass
        except BaseException:
            lock.close()
            raise
        lock.close()
