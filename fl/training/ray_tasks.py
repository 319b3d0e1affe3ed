"""The engine that computes on a Ray cluster, a few devices a task.

Data goes to the cluster once, the broadcast weights once a round, and with a task the personal
parts of its own devices. A task is a pure function of these: if its worker is lost, Ray begins
it again elsewhere, and the results are the same.
"""

import warnings
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from functools import lru_cache
from itertools import islice
from typing import Any, NamedTuple, TypeVar

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from fl.ray_cluster import Cluster, Handle, Stored, cluster, stored
from fl.torch_stream import one_thread
from fl.training.batches import Images
from fl.training.cohort import Cohort, Task, Timed
from fl.training.evaluation import Evaluation
from fl.training.local_update import Update
from fl.worker_pool import WorkerError
from netsim.errors import InputError

Array = NDArray[np.generic]
Item = TypeVar("Item")
Result = TypeVar("Result")

_RETRIES = 5
"""How often a task is begun again elsewhere before the run gives up."""
_TASKS_A_WORKER = 3
"""So that none has to wait for this process, and the last ones of a round end together."""
_GROUP_BYTES = 16_000_000
"""Results of a task are not to be larger than this; all under way lie in memory."""


class _Kept(NamedTuple):
    """What workers keep of a cohort; arrays, since these need not be copied out of the store."""

    cohort: Cohort
    """Without data and weights."""
    train: tuple[Array, ...]
    test: tuple[Array, ...]


class _Flat(NamedTuple):
    """An update as arrays, for the same reason."""

    personal: Array
    shared: Array
    mask: Array
    loss: float | None


