"""Runs the plan, a run on each core; those that are finished are not run again."""

from collections.abc import Callable, Sequence
from pathlib import Path

from fl.lock import locked
from fl.reproduction.plan import Arm
from fl.study.jobs import Job
from fl.study.local import Local
from fl.study.runner import Progress, run_missing
from netsim.errors import InputError


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
        LockedError: Another process makes these runs.
        RunDirectoryError: A folder holds a run of something else.
        InputError: A run has failed.
    """
    jobs = [
        Job(arm.scenario(seed), folder / arm.folder(seed)) for arm in arms for seed in arm.seeds
    ]
    with locked(folder):
        made = run_missing(jobs, Local(workers), watch)
    for ended in made.failed:
        raise InputError(ended.told)
    return made.runs
