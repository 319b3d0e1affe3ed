"""What a round asks of whatever its devices learn: the seam between clock and training."""

from collections.abc import Sequence
from typing import Protocol

import numpy as np
from numpy.typing import NDArray


class Learnt(Protocol):
    """What came of a round for what is learnt; arrays are of all devices, NaN is not known."""

    @property
    def samples(self) -> NDArray[np.int64]:
        """D_k: how many training samples each device has."""

    @property
    def train_loss(self) -> NDArray[np.float64]:
        """Mean over the mini-batches of each who took part and was through with its updates."""

    @property
    def fewest_keepers(self) -> int:
        """How many devices kept, and delivered, the weight that the fewest of them did."""

    @property
    def test_loss(self) -> NDArray[np.float64] | None:
        """Of each device's own model on its own test samples; None in a round without a test."""

    @property
    def test_accuracy(self) -> NDArray[np.float64] | None:
        """Likewise."""


class Learner(Protocol):
    """What the devices learn, round by round."""

    def begin(self, round_: int, kept: Sequence[int], devices: Sequence[int]) -> None:
        """Let devices train with what is broadcast.

        Args:
            round_: Which round begins.
            kept: How many weights each of them keeps.
            devices: Who takes part.
        """

    def aggregate(self, reached: Sequence[int]) -> Learnt:
        """Make the next global part, and let devices keep their personal parts.

        Args:
            reached: The phase that each who takes part came to; those who wait have arrived.
        """
