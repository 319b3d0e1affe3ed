"""What devices learn is what Algorithm 1 says, weight for weight."""

import copy

import numpy as np
import pytest
import torch
from plain_algorithm import PlainCnn, federate
from tiny_models import TinyCnn

from fl.enrolment import Enrolment
from fl.models.split import split_network
from fl.phases import WAIT
from fl.scenario import load_scenario
from fl.training.engine import EngineChoice
from netsim.streams import Streams

TAUS = (2, 3, 2)  # personal, global, warm-up
RATES = (0.1, 0.05)
BATCH = 16


def scenario_of(cell, **changes):
    learning = {
        "dataset": "synthetic",
        "partition": {"by": "label", "labels_per_device": 3},
        "batch_size": BATCH,
        "learning_rate": {"personal": RATES[0], "global": RATES[1]},
    }
    cell |= {
        "model": {"name": "tiny_models:TinyCnn"},
        "devices": cell["devices"] | {"count": 3},
        "iterations": {"personal": TAUS[0], "global": TAUS[1], "warmup": TAUS[2]},
        "learning": learning,
    }
    return load_scenario(cell, overrides=changes)


def learn(enrolment, rounds, kept):
    """Return every device's two parts after some rounds."""
    with enrolment.learning(EngineChoice()) as learning:
        for round_ in range(rounds):
            learning.begin(round_, [kept] * len(learning.samples))
            learning.aggregate([WAIT] * len(learning.samples))
        return learning.cohort.personal, learning.cohort.shared


def batches_of(enrolment, scenario):
    """Return the mini-batches of a round and device, drawn by the rule that is documented."""
    train, streams = enrolment.dataset.train, Streams(scenario.seed)
    mean, std = enrolment.dataset.mean[0], enrolment.dataset.std[0]

    def draw(round_, device):
        stream = streams("learning.update", device, round_)
        order = stream.permutation(enrolment._partition.train[device])
        chosen = [order[i * BATCH : (i + 1) * BATCH] for i in range(10)]  # one pass is enough
        return [
            ((train.images[c].double() / 255 - mean).float() / std, train.labels[c]) for c in chosen
        ]

    return draw


def assert_same(models, personal_names, personal, shared):
    for device, model in enumerate(models):
        named = dict(model.named_parameters())
        mine = [named[n].detach().flatten() for n in named if n in personal_names]
        others = [named[n].detach().flatten() for n in named if n not in personal_names]
        if mine:
            torch.testing.assert_close(personal[device], torch.cat(mine), atol=1e-6, rtol=0)
        torch.testing.assert_close(shared, torch.cat(others), atol=1e-6, rtol=0)


@pytest.mark.parametrize("ratio", [0.0, 0.37, 0.9])
@pytest.mark.parametrize("update", ["alternate", "simultaneous"])
def test_three_rounds_give_the_weights_of_plain_pytorch(paper_cell, update, ratio):
    taus = (3, 3, 2) if update == "simultaneous" else TAUS
    scheme = {"split": "conv", "update": update, "pruning": {"fixed": ratio}}
    iterations = dict(zip(("personal", "global", "warmup"), taus, strict=True))
    scenario = scenario_of(paper_cell, scheme=scheme, iterations=iterations)
    enrolment = Enrolment(scenario, Streams(scenario.seed))
    num_shared = enrolment.network.shared.num_weights
    kept = num_shared - int(np.ceil(ratio * num_shared - 1e-9))
    before = copy.deepcopy(enrolment.network.module)
    personal, shared = learn(enrolment, 3, kept)
    models = federate(
        copy.deepcopy(enrolment.network.module),
        {"conv1.weight", "conv1.bias"},
        devices=3,
        rounds=3,
        batches_of=batches_of(enrolment, scenario),
        taus=taus,
        rates=RATES,
        kept=kept,
        simultaneous=update == "simultaneous",
    )
    assert_same(models, {"conv1.weight", "conv1.bias"}, personal, shared)
    # The test can fail: the weights have moved by much more than the tolerance.
    moved = shared - enrolment.network.shared.vector(before)
    assert moved.abs().max() > 1e-2


