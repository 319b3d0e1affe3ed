"""How much each weight of the global part matters to a device."""

from collections.abc import Callable

import torch
from torch import Tensor

#: Weights removed at once: each takes a forward pass, and the memory of one.
_AT_ONCE = 64


def update_importance(updated: Tensor, broadcast: Tensor) -> Tensor:
    r"""Return how far each weight has moved in the warm-up, Eq. (20).

    .. math:: \hat I_j = |\hat u_j - u_j|
    """
    return (updated - broadcast).abs()


def exact_importance(loss: Callable[[Tensor], Tensor], broadcast: Tensor) -> Tensor:
    r"""Return what removing each weight does to the loss, Eq. (19).

    .. math:: I_j = \left(F(u) - F(u \mid u_j = 0)\right)^2

    It takes a forward pass for each weight: seconds for a thousand weights, hours for the
    paper's network.

    Args:
        loss: F, of a global part.
        broadcast: u.
    """
    with torch.no_grad():
        whole = loss(broadcast)
        changes = []
        for first in range(0, len(broadcast), _AT_ONCE):
            removed = torch.arange(first, min(first + _AT_ONCE, len(broadcast)))
            without = broadcast.expand(len(removed), -1).clone()
            without[torch.arange(len(removed)), removed] = 0.0
            changes.append(torch.func.vmap(loss, randomness="same")(without) - whole)
        return torch.cat(changes).square()
