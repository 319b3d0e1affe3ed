"""The engine that computes in processes beside this one, each on one thread.

Data and weights lie in shared memory: a task names a device, its answer a slot into which the
worker has written the new weights. Only these names and a few numbers go through pipes.
"""

from collections import deque
from collections.abc import Iterator, Sequence
from concurrent.futures import Future
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import islice
from multiprocessing.reduction import ForkingPickler
from typing import NamedTuple

import torch
import torch.multiprocessing  # teaches pickle to hand on shared tensors
from torch import Tensor

from fl.training.cohort import Cohort, Task, Timed
from fl.training.evaluation import Evaluation
from fl.training.local_update import Update
from fl.training.shared_memory import share
from fl.worker_pool import WorkerPool, result_of, worker_pool
from netsim.errors import InputError


@dataclass(frozen=True)
class Slots:
    """Where workers leave weights; row by row, one an update under way."""

    personal: Tensor
    shared: Tensor
    mask: Tensor

    @classmethod
    def make(cls, count: int, cohort: Cohort) -> "Slots":
        """Return *count* slots for the updates of *cohort*."""
        num_personal, num_shared = cohort.personal.shape[1], len(cohort.shared)
        return cls(
            torch.empty(count, num_personal, dtype=cohort.personal.dtype),
            torch.empty(count, num_shared, dtype=cohort.shared.dtype),
            torch.empty(count, num_shared, dtype=torch.bool),
        )

    def put(self, slot: int, update: Update) -> None:
        """Write the weights of *update*."""
        self.personal[slot], self.shared[slot] = update.personal, update.shared
        self.mask[slot] = update.mask

    def get(self, slot: int, loss: float | None) -> Update:
        """Return the update that was written, without copying it."""
        return Update(self.personal[slot], self.shared[slot], self.mask[slot], loss)


class _Pending(NamedTuple):
    """An update under way; the future gives its loss."""

    slot: int
    loss: "Future[Timed[float | None]]"


class Processes:
    """Keeps a few tasks for each worker under way, so that none has to wait for this process."""

    def __init__(self, pool: WorkerPool, slots: Slots, workers: int) -> None:
        self.workers = workers
        self._pool = pool
        self._slots = slots

    def updates(self, tasks: Sequence[Task]) -> Iterator[Timed[Update]]:
        """Begin with the tasks, and return their results in order."""
        waiting = iter(tasks)
        first = islice(waiting, len(self._slots.mask))
        pending = deque(self._submit(task, slot) for slot, task in enumerate(first))
        return self._in_order(pending, waiting)

    def evaluations(self, devices: Sequence[int]) -> Iterator[Timed[Evaluation]]:
        """Begin to evaluate the devices, and return the results in order."""
        pending = [self._pool.submit(_evaluate, device) for device in devices]
        return (result_of(future) for future in pending)

    def _submit(self, task: Task, slot: int) -> _Pending:
        return _Pending(slot, self._pool.submit(_update, task, slot))

    def _in_order(
        self, pending: deque[_Pending], waiting: Iterator[Task]
    ) -> Iterator[Timed[Update]]:
        while pending:
            slot, future = pending.popleft()
            loss, seconds = result_of(future)
            yield Timed(self._slots.get(slot, loss), seconds)
            for task in islice(waiting, 1):  # into the slot that is free again
                pending.append(self._submit(task, slot))


@contextmanager
def processes(cohort: Cohort, workers: int) -> Iterator[Processes]:
    """Compute in *workers* processes."""
    _check_picklable(cohort)
    slots = Slots.make(3 * workers, cohort)
    share([*cohort.tensors, slots.personal, slots.shared, slots.mask])
    with worker_pool(workers, __name__, _begin_work, cohort, slots) as pool:
        yield Processes(pool, slots, workers)


def _check_picklable(cohort: Cohort) -> None:
    """Look whether the network can be handed to other processes.

    Raises:
        InputError: It cannot.
    """
    try:
        ForkingPickler.dumps(cohort.network)
    except Exception as error:
        raise InputError(
            f"model: {type(cohort.network.module).__name__} cannot be handed to other processes: "
            f"{error}; use --engine inline"
        ) from error


_cohort: Cohort
_slots: Slots
"""Of the run, in a worker."""


def _begin_work(cohort: Cohort, slots: Slots) -> None:
    """Make this process a worker."""
    global _cohort, _slots  # a pool hands nothing else to its tasks
    _cohort, _slots = cohort, slots
    torch.set_num_threads(1)


def _update(task: Task, slot: int) -> Timed[float | None]:
    update, seconds = _cohort.update(task)
    _slots.put(slot, update)
    return Timed(update.loss, seconds)


def _evaluate(device: int) -> Timed[Evaluation]:
    return _cohort.evaluate(device)
