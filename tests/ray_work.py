"""Work that tests hand to a Ray cluster: its workers must be able to import it."""

import os
import signal
import sys
import time
from pathlib import Path

from fl.ray_cluster import stored
from netsim.errors import InputError


def square(number):
    return number * number


def sleep(seconds):
    time.sleep(seconds)
    return seconds


def refuse(message):
    raise InputError(message)


def survive_once(folder):
    """Wait to be killed the first time, and be done at once the second."""
    attempt = Path(folder) / f"{len(list(Path(folder).iterdir()))}"
    attempt.write_text(str(os.getpid()))
    if attempt.name == "0":
        time.sleep(600)
    return attempt.name


def die():
    os.kill(os.getpid(), signal.SIGKILL)


def places():
    return sys.path


def total_of_stored(kept):
    numbers = stored(kept)
    return numbers.sum(), numbers.flags.writeable
