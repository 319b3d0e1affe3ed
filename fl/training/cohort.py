"""The devices' data and weights, in memory that processes can share."""

import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Generic, NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray
from torch import Tensor

from fl.models.split import ModelError, Network
from fl.own_code import at_fault
from fl.torch_stream import torch_seeded
from fl.training.batches import Batches, Images
from fl.training.evaluation import Evaluation, evaluate
from fl.training.local_update import Update, local_update
from fl.training.recipe import Recipe
from netsim.streams import Streams

Result = TypeVar("Result")


class Task(NamedTuple):
    """What a device is to do in a round."""

    round: int
    device: int
    kept: int
    """Weights of the global part to train and to send."""


class Timed(NamedTuple, Generic[Result]):
    """A result, and the seconds it took to compute."""

    result: Result
    seconds: float


@dataclass(frozen=True)
class Cohort:
    """All devices of a run: what they know, and what they can do.

    The weights are of the round under way; only the server changes them, between rounds.
    """

    network: Network
    recipe: Recipe
    streams: Streams
    train: Images
    test: Images
    held_train: Sequence[NDArray[np.int64]]
    """The training samples of each device."""
    held_test: Sequence[NDArray[np.int64]]
    personal: Tensor
    """v_k of each device, [devices, weights]."""
    shared: Tensor
    """u^g, as it is broadcast."""

    @property
    def tensors(self) -> tuple[Tensor, ...]:
        """Data and weights."""
        return (*self.train, *self.test, self.personal, self.shared)

    def update(self, task: Task) -> Timed[Update]:
        """Return what the device of *task* makes of its round."""
        return self.update_from(task, self.personal[task.device], self.shared)

    def update_from(self, task: Task, personal: Tensor, shared: Tensor) -> Timed[Update]:
        """Return what it makes of weights that are not here."""
        began = time.perf_counter()
        stream = self.streams("learning.update", task.device, task.round)
        batches = Batches(
            self.train,
            self.held_train[task.device],
            self.recipe.batch_size,
            self.recipe.num_batches,
            stream,
        )
        with torch_seeded(stream), self._naming(task):
            update = local_update(
                self.network,
                self.recipe,
                personal,
                shared,
                task.kept,
                batches,
            )
        return Timed(update, time.perf_counter() - began)

    @contextmanager
    def _naming(self, task: Task) -> Iterator[None]:
        """Say when and where a model failed that had worked before."""
        try:
            yield
        except Exception as error:
            name = type(self.network.module).__name__
            raise ModelError(
                f"model: {name}: round {task.round}, device {task.device}: {at_fault(error)}"
            ) from error

    def evaluate(self, device: int) -> Timed[Evaluation]:
        """Return how well a device's own model does on its own test samples."""
        return self.evaluate_from(device, self.personal[device], self.shared)

    def evaluate_from(self, device: int, personal: Tensor, shared: Tensor) -> Timed[Evaluation]:
        """Return how well it does with weights that are not here."""
        began = time.perf_counter()
        held = self.held_test[device]
        with torch_seeded(self.streams("learning.evaluation", device)):
            result = evaluate(self.network, personal, shared, self.test, held)
        return Timed(result, time.perf_counter() - began)
