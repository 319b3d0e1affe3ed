"""The mean of each weight over the devices that kept it."""

import torch
from torch import Tensor


class MaskedMean:
    r"""Takes the global parts one after the other, and gives their mean, Eq. (26).

    .. math:: u_j = \frac{\sum_{k: m_{k,j} = 1} w_k u_{k,j}}{\sum_{k: m_{k,j} = 1} w_k}

    A weight that no device kept has no vote, and stays as it was. All w are 1 in the paper.
    Sums are in double precision and in the order of the calls.

    >>> mean = MaskedMean(torch.tensor([7.0, 7.0, 7.0]))
    >>> mean.add(torch.tensor([1.0, 2.0, 0.0]), torch.tensor([True, True, False]))
    >>> mean.add(torch.tensor([3.0, 0.0, 0.0]), torch.tensor([True, False, False]))
    >>> mean.result().tolist()
    [2.0, 2.0, 7.0]
    """

    def __init__(self, previous: Tensor) -> None:
        self._previous = previous
        self._total = torch.zeros(len(previous), dtype=torch.float64)
        self._voters = torch.zeros(len(previous), dtype=torch.float64)
        self._keepers = torch.zeros(len(previous), dtype=torch.int32)

    def add(self, weights: Tensor, mask: Tensor, voting: float = 1.0) -> None:
        """Take one device's global part.

        Args:
            weights: Zero where they are pruned.
            mask: True where they are not.
            voting: w, what the device counts for.
        """
        self._total.add_(weights, alpha=voting)
        self._voters.add_(mask, alpha=voting)
        self._keepers.add_(mask)

    @property
    def fewest_keepers(self) -> int:
        """How many devices kept the weight that the fewest of them kept."""
        return int(self._keepers.min())

    def result(self) -> Tensor:
        """Return the new global part."""
        mean = (self._total / self._voters).to(self._previous.dtype)
        return torch.where(self._voters > 0, mean, self._previous)
