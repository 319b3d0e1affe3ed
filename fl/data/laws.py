"""Laws of partition: which part of each label's samples goes to which device.

A law gives one thing, a matrix of proportions ``[num_devices, num_labels]``: the part of a
label's training samples that a device holds. A column sums to 1, or to 0 if nobody holds
the label.
"""

from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from fl.data.dataset import DatasetError

_TRIES = 1000
_SAME = 1e-9  # of a sample: what is left of whole numbers by rounding


class Law(Protocol):
    """How the samples of each label are divided among the devices."""

    def proportions(
        self, num_devices: int, label_counts: NDArray[np.int64], rng: np.random.Generator
    ) -> NDArray[np.float64]:
        """Return the part of each label that each device holds.

        Raises:
            DatasetError: The samples cannot be divided so.
        """


@dataclass(frozen=True)
class Iid:
    """Every device holds an equal part of every label."""

    def proportions(
        self, num_devices: int, label_counts: NDArray[np.int64], rng: np.random.Generator
    ) -> NDArray[np.float64]:
        """Return 1/K for each of the K devices."""
        del rng
        return np.full((num_devices, len(label_counts)), 1.0 / num_devices)


@dataclass(frozen=True)
class ByLabel:
    """Every device holds a few labels, and shares each equally with all who hold it."""

    labels_per_device: int

    def __post_init__(self) -> None:
        if self.labels_per_device < 1:
            raise ValueError(f"labels_per_device must be >= 1, got {self.labels_per_device}")

    def proportions(
        self, num_devices: int, label_counts: NDArray[np.int64], rng: np.random.Generator
    ) -> NDArray[np.float64]:
        """Deal labels so that each is held by as many devices as any other, to within one.

        Every device takes the labels that the fewest hold so far, and of equals any.
        """
        labels = np.flatnonzero(label_counts)
        if self.labels_per_device > len(labels):
            raise DatasetError(
                f"learning.partition: labels_per_device must be <= {len(labels)}, the number "
                f"of labels in the data set, got {self.labels_per_device}"
            )
        holds = np.zeros((num_devices, len(label_counts)))
        holders = np.zeros(len(labels))
        for device, chance in enumerate(rng.random((num_devices, len(labels)))):
            taken = np.argsort(holders + chance)[: self.labels_per_device]
            holders[taken] += 1
            holds[device, labels[taken]] = 1.0
        return holds / np.maximum(holds.sum(axis=0), 1.0)


@dataclass(frozen=True)
class Shards:
    """Samples sorted by label are cut into equal shards; every device is dealt a few."""

    shards_per_device: int

    def __post_init__(self) -> None:
        if self.shards_per_device < 1:
            raise ValueError(f"shards_per_device must be >= 1, got {self.shards_per_device}")

    def proportions(
        self, num_devices: int, label_counts: NDArray[np.int64], rng: np.random.Generator
    ) -> NDArray[np.float64]:
        """Return how the shards overlap the labels; shards are equal to within one sample."""
        num_shards = num_devices * self.shards_per_device
        num_samples = int(label_counts.sum())
        if num_shards > num_samples:
            raise DatasetError(
                f"learning.partition: {num_devices} devices with {self.shards_per_device} shards "
                f"each are more shards than the {num_samples} training samples; take fewer "
                "devices, or fewer shards_per_device"
            )
        cuts = np.arange(num_shards + 1) * num_samples // num_shards
        ends = np.cumsum(label_counts)
        first = np.maximum(cuts[:-1, None], ends - label_counts)
        overlap = np.maximum(np.minimum(cuts[1:, None], ends) - first, 0)
        dealt = rng.permutation(overlap).reshape(num_devices, self.shards_per_device, -1)
        return dealt.sum(axis=1) / np.maximum(label_counts, 1)


@dataclass(frozen=True)
class Dirichlet:
    """The parts of each label are drawn from a Dirichlet law: the smaller alpha, the less equal.

    As in Yurochkin et al. 2019, *Bayesian nonparametric federated learning of neural
    networks*, the devices of each label are drawn; so every sample is used, and devices
    hold more samples or fewer, too.
    """

    alpha: float
    min_samples: int = 1
    """That every device must hold; it is drawn anew until they do."""

    def __post_init__(self) -> None:
        if not 0 < self.alpha < np.inf:
            raise ValueError(f"alpha must be > 0 and finite, got {self.alpha}")
        if self.min_samples < 0:
            raise ValueError(f"min_samples must be >= 0, got {self.min_samples}")

    def proportions(
        self, num_devices: int, label_counts: NDArray[np.int64], rng: np.random.Generator
    ) -> NDArray[np.float64]:
        """Draw until every device holds enough, in whole samples; at most 1000 times."""
        num_samples = int(label_counts.sum())
        if num_devices * self.min_samples > num_samples:
            raise DatasetError(
                f"learning.partition: min_samples must be <= {num_samples // num_devices} for "
                f"{num_devices} devices to share {num_samples} training samples, "
                f"got {self.min_samples}"
            )
        for _ in range(_TRIES):
            drawn = rng.dirichlet(np.full(num_devices, self.alpha), len(label_counts)).T
            if (drawn @ label_counts).min() < self.min_samples:
                continue
            counts = whole_counts(drawn, label_counts, rng)
            if counts.sum(axis=1).min() >= self.min_samples:
                return counts / np.maximum(label_counts, 1)
        raise DatasetError(
            f"learning.partition: in {_TRIES} draws of dirichlet with alpha {self.alpha:g}, some "
            f"of {num_devices} devices always held fewer than {self.min_samples} samples; take a "
            "larger alpha, fewer devices, or a smaller min_samples"
        )


def whole_counts(
    proportions: NDArray[np.float64], label_counts: NDArray[np.int64], rng: np.random.Generator
) -> NDArray[np.int64]:
    """Return how many samples of each label each device holds, ``[num_devices, num_labels]``.

    Each is its proportion of the label, rounded down or up; what rounding down leaves over of
    a label goes, one each, to the devices that are owed most over all labels so far, and of
    equals to any. So devices of equal proportions hold equally many samples, to within one.
    """
    exact = np.minimum(proportions, 1.0) * label_counts
    counts = np.floor(exact + _SAME)
    rest = np.maximum(exact - counts, 0.0)
    owed = np.zeros(len(exact))
    for label in range(len(label_counts)):
        owed += rest[:, label]
        open_to = np.flatnonzero(rest[:, label] > _SAME)
        num_left = round(rest[:, label].sum())
        chance = rng.random(len(open_to))
        by_debt = np.lexsort((chance, -np.round(owed[open_to], 6)))
        chosen = open_to[by_debt[:num_left]]
        counts[chosen, label] += 1
        owed[chosen] -= 1
    return counts.astype(np.int64)
