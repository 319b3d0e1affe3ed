"""The work in FedLab: its standalone pipeline, one process with a thread for each core."""

from collections import Counter
from collections.abc import Iterator

import torch
from torchvision_stub import declare_operators

declare_operators()
from fedlab.contrib.algorithm.fedavg import (  # it imports torchvision
    FedAvgSerialClientTrainer,
    FedAvgServerHandler,
)
from fedlab.core.standalone import StandalonePipeline
from torch import Tensor
from torch_work import Samples, network_of, weights_of
from work import Laps, answer, work_of_command


class DeviceData:
    """The batches of each device, a round each time it is asked."""

    def __init__(self, samples: Samples) -> None:
        self._samples = samples
        self._rounds: Counter[int] = Counter()

    def get_dataloader(self, device: int, _batch_size: int) -> Iterator[tuple[Tensor, Tensor]]:
        """Return the batches of the device's next round."""
        round_ = self._rounds[device]
        self._rounds[device] += 1
        return self._samples.batches(round_, device)


class Stamping(FedAvgServerHandler):
    """Notes when a round is over."""

    laps = Laps()

    def global_update(self, buffer: list) -> None:
        """Average, and note the time."""
        super().global_update(buffer)
        self.laps.stamp()


class Pipeline(StandalonePipeline):
    """Leaves evaluation to others."""

    def evaluate(self) -> None:
        """Do nothing."""


def main() -> None:
    """Train, and tell."""
    work = work_of_command()
    torch.set_num_threads(work.cores)
    samples = Samples(work)
    handler = Stamping(network_of(work), work.rounds, 1.0)
    trainer = FedAvgSerialClientTrainer(network_of(work), work.devices)
    trainer.setup_dataset(DeviceData(samples))
    trainer.setup_optim(1, work.batch_size, work.learning_rate)
    pipeline = Pipeline(handler, trainer)
    handler.laps.stamp()
    pipeline.main()
    weights = weights_of(handler.model)
    answer(work, handler.laps, weights, samples.steps, ("fedlab", "torch"))


if __name__ == "__main__":
    main()
