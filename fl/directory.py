"""The life of a run directory: begun, gone on with, finished or failed.

While a run goes, its tables grow in a folder ``unfinished``, beside a checkpoint and the weights
that belong to it. At its end the tables become Parquet, the manifest says so, and the folder goes,
in this order: so at any moment the directory is a run that can go on, or one that is finished.
"""

import hashlib
import shutil
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq

from fl.checkpoint import Checkpoint, read_checkpoint
from fl.columns import TABLES
from fl.estimate import check_disk
from fl.experiment import Experiment
from fl.files import appearing, naming, sync_folder, write_atomically
from fl.lock import locked
from fl.manifest import MANIFEST, RunDirectoryError, read_manifest, write_manifest
from fl.provenance import differences, provenance
from fl.scenario import write_scenario
from fl.scenario.document import read_document
from fl.training.engine import EngineChoice
from fl.training.errors import DivergedError
from fl.unfinished import Unfinished

CHECKPOINT_EVERY_S = 5.0
"""How often the rounds that are over are made sure of, unless said otherwise."""
PARTITION = "partition.parquet"
_SCENARIO = "scenario.yaml"
_UNFINISHED = "unfinished"
_TABLES = tuple(f"{name}.parquet" for name in TABLES)
_FILES = (MANIFEST, _SCENARIO, PARTITION, *_TABLES)
_MOST_CHANGES_TOLD = 12


@contextmanager
def run_directory(
    folder: Path,
    experiment: Experiment,
    engine: EngineChoice | None = None,
    *,
    resume: bool = False,
    checkpoint_every_s: float = CHECKPOINT_EVERY_S,
) -> Iterator[Unfinished]:
    """Begin a run directory, and finish it with the block: ``finished``, or ``failed``.

    Rounds that were over when the block failed are kept; if there were none, nothing is, unless
    training has diverged: that is a result.

    Args:
        folder: Where; nobody else may work there meanwhile.
        experiment: What is run.
        engine: What computes what devices learn; for the manifest.
        resume: Go on with the run that is there, if there is one that was interrupted.
        checkpoint_every_s: How often the rounds that are over are made sure of, in seconds of
            this machine; 0: after each.

    Raises:
        RunDirectoryError: It holds a run already, or cannot be made, or what is there is
            another run.
        ScenarioError: There is too little room for the results.
        InputError: What is there of the run cannot be used.
        OSError: It cannot be written any more.
    """
    check_disk(experiment.scenario, folder, _journal_bytes(folder))
    with locked(folder):
        before = _look(folder, resume=resume)
        manifest = _manifest(experiment, engine, before)
        with _making(folder):
            if before is not None:
                now = {key: manifest[key] for key in ("versions", "code", "sha256")}
                _refuse_changes(folder, experiment, {key: before.get(key) for key in now}, now)
            unfinished = _open(folder, experiment, manifest, checkpoint_every_s)
        try:
            yield unfinished
            unfinished.write_parquet(folder)
        except BaseException as error:
            _fail(folder, unfinished, manifest, error)
            raise
        finally:
            unfinished.close()
        facts = {"status": "finished", "wall_seconds": unfinished.wall_seconds} | unfinished.facts
        with naming(folder):
            write_manifest(folder, manifest | facts | {"files": file_hashes(folder)})
            shutil.rmtree(folder / _UNFINISHED)


def is_finished(folder: Path, experiment: Experiment) -> bool:
    """Return whether *folder* holds this run, and it is finished.

    Raises:
        RunDirectoryError: It holds another one.
    """
    manifest = read_manifest(folder)
    if manifest is None or manifest.get("status") != "finished":
        return False
    now = {"sha256": provenance(experiment)["sha256"]}
    _refuse_changes(folder, experiment, {"sha256": manifest.get("sha256")}, now)
    return True


def clear_unfinished(folder: Path) -> None:
    """Take away what a run was killed over removing, at its very end."""
    shutil.rmtree(folder / _UNFINISHED, ignore_errors=True)


def file_hashes(folder: Path) -> dict[str, str]:
    """Return the sha256 of each file of a run that is over, but for its manifest."""
    hashes = {}
    for name in _FILES:
        if name != MANIFEST and (folder / name).is_file():
            with (folder / name).open("rb") as file:
                hashes[name] = hashlib.file_digest(file, "sha256").hexdigest()
    return hashes


def is_unfinished(folder: Path) -> bool:
    """Return whether *folder* holds a run that can go on."""
    manifest = read_manifest(folder)
    return manifest is not None and manifest.get("status") in ("running", "failed")


def _journal_bytes(folder: Path) -> int:
    """Return how many bytes of its tables a run that was interrupted has written."""
    return sum(path.stat().st_size for path in (folder / _UNFINISHED).glob("*.arrows"))


