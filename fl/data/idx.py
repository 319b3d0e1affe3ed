"""The idx format of the original MNIST: a few dimensions, then bytes."""

import struct
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from fl.data.torchvision_import import import_torchvision

if TYPE_CHECKING:
    from torch import Tensor

_BYTES = 8  # the format's number for unsigned bytes


def idx_bytes(values: NDArray[np.uint8]) -> bytes:
    """Return the file that holds *values*.

    >>> idx_bytes(np.array([7, 9], dtype=np.uint8)).hex(" ", -4)
    '00000801 00000002 0709'
    """
    header = struct.pack(f">HBB{values.ndim}I", 0, _BYTES, values.ndim, *values.shape)
    return header + values.tobytes()


def image_bytes(images: Any) -> bytes:  # noqa: ANN401 -- an array or a tensor
    """Return the file of images ``[num_images, height, width]`` or, in colour, ``[..., channels]``.

    Those in colour are laid out channel by channel: ``[num_images * channels, height, width]``.
    """
    pixels = np.asarray(images, dtype=np.uint8)
    if pixels.ndim == 4:
        pixels = pixels.transpose(0, 3, 1, 2)
    return idx_bytes(pixels.reshape(-1, *pixels.shape[-2:]))


def label_bytes(labels: Any) -> bytes:  # noqa: ANN401 -- a list, an array or a tensor
    """Return the file of *labels*."""
    return idx_bytes(np.asarray(labels, dtype=np.uint8))


def read_images(path: Path) -> "Tensor":
    """Return the images of a file, uint8 ``[num_images, height, width]``."""
    return import_torchvision().datasets.mnist.read_image_file(str(path))


def read_labels(path: Path) -> "Tensor":
    """Return the labels of a file, int64."""
    return import_torchvision().datasets.mnist.read_label_file(str(path))
