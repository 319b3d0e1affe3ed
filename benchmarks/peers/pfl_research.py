"""The work in pfl: its simulated backend, a process of one thread for each core (torchrun)."""

import itertools
from collections.abc import Iterator
from dataclasses import replace

from pfl.aggregate.simulate import SimulatedBackend
from pfl.algorithm.base import NNAlgorithmParams
from pfl.algorithm.federated_averaging import FederatedAveraging
from pfl.callback.base import TrainingProcessCallback
from pfl.data.dataset import Dataset
from pfl.data.federated_dataset import FederatedDataset
from pfl.hyperparam import NNTrainHyperParams
from pfl.internal.ops.selector import get_framework_module
from pfl.metrics import Metrics
from pfl.model.pytorch import PyTorchModel
from torch import Tensor, nn, tensor
from torch.nn.functional import cross_entropy
from torch.optim import SGD
from torch_work import Samples, network_of, weights_of
from work import Laps, Work, answer, work_of_command


class Scored(nn.Module):
    """A network with the loss that pfl asks it for."""

    def __init__(self, network: nn.Module) -> None:
        super().__init__()
        self.network = network

    def loss(self, images: Tensor, labels: Tensor) -> Tensor:
        """Return what is to be made less."""
        return cross_entropy(self.network(images), labels)

    def metrics(self, images: Tensor, labels: Tensor) -> dict:
        """Return nothing: all are evaluated alike, afterwards."""
        raise NotImplementedError


class Unevaluated(FederatedAveraging):
    """Trains, and nothing else: pfl would evaluate all devices in the first round."""

    def get_next_central_contexts(self, *args: object, **more: object) -> tuple:
        """Return what is to be done next, without evaluation."""
        contexts, model, metrics = super().get_next_central_contexts(*args, **more)
        if contexts is not None:
            contexts = tuple(replace(context, do_evaluation=False) for context in contexts)
        return contexts, model, metrics


class Stamping(TrainingProcessCallback):
    """Notes when a round is over."""

    def __init__(self, laps: Laps) -> None:
        self._laps = laps

    def on_train_begin(self, *, model: PyTorchModel) -> Metrics:  # noqa: ARG002 -- pfl's interface
        """Note the beginning."""
        self._laps.stamp()
        return Metrics()

    def after_central_iteration(self, *_args: object, **_more: object) -> tuple[bool, Metrics]:
        """Note the end of a round."""
        self._laps.stamp()
        return False, Metrics()


class OrderedBatches(Dataset):
    """The batches of one device in one round, as they come."""

    def __init__(self, samples: Samples, work: Work, round_: int, device: int) -> None:
        super().__init__((), user_id=str(device))
        self._ordered = samples.batches(round_, device)
        self._length = work.iterations * work.batch_size

    def __len__(self) -> int:
        """Return how many samples a device sees in a round."""
        return self._length

    def iter(self, _batch_size: int | None) -> Iterator[tuple[Tensor, Tensor]]:
        """Return the batches."""
        return self._ordered


def federated(work: Work, samples: Samples) -> FederatedDataset:
    """Return all devices, one after the other, round after round."""
    turns = itertools.count()  # what pfl takes for the id of a user
    return FederatedDataset(
        lambda turn: OrderedBatches(samples, work, *divmod(turn, work.devices)),
        lambda: next(turns),
    )


def main() -> None:
    """Train, and tell."""
    work, laps = work_of_command(), Laps()
    samples, network = Samples(work), network_of(work)
    # With a rate of one, the server takes the mean of all updates whole.
    model = PyTorchModel(Scored(network), SGD, SGD(network.parameters(), lr=1.0))
    data = federated(work, samples)
    Unevaluated().run(
        NNAlgorithmParams(
            central_num_iterations=work.rounds,
            evaluation_frequency=1,
            train_cohort_size=work.devices,
            val_cohort_size=0,
        ),
        SimulatedBackend(data, data),
        model,
        NNTrainHyperParams(
            local_num_epochs=1,
            local_learning_rate=work.learning_rate,
            local_batch_size=work.batch_size,
        ),
        callbacks=[Stamping(laps)],
        send_metrics_to_platform=False,
    )
    workers = get_framework_module().distributed
    (steps,) = workers.all_reduce([tensor([float(samples.steps)])])
    if workers.global_rank == 0:
        answer(work, laps, weights_of(network), int(steps), ("pfl", "torch"))


if __name__ == "__main__":
    main()
