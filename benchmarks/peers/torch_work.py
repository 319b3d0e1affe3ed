"""The same network and the same batches for every framework that trains with PyTorch."""

import importlib.util
from collections.abc import Iterator
from functools import cached_property
from pathlib import Path

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn.utils import parameters_to_vector, vector_to_parameters
from work import Work

_NETWORKS = Path(__file__).parents[2] / "fl" / "models" / "networks.py"


def network_of(work: Work) -> nn.Module:
    """Return the paper's network with the first weights of the work."""
    # By its path: the package around it needs more than a peer's environment has.
    spec = importlib.util.spec_from_file_location("networks", _NETWORKS)
    assert spec is not None
    assert spec.loader is not None
    networks = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(networks)
    network: nn.Module = networks.Cnn((1, 28, 28), 10, kernel_size=5)
    vector_to_parameters(torch.from_numpy(work.arrays["weights"].copy()), network.parameters())
    return network


def weights_of(network: nn.Module) -> np.ndarray:
    """Return all weights, in the order of the parameters."""
    return parameters_to_vector(network.parameters()).detach().numpy()


class Samples:
    """The samples of a work, as the batches of a device's round."""

    def __init__(self, work: Work) -> None:
        self._work = work
        self.steps = 0
        """How many batches were taken."""

    @cached_property
    def _tensors(self) -> dict[str, Tensor]:
        names = ("pixels", "labels", "mean", "deviation")
        return {name: torch.from_numpy(self._work.arrays[name]) for name in names}

    def batch(self, chosen: np.ndarray) -> tuple[Tensor, Tensor]:
        """Return some samples, normalised, in the layout in which convolutions are fastest."""
        tensors, indices = self._tensors, torch.from_numpy(chosen)
        pixels = tensors["pixels"][indices].to(torch.float32).div_(255.0)
        pixels.sub_(tensors["mean"]).div_(tensors["deviation"])
        return pixels.to(memory_format=torch.channels_last), tensors["labels"][indices]

    def batches(self, round_: int, device: int) -> Iterator[tuple[Tensor, Tensor]]:
        """Yield the batches of a device in a round."""
        for chosen in self._work.chosen(round_, device):
            self.steps += 1
            yield self.batch(chosen)


@torch.inference_mode()
def accuracy_of(work: Work, weights: np.ndarray) -> float:
    """Return the part of the test samples that the network tells right with these weights."""
    network = network_of(work)
    vector_to_parameters(torch.from_numpy(weights), network.parameters())
    test = {"pixels": work.arrays["test_pixels"], "labels": work.arrays["test_labels"]}
    samples = Samples(Work(work.order, {**work.arrays, **test}))
    every = np.array_split(np.arange(len(test["labels"])), -(-len(test["labels"]) // 500))
    right = 0
    for some in every:
        images, labels = samples.batch(some)
        right += int((network(images).argmax(dim=1) == labels).sum())
    return right / len(test["labels"])
