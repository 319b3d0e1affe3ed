"""The parts of the comparison with peers that need no peer."""

import json
import sys
from pathlib import Path

import numpy as np
import pytest
import torch
from torch.nn.functional import cross_entropy

PEERS = Path("benchmarks/peers").resolve()
sys.path.insert(0, str(PEERS))  # its scripts find each other so

import environments
import ours
import run as comparison
import torch_work
from frameworks import Framework
from order import Size, variant, write_latency, write_learning
from ratios import Measured, Pair, clock_row, learning_row, spread
from work import Laps, Work, read_work

SIZE = Size(rounds=2, devices=2, iterations=2, cores=1, batch_size=16)


def plain_fedavg(work: Work) -> np.ndarray:
    """FedAvg by the order and the arrays alone."""
    samples, server = torch_work.Samples(work), torch_work.network_of(work)
    for round_ in range(work.rounds):
        learnt = []
        for device in range(work.devices):
            network = torch_work.network_of(work)
            network.load_state_dict(server.state_dict())
            optimizer = torch.optim.SGD(network.parameters(), lr=work.learning_rate)
            for images, labels in samples.batches(round_, device):
                optimizer.zero_grad()
                cross_entropy(network(images), labels).backward()
                optimizer.step()
            learnt.append(torch_work.weights_of(network))
        mean = torch.from_numpy(np.mean(learnt, axis=0))
        torch.nn.utils.vector_to_parameters(mean, server.parameters())
    return torch_work.weights_of(server)


def test_the_order_says_all_that_our_run_does(tmp_path, monkeypatch, capsys):
    order = variant(write_learning(tmp_path, SIZE), engine="inline")
    work = read_work(str(order))
    monkeypatch.setattr(sys, "argv", ["ours.py", str(order)])
    ours.main()
    told = json.loads(capsys.readouterr().out)
    assert told["steps"] == 8
    assert len(told["round_s"]) == 2
    first, last = work.arrays["weights"], np.load(work.result)
    apart = np.linalg.norm(plain_fedavg(work) - last) / np.linalg.norm(last - first)
    assert 0 <= apart < 1e-4


def test_every_step_has_samples_of_its_own_device(tmp_path):
    chosen = read_work(str(write_learning(tmp_path, SIZE))).arrays["chosen"]
    assert chosen.shape == (2, 2, 2, 16)
    assert not set(chosen[:, 0].flat) & set(chosen[:, 1].flat)


def test_a_latency_order_holds_what_the_slowest_device_takes(tmp_path):
    arrays = read_work(str(write_latency(tmp_path, rounds=3, devices=4))).arrays
    assert arrays["upload_bits"].tolist() == [32 * (52_096 + 402_826)] * 4
    assert np.allclose(arrays["global_s"], 20 * (52_096 + 402_826) / 3e9)
    assert len(set(arrays["upload_s"])) == 4


def measured(*round_s, apart=0.0):
    return Measured(round_s, 9.0, 50, {"torch": "2.13.0+cpu"}, apart, 0.5)


def test_the_first_round_counts_only_if_it_is_alone():
    assert measured(9.0, 2.0, 3.0, 2.5).seconds == 2.5
    assert measured(9.0).seconds == 9.0


def test_a_ratio_is_taken_within_a_pair_and_shown_with_its_range():
    pairs = [Pair(measured(1.0), measured(2.0)), Pair(measured(4.0), measured(20.0, apart=2e-6))]
    assert [pair.ratio for pair in pairs] == [2.0, 5.0]
    assert spread([5.0, 2.0, 3.0]) == "3.00 (2.00 to 5.00)"
    row = [cell.strip() for cell in learning_row("peer", "both", pairs).split("|")[1:-1]]
    assert row == [
        *("peer", "torch 2.13.0", "both"),
        *("11.00", "3.50 (2.00 to 5.00)", "9", "50", "2e-06", "50.0%"),
    ]
    assert "| 1,000 | 5 | 3.50" in clock_row("peer", 1000, pairs)


def test_laps_are_what_lies_between_stamps(monkeypatch):
    times = iter([1.0, 1.5, 3.5])
    monkeypatch.setattr("work.time.perf_counter", lambda: next(times))
    laps = Laps()
    for _ in range(3):
        laps.stamp()
    assert laps.seconds == [0.5, 2.0]


def test_who_fails_is_left_out_with_its_reason_and_the_rest_goes_on(tmp_path, capsys):
    order = tmp_path / "order.json"
    result = str(tmp_path / "result.npy")
    order.write_text(json.dumps({"result": result}), encoding="utf-8")
    works, fails = tmp_path / "works.py", tmp_path / "fails.py"
    told = json.dumps({"round_s": [1.0], "steps": 1, "versions": {}})
    works.write_text(
        f"import numpy; numpy.save({result!r}, numpy.ones(3)); print({told!r})", encoding="utf-8"
    )
    fails.write_text("raise OSError('no such luck')", encoding="utf-8")
    one, bad, other = (
        Framework(name, str(script), "one")
        for name, script in (("one", works), ("bad", fails), ("other", works))
    )
    contest = comparison.Contest(order, tmp_path, 1)
    pairs = contest.in_turns(one, [bad, other], comparison.clock_judge(), turns=2)
    assert capsys.readouterr().out == "left out: bad does not run: OSError: no such luck\n"
    assert {framework.name: len(some) for framework, some in pairs.items()} == {
        "one": 2,
        "other": 2,
    }


def test_what_does_not_install_says_so_and_is_tried_again(tmp_path, monkeypatch):
    def create(place, **_options):  # a real one takes seconds, to no end
        (place / "bin").mkdir(parents=True)
        (place / "bin" / "python").symlink_to(sys.executable)

    monkeypatch.setattr("environments.venv.create", create)
    nowhere = str(tmp_path / "nothing.whl")
    with pytest.raises(environments.LeftOutError, match=r"does not install: .*nothing\.whl"):
        environments.environment(tmp_path, "peer", (nowhere,))
    assert not (tmp_path / "peer" / "requirements.sha256").exists()
