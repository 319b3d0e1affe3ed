"""From what a scenario says of learning to devices with data and weights."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from functools import cached_property

import numpy as np
import pyarrow as pa
import torch
from numpy.typing import NDArray
from torch import Tensor

from fl.bound import Constants
from fl.data import (
    ByLabel,
    Dataset,
    Dirichlet,
    Iid,
    Law,
    Samples,
    Shards,
    load_dataset,
    partition_samples,
)
from fl.estimate import check_personal_parts
from fl.learning import Learning
from fl.models.building import build_network
from fl.scenario import BoundConstants, NamedModel, Partition, Scenario
from fl.training.batches import Images
from fl.training.cohort import Cohort
from fl.training.engine import Engine, EngineChoice, worker_count
from fl.training.errors import DivergedError
from fl.training.inline import inline
from fl.training.landscape import estimate_constants
from fl.training.processes import processes
from fl.training.ray_tasks import ray_tasks
from fl.training.recipe import Recipe
from fl.training.shared_memory import shared_rows
from netsim.streams import Streams


class Enrolment:
    """The devices of a scenario with the data each holds, ready to begin learning."""

    def __init__(self, scenario: Scenario, streams: Streams) -> None:
        """Load the data, divide it among the devices, and make the network.

        Raises:
            InputError: The data is not there or cannot be divided so, or the model does not fit.
        """
        block = scenario.learning
        assert block is not None  # who asks has looked
        assert isinstance(scenario.model, NamedModel)  # a scenario without is refused
        self._scenario = scenario
        self._block = block
        self._streams = streams
        self.dataset = load_dataset(block.dataset)
        self.network = build_network(
            scenario.model,
            scenario.scheme,
            tuple(self.dataset.train.images.shape[1:]),
            self.dataset.num_labels,
            streams("learning.weights"),
        )
        check_personal_parts(scenario, self.network.personal.num_weights)
        limit = None if block.test_samples == "all" else block.test_samples
        self._partition = partition_samples(
            _law(block.partition),
            scenario.devices.count,
            self.dataset.train.labels.numpy(),
            self.dataset.test.labels.numpy(),
            streams,
            limit,
        )

    @property
    def partition(self) -> pa.Table:
        """Who holds how many samples of which label."""
        return self._partition.table(
            self.dataset.train.labels.numpy(), self.dataset.test.labels.numpy()
        )

    @cached_property
    def counts(self) -> NDArray[np.int64]:
        """How many training samples of each label each device holds, [devices, labels]."""
        return self._partition.counts(self.dataset.train.labels.numpy())

    @property
    def held_test(self) -> Sequence[NDArray[np.int64]]:
        """The test samples of each device."""
        return self._partition.test

    @property
    def short_devices(self) -> int:
        """How many devices have fewer samples than a batch."""
        return sum(len(held) < self._block.batch_size for held in self._partition.train)

    @contextmanager
    def learning(self, choice: EngineChoice) -> Iterator[Learning]:
        """Begin: every device with the same initial weights, and an engine that trains them."""
        cohort = self._cohort(shared_rows if choice.name == "processes" else _rows)
        samples = np.array([len(held) for held in self._partition.train])
        by_samples = self._block.weighting == "samples"
        with _engine(cohort, choice) as running:
            yield Learning(
                cohort=cohort,
                engine=running,
                samples=samples,
                voting=samples.astype(np.float64) if by_samples else np.ones(len(samples)),
                rounds=self._scenario.rounds,
                evaluate_every=self._block.evaluate_every,
            )

    def constants(self, cohort: Cohort) -> Constants | None:
        """Return what Theorem 1 assumes, given or estimated; None, if nobody asks for its bound."""
        bound = self._block.bound
        if bound is None:
            return None
        if isinstance(bound, BoundConstants):
            return Constants(**bound.model_dump())
        try:
            return estimate_constants(cohort)
        except ValueError as error:
            raise DivergedError(
                f"learning.bound: cannot be estimated, the first weights give no finite loss: {error}"
            ) from None

    def _cohort(self, repeat: Callable[[Tensor, int], Tensor]) -> Cohort:
        network = self.network
        personal = network.personal.vector(network.module)
        return Cohort(
            network=network,
            recipe=self._recipe(),
            streams=self._streams,
            train=_images(self.dataset, self.dataset.train),
            test=_images(self.dataset, self.dataset.test),
            held_train=self._partition.train,
            held_test=self._partition.test,
            personal=repeat(personal, len(self._partition.train)),
            shared=network.shared.vector(network.module),
        )

    def _recipe(self) -> Recipe:
        scheme, block, iterations = self._scenario.scheme, self._block, self._scenario.iterations
        return Recipe(
            personal_iterations=iterations.personal,
            warmup_iterations=iterations.warmup,
            global_iterations=iterations.global_,
            personal_rate=block.learning_rate.personal,
            global_rate=block.learning_rate.global_,
            batch_size=block.batch_size,
            update=scheme.update,
            importance=block.importance,
            optimizer=block.optimizer,
            momentum=block.momentum or 0.0,
        )


def _engine(cohort: Cohort, choice: EngineChoice) -> AbstractContextManager[Engine]:
    if choice.name == "ray":
        return ray_tasks(cohort, choice.address, choice.workers)
    if choice.name == "processes":
        return processes(cohort, worker_count(choice.workers))
    return inline(cohort)


def _rows(vector: Tensor, count: int) -> Tensor:
    return vector.repeat(count, 1)


def _law(partition: Partition) -> Law:
    if partition.labels_per_device is not None:
        return ByLabel(partition.labels_per_device)
    if partition.alpha is not None:
        return Dirichlet(partition.alpha, partition.min_samples or 1)
    if partition.shards_per_device is not None:
        return Shards(partition.shards_per_device)
    return Iid()


def _images(dataset: Dataset, samples: Samples) -> Images:
    mean, deviation = (
        torch.tensor(values, dtype=torch.float32).view(-1, 1, 1)
        for values in (dataset.mean, dataset.std)
    )
    return Images(samples.images, samples.labels, mean, deviation)
