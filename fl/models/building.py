"""From what a scenario says of its model to a network with its split."""

from collections.abc import Sequence

import numpy as np
import torch
from torch import nn

from fl.models.networks import Cnn, Mlp
from fl.models.split import ModelError, Network, split_network
from fl.own_code import load_class
from fl.scenario import NamedModel
from fl.schemes import Layers, Scheme
from fl.torch_stream import torch_seeded


def build_network(
    model: NamedModel,
    scheme: Scheme,
    image_shape: Sequence[int],
    num_labels: int,
    stream: np.random.Generator,
) -> Network:
    """Return the network, with its initial weights drawn from *stream*.

    Raises:
        ModelError: It cannot be made, does not fit the images, or cannot be split so.
    """
    with torch_seeded(stream):
        module = _module(model, image_shape, num_labels)
    _try(module, model.name, image_shape, num_labels)
    if isinstance(scheme.split, Layers):
        network = split_network(module, scheme.split.personal, scheme.split.unpruned)
    else:
        convolutions = ["conv*"]
        network = split_network(
            module,
            convolutions if scheme.split == "conv" else [],
            convolutions if scheme.split == "unpruned-conv" else [],
        )
    _check_effect(network, image_shape)
    return network


def _module(model: NamedModel, image_shape: Sequence[int], num_labels: int) -> nn.Module:
    if model.name == "cnn":
        if min(image_shape[1:]) < 4:
            raise ModelError(f"model: cnn needs images of 4x4 or more, these are {image_shape}")
        assert model.kernel_size is not None  # filled in
        return Cnn(image_shape, num_labels, kernel_size=model.kernel_size)
    if model.name == "mlp":
        assert model.hidden is not None  # filled in
        return Mlp(image_shape, num_labels, hidden=model.hidden)
    own = load_class(model.name, "model.name")
    if not issubclass(own, nn.Module):
        raise ModelError(f"model.name: {model.name} must be a torch.nn.Module")
    try:
        return own(**(model.options or {}))
    except Exception as error:
        raise ModelError(
            f"model.options: {model.name} cannot be made with {model.options or {}}: {error}"
        ) from error


def _check_effect(network: Network, image_shape: Sequence[int]) -> None:
    """Refuse a part that has no effect on the scores: nothing could train it."""
    personal = network.personal.vector(network.module).requires_grad_()
    shared = network.shared.vector(network.module).requires_grad_()
    scores = network.scores(personal, shared, torch.ones(2, *image_shape))
    gradients = torch.autograd.grad(scores.sum(), [personal, shared], allow_unused=True)
    for name, part, moves in (
        ("personal", network.personal, gradients[0] is not None),
        ("global", network.shared, gradients[1] is not None),
    ):
        if part.names and not moves:
            raise ModelError(
                f"scheme.split: the {name} part ({', '.join(part.names)}) has no effect on what "
                "the model computes"
            )


def _try(module: nn.Module, name: str, image_shape: Sequence[int], num_labels: int) -> None:
    """Look whether the module makes of two images what it has to."""
    module.eval()
    try:
        with torch.inference_mode():
            scores = module(torch.zeros(2, *image_shape))
    except Exception as error:
        reason = str(error).splitlines()[0]
        size = "x".join(map(str, image_shape))
        raise ModelError(f"model: {name} does not take images of {size}: {reason}") from error
    module.train()
    if not isinstance(scores, torch.Tensor) or scores.shape != (2, num_labels):
        shape = tuple(scores.shape) if isinstance(scores, torch.Tensor) else type(scores).__name__
        raise ModelError(
            f"model: {name} must give {num_labels} scores an image, [2, {num_labels}] for two; "
            f"gives {shape}"
        )
