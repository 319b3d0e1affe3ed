"""Rounds as they come, for TensorBoard: against rounds, and against simulated time."""

import math
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from fl.round import ARRIVED, Outcome
from fl.tables import learnt_over_devices
from netsim.errors import InputError

if TYPE_CHECKING:
    from torch.utils.tensorboard import SummaryWriter


class Log:
    """Writes what came of each round.

    The step of a value is its round, and its wall time is the simulated time at the end of the
    round: TensorBoard's axis *Step* shows rounds, its axis *Relative* simulated time.
    """

    def __init__(self, writer: "SummaryWriter") -> None:
        self._writer = writer
        self._waiting: Outcome | None = None

    def append(self, outcome: Outcome) -> None:
        """Take what came of one round; it is written with the next, when its test is over."""
        self.flush()
        self._waiting = outcome

    def flush(self) -> None:
        """Write the round that is waiting."""
        if self._waiting is not None:
            for name, value in _scalars(self._waiting).items():
                self._writer.add_scalar(name, value, self._waiting.round, self._waiting.end_s)
        self._waiting = None


@contextmanager
def tensorboard_log(folder: Path, first: int = 0) -> Iterator[Log]:
    """Write events to *folder*.

    Args:
        folder: Where.
        first: The first round; what is there of it and later ones was not kept, and counts no more.

    Raises:
        InputError: TensorBoard is not installed.
    """
    try:
        from torch.utils.tensorboard import SummaryWriter  # noqa: PLC0415 -- an extra
    except ImportError:
        raise InputError(
            "--tensorboard: TensorBoard is not installed; pip install 'straggler[tensorboard]'"
        ) from None
    with SummaryWriter(str(folder), purge_step=first or None) as writer:
        log = Log(writer)
        yield log
        log.flush()


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