def test_the_papers_network_learns_as_plain_pytorch_does(paper_cell):
    scheme = {"split": "conv", "pruning": "none"}
    # With 25,088 maxima an image, rounding decides some; small steps keep that small.
    rates = {"personal": 0.02, "global": 0.01}
    scenario = scenario_of(
        paper_cell, scheme=scheme, model={"name": "cnn"}, learning={"learning_rate": rates}
    )
    enrolment = Enrolment(scenario, Streams(scenario.seed))
    ours = enrolment.network
    assert (ours.personal.num_weights, ours.shared.num_weights) == (52_096, 402_826)
    plain = PlainCnn()
    plain.load_state_dict(ours.module.state_dict())
    names = {name for name, _ in plain.named_parameters() if name.startswith("conv")}
    personal, shared = learn(enrolment, 2, ours.shared.num_weights)
    models = federate(
        plain,
        names,
        devices=3,
        rounds=2,
        batches_of=batches_of(enrolment, scenario),
        taus=TAUS,
        rates=tuple(rates.values()),
        kept=402_826,
    )
    assert_same(models, names, personal, shared)


def test_split_none_and_ratio_0_is_textbook_fedavg(paper_cell):
    scenario = scenario_of(paper_cell, scheme="fedavg", learning={"weighting": "samples"})
    enrolment = Enrolment(scenario, Streams(scenario.seed))
    draw = batches_of(enrolment, scenario)
    personal, shared = learn(enrolment, 3, enrolment.network.shared.num_weights)
    assert personal.shape == (3, 0)
    # McMahan et al. 2017: each client takes its steps from the global model; the server takes
    # the mean, weighted by samples.
    model = copy.deepcopy(enrolment.network.module)
    samples = [len(held) for held in enrolment._partition.train]
    for round_ in range(3):
        states = []
        for device in range(3):
            client = copy.deepcopy(model)
            optimizer = torch.optim.SGD(client.parameters(), lr=RATES[1])
            for images, labels in draw(round_, device)[TAUS[0] : TAUS[0] + TAUS[1]]:
                optimizer.zero_grad()
                torch.nn.functional.cross_entropy(client(images), labels).backward()
                optimizer.step()
            states.append(client.state_dict())
        mean = {
            key: sum(n * state[key] for n, state in zip(samples, states, strict=True))
            / sum(samples)
            for key in states[0]
        }
        model.load_state_dict(mean)
    torch.testing.assert_close(
        shared, torch.cat([p.detach().flatten() for p in model.parameters()]), atol=1e-6, rtol=0
    )


def test_a_warm_up_that_ranks_nothing_changes_no_bit(paper_cell):
    parts = []
    for pruning in ("none", {"fixed": 0.0}):
        scenario = scenario_of(paper_cell, scheme={"split": "conv", "pruning": pruning})
        enrolment = Enrolment(scenario, Streams(scenario.seed))
        parts.append(learn(enrolment, 2, enrolment.network.shared.num_weights))
    assert torch.equal(parts[0][0], parts[1][0])
    assert torch.equal(parts[0][1], parts[1][1])


def test_a_parameter_is_where_its_part_says():
    module = TinyCnn()
    network = split_network(module, ["conv*", "fc2.bias"])
    assert network.personal.names == ("conv1.weight", "conv1.bias", "fc2.bias")
    vector = network.shared.vector(module)
    for name, value in network.shared.parameters(vector).items():
        assert torch.equal(value, module.get_parameter(name))
    images = torch.rand(4, 1, 28, 28)
    scores = network.scores(network.personal.vector(module), vector, images)
    torch.testing.assert_close(scores, module(images))
