"""A run under way: its rounds so far, and what it takes to go on from there."""

import time
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa

from fl.checkpoint import Checkpoint, Lengths, write_checkpoint
from fl.files import naming
from fl.journal import BEGINNING, Journal
from fl.tables import Position

if TYPE_CHECKING:  # torch takes seconds to import, and most runs do without it
    from fl.learning import Learning

#: A checkpoint is made no sooner than after so many times what the last one took: a twentieth
#: of the time at most.
_PATIENCE = 20


class Unfinished:
    """Takes the rounds of a run, and makes sure of them now and then."""

    def __init__(self, folder: Path, checkpoint: Checkpoint | None, every_s: float) -> None:
        """Open what is there, up to the checkpoint.

        Args:
            folder: Where it is.
            checkpoint: Where the run goes on; None: it begins.
            every_s: How often to make sure of the rounds that are over.
        """
        self._folder = folder
        self._checkpoint = checkpoint
        self._every_s = every_s
        self._journal = Journal(self._folder, checkpoint.end if checkpoint else BEGINNING)
        self._began = time.monotonic() - (checkpoint.wall_seconds if checkpoint else 0.0)
        self._due_at = time.monotonic() + every_s
        self.facts: dict[str, object] = {}
        """What is known of the whole run; for the manifest."""

    @property
    def position(self) -> Position:
        """Where the run goes on."""
        return self._journal.end.position

    @property
    def wall_seconds(self) -> float:
        """How long the run has taken so far, as far as that was kept."""
        return time.monotonic() - self._began

    @property
    def is_due(self) -> bool:
        """Whether it is time to make sure of the rounds that are over."""
        return time.monotonic() >= self._due_at

    def check(self) -> None:
        """Look whether all rounds before are there.

        Raises:
            InputError: They are not.
        """
        self._journal.check()

    def write(self, rounds: pa.Table, devices: pa.Table, events: pa.Table) -> None:
        """Take the next rounds."""
        with naming(self._folder):
            self._journal.append((rounds, devices, events))

    def keep(self, learning: "Learning | None") -> None:
        """Make sure that the rounds written so far are never lost, and what they have led to.

        Weights that are not those after the last of these rounds are of no use: then the
        checkpoint before stays.
        """
        began, (position, lengths) = time.monotonic(), self._journal.end
        state = learning.state(position.round) if learning else None
        if (learning is not None and state is None) or self._is_kept(position):
            return
        weights = f"weights-{position.round}.pt" if learning else None
        checkpoint = Checkpoint(
            round=position.round,
            now_s=position.now_s,
            lengths=Lengths(**lengths),
            weights=weights,
            learning=state,
            wall_seconds=self.wall_seconds,
        )
        with naming(self._folder):
            self._journal.sync()
            if learning is not None and weights is not None:
                from fl.weights import save_weights  # noqa: PLC0415 -- imports torch

                save_weights(self._folder / weights, learning.cohort)
            write_checkpoint(self._folder, checkpoint)
            self._checkpoint = checkpoint
            self._clear_weights()
        now = time.monotonic()
        self._due_at = now + (self._every_s and max(self._every_s, _PATIENCE * (now - began)))

    def restore(self, learning: "Learning") -> None:
        """Give back what the rounds before have led to.

        Raises:
            InputError: It cannot be read.
        """
        if self._checkpoint is None or self._checkpoint.learning is None:
            return
        from fl.weights import load_weights  # noqa: PLC0415 -- imports torch

        load_weights(self._folder / str(self._checkpoint.weights), learning.cohort)
        learning.restore(self._checkpoint.learning)

    def write_parquet(self, folder: Path) -> None:
        """Write the tables of the rounds so far to *folder*."""
        with naming(folder):
            self._journal.write_parquet(folder)

    def close(self) -> None:
        """Let go of the files."""
        self._journal.close()

    def _clear_weights(self) -> None:
        """Take away the weights that do not belong to the checkpoint."""
        for path in self._folder.glob("*weights-*.pt*"):
            if self._checkpoint is None or path.name != self._checkpoint.weights:
                path.unlink()

    def _is_kept(self, position: Position) -> bool:
        return position.round == (self._checkpoint.round if self._checkpoint else 0)
