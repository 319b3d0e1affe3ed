"""The networks that come with it; a user's own stands beside them as ``module:Class``."""

from collections.abc import Sequence

import torch
import torch.nn.functional as F
from torch import Tensor, nn


class Cnn(nn.Module):
    """The paper's network for images: two convolutional and two fully connected layers.

    Convolutions are padded so that they keep the size of their input, and each is followed by a
    2x2 maximum. With 1x28x28 images the layers have 32x28x28, 64x14x14, 128 and 10 outputs.

    Args:
        image_shape: Channels, height and width.
        num_labels: How many classes to tell apart.
        kernel_size: Of both convolutions, odd. The paper does not state it.
    """

    def __init__(
        self, image_shape: Sequence[int], num_labels: int, *, kernel_size: int = 5
    ) -> None:
        super().__init__()
        channels, height, width = image_shape
        padding = kernel_size // 2
        self.conv1 = nn.Conv2d(channels, 32, kernel_size, padding=padding)
        self.conv2 = nn.Conv2d(32, 64, kernel_size, padding=padding)
        self.fc1 = nn.Linear(64 * (height // 4) * (width // 4), 128)
        self.fc2 = nn.Linear(128, num_labels)

    def forward(self, images: Tensor) -> Tensor:
        """Return a score for each label, [images, labels]."""
        # A maximum of what is cut off at zero is the maximum, cut off at zero: the same numbers
        # and gradients, with a quarter of the work.
        hidden = F.relu(F.max_pool2d(self.conv1(images), 2))
        hidden = F.relu(F.max_pool2d(self.conv2(hidden), 2))
        return self.fc2(F.relu(self.fc1(hidden.flatten(1))))


class Mlp(nn.Module):
    """Fully connected layers, ``fc1``, ``fc2`` and so on.

    Args:
        image_shape: Channels, height and width.
        num_labels: How many classes to tell apart.
        hidden: Outputs of each layer but the last.
    """

    def __init__(
        self, image_shape: Sequence[int], num_labels: int, *, hidden: Sequence[int] = (128,)
    ) -> None:
        super().__init__()
        sizes = [int(torch.Size(image_shape).numel()), *hidden, num_labels]
        self.layers = [f"fc{index}" for index in range(1, len(sizes))]
        for name, inputs, outputs in zip(self.layers, sizes, sizes[1:], strict=False):
            self.add_module(name, nn.Linear(inputs, outputs))

    def forward(self, images: Tensor) -> Tensor:
        """Return a score for each label, [images, labels]."""
        hidden = images.flatten(1)
        for name in self.layers[:-1]:
            hidden = F.relu(self.get_submodule(name)(hidden))
        return self.get_submodule(self.layers[-1])(hidden)
