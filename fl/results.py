"""The run directory: the files a run leaves, and how they are opened again.

Tables are written as the run goes, under a name of their own, and get their real name
when they are whole. The manifest says what the directory is: ``running``, ``finished``
or ``failed``.
"""

import json
import platform
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.parquet as pq

from fl.experiment import Experiment
from fl.scenario import write_scenario
from fl.tables import DEVICES, EVENTS, ROUNDS
from fl.training.engine import EngineChoice
from fl.training.errors import DivergedError
from netsim.errors import InputError

if TYPE_CHECKING:
    from fl.report.plots import Plots

TABLES = {"rounds": ROUNDS, "devices": DEVICES, "events": EVENTS}
_PARTITION = "partition.parquet"
_FILES = ("manifest.json", "scenario.yaml", _PARTITION, *(f"{name}.parquet" for name in TABLES))
_LIBRARIES = ("straggler", "simpy", "numpy", "pyarrow")
_LEARNING_LIBRARIES = ("torch", "torchvision")


class RunDirectoryError(InputError):
    """A directory that cannot take a run, or does not hold one."""


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
        try:
            tables = {name: pq.read_table(folder / f"{name}.parquet") for name in TABLES}
            if (folder / _PARTITION).exists():
                tables["partition"] = pq.read_table(folder / _PARTITION)
            manifest = json.loads((folder / "manifest.json").read_text(encoding="utf-8"))
            return cls(**tables, facts=manifest)
        except (OSError, ValueError, pa.ArrowException) as error:
            reason = str(error).splitlines()[0]
            raise RunDirectoryError(f"{folder}: holds no results: {reason}") from None


class InMemory:
    """Keeps the tables of a run."""

    def __init__(self) -> None:
        self.facts: dict[str, object] = {}
        """What is known of the whole run."""
        self._batches: list[tuple[pa.Table, ...]] = []

    def write(self, rounds: pa.Table, devices: pa.Table, events: pa.Table) -> None:
        """Take the next rounds."""
        self._batches.append((rounds, devices, events))

    def run(self, partition: pa.Table | None = None) -> Run:
        """Return what was taken."""
        tables = map(pa.concat_tables, zip(*self._batches, strict=True))
        named = dict(zip(TABLES, tables, strict=True))
        return Run(**named, partition=partition, facts=self.facts)


class RunDirectory:
    """Writes the tables of a run to its directory."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self.num_rounds = 0
        """Written so far."""
        self.facts: dict[str, object] = {}
        """What is known of the whole run; for the manifest."""
        self._writers = {
            name: pq.ParquetWriter(
                self._partial(name),
                schema,
                compression="zstd",
                # Floats hardly repeat: looking for repetitions took longer than the rest.
                use_dictionary=[f.name for f in schema if not pa.types.is_floating(f.type)],
            )
            for name, schema in TABLES.items()
        }

    def write(self, rounds: pa.Table, devices: pa.Table, events: pa.Table) -> None:
        """Take the next rounds."""
        self.num_rounds += rounds.num_rows
        for writer, table in zip(self._writers.values(), (rounds, devices, events), strict=True):
            writer.write_table(table)

    def close(self) -> None:
        """Give the tables their names."""
        for name, writer in self._writers.items():
            writer.close()
            self._partial(name).replace(self._folder / f"{name}.parquet")

    def _partial(self, name: str) -> Path:
        return self._folder / f".{name}.parquet.partial"


@contextmanager
def run_directory(
    folder: Path, experiment: Experiment, engine: EngineChoice | None = None
) -> Iterator[RunDirectory]:
    """Make a run directory, and finish it with the block: ``finished``, or ``failed``.

    Rounds that were over when the block failed are kept; if there were none, nothing is, unless
    training has diverged: that is a result.

    Raises:
        RunDirectoryError: It holds a run already, or cannot be made.
    """
    held = [name for name in _FILES if (folder / name).exists()]
    if held:
        raise RunDirectoryError(
            f"{folder}: already holds a run ({held[0]}); give another --out, or remove it"
        )
    began = time.monotonic()
    manifest = _manifest(experiment, engine)
    made = not folder.exists()
    try:
        folder.mkdir(parents=True, exist_ok=True)
        write_atomically(folder / "scenario.yaml", write_scenario(experiment.scenario, folder))
        if experiment.enrolment is not None:
            pq.write_table(experiment.enrolment.partition, folder / f".{_PARTITION}.partial")
            (folder / f".{_PARTITION}.partial").replace(folder / _PARTITION)
        _write_manifest(folder, manifest)
        directory = RunDirectory(folder)
    except OSError as error:
        _clear(folder, remove=made)
        raise RunDirectoryError(f"{folder}: cannot hold a run: {error.strerror}") from None
    try:
        yield directory
    except BaseException as error:
        directory.close()
        if not directory.num_rounds and not isinstance(error, DivergedError):
            _clear(folder, remove=made)
            raise
        manifest |= {"status": "failed", "reason": str(error) or type(error).__name__}
        raise
    else:
        directory.close()
        manifest |= {"status": "finished"}
    finally:
        if manifest["status"] != "running":
            manifest |= {"wall_seconds": time.monotonic() - began} | directory.facts
            _write_manifest(folder, manifest)


def _manifest(experiment: Experiment, engine: EngineChoice | None) -> dict[str, Any]:
    """Return what is known of a run before it begins."""
    scenario, enrolment, trace = experiment.scenario, experiment.enrolment, experiment.trace
    libraries = _LIBRARIES if enrolment is None else (*_LIBRARIES, *_LEARNING_LIBRARIES)
    hashes = {trace.path.name: trace.sha256()} if trace is not None and trace.path else {}
    if enrolment is not None:
        hashes[enrolment.dataset.name] = enrolment.dataset.sha256()
    manifest = {
        "status": "running",
        "scenario": scenario.name,
        "seed": scenario.seed,
        "started": datetime.now(UTC).isoformat(timespec="seconds"),
        "wall_seconds": None,
        "versions": {name: version(name) for name in libraries}
        | {"python": platform.python_version()},
        "sha256": hashes,
    }
    if enrolment is not None and engine is not None:
        manifest |= {"engine": engine.name, "workers": engine.workers}
    return manifest


def free_directory(parent: Path, name: str) -> Path:
    """Return the first of ``name``, ``name-2``, ``name-3``... that does not exist."""
    folder, number = parent / name, 1
    while folder.exists():
        number += 1
        folder = parent / f"{name}-{number}"
    return folder


def _clear(folder: Path, *, remove: bool) -> None:
    """Take away the files of a run, and the folder, if it was made for them."""
    for name in _FILES:
        for file in (folder / name, folder / f".{name}.partial"):
            if file.is_file():
                file.unlink()
    if remove and folder.is_dir() and not any(folder.iterdir()):
        folder.rmdir()


def _write_manifest(folder: Path, manifest: Mapping[str, Any]) -> None:
    write_atomically(folder / "manifest.json", json.dumps(manifest, indent=2) + "\n")


def write_atomically(path: Path, text: str) -> None:
    """Write a file that is there whole, or not at all."""
    partial = path.with_name(f".{path.name}.partial")
    partial.write_text(text, encoding="utf-8")
    partial.replace(path)
