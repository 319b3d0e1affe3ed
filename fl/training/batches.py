"""Which samples each iteration of a round sees."""

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor


class Batch(NamedTuple):
    """A mini-batch, ready for the network."""

    images: Tensor
    """[batch, channels, height, width], normalised."""
    labels: Tensor


class Images(NamedTuple):
    """Samples as they are stored, and how to normalise them."""

    pixels: Tensor
    """[samples, channels, height, width], of bytes."""
    labels: Tensor
    mean: Tensor
    """[channels, 1, 1], of pixels that lie between 0 and 1."""
    deviation: Tensor
    """[channels, 1, 1]."""

    def batch(self, indices: NDArray[np.int64]) -> Batch:
        """Return some samples."""
        chosen = torch.from_numpy(indices)
        pixels = self.pixels[chosen].to(torch.float32).div_(255.0)
        pixels.sub_(self.mean).div_(self.deviation)
        # The layout in which convolutions are fastest.
        return Batch(pixels.to(memory_format=torch.channels_last), self.labels[chosen])


class Batches:
    """The mini-batches of a device in a round.

    The device goes through its samples in random order, batch after batch, and begins again in
    another order when fewer than a batch are left. One that has fewer samples than a batch
    takes all of them each time.

    Args:
        images: Of all devices.
        held: Which of them the device has.
        size: Of a batch.
        count: How many batches there are.
        stream: Decides the order.
    """

    def __init__(
        self,
        images: Images,
        held: NDArray[np.int64],
        size: int,
        count: int,
        stream: np.random.Generator,
    ) -> None:
        self._images = images
        size = min(size, len(held))
        in_a_pass = len(held) // size
        passes = [
            stream.permutation(held)[: in_a_pass * size].reshape(in_a_pass, size)
            for _ in range(-(-count // in_a_pass))
        ]
        self._chosen = np.concatenate(passes) if passes else np.empty((0, size), dtype=np.int64)

    def take(self, first: int, count: int) -> Iterator[Batch]:
        """Yield *count* batches from number *first* on."""
        for chosen in self._chosen[first : first + count]:
            yield self._images.batch(chosen)
