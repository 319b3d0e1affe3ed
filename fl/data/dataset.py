"""What a data set is: labelled images to train with, and others to test with."""

import hashlib
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

from netsim.errors import InputError

if TYPE_CHECKING:  # torch takes seconds to import; a command that needs no data does without
    from torch import Tensor


class DatasetError(InputError):
    """A data set that is not there, is damaged, or cannot be divided as asked."""


@dataclass(frozen=True, eq=False)
class Samples:
    """Images, each with its label."""

    images: "Tensor"
    """uint8, ``[num_samples, channels, height, width]``."""
    labels: "Tensor"
    """int64, ``[num_samples]``, from 0."""

    def __post_init__(self) -> None:
        if self.images.ndim != 4:
            raise ValueError(f"images must have 4 dimensions, got {self.images.ndim}")
        if len(self.images) != len(self.labels):
            raise ValueError(
                f"{len(self.images)} images must have as many labels, got {len(self.labels)}"
            )

    def __len__(self) -> int:
        return len(self.labels)


@dataclass(frozen=True, eq=False)
class Dataset:
    """Samples to train and to test with, and how their images are normalised."""

    name: str
    train: Samples
    test: Samples
    num_labels: int
    mean: tuple[float, ...]
    """Of each channel over the training images, of pixels from 0 to 1."""
    std: tuple[float, ...]
    """Standard deviation, likewise."""

    def sha256(self) -> str:
        """Return the hash of what is in the set: every image, every label, their order."""
        return self._digest

    @cached_property
    def _digest(self) -> str:
        digest = hashlib.sha256()
        for samples in (self.train, self.test):
            for tensor in (samples.images, samples.labels):
                digest.update(repr(tuple(tensor.shape)).encode())
                digest.update(tensor.contiguous().numpy().data)
        return digest.hexdigest()