def _look(folder: Path, *, resume: bool) -> dict[str, Any] | None:
    """Return the manifest of the run to go on with; None, if one is to be begun.

    Raises:
        RunDirectoryError: There is a run, and it is not to be gone on with, or cannot be.
    """
    held = [name for name in (*_FILES, _UNFINISHED) if (folder / name).exists()]
    if not held:
        return None
    if is_unfinished(folder):
        if resume:
            return read_manifest(folder)
        raise RunDirectoryError(
            f"{folder}: holds a run that was interrupted; go on with it by --resume, give another "
            "--out, or remove it"
        )
    raise RunDirectoryError(
        f"{folder}: already holds a run ({held[0]}); give another --out, or remove it"
    )


def _manifest(
    experiment: Experiment, engine: EngineChoice | None, before: Mapping[str, Any] | None
) -> dict[str, Any]:
    """Return what is known of a run before it begins, or goes on."""
    scenario, now = experiment.scenario, datetime.now(UTC).isoformat(timespec="seconds")
    manifest = {
        "status": "running",
        "scenario": scenario.name,
        "seed": scenario.seed,
        "started": now,
        "wall_seconds": None,
        **provenance(experiment),
    }
    if before is not None:
        times = before.get("resumed")
        manifest["started"] = before.get("started", now)
        manifest["resumed"] = 1 + (times if isinstance(times, int) else 0)
    if experiment.enrolment is not None and engine is not None:
        manifest |= {"engine": engine.name, "workers": engine.workers}
    return manifest


def _refuse_changes(
    folder: Path, experiment: Experiment, before: Mapping[str, Any], now: Mapping[str, Any]
) -> None:
    """Refuse to go on with a run whose results depend on something that has changed.

    Raises:
        RunDirectoryError: The message names each change.
    """
    changes = differences(before, now)
    if (folder / _SCENARIO).exists():  # else nothing was begun
        written = read_document(folder / _SCENARIO).data
        changes = differences(written, experiment.scenario.written()) + changes
    if not changes:
        return
    told = changes[:_MOST_CHANGES_TOLD]
    if len(changes) > len(told):
        told.append(f"and {len(changes) - len(told)} more")
    raise RunDirectoryError(
        f"{folder}: holds a run of something else, and cannot go on with what has changed since:\n"
        + "\n".join(f"  {change}" for change in told)
        + "\nChange it back, give another --out, or remove that run"
    )


@contextmanager
def _making(folder: Path) -> Iterator[None]:
    """Say that nothing can be written, and leave nothing where there was nothing."""
    is_new = not is_unfinished(folder)
    try:
        yield
    except BaseException as error:
        if is_new:
            _clear(folder)
        if isinstance(error, OSError):
            reason = error.strerror or error
            raise RunDirectoryError(f"{folder}: cannot hold a run: {reason}") from None
        raise


def _open(
    folder: Path, experiment: Experiment, manifest: Mapping[str, Any], every_s: float
) -> Unfinished:
    """Return the run that is there, up to its last checkpoint, or a new one."""
    scenario, unfinished = experiment.scenario, folder / _UNFINISHED
    learns = experiment.enrolment is not None
    checkpoint = read_checkpoint(unfinished, scenario.rounds, learns=learns)
    opened = _checked(unfinished, checkpoint, every_s) if checkpoint else None
    # From here on, it is this run. The manifest is first: it says what the rest is.
    write_manifest(folder, manifest)
    write_atomically(folder / _SCENARIO, write_scenario(scenario, folder))
    if experiment.enrolment is not None:
        with appearing(folder / PARTITION) as path:
            pq.write_table(experiment.enrolment.partition, path)
    for name in _TABLES:  # of the rounds before it was interrupted: these are in the journal, too
        (folder / name).unlink(missing_ok=True)
    unfinished.mkdir(exist_ok=True)
    sync_folder(folder)
    return opened or Unfinished(unfinished, None, every_s)


def _checked(folder: Path, checkpoint: Checkpoint, every_s: float) -> Unfinished:
    opened = Unfinished(folder, checkpoint, every_s)
    try:
        opened.check()
    except BaseException:
        opened.close()
        raise
    return opened


def _fail(
    folder: Path, unfinished: Unfinished, manifest: Mapping[str, Any], error: BaseException
) -> None:
    """Leave the rounds so far to be read, and to go on from; if there are none, leave nothing."""
    if not unfinished.position.round and not isinstance(error, DivergedError):
        _clear(folder)
        return
    facts = {
        "status": "failed",
        "reason": str(error) or type(error).__name__,
        "wall_seconds": unfinished.wall_seconds,
    }
    with suppress(OSError):  # then it stays as it is: a run that was interrupted
        unfinished.write_parquet(folder)
        hashes = {"files": file_hashes(folder)}
        write_manifest(folder, dict(manifest) | facts | unfinished.facts | hashes)


def _clear(folder: Path) -> None:
    """Take away the files of a run; last the one that says what they are."""
    clear_unfinished(folder)
    for name in reversed(_FILES):
        for file in (folder / name, folder / f".{name}.partial"):
            with suppress(OSError):
                file.unlink(missing_ok=True)
