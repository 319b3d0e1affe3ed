"""What runs the updates of a round: where, and how many at a time.

Results come in the order of the tasks, whoever finishes first, and each is the same wherever it
was computed. So an engine changes how long a run takes, and nothing else.
"""

import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, Protocol

from fl.ray_cluster import check_cluster
from netsim.errors import InputError

if TYPE_CHECKING:  # torch takes seconds to import, and an engine is chosen before it is needed
    from fl.training.cohort import Task, Timed
    from fl.training.evaluation import Evaluation
    from fl.training.local_update import Update

ENGINES = ("inline", "processes", "ray")


class Engine(Protocol):
    """Computes what devices learn."""

    workers: int
    """How many tasks it computes at a time."""

    def updates(self, tasks: "Sequence[Task]") -> "Iterator[Timed[Update]]":
        """Begin with the tasks, and return their results in order.

        A result is good until the next is asked for. The weights of the cohort must not change
        before the last one has been taken, except for the personal part of the device whose
        result has been.
        """

    def evaluations(self, devices: Sequence[int]) -> "Iterator[Timed[Evaluation]]":
        """Begin to evaluate the devices, and return the results in order.

        The weights of the cohort must not change before the last one has been taken.
        """


@dataclass(frozen=True)
class EngineChoice:
    """Which engine, and how many workers it has."""

    name: Literal["inline", "processes", "ray"] = "inline"
    workers: int | None = 1
    """None: as many as a cluster has processors."""
    address: str | None = None
    """Of a Ray cluster; None: see `fl.ray_cluster.cluster`."""

    @classmethod
    def of(
        cls, name: str, workers: int | None = None, address: str | None = None
    ) -> "EngineChoice":
        """Return the choice that a person has made; by default a worker for each core.

        Raises:
            InputError: There is no such engine, it cannot have so many workers, or its cluster
                cannot be reached.
        """
        if name not in ENGINES:
            raise InputError(f"--engine: must be {_either(ENGINES)}, got {name}")
        if address is not None and name != "ray":
            raise InputError(f"--address: belongs to --engine ray, not {name}")
        count = worker_count(workers)
        if name == "ray":
            check_cluster(address)
            return cls("ray", workers, address)
        if name == "inline":
            if workers not in (None, 1):
                raise InputError(f"--workers: the engine inline has one, got {workers}")
            return cls()
        return cls("processes", count)


def _either(names: Sequence[str]) -> str:
    return f"{', '.join(names[:-1])} or {names[-1]}"


def worker_count(asked: int | None) -> int:
    """Return how many workers there are to be: as many as asked for, or one for each core.

    Raises:
        InputError: So many cannot be had.
    """
    if asked is None:
        return _cores()
    if not 1 <= asked <= 1024:
        raise InputError(f"--workers: must be from 1 to 1024, got {asked}")
    return asked


def _cores() -> int:
    """Return how many cores this process may use."""
    if hasattr(os, "sched_getaffinity"):  # not everywhere
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


@dataclass
class Effort:
    """Where the time of a run went, in seconds of the workers."""

    training_s: float = 0.0
    evaluation_s: float = 0.0
