"""The mask of a device: which weights of the global part it keeps."""

import numpy as np
import torch
from torch import Tensor


def keep_most(importance: Tensor, kept: int) -> Tensor:
    """Return the mask m of Eq. (21) that keeps the *kept* most important weights.

    Of equally important ones, those of lower index are kept: many weights do not move at all
    in a warm-up, so ties are the rule.

    >>> keep_most(torch.tensor([0.0, 3.0, 1.0, 1.0, 2.0]), 3).tolist()
    [False, True, True, False, True]
    """
    values = importance.numpy()
    if kept >= len(values):
        return torch.ones(len(values), dtype=torch.bool)
    if kept == 0:
        return torch.zeros(len(values), dtype=torch.bool)
    # Selecting the threshold is linear in the weights; sorting them would take ten times as long.
    threshold = np.partition(values, len(values) - kept)[len(values) - kept]
    mask = values > threshold
    ties = np.flatnonzero(values == threshold)
    mask[ties[: kept - np.count_nonzero(mask)]] = True
    return torch.from_numpy(mask)
