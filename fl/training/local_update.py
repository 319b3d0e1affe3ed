"""What one device does in one round, lines 4 to 11 of Algorithm 1.

A pure function: it reads weights and data, and returns new weights. It knows no clock, so it
may be computed at any time, anywhere, and gives the same bits.
"""

from collections.abc import Callable, Iterable
from typing import NamedTuple

import torch
import torch.nn.functional as F
from torch import Tensor

from fl.models.split import Network
from fl.pruning import exact_importance, keep_most, update_importance
from fl.training.batches import Batch, Batches
from fl.training.recipe import Recipe


class Update(NamedTuple):
    """What a device has after its round."""

    personal: Tensor
    """v, after tau_v iterations."""
    shared: Tensor
    """u, after tau_u iterations; zero where it is pruned."""
    mask: Tensor
    """m: True where it is not."""
    loss: float | None
    """Mean over the mini-batches of both updates, before each step; the warm-up does not count.
    None, if there were none."""


class _Moving(NamedTuple):
    """Weights under way."""

    weights: Tensor
    optimizer: torch.optim.Optimizer
    mask: Tensor | None = None


def local_update(
    network: Network,
    recipe: Recipe,
    personal: Tensor,
    broadcast: Tensor,
    kept: int,
    batches: Batches,
) -> Update:
    """Return what a device makes of the weights it has and those it was sent.

    Args:
        network: What is trained.
        recipe: How.
        personal: v, as the device has it.
        broadcast: u^g, as the server sent it.
        kept: How many weights of it to train and to send.
        batches: The mini-batches of this round: the first tau_v for the personal update, the next
            tau_u for the global one, the last for the warm-up. In this order, a device that
            prunes nothing does the same whether there is a warm-up or not.
    """
    tau_v, tau_u = recipe.personal_iterations, recipe.global_iterations
    alternate = recipe.update == "alternate"
    losses: list[Tensor] = []

    def train(moving: list[_Moving], chosen: Iterable[Batch]) -> list[Tensor]:
        return _descend(moving, lambda batch: _loss(network, personal, shared, batch), chosen)

    # Personal update, Eq. (6): the whole broadcast part stands still.
    shared, personal = broadcast, personal.clone()
    if alternate and len(personal):
        moving_v = _begin(recipe, personal, recipe.personal_rate)
        losses += train([moving_v], batches.take(0, tau_v))
        personal.requires_grad_(False)

    # Warm-up and mask: only the ranking of the weights comes out of it.
    mask = _mask(network, recipe, personal, broadcast, kept, batches)

    # Global update, Eqs. (21) and (22): what is pruned is zero and stays so. At the same time the
    # personal part, if the two are not to alternate.
    shared = broadcast * mask
    moving = [_begin(recipe, shared, recipe.global_rate, mask)] if kept else []
    if not alternate and len(personal):
        moving.append(_begin(recipe, personal, recipe.personal_rate))
    if moving:
        losses += train(moving, batches.take(tau_v, tau_u))
    loss = torch.stack(losses).mean().item() if losses else None
    return Update(personal.detach(), shared.detach(), mask, loss)


def _mask(
    network: Network,
    recipe: Recipe,
    personal: Tensor,
    broadcast: Tensor,
    kept: int,
    batches: Batches,
) -> Tensor:
    """Return which weights of the global part the device keeps."""
    if kept in (0, len(broadcast)):  # nothing to choose, nothing to rank
        return torch.full(broadcast.shape, fill_value=kept > 0)
    first = recipe.personal_iterations + recipe.global_iterations
    if recipe.importance == "exact":
        (batch,) = batches.take(first, 1)
        importance = exact_importance(lambda u: _loss(network, personal, u, batch), broadcast)
    else:
        warmed = broadcast.clone()
        moving = _begin(recipe, warmed, recipe.global_rate)
        chosen = batches.take(first, recipe.warmup_iterations)
        _descend([moving], lambda batch: _loss(network, personal, warmed, batch), chosen)
        importance = update_importance(warmed.detach(), broadcast)
    # What must not be pruned matters most.
    return keep_most(importance.masked_fill_(network.unpruned, float("inf")), kept)


def _begin(recipe: Recipe, weights: Tensor, rate: float, mask: Tensor | None = None) -> _Moving:
    weights.requires_grad_()
    whole = mask is None or bool(mask.all())
    return _Moving(weights, recipe.optimizer_of(weights, rate), None if whole else mask)


def _descend(
    moving: list[_Moving], loss: Callable[[Batch], Tensor], chosen: Iterable[Batch]
) -> list[Tensor]:
    """Take one step for each batch, and return the losses before the steps.

    Gradients are taken of what moves, and of nothing else: below a part that stands still
    nothing is computed backwards.
    """
    losses = []
    for batch in chosen:
        value = loss(batch)
        gradients = torch.autograd.grad(value, [part.weights for part in moving])
        for part, gradient in zip(moving, gradients, strict=True):
            part.weights.grad = gradient if part.mask is None else gradient.mul_(part.mask)
            part.optimizer.step()
        losses.append(value.detach())
    return losses


def _loss(network: Network, personal: Tensor, shared: Tensor, batch: Batch) -> Tensor:
    """Return F_k of Eq. (4) on a mini-batch."""
    return F.cross_entropy(network.scores(personal, shared, batch.images), batch.labels)
