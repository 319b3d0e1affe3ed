"""Rounds as they come, for TensorBoard: against rounds, and against simulated time."""

import math
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from fl.files import naming
from fl.phases import ARRIVED
from fl.server import Outcome
from fl.tables import learnt_over_devices
from netsim.errors import InputError

if TYPE_CHECKING:
    from torch.utils.tensorboard import SummaryWriter


class Log:
    """Writes what came of each round.

    The step of a value is its round, and its wall time is the simulated time at the end of the
    round: TensorBoard's axis *Step* shows rounds, its axis *Relative* simulated time.
    """

    def __init__(self, writer: "SummaryWriter", folder: Path) -> None:
        self._writer = writer
        self._folder = folder
        self._waiting: Outcome | None = None

    def append(self, outcome: Outcome) -> None:
        """Take what came of one round; it is written with the next, when its test is over."""
        self.flush()
        self._waiting = outcome

    def flush(self) -> None:
        """Write the round that is waiting."""
        if self._waiting is not None:
            with naming(self._folder):
                for name, value in _scalars(self._waiting).items():
                    self._writer.add_scalar(name, value, self._waiting.round, self._waiting.end_s)
        self._waiting = None

    def close(self) -> None:
        """Wait until everything is written."""
        with naming(self._folder):
            self._writer.close()


@contextmanager
def tensorboard_log(folder: Path, first: int = 0) -> Iterator[Log]:
    """Write events to *folder*.

    Args:
        folder: Where.
        first: The first round; what is there of it and later ones was not kept, and counts no more.

    Raises:
        InputError: TensorBoard is not installed.
        OSError: Nothing can be written there, or no more.
    """
    try:
        from torch.utils.tensorboard import SummaryWriter  # noqa: PLC0415 -- an extra
    except ImportError:
        raise InputError(
            "--tensorboard: TensorBoard is not installed; pip install 'straggler[tensorboard]'"
        ) from None
    with _told_once():
        with naming(folder):
            log = Log(SummaryWriter(str(folder), purge_step=first or None), folder)
        try:
            yield log
            log.flush()
        finally:
            log.close()


@contextmanager
def _told_once() -> Iterator[None]:
    """Keep the thread that writes from printing why it cannot: whoever writes next is told."""
    before = threading.excepthook

    def tell(error: threading.ExceptHookArgs) -> None:
        if not isinstance(error.exc_value, OSError):
            before(error)

    threading.excepthook = tell
    try:
        yield
    finally:
        threading.excepthook = before


def _scalars(outcome: Outcome) -> dict[str, float]:
    scalars = {
        "round/latency_s": outcome.latency_s,
        "round/uplink_bits": float(np.sum(outcome.sent_bits)),
        "round/arrived": float(outcome.ends.count(ARRIVED)),
    }
    if outcome.learnt is not None:
        learnt = learnt_over_devices(outcome.learnt)
        scalars |= {f"learning/{name}": v for name, v in learnt.items() if not math.isnan(v)}
    return scalars
