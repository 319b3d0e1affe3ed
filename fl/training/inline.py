"""The engine that computes in this process, one task after the other."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from fl.torch_stream import one_thread
from fl.training.cohort import Cohort, Task, Timed
from fl.training.evaluation import Evaluation
from fl.training.local_update import Update


class Inline:
    """Computes a result when it is asked for."""

    workers = 1

    def __init__(self, cohort: Cohort) -> None:
        self._cohort = cohort

    def updates(self, tasks: Sequence[Task]) -> Iterator[Timed[Update]]:
        """Return the results of the tasks, in order."""
        return map(self._cohort.update, tasks)

    def evaluations(self, devices: Sequence[int]) -> Iterator[Timed[Evaluation]]:
        """Return how good the devices' models are, in order."""
        return map(self._cohort.evaluate, devices)


@contextmanager
def inline(cohort: Cohort) -> Iterator[Inline]:
    """Compute in this process, on one thread."""
    with one_thread():
        yield Inline(cohort)
