"""Runs the plan, a run on each core; those that are finished are not run again."""

import fcntl
import json
import shutil
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import as_completed
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import fl
from fl.reproduction.plan import Arm
from fl.results import RunDirectoryError
from fl.scenario import Scenario, write_scenario
from fl.worker_pool import result_of, worker_pool

#: What runs that learn import; once for all of them.
_LEARNING = "fl.enrolment"
#: Seconds on one core of a round that learns, and of a whole run that does not; only to guess
#: what is left.
_LEARNING_ROUND_S, _LATENCY_RUN_S = 1.5, 0.8


@dataclass(frozen=True)
class Job:
    """A run to be made, and where."""

    scenario: Scenario
    folder: Path

    @property
    def expected_s(self) -> float:
        """How long it may take on one core."""
        if self.scenario.learning is None:
            return _LATENCY_RUN_S
        return self.scenario.rounds * _LEARNING_ROUND_S


@dataclass(frozen=True)
class Progress:
    """How far it is."""

    done: int
    total: int
    fraction: float
    """Of the work, from 0 to 1."""
    left_s: float
    """How long the rest will take, if it goes on like this."""


def run_arms(
    arms: Sequence[Arm], folder: Path, workers: int, watch: Callable[[Progress], None]
) -> int:
    """Make all runs that are not there yet, and return how many there were.

    Args:
        arms: What to run.
        folder: Where runs go, each to a folder of its own.
        workers: How many runs to make at a time.
        watch: Told of each run that is over.

    Raises:
        RunDirectoryError: A folder holds a finished run of something else.
        InputError: A run cannot be made.
        WorkerError: A process is gone.
    """
    with _only_one(folder):
        return _run_missing(arms, folder, workers, watch)


def _run_missing(
    arms: Sequence[Arm], folder: Path, workers: int, watch: Callable[[Progress], None]
) -> int:
    jobs = [
        Job(arm.scenario(seed), folder / arm.folder(seed)) for arm in arms for seed in arm.seeds
    ]
    missing = [job for job in jobs if not _is_finished(job)]
    if not missing:
        return 0
    total_s, done_s, began = sum(job.expected_s for job in missing), 0.0, time.monotonic()
    with worker_pool(workers, _LEARNING) as pool:
        futures = {pool.submit(_run, job): job for job in missing}
        watch(Progress(0, len(missing), 0.0, total_s / workers))
        for done, future in enumerate(as_completed(futures), 1):
            result_of(future)
            done_s += futures[future].expected_s
            left_s = (time.monotonic() - began) * (total_s / done_s - 1)
            watch(Progress(done, len(missing), done_s / total_s, left_s))
    return len(missing)


@contextmanager
def _only_one(folder: Path) -> Iterator[None]:
    """Keep others out of *folder*; the lock goes with the process, however that ends."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        opened = (folder / ".lock").open("w")
    except OSError as error:
        raise RunDirectoryError(f"{folder}: cannot hold runs: {error.strerror}") from None
    with opened as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise RunDirectoryError(
                f"{folder}: another process is making these runs; wait for it, or give another --out"
            ) from None
        yield


def _is_finished(job: Job) -> bool:
    """Look whether a run is there, and whether it is this one."""
    try:
        manifest = json.loads((job.folder / "manifest.json").read_text(encoding="utf-8"))
        written = (job.folder / "scenario.yaml").read_text(encoding="utf-8")
    except (OSError, ValueError):
        return False
    if manifest.get("status") != "finished":
        return False
    if written != write_scenario(job.scenario, job.folder):
        raise RunDirectoryError(
            f"{job.folder}: holds a run of another scenario; give another --out, or remove it"
        )
    return True


def _run(job: Job) -> None:
    shutil.rmtree(job.folder, ignore_errors=True)  # what is left of one that was interrupted
    fl.run(job.scenario, out=job.folder)
