"""Makes the runs that are missing; finished ones are never repeated."""

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from fl.manifest import RunDirectoryError, read_manifest
from fl.scenario import write_scenario
from fl.study.jobs import Ended, Job, Workplace


@dataclass(frozen=True)
class Progress:
    """How far the runs are."""

    done: int
    failed: int
    running: int
    total: int
    fraction: float
    """Of the work, from 0 to 1."""
    left_s: float | None
    """How long the rest will take, if it goes on like this; None, if nothing is known yet."""


@dataclass(frozen=True)
class Made:
    """What was done."""

    runs: int
    """How many were made."""
    failed: Sequence[Ended]


def run_missing(
    jobs: Sequence[Job], workplace: Workplace, watch: Callable[[Progress], None]
) -> Made:
    """Make all runs that are not there yet; one that fails does not stop the others.

    Args:
        jobs: What to run. Two must not have the same folder.
        workplace: Where.
        watch: Told of each run that is over.

    Raises:
        RunDirectoryError: A folder holds a finished run of something else.
    """
    missing = [job for job in jobs if not is_finished(job)]
    # Long ones first, so that no core is left alone with one at the end.
    missing.sort(key=lambda job: -job.weight)
    total, done, began = sum(job.weight for job in missing), 0.0, time.monotonic()
    failed: list[Ended] = []

    def tell(count: int) -> None:
        running = min(workplace.workers, len(missing) - count)
        left_s = (time.monotonic() - began) * (total / done - 1) if done else None
        watch(Progress(count, len(failed), running, len(missing), done / total, left_s))

    if missing:
        tell(0)
        for count, ended in enumerate(workplace.run(missing), 1):
            done += ended.job.weight
            if ended.error is not None:
                failed.append(ended)
            tell(count)
    return Made(len(missing) - len(failed), failed)


def is_finished(job: Job) -> bool:
    """Look whether a run is there, and whether it is this one.

    Raises:
        RunDirectoryError: It is another one.
    """
    manifest = read_manifest(job.folder)
    if manifest is None or manifest.get("status") != "finished":
        return False
    written = (job.folder / "scenario.yaml").read_text(encoding="utf-8")
    if written != write_scenario(job.scenario, job.folder):
        raise RunDirectoryError(
            f"{job.folder}: holds a run of another scenario; give another --out, or remove it"
        )
    return True
