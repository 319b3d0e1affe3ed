"""What a run leaves, opened again or kept in memory."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.parquet as pq

from fl.columns import TABLES
from fl.directory import PARTITION, run_directory
from fl.files import write_atomically
from fl.manifest import RunDirectoryError, check_over
from fl.tables import Position

if TYPE_CHECKING:
    from fl.learning import Learning
    from fl.report.plots import Plots

__all__ = [
    "TABLES",
    "InMemory",
    "Run",
    "RunDirectoryError",
    "free_directory",
    "run_directory",
    "write_atomically",
]


@dataclass(frozen=True)
class Run:
    """The results of a run, as Arrow tables."""

    rounds: pa.Table
    """One row a round."""
    devices: pa.Table
    """One row a round and device."""
    events: pa.Table
    """One row a phase of a device in a round."""
    partition: pa.Table | None = None
    """One row a device and label it holds; None, if nothing was learnt."""
    facts: Mapping[str, Any] = field(default_factory=dict)
    """What is known of the whole run: the manifest, if there is one; the bound of Theorem 1."""

    @property
    def plot(self) -> "Plots":
        """Draws it: ``run.plot.latency()`` and others return matplotlib figures."""
        from fl.report.plots import Plots  # noqa: PLC0415 -- matplotlib takes a while to import

        return Plots(self.rounds, self.devices)

    @classmethod
    def open(cls, directory: str | Path) -> "Run":
        """Open a run directory.

        Raises:
            RunDirectoryError: It holds no finished tables.
        """
        folder = Path(directory)
        manifest = check_over(folder)
        try:
            tables = {name: pq.read_table(folder / f"{name}.parquet") for name in TABLES}
            if (folder / PARTITION).exists():
                tables["partition"] = pq.read_table(folder / PARTITION)
            return cls(**tables, facts=manifest)
        except (OSError, ValueError, pa.ArrowException) as error:
            reason = str(error).splitlines()[0]
            raise RunDirectoryError(f"{folder}: holds no results: {reason}") from None


class InMemory:
    """Keeps the tables of a run; what is lost with the process need not be made sure of."""

    is_due = False

    def __init__(self, position: Position = Position()) -> None:  # noqa: B008 -- it is frozen
        self.position = position
        """Where the run begins."""
        self.facts: dict[str, object] = {}
        """What is known of the whole run."""
        self._batches: list[tuple[pa.Table, ...]] = []

    def write(self, rounds: pa.Table, devices: pa.Table, events: pa.Table) -> None:
        """Take the next rounds."""
        self._batches.append((rounds, devices, events))

    def keep(self, learning: "Learning | None") -> None:
        """Do nothing."""

    def restore(self, learning: "Learning") -> None:
        """Do nothing: every run begins at its beginning."""

    def run(self, partition: pa.Table | None = None) -> Run:
        """Return what was taken."""
        tables = map(pa.concat_tables, zip(*self._batches, strict=True))
        named = dict(zip(TABLES, tables, strict=True))
        return Run(**named, partition=partition, facts=self.facts)


def free_directory(parent: Path, name: str) -> Path:
    """Return the first of ``name``, ``name-2``, ``name-3``... that does not exist."""
    folder, number = parent / name, 1
    while folder.exists():
        number += 1
        folder = parent / f"{name}-{number}"
    return folder
