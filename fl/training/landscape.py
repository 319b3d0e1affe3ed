"""How steep, curved and noisy the losses are where the devices stand.

These are the constants of Theorem 1, as far as they can be measured: of some devices, on some
mini-batches, at the weights of the moment. The true ones hold everywhere a run may go, so
the estimates are rather too low. A network with ReLU, whose slope jumps, has no true ones: there
smoothness is what it seems to be at some distance. Measured before the first round, they are
what `fl.bound` needs.
"""

from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor

from fl.bound import Constants
from fl.models.split import Network
from fl.torch_stream import one_thread, torch_seeded
from fl.training.batches import Batch
from fl.training.cohort import Cohort

#: How far from the weights curvature is looked for, as a part of their norm.
_DISTANCE = 0.01


def estimate_constants(
    cohort: Cohort, *, devices: int = 10, batches: int = 4, steps: int = 4
) -> Constants:
    """Return what Theorem 1 assumes of the losses, estimated at the weights of *cohort*.

    What holds for all devices is the largest value of any that was looked at. The loss of the
    weights is the mean over devices, and stands for the initial gap: no cross-entropy is below
    zero, so the gap is no larger.

    D is the norm of the global part. A mask that knows nothing of the weights' size takes
    rho ||u||^2 away on average, so Assumption 2 holds with equality; one that prunes the smallest
    takes less. The masks of Eq. (20) may take more: they prune what does not move, however large.
    For every mask to satisfy it, D^2 would have to be N max u_j^2.

    Args:
        cohort: Stays as it is.
        devices: How many to look at, drawn at random.
        batches: How many mini-batches of each, drawn independently.
        steps: How often curvature is looked for, each time in a better direction.
    """
    for name, value, least in (
        ("devices", devices, 1),
        ("batches", batches, 2),
        ("steps", steps, 1),
    ):
        if value < least:
            raise ValueError(f"{name} must be >= {least}, got {value}")
    count = len(cohort.held_train)
    chosen = cohort.streams("bound").permutation(count)[:devices]
    with one_thread():
        seen = [_look(cohort, device, batches, steps) for device in sorted(chosen.tolist())]
    return Constants(
        global_smoothness=max(one.global_smoothness for one in seen),
        personal_smoothness=max(one.personal_smoothness for one in seen),
        global_gradient=max(one.global_square for one in seen) ** 0.5,
        global_noise=max(one.global_variance for one in seen) ** 0.5,
        personal_noise=max(one.personal_variance for one in seen) ** 0.5,
        weight_norm=cohort.shared.norm().item(),
        initial_gap=float(np.mean([one.loss for one in seen])),
    )


class _Seen(NamedTuple):
    """Of one device."""

    loss: float
    global_square: float
    global_variance: float
    personal_variance: float
    global_smoothness: float
    personal_smoothness: float


class _Moments:
    """Mean and spread of vectors that come one after the other."""

    def __init__(self, size: int) -> None:
        self._count = 0
        self._mean = torch.zeros(size, dtype=torch.float64)
        self._spread = 0.0

    def add(self, vector: Tensor) -> None:
        """Take the next one."""
        self._count += 1
        before = vector - self._mean
        self._mean += before / self._count
        self._spread += (before @ (vector - self._mean)).item()

    @property
    def variance(self) -> float:
        """Mean squared distance of a vector from what all would have as their mean."""
        return self._spread / (self._count - 1)

    @property
    def square(self) -> float:
        """Mean squared norm."""
        return (self._mean @ self._mean).item() + self._spread / self._count


def _look(cohort: Cohort, device: int, batches: int, steps: int) -> _Seen:
    stream = cohort.streams("bound", device)
    held, v, u = cohort.held_train[device], cohort.personal[device], cohort.shared
    size = min(cohort.recipe.batch_size, len(held))
    drawn = [cohort.train.batch(stream.permutation(held)[:size]) for _ in range(batches)]
    with torch_seeded(stream):
        loss, of_v, of_u = _moments(cohort.network, v, u, drawn)

    def fixed(personal: Tensor, shared: Tensor) -> Tensor:
        # Dropout, if any, makes the same zeros each time: it is no curvature.
        with torch_seeded(cohort.streams("bound", device)):
            return _loss(cohort.network, personal, shared, drawn[0])

    return _Seen(
        loss=loss,
        global_square=of_u.square,
        global_variance=of_u.variance,
        personal_variance=of_v.variance,
        global_smoothness=_smoothness(lambda weights: fixed(v, weights), u, steps, stream),
        personal_smoothness=_smoothness(lambda weights: fixed(weights, u), v, steps, stream),
    )


def _moments(
    network: Network, personal: Tensor, shared: Tensor, drawn: Sequence[Batch]
) -> tuple[float, _Moments, _Moments]:
    """Return the mean loss, and the moments of its gradients of v and of u."""
    losses, of_v, of_u = [], _Moments(len(personal)), _Moments(len(shared))
    parts = personal.detach().requires_grad_(), shared.detach().requires_grad_()
    for batch in drawn:
        loss = _loss(network, *parts, batch)
        slope_v, slope_u = torch.autograd.grad(loss, parts, materialize_grads=True)
        losses.append(loss.item())
        of_v.add(slope_v)
        of_u.add(slope_u)
    return float(np.mean(losses)), of_v, of_u


def _loss(network: Network, personal: Tensor, shared: Tensor, batch: Batch) -> Tensor:
    """Return F_k of Eq. (4) on a mini-batch."""
    return F.cross_entropy(network.scores(personal, shared, batch.images), batch.labels)


def _smoothness(
    loss: Callable[[Tensor], Tensor], weights: Tensor, steps: int, stream: np.random.Generator
) -> float:
    r"""Return the largest change of the gradient with the weights that was found, Eq. (30).

    .. math:: L \ge \frac{\|\nabla F(w + d) - \nabla F(w)\|}{\|d\|}

    The first d lies between the gradient and a random direction; each further one points to
    where the gradient changed along the last. On a quadratic loss that is power iteration: it
    turns to where the curvature is largest, and the quotient never falls.
    """
    if not len(weights):
        return 0.0
    here = _slope(loss, weights)
    random = torch.from_numpy(stream.standard_normal(len(weights))).to(weights.dtype)
    direction = F.normalize(here, dim=0) + F.normalize(random, dim=0)
    distance = _DISTANCE * (weights.norm().item() or 1.0)
    largest = 0.0
    for _ in range(steps):
        there = weights + distance * F.normalize(direction, dim=0)
        direction = _slope(loss, there) - here
        if not direction.any():  # flat
            break
        largest = max(largest, (direction.norm() / (there - weights).norm()).item())
    return largest


def _slope(loss: Callable[[Tensor], Tensor], weights: Tensor) -> Tensor:
    moving = weights.detach().requires_grad_()
    (slope,) = torch.autograd.grad(loss(moving), moving)
    return slope
