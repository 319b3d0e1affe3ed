"""A network as a function of two vectors: its personal part v and its global part u.

Each part is one flat vector: its parameters in the order in which the module names them, each
row by row. So a weight of the global part is an index into u, on the devices and on the
server; masks, averages and uploads are about indices, and know nothing of layers.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase

import torch
from torch import Tensor, nn
from torch.func import functional_call

from netsim.errors import InputError


class ModelError(InputError):
    """A model, or a split of it, that cannot be used."""


@dataclass(frozen=True)
class Part:
    """Some parameters of a network, as one vector."""

    names: tuple[str, ...]
    shapes: tuple[torch.Size, ...]

    @property
    def num_weights(self) -> int:
        """How long the vector is."""
        return sum(shape.numel() for shape in self.shapes)

    def parameters(self, vector: Tensor) -> dict[str, Tensor]:
        """Return the parameters as views of *vector*."""
        pieces = vector.split([shape.numel() for shape in self.shapes])
        return {
            name: piece.view(shape)
            for name, shape, piece in zip(self.names, self.shapes, pieces, strict=True)
        }

    def vector(self, module: nn.Module) -> Tensor:
        """Return the parameters that *module* has now, as one vector."""
        pieces = [module.get_parameter(name).detach().flatten() for name in self.names]
        return torch.cat(pieces) if pieces else torch.empty(0)


@dataclass(frozen=True)
class Network:
    """A module and its split; what its parameters are is handed in with each call."""

    module: nn.Module
    personal: Part
    shared: Part
    """The global part."""
    unpruned: Tensor
    """Which of its weights must not be pruned."""

    def scores(self, personal: Tensor, shared: Tensor, images: Tensor) -> Tensor:
        """Return a score for each label, [images, labels]."""
        parameters = self.personal.parameters(personal) | self.shared.parameters(shared)
        scores: Tensor = functional_call(self.module, parameters, (images,))
        return scores


def split_network(
    module: nn.Module, personal: Sequence[str], unpruned: Sequence[str] = ()
) -> Network:
    """Return *module* with the parameters that match a pattern as its personal part.

    Args:
        module: Its own parameters are the initial ones, and stay as they are.
        personal: Patterns of parameter names, as ``conv*`` or ``fc2.weight``; none: all is global.
        unpruned: Patterns of those that are global and must not be pruned.

    Raises:
        ModelError: A pattern matches nothing, or nothing is left to share.
    """
    shapes = {name: parameter.shape for name, parameter in module.named_parameters()}
    known = ", ".join(shapes)
    state = [name for name in module.state_dict() if name not in shapes]
    if state:
        raise ModelError(
            f"model: {type(module).__name__} keeps state that is neither trained nor averaged "
            f"({state[0]}); use a layer without it, as GroupNorm in place of BatchNorm"
        )
    frozen = [name for name, p in module.named_parameters() if not p.requires_grad]
    if frozen:
        raise ModelError(
            f"model: {type(module).__name__} has parameters that do not require a gradient "
            f"({frozen[0]}); make them buffers that are not persistent, or train them"
        )
    for pattern in (*personal, *unpruned):
        if not any(fnmatchcase(name, pattern) for name in shapes):
            raise ModelError(
                f"scheme.split: {pattern} matches no parameter of the model; it has {known}"
            )
    mine = [name for name in shapes if _matches(name, personal)]
    others = [name for name in shapes if name not in mine]
    if not others:
        raise ModelError(f"scheme.split: nothing is left to share; the model has {known}")
    shared = Part(tuple(others), tuple(shapes[name] for name in others))
    kept = [torch.full((shapes[n].numel(),), fill_value=_matches(n, unpruned)) for n in others]
    return Network(
        module,
        Part(tuple(mine), tuple(shapes[name] for name in mine)),
        shared,
        torch.cat(kept),
    )


def _matches(name: str, patterns: Sequence[str]) -> bool:
    return any(fnmatchcase(name, pattern) for pattern in patterns)
