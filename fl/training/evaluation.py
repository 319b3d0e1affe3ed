"""How good a device's model is on its own test samples."""

from typing import NamedTuple

import numpy as np
import torch
import torch.nn.functional as F
from numpy.typing import NDArray
from torch import Tensor

from fl.models.split import Network
from fl.training.batches import Images

#: Samples looked at together; more gain nothing and take memory.
_AT_ONCE = 256


class Evaluation(NamedTuple):
    """Of one device; not a number, if it has no test samples."""

    loss: float
    """Mean cross-entropy: F_k of Eq. (4)."""
    accuracy: float
    """Part of the samples whose label gets the highest score."""


@torch.inference_mode()
def evaluate(
    network: Network, personal: Tensor, shared: Tensor, images: Images, held: NDArray[np.int64]
) -> Evaluation:
    """Return how well the model of these two parts does on the samples *held*."""
    if not len(held):
        return Evaluation(float("nan"), float("nan"))
    network.module.eval()  # no dropout
    try:
        return _evaluate(network, personal, shared, images, held)
    finally:
        network.module.train()


def _evaluate(
    network: Network, personal: Tensor, shared: Tensor, images: Images, held: NDArray[np.int64]
) -> Evaluation:
    loss, right = 0.0, 0
    for first in range(0, len(held), _AT_ONCE):
        batch = images.batch(held[first : first + _AT_ONCE])
        scores = network.scores(personal, shared, batch.images)
        loss += F.cross_entropy(scores, batch.labels, reduction="sum").item()
        right += int((scores.argmax(dim=1) == batch.labels).sum())
    return Evaluation(loss / len(held), right / len(held))
