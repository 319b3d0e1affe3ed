"""Which samples each device holds, to train and to test with."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from fl.data.dataset import DatasetError
from fl.data.laws import Law, whole_counts
from netsim.streams import Streams

PARTITION = pa.schema(
    [
        ("device", pa.int32()),
        ("label", pa.int32()),
        ("train_samples", pa.int32()),
        ("test_samples", pa.int32()),
    ]
)


@dataclass(frozen=True, eq=False)
class Partition:
    """The samples of each device, as ascending indices into those of a data set."""

    train: list[NDArray[np.int64]]
    """No two devices share any."""
    test: list[NDArray[np.int64]]
    """Devices may share these."""

    def counts(self, labels: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return how many training samples each device has of each label.

        Args:
            labels: Those of all training samples.
        """
        return _counts(self.train, labels, int(labels.max()) + 1)

    def table(self, train_labels: NDArray[np.int64], test_labels: NDArray[np.int64]) -> pa.Table:
        """Return how many samples each device has of each label that it has any of."""
        num_labels = int(max(train_labels.max(), test_labels.max())) + 1
        train = _counts(self.train, train_labels, num_labels)
        test = _counts(self.test, test_labels, num_labels)
        device, label = np.nonzero(train + test)
        columns = [device, label, train[device, label], test[device, label]]
        arrays = [
            pa.array(column).cast(field.type)
            for column, field in zip(columns, PARTITION, strict=True)
        ]
        return pa.Table.from_arrays(arrays, schema=PARTITION)


def partition_samples(
    law: Law,
    num_devices: int,
    train_labels: NDArray[np.int64],
    test_labels: NDArray[np.int64],
    streams: Streams,
    test_samples: int | None = None,
) -> Partition:
    """Divide a data set among devices.

    A device's test samples have the proportions of labels of its training samples.

    Args:
        law: How the training samples are divided.
        num_devices: Among how many.
        train_labels: Those of all training samples, from 0.
        test_labels: Those of all test samples.
        streams: Where the draws come from: purposes ``learning.partition``, and
            ``learning.test`` for each device.
        test_samples: For each device, if there are as many in its proportions; by default
            as many as there are.

    Raises:
        DatasetError: The samples cannot be divided so.
    """
    if num_devices < 1:
        raise ValueError(f"num_devices must be >= 1, got {num_devices}")
    if test_samples is not None and test_samples < 1:
        raise ValueError(f"test_samples must be >= 1, got {test_samples}")
    num_labels = int(max(train_labels.max(), test_labels.max())) + 1
    rng = streams("learning.partition")
    label_counts = np.bincount(train_labels, minlength=num_labels)
    proportions = law.proportions(num_devices, label_counts, rng)
    counts = whole_counts(proportions, label_counts, rng)
    _refuse_idle_devices(counts)
    train = _cut(train_labels, counts, rng)
    available = np.bincount(test_labels, minlength=num_labels)
    test_counts = _test_counts(counts, available, test_samples)
    return Partition(train, _draw(test_labels, test_counts, streams))


def _refuse_idle_devices(counts: NDArray[np.int64]) -> None:
    held = counts.sum(axis=1)
    if not held.all():
        raise DatasetError(
            f"learning.partition: device {held.argmin()} would hold no training sample "
            f"({held.sum()} samples for {len(held)} devices); take fewer devices, or another law"
        )


def _cut(
    labels: NDArray[np.int64], counts: NDArray[np.int64], rng: np.random.Generator
) -> list[NDArray[np.int64]]:
    """Give each device its number of samples of each label, any of them."""
    devices = np.arange(len(counts))
    samples, owners = [], []
    for label, counts_of_label in enumerate(counts.T):
        shuffled = rng.permutation(np.flatnonzero(labels == label))
        owners.append(np.repeat(devices, counts_of_label))
        samples.append(shuffled[: len(owners[-1])])
    sample, owner = np.concatenate(samples), np.concatenate(owners)
    ordered = sample[np.lexsort((sample, owner))]
    return np.split(ordered, np.cumsum(counts.sum(axis=1))[:-1])


def _test_counts(
    counts: NDArray[np.int64], available: NDArray[np.int64], test_samples: int | None
) -> NDArray[np.int64]:
    """Return how many test samples of each label each device gets, by largest remainder.

    A device gets no more than the size at which one of its labels runs short.
    """
    device, label = np.divmod(np.flatnonzero((counts > 0) & (available == 0)), counts.shape[1])
    if len(device):
        raise DatasetError(
            f"learning.partition: device {device[0]} would hold label {label[0]}, of which there "
            "is no test sample"
        )
    held = counts.sum(axis=1, keepdims=True)
    # In whole numbers: size * count / held <= available for every label that is held.
    most = np.where(counts > 0, available * held // np.maximum(counts, 1), np.iinfo(np.int64).max)
    size = most.min(axis=1, keepdims=True)
    if test_samples is not None:
        size = np.minimum(size, test_samples)
    whole, remainder = np.divmod(size * counts, held)
    left = size - whole.sum(axis=1, keepdims=True)
    rank = np.argsort(np.argsort(-remainder, axis=1, kind="stable"), axis=1, kind="stable")
    return whole + (rank < left)


def _draw(
    labels: NDArray[np.int64], counts: NDArray[np.int64], streams: Streams
) -> list[NDArray[np.int64]]:
    of_label = [np.flatnonzero(labels == label) for label in range(counts.shape[1])]
    drawn = []
    for device, counts_of_device in enumerate(counts):
        rng = streams("learning.test", device)
        held = np.flatnonzero(counts_of_device)
        parts = [
            rng.choice(of_label[label], counts_of_device[label], replace=False, shuffle=False)
            for label in held
        ]
        drawn.append(np.sort(np.concatenate(parts)) if parts else np.empty(0, np.int64))
    return drawn


def _counts(
    parts: Sequence[NDArray[np.int64]], labels: NDArray[np.int64], num_labels: int
) -> NDArray[np.int64]:
    return np.stack([np.bincount(labels[part], minlength=num_labels) for part in parts])