class RayTasks:
    """Keeps a few tasks for each worker under way."""

    def __init__(self, running: Cluster, cohort: Cohort) -> None:
        self.workers = running.workers
        self._cluster = running
        self._cohort = cohort
        self._kept = _keep(running, cohort)
        self._broadcast: tuple[Tensor, Stored] | None = None
        self._under_way: set[Handle[Any]] = set()

    def updates(self, tasks: Sequence[Task]) -> Iterator[Timed[Update]]:
        """Begin with the tasks, and return their results in order."""
        shared = self._shared()

        def begin(group: Sequence[Task]) -> Handle[list[Timed[_Flat]]]:
            personal = self._cohort.personal[[task.device for task in group]].numpy()
            return self._submit(_update, self._kept, shared, personal, group)

        flat = self._in_order(tasks, begin)
        return (Timed(_update_of(result), seconds) for result, seconds in flat)

    def evaluations(self, devices: Sequence[int]) -> Iterator[Timed[Evaluation]]:
        """Begin to evaluate the devices, and return the results in order."""
        shared = self._shared()

        def begin(group: Sequence[int]) -> Handle[list[Timed[Evaluation]]]:
            personal = self._cohort.personal[list(group)].numpy()
            return self._submit(_evaluate, self._kept, shared, personal, group)

        return self._in_order(devices, begin)

    def cancel(self) -> None:
        """Wait for nothing any more."""
        self._cluster.cancel(list(self._under_way))

    def _shared(self) -> Stored:
        """Return where the broadcast weights are; those that are there already stay."""
        weights = self._cohort.shared
        if self._broadcast is None or not torch.equal(self._broadcast[0], weights):
            self._broadcast = weights.clone(), self._cluster.store(weights.numpy())
        return self._broadcast[1]

    def _submit(self, work: Callable[..., Result], *arguments: object) -> Handle[Result]:
        handle = self._cluster.submit(work, *arguments, retries=_RETRIES)
        self._under_way.add(handle)
        return handle

    def _in_order(
        self, items: Sequence[Item], begin: Callable[[Sequence[Item]], Handle[list[Result]]]
    ) -> Iterator[Result]:
        """Begin with the first groups of items at once, with the others as results are taken."""
        size = self._group_size(len(items))
        waiting = (items[first : first + size] for first in range(0, len(items), size))
        # Who wants fewer workers than there are gets no tasks beyond theirs.
        whole = self.workers == self._cluster.num_cpus
        at_once = self.workers * (_TASKS_A_WORKER if whole else 1)
        pending = deque(begin(group) for group in islice(waiting, at_once))
        return self._taken(pending, map(begin, waiting))

    def _taken(
        self, pending: deque[Handle[list[Result]]], others: Iterator[Handle[list[Result]]]
    ) -> Iterator[Result]:
        while pending:
            handle = pending.popleft()
            results = self._cluster.result(handle)
            self._under_way.discard(handle)
            pending.extend(islice(others, 1))
            yield from results

    def _group_size(self, num_items: int) -> int:
        personal, shared = self._cohort.personal, self._cohort.shared
        result_bytes = personal.element_size() * personal.shape[1] + shared.nbytes + len(shared)
        evenly = -(-num_items // (self.workers * _TASKS_A_WORKER))
        return max(1, min(evenly, _GROUP_BYTES // result_bytes))


@contextmanager
def ray_tasks(cohort: Cohort, address: str | None, workers: int | None) -> Iterator[RayTasks]:
    """Compute on the cluster at *address*; see `fl.ray_cluster.cluster`."""
    with cluster(address, workers) as running:
        engine = RayTasks(running, cohort)
        try:
            yield engine
        finally:
            engine.cancel()


def _keep(running: Cluster, cohort: Cohort) -> Stored:
    """Hand the cohort to the cluster.

    Raises:
        InputError: Its network cannot be.
    """
    nothing = torch.empty(0)
    bare = replace(
        cohort,
        train=Images(nothing, nothing, nothing, nothing),
        test=Images(nothing, nothing, nothing, nothing),
        personal=nothing,
        shared=nothing,
    )
    train, test = (tuple(t.numpy() for t in data) for data in (cohort.train, cohort.test))
    try:
        return running.store(_Kept(bare, train, test))
    except WorkerError:
        raise
    except Exception as error:  # whatever somebody's own network does when it is pickled
        reason = (str(error).strip() or type(error).__name__).splitlines()[0]
        raise InputError(
            f"model: {type(cohort.network.module).__name__} cannot be handed to a cluster: "
            f"{reason}; use --engine inline"
        ) from error


@lru_cache(maxsize=1)
def _cohort_of(kept: Stored) -> Cohort:
    """Return the cohort of a run, in a worker: made once, for all its tasks."""
    cohort, train, test = stored(kept)
    return replace(cohort, train=Images(*map(_tensor, train)), test=Images(*map(_tensor, test)))


def _update(
    kept: Stored, shared: Stored, personal: Array, group: Sequence[Task]
) -> list[Timed[_Flat]]:
    """Compute the updates of a few devices, in a worker."""
    cohort, weights = _cohort_of(kept), _tensor(stored(shared))
    with one_thread():
        timed = [
            cohort.update_from(task, _tensor(row), weights)
            for task, row in zip(group, personal, strict=True)
        ]
    return [Timed(_flat(update), seconds) for update, seconds in timed]


def _evaluate(
    kept: Stored, shared: Stored, personal: Array, group: Sequence[int]
) -> list[Timed[Evaluation]]:
    """Evaluate a few devices, in a worker."""
    cohort, weights = _cohort_of(kept), _tensor(stored(shared))
    with one_thread():
        return [
            cohort.evaluate_from(device, _tensor(row), weights)
            for device, row in zip(group, personal, strict=True)
        ]


def _flat(update: Update) -> _Flat:
    personal, shared, mask, loss = update
    return _Flat(personal.numpy(), shared.numpy(), mask.numpy(), loss)


def _update_of(flat: _Flat) -> Update:
    personal, shared, mask, loss = flat
    return Update(_tensor(personal), _tensor(shared), _tensor(mask), loss)


def _tensor(array: Array) -> Tensor:
    """Return an array that must not be written as a tensor that nobody writes."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "The given NumPy array is not writable")
        return torch.from_numpy(array)
