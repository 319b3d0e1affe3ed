"""The work in Flower: its simulation, a Ray actor of one thread for each core."""

import sys

from flwr.app import ArrayRecord, ConfigRecord, Context, Message, MetricRecord, RecordDict
from flwr.clientapp import ClientApp
from flwr.serverapp import Grid, ServerApp
from flwr.serverapp.strategy import FedAvg
from flwr.simulation import run_simulation
from torch.nn.functional import cross_entropy
from torch.optim import SGD
from torch_work import Samples, network_of, weights_of
from work import Laps, answer, read_work

ORDER = sys.argv[1]
client = ClientApp()
server = ServerApp()


@client.train()
def train(message: Message, context: Context) -> Message:
    """Let one device train with what it was sent."""
    work = read_work(str(message.content["config"]["order"]))
    samples, network = Samples(work), network_of(work)
    network.load_state_dict(message.content["arrays"].to_torch_state_dict())
    optimizer = SGD(network.parameters(), lr=work.learning_rate)
    round_ = int(message.content["config"]["server-round"]) - 1
    for images, labels in samples.batches(round_, int(context.node_config["partition-id"])):
        optimizer.zero_grad()
        cross_entropy(network(images), labels).backward()
        optimizer.step()
    done = {"num-examples": samples.steps * work.batch_size, "steps": samples.steps}
    content = RecordDict(
        {"arrays": ArrayRecord(network.state_dict()), "metrics": MetricRecord(done)}
    )
    return Message(content=content, reply_to=message)


@server.main()
def serve(grid: Grid, _context: Context) -> None:
    """Average for all rounds, and tell."""
    work, laps, steps = read_work(ORDER), Laps(), []

    def count(replies: list[RecordDict], _weighted_by: str) -> MetricRecord:
        steps.append(sum(int(reply["metrics"]["steps"]) for reply in replies))
        return MetricRecord({"steps": steps[-1]})

    strategy = FedAvg(
        fraction_evaluate=0.0,
        min_train_nodes=work.devices,
        min_available_nodes=work.devices,
        train_metrics_aggr_fn=count,
    )
    network = network_of(work)
    result = strategy.start(
        grid,
        ArrayRecord(network.state_dict()),
        num_rounds=work.rounds,
        train_config=ConfigRecord({"order": ORDER}),
        evaluate_fn=lambda _round, _arrays: laps.stamp(),  # also before the first round
    )
    network.load_state_dict(result.arrays.to_torch_state_dict())
    answer(work, laps, weights_of(network), sum(steps), ("flwr", "ray", "torch"))


if __name__ == "__main__":
    run_simulation(
        server,
        client,
        num_supernodes=read_work(ORDER).devices,
        backend_config={
            "init_args": {"num_cpus": read_work(ORDER).cores},
            "client_resources": {"num_cpus": 1, "num_gpus": 0.0},
        },
    )
