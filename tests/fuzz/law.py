"""What holds of every reader, whatever the file: it succeeds, or refuses in words, soon."""

import os
import resource
import signal
import time
from contextlib import contextmanager

from hypothesis import HealthCheck, settings

from netsim.errors import InputError

#: Of processor time, for one input. The slowest takes a tenth of that.
SECONDS = 10
#: That one input may add to what the process has taken before.
MEGABYTES = 500
#: Of a message: a paragraph, or a line for each of twenty things that are wrong.
CHARACTERS = 10_000


class _TooLongError(BaseException):
    """No reader catches this."""


@contextmanager
def _in_time():
    def stop(*_):
        raise _TooLongError

    before = signal.signal(signal.SIGPROF, stop)
    signal.setitimer(signal.ITIMER_PROF, SECONDS)
    try:
        yield
    except _TooLongError:
        raise AssertionError(f"is not read within {SECONDS} s") from None
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.signal(signal.SIGPROF, before)


def read_or_refused(read, named):
    """Read something; whatever is raised but a refusal that names *named* goes on.

    Returns:
        Whether it was read.
    """
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    began = time.process_time()
    said = None
    with _in_time():
        try:
            read()
        except InputError as error:
            said = str(error)
    assert time.process_time() - began < SECONDS  # where no signal comes through
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - memory < MEGABYTES * 1024
    if said is None:
        return True
    assert str(named) in said
    assert len(said) < CHARACTERS
    return False


def inputs(count):
    """Settings for so many inputs, the same each time; FUZZ_INPUTS says how many by hand."""
    return settings(
        max_examples=int(os.environ.get("FUZZ_INPUTS", count)),
        derandomize=True,
        deadline=None,
        database=None,
        suppress_health_check=list(HealthCheck),
    )
