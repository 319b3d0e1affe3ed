"""The work in fluke: its centralised federation, one process with a thread for each core."""

from collections.abc import Iterator

import torch
from torchvision_stub import declare_operators

declare_operators()
from fluke import FlukeENV  # it imports torchvision
from fluke.algorithms import CentralizedFL
from fluke.client import Client
from fluke.config import OptimizerConfigurator
from fluke.server import Server
from torch import Tensor, nn
from torch_work import Samples, network_of, weights_of
from work import Laps, Work, answer, work_of_command


class DeviceData:
    """The batches of one device, a round each time it is walked through."""

    def __init__(self, work: Work, samples: Samples, device: int) -> None:
        self._samples = samples
        self._device = device
        self._length = work.iterations
        self._round = 0

    def __len__(self) -> int:
        return self._length

    def __iter__(self) -> Iterator[tuple[Tensor, Tensor]]:
        round_, self._round = self._round, self._round + 1
        return self._samples.batches(round_, self._device)


class Stamping(Server):
    """Notes when a round is over."""

    laps = Laps()

    def aggregate(self, *args: object, **more: object) -> None:
        """Average, and note the time."""
        super().aggregate(*args, **more)
        self.laps.stamp()


def main() -> None:
    """Train, and tell."""
    work = work_of_command()
    torch.set_num_threads(work.cores)
    samples = Samples(work)
    FlukeENV().set_inmemory(True)
    FlukeENV().set_eval_cfg(pre_fit=False, post_fit=False, locals=False, server=False)
    optimizer = OptimizerConfigurator({"name": "SGD", "lr": work.learning_rate})
    clients = [
        Client(device, DeviceData(work, samples, device), None, optimizer, nn.CrossEntropyLoss(), 1)
        for device in range(work.devices)
    ]
    server = Stamping(network_of(work), None, clients)
    federation = CentralizedFL(work.devices, None, {}, clients, server)
    server.laps.stamp()
    federation.run(work.rounds, 1)
    weights = weights_of(server.model)
    answer(work, server.laps, weights, samples.steps, ("fluke-fl", "torch"))


if __name__ == "__main__":
    main()
