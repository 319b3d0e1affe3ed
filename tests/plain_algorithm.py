"""Algorithm 1 in plain PyTorch, to compare with: modules, autograd, optimisers, no tricks.

Nothing of the project is used here. Tests compare weights with it, the benchmark speed.
"""

import copy

import torch
import torch.nn.functional as F
from torch import nn


class PlainCnn(nn.Module):
    """The paper's network, as one would write it down."""

    def __init__(self, kernel_size=5):
        super().__init__()
        self.conv1 = nn.Conv2d(1, 32, kernel_size, padding="same")
        self.conv2 = nn.Conv2d(32, 64, kernel_size, padding="same")
        self.pool = nn.MaxPool2d(2)
        self.fc1 = nn.Linear(3136, 128)
        self.fc2 = nn.Linear(128, 10)

    def forward(self, x):
        x = self.pool(torch.relu(self.conv1(x)))
        x = self.pool(torch.relu(self.conv2(x)))
        return self.fc2(torch.relu(self.fc1(torch.flatten(x, 1))))


def step(model, parameters, optimizer, batch, masks=None):
    """Take one step; only *parameters* move."""
    images, labels = batch
    model.zero_grad()
    loss = F.cross_entropy(model(images), labels)
    loss.backward()
    if masks is not None:
        for parameter, mask in zip(parameters, masks, strict=True):
            parameter.grad *= mask
    optimizer.step()


def mask_of(before, after, kept):
    """Return which weights have moved most, as one mask for each parameter."""
    importance = torch.cat([(a - b).abs().flatten() for a, b in zip(after, before, strict=True)])
    order = torch.argsort(importance, descending=True, stable=True)
    flat = torch.zeros_like(importance)
    flat[order[:kept]] = 1
    pieces = flat.split([b.numel() for b in before])
    return [piece.view_as(b) for piece, b in zip(pieces, before, strict=True)]


def local_round(model, personal, batches, taus, rates, kept, *, simultaneous=False):
    """Train *model* in place for one round, and return the masks of its global part.

    Args:
        model: With the device's personal and the server's global part.
        personal: The names of its personal parameters.
        batches: As many as all iterations: personal, global, warm-up.
        taus: Iterations of these three: tau_v, tau_u, tau-hat_u.
        rates: eta_v, eta_u.
        kept: Weights of the global part to keep.
        simultaneous: Both parts at once.
    """
    tau_v, tau_u, tau_w = taus
    named = dict(model.named_parameters())
    mine = [p for name, p in named.items() if name in personal]
    shared = [p for name, p in named.items() if name not in personal]
    if mine and not simultaneous:
        optimizer = torch.optim.SGD(mine, lr=rates[0])
        for batch in batches[:tau_v]:
            step(model, mine, optimizer, batch)
    masks = [torch.ones_like(p) for p in shared]
    if kept < sum(p.numel() for p in shared):
        warm = copy.deepcopy(model)
        moved = [p for name, p in warm.named_parameters() if name not in personal]
        optimizer = torch.optim.SGD(moved, lr=rates[1])
        for batch in batches[tau_v + tau_u : tau_v + tau_u + tau_w]:
            step(warm, moved, optimizer, batch)
        masks = mask_of([p.detach() for p in shared], [p.detach() for p in moved], kept)
    with torch.no_grad():
        for parameter, mask in zip(shared, masks, strict=True):
            parameter.mul_(mask)
    groups = [{"params": shared, "lr": rates[1]}]
    if simultaneous and mine:
        groups.append({"params": mine, "lr": rates[0]})
    optimizer = torch.optim.SGD(groups, lr=rates[1])
    for batch in batches[tau_v : tau_v + tau_u]:
        step(model, shared, optimizer, batch, masks)
    return masks


def aggregate(previous, parts, masks):
    """Return the mean of each weight over the devices that kept it."""
    result = []
    for index, old in enumerate(previous):
        total = sum(part[index] * mask[index] for part, mask in zip(parts, masks, strict=True))
        voters = sum(mask[index] for mask in masks)
        result.append(torch.where(voters > 0, total / voters.clamp(min=1), old))
    return result


def federate(model, personal, devices, rounds, batches_of, **settings):
    """Run Algorithm 1; return the models of the devices, each with the last global part.

    Args:
        model: Every device's, at first.
        personal: The names of the personal parameters.
        devices: How many.
        rounds: How many.
        batches_of: Gives the batches of a round and device.
        settings: Of `local_round`.
    """
    models = [copy.deepcopy(model) for _ in range(devices)]
    for round_ in range(rounds):
        named = [dict(m.named_parameters()) for m in models]
        names = [name for name in named[0] if name not in personal]
        previous = [named[0][name].detach().clone() for name in names]
        masks = [
            local_round(m, personal, batches_of(round_, k), **settings)
            for k, m in enumerate(models)
        ]
        parts = [[n[name].detach().clone() for name in names] for n in named]
        new = aggregate(previous, parts, masks)
        with torch.no_grad():
            for n in named:
                for name, value in zip(names, new, strict=True):
                    n[name].copy_(value)
    return models
