"""Learning beside the clock: what arrives counts, what is cut does not."""

import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import torch

import fl
import fl.data
from fl.enrolment import Enrolment
from fl.models.split import ModelError
from fl.own_code import OwnCodeError
from fl.phases import BACKHAUL, GLOBAL, PERSONAL, UPLOAD, WAIT, WARMUP
from fl.results import Run
from fl.scenario import ScenarioError, load_scenario
from fl.training.engine import EngineChoice
from fl.training.errors import DivergedError
from netsim.errors import InputError
from netsim.streams import Streams


@pytest.fixture
def cell(paper_cell):
    """Four devices that learn the synthetic set with a tiny network."""
    return paper_cell | {
        "rounds": 3,
        "scheme": {"split": "conv", "pruning": {"fixed": 0.5}, "bandwidth": "equal"},
        "devices": paper_cell["devices"] | {"count": 4},
        "model": {"name": "tiny_models:TinyCnn"},
        "learning": {
            "dataset": "synthetic",
            "partition": {"by": "iid"},
            "batch_size": 16,
            "learning_rate": {"personal": 0.1, "global": 0.1},
            "evaluate_every": 2,
        },
    }


def one_round(cell, reached, **changes):
    """Return the personal and global parts before and after one round."""
    scenario = load_scenario(cell, overrides=changes)
    with Enrolment(scenario, Streams(1)).learning(EngineChoice()) as learning:
        before = learning.cohort.personal.clone(), learning.cohort.shared.clone()
        learning.begin(0, [400] * 4)
        learnt = learning.aggregate(reached)
        return before, (learning.cohort.personal, learning.cohort.shared), learnt


@pytest.mark.parametrize(
    ("update", "keeps"),
    [
        ("alternate", [False, True, True, True, True, True]),
        ("simultaneous", [False, False, False, True, True, True]),
    ],
)
def test_a_device_that_was_cut_keeps_its_personal_part_if_it_was_through_with_it(
    cell, update, keeps
):
    phases = [PERSONAL, WARMUP, GLOBAL, UPLOAD, BACKHAUL, WAIT]
    for phase, kept in zip(phases, keeps, strict=True):
        before, after, learnt = one_round(
            cell, [WAIT, phase, WAIT, WAIT], scheme={"update": update}
        )
        changed = (before[0] != after[0]).any(dim=1).tolist()
        assert changed == [True, kept, True, True]
        assert np.isnan(learnt.train_loss).tolist() == [False, phase < UPLOAD, False, False]


def test_only_what_arrives_is_averaged(cell):
    _, whole, _ = one_round(cell, [WAIT] * 4)
    _, cut, _ = one_round(cell, [WAIT, UPLOAD, WAIT, WAIT])
    before, nobody, _ = one_round(cell, [UPLOAD] * 4)
    assert not torch.equal(whole[1], cut[1])
    assert torch.equal(before[1], nobody[1])


def test_the_tables_hold_what_was_learnt(cell):
    run = fl.run(cell, allow_code=True)
    rounds, devices = run.rounds.to_pylist(), run.devices.to_pylist()
    assert [row["test_accuracy"] is None for row in rounds] == [True, False, False]
    table = run.partition.to_pylist()
    samples = np.zeros(4)
    for row in table:
        samples[row["device"]] += row["train_samples"]
    assert samples.sum() == 6000
    for row in rounds:
        own = [d for d in devices if d["round"] == row["round"]]
        weights = samples / samples.sum()
        assert row["train_loss"] == pytest.approx(weights @ [d["train_loss"] for d in own])
        if row["test_accuracy"] is not None:
            accuracy = [d["test_accuracy"] for d in own]
            assert row["test_accuracy"] == pytest.approx(np.mean(accuracy))
            assert row["test_accuracy_std"] == pytest.approx(np.std(accuracy))
            assert row["test_loss"] == pytest.approx(weights @ [d["test_loss"] for d in own])


def test_learning_takes_no_time_on_the_clock_and_its_weights_are_those_counted(cell):
    learnt = fl.run(cell, allow_code=True)
    network = Enrolment(load_scenario(cell), Streams(1)).network
    sizes = {
        "personal_weights": network.personal.num_weights,
        "global_weights": network.shared.num_weights,
    }
    latency_only = fl.run({k: v for k, v in cell.items() if k != "learning"} | {"model": sizes})
    assert learnt.events == latency_only.events
    assert latency_only.rounds["train_loss"].null_count == 3
    assert latency_only.partition is None


def test_simultaneous_takes_as_long_as_alternate_at_other_times(paper_cell):
    paper_cell |= {"scheme": {"split": "conv", "pruning": {"fixed": 0.3}}}
    one = fl.run(paper_cell)
    other = fl.run(paper_cell, scheme={"update": "simultaneous"})
    np.testing.assert_allclose(
        one.rounds["latency_s"].to_numpy(), other.rounds["latency_s"].to_numpy(), rtol=1e-12
    )
    assert set(other.devices["personal_s"].to_pylist()) == {0.0}
    both = one.devices["personal_s"].to_numpy() + one.devices["global_s"].to_numpy()
    np.testing.assert_allclose(both, other.devices["global_s"].to_numpy(), rtol=1e-12)


def test_a_network_is_counted_without_learning(paper_cell):
    named = fl.run(paper_cell | {"model": {"name": "cnn"}})
    assert named.events == fl.run(paper_cell).events
    small = fl.run(paper_cell | {"model": {"name": "cnn", "kernel_size": 3}})
    assert small.devices["personal_s"][0].as_py() == pytest.approx(20 * 18_816 / 3e9)


def test_patterns_say_what_is_personal(cell):
    split = {"personal": ["fc2.*", "conv1.bias"]}
    network = Enrolment(load_scenario(cell, overrides={"scheme": {"split": split}}), Streams(1))
    assert network.network.personal.names == ("conv1.bias", "fc2.weight", "fc2.bias")


@pytest.mark.parametrize("partition", [{"by": "shards", "shards_per_device": 2}, {"by": "iid"}])
def test_partition_and_optimizer_are_choices(cell, partition):
    for optimizer in ("momentum", "adam"):
        learning = {"partition": partition, "optimizer": optimizer}
        run = fl.run(cell, allow_code=True, rounds=1, learning=learning)
        assert run.rounds["test_accuracy"].null_count == 0


def test_samples_may_weigh(cell):
    learning = {"partition": {"by": "dirichlet", "alpha": 0.3}}
    equal = fl.run(cell, allow_code=True, learning=learning).rounds["train_loss"].to_pylist()
    weighed = fl.run(cell, allow_code=True, learning=learning | {"weighting": "samples"}).rounds[
        "train_loss"
    ]
    assert equal[0] == weighed[0].as_py()
    assert equal[1] != weighed[1].as_py()


@pytest.mark.parametrize(
    ("changes", "error", "message"),
    [
        ({"scheme": {"split": {"personal": ["konv*"]}}}, ModelError, "konv* matches no parameter"),
        ({"scheme": {"split": {"personal": ["*"]}}}, ModelError, "nothing is left to share"),
        ({"model": {"name": "mlp"}}, ModelError, "conv* matches no parameter of the model; it has"),
        ({"model": {"name": "tiny_models:Counting"}}, ModelError, "keeps state that is neither"),
        ({"model": {"name": "tiny_models:Broken"}}, ModelError, "must give 10 scores an image"),
        ({"model": {"name": "tiny_models:Tiny"}}, OwnCodeError, "no class Tiny in"),
        ({"model": {"name": "tiny_models:NOT_A_CLASS"}}, OwnCodeError, "no class NOT_A_CLASS"),
        ({"model": {"name": "tiny_models:NotAModule"}}, ModelError, "must be a torch.nn.Module"),
        ({"model": {"name": "no_such_module:Tiny"}}, OwnCodeError, "No module named"),
        ({"model": {"name": "tiny_models:Frozen"}}, ModelError, "do not require a gradient"),
        (
            {"model": {"name": "tiny_models:Idle"}, "scheme": {"split": {"personal": ["aux*"]}}},
            ModelError,
            "the personal part (aux.weight, aux.bias) has no effect",
        ),
        (
            {"model": {"name": "tiny_models:Moody"}},
            ModelError,
            "Moody: round 0, device 0: tiny_models.py:",
        ),
        ({"model": {"name": "sys:Nothing"}}, OwnCodeError, "no class Nothing in sys"),
        ({"learning": {"momentum": 0.5}}, ScenarioError, "belongs to optimizer: momentum, not sgd"),
        ({"learning": {"bound": 3}}, ScenarioError, "must be estimated, or a mapping of its"),
        ({"model": {"name": "mlp", "hidden": 3}}, ScenarioError, "must be a list"),
        (
            {"model": {"name": "tiny_models:TinyCnn", "options": {"depth": 3}}},
            ModelError,
            "cannot be made with {'depth': 3}",
        ),
        ({"model": {"name": "cnn", "kernel_size": 4}}, ScenarioError, "must be odd, got 4"),
        ({"model": {"name": "cnn", "hidden": [3]}}, ScenarioError, "belongs to the model mlp"),
        (
            {"model": {"name": "lstm"}},
            ScenarioError,
            "must be cnn, mlp, or a class as module:Class",
        ),
        ({"learning": {"dataset": "cifar"}}, ScenarioError, "must be 'mnist', 'fashion-mnist'"),
        ({"learning": {"test_samples": 0.5}}, ScenarioError, "must be a whole number >= 1, or all"),
        (
            {"learning": {"partition": {"by": "label"}}},
            ScenarioError,
            "is missing; by: label needs",
        ),
        (
            {"learning": {"partition": {"by": "iid", "alpha": 1.0}}},
            ScenarioError,
            "belongs to by: dirichlet, not to by: iid",
        ),
        (
            {"learning": {"partition": {"by": "label", "labels_per_device": 11}}},
            fl.data.DatasetError,
            "labels_per_device must be <= 10",
        ),
        ({"iterations": {"warmup": 0}}, ScenarioError, "it ranks the weights to be pruned"),
        ({"learning": {"importance": "exact"}}, ScenarioError, "ranks the weights without it"),
        (
            {"scheme": {"update": "simultaneous"}, "iterations": {"personal": 2}},
            ScenarioError,
            "must be as many personal as global ones",
        ),
        (
            {"model": {"personal_weights": 5, "global_weights": 5}},
            ScenarioError,
            "must be a network to be trained",
        ),
    ],
)
def test_what_does_not_fit_is_refused(cell, changes, error, message):
    with pytest.raises(error) as raised:
        fl.run(cell, allow_code=True, **changes)
    assert message in str(raised.value)


def test_a_data_set_that_was_not_fetched_says_how_to(cell, monkeypatch, tmp_path):
    monkeypatch.setenv("STRAGGLER_DATA", str(tmp_path))
    with pytest.raises(fl.data.DatasetError, match="straggler data fetch mnist"):
        fl.run(cell, allow_code=True, learning={"dataset": "mnist"})


def test_training_that_diverges_names_round_and_device_and_keeps_the_directory(cell, tmp_path):
    rates = {"learning_rate": {"personal": 1e5, "global": 1e5}}
    model = {"name": "tiny_models:Explosive"}
    with pytest.raises(DivergedError, match=r"round \d+, device \d+: the training loss is"):
        fl.run(cell, allow_code=True, rounds=50, model=model, learning=rates, out=tmp_path / "out")
    manifest = json.loads((tmp_path / "out" / "manifest.json").read_text())
    assert manifest["status"] == "failed"
    assert manifest["training_seconds"] > 0
    assert "learning.learning_rate" in manifest["reason"]
    Run.open(tmp_path / "out")


def test_the_bound_of_theorem_1_stands_beside_the_run(cell, tmp_path):
    constants = {
        "global_smoothness": 2.0,
        "personal_smoothness": 3.0,
        "global_gradient": 5.0,
        "global_noise": 0.5,
        "personal_noise": 0.25,
        "weight_norm": 4.0,
        "initial_gap": 2.3,
    }
    cell["scheme"]["pruning"] = {"fixed": 0.05}
    bounds = {}
    for name, bound in (("given", constants), ("estimated", "estimated")):
        fl.run(cell, allow_code=True, learning={"bound": bound}, out=tmp_path / name)
        bounds[name] = json.loads((tmp_path / name / "manifest.json").read_text())["bound"]
    given = bounds["given"]
    assert {key: given[key] for key in constants} == constants
    run = Run.open(tmp_path / "given")
    assert given["keepers"] == min(run.rounds["fewest_keepers"].to_pylist()) > 0
    ratios = run.devices["pruning_ratio"].to_numpy().sum()
    assert given["pruning"] == pytest.approx(given["a2"] * ratios)
    assert given["initial"] == pytest.approx(2.3 / 3)
    total = given["initial"] + given["a1"] + given["pruning"]
    assert given["total"] == pytest.approx(total)
    assert bounds["estimated"]["initial_gap"] == pytest.approx(np.log(10), rel=0.05)
    with pytest.raises(ScenarioError, match="holds for update: alternate with optimizer: sgd"):
        fl.run(cell, allow_code=True, learning={"bound": "estimated", "optimizer": "adam"})


def test_a_model_that_cannot_be_pickled_learns_inline_only(cell):
    cell["model"] = {"name": "tiny_models:Private"}
    with pytest.raises(InputError, match="cannot be handed to other processes"):
        fl.run(cell, allow_code=True, engine="processes", workers=1)
    assert fl.run(cell, allow_code=True, rounds=1).rounds.num_rows == 1


def test_dropout_is_off_in_a_test(cell):
    scenario = load_scenario(cell, overrides={"model": {"name": "tiny_models:Forgetful"}})
    with Enrolment(scenario, Streams(1)).learning(EngineChoice()) as learning:
        cohort = learning.cohort
        result = cohort.evaluate(0).result
        images = cohort.test.batch(cohort.held_test[0])
        module = cohort.network.module.eval()
        right = module(images.images).argmax(dim=1) == images.labels
        assert result.accuracy == right.double().mean()


def test_weights_that_leave_the_numbers_after_the_last_step_are_noticed(cell):
    with Enrolment(load_scenario(cell), Streams(1)).learning(EngineChoice()) as learning:
        learning.begin(0, [400] * 4)
        timed = list(learning._updates)
        timed[2].result.shared[5] = float("inf")
        learning._updates = iter(timed)
        with pytest.raises(DivergedError, match="round 0, device 2: weights have left"):
            learning.aggregate([WAIT] * 4)


def test_devices_learn(cell):
    """From a tenth by chance to most of them right, on labels that are their own."""
    cell["learning"]["partition"] = {"by": "label", "labels_per_device": 3}
    cell["scheme"]["pruning"] = {"fixed": 0.2}
    iterations = {"personal": 3, "global": 6}
    run = fl.run(
        cell, allow_code=True, rounds=60, iterations=iterations, learning={"evaluate_every": 20}
    )
    accuracy = run.rounds["test_accuracy"].drop_null().to_pylist()
    assert accuracy[-1] > 0.9
    loss = run.rounds["train_loss"].to_numpy()
    assert loss[-5:].mean() < 0.3 * loss[0]


def test_devices_learn_real_images(fetched):
    fetched("fashion-mnist")
    small = {"model": {"name": "cnn", "kernel_size": 3}, "learning": {"batch_size": 64}}
    run = fl.run("scenarios/fashion-mnist.yaml", rounds=10, **small)
    assert run.rounds["test_accuracy"].to_pylist()[-1] > 0.8


def test_every_default_is_written_into_the_resolved_scenario(cell):
    written = load_scenario(cell, overrides={"model": {"name": "cnn"}}).written()
    assert written["model"]["kernel_size"] == 5
    written = load_scenario(
        cell, overrides={"learning": {"partition": {"by": "dirichlet", "alpha": 1.0}}}
    ).written()
    assert written["learning"]["partition"]["min_samples"] == 10


def test_an_option_may_be_null(cell):
    options = {"channels": 3, "hidden": None}
    model = load_scenario(
        cell, overrides={"model": {"name": "tiny_models:TinyCnn", "options": options}}
    ).model
    assert model.options == options


def test_a_weight_that_nobody_keeps_leaves_no_bound(cell, tmp_path):
    cell["scheme"]["pruning"] = {"fixed": 0.99}
    fl.run(cell, allow_code=True, learning={"bound": "estimated"}, out=tmp_path / "out")
    bound = Run.open(tmp_path / "out").facts["bound"]
    assert (bound["keepers"], bound["total"]) == (0, None)
    assert fl.run(cell, allow_code=True, learning={"bound": "estimated"}).facts["bound"] == bound


def straggler(*arguments):
    environment = os.environ | {"PYTHONPATH": str(Path("tests").resolve())}
    command = [sys.executable, "-m", "fl", *map(str, arguments)]
    return subprocess.run(command, check=False, capture_output=True, text=True, env=environment)


def test_the_command_trains_tests_and_logs(cell, tmp_path):
    event_accumulator = pytest.importorskip(
        "tensorboard.backend.event_processing.event_accumulator"
    )
    scenario = tmp_path / "learn.yaml"
    scenario.write_text(json.dumps(cell | {"name": "learn"}))
    out, log = tmp_path / "out", tmp_path / "log"
    settings = ("--set", "learning.batch_size=2000", "--workers", "1", "--tensorboard", log)
    done = straggler("run", scenario, "--out", out, *settings, "--allow-code")
    assert done.returncode == 0, done.stderr
    run = Run.open(out)
    last = run.rounds.to_pylist()[-1]
    assert f"{last['test_accuracy']:.1%}, over devices" in done.stdout
    assert "1 worker trained for" in done.stdout
    assert "4 of 4 devices have fewer samples than learning.batch_size" in done.stdout
    manifest = json.loads((out / "manifest.json").read_text())
    assert (manifest["engine"], manifest["workers"]) == ("processes", 1)
    assert set(manifest["sha256"]) == {"synthetic"}
    events = event_accumulator.EventAccumulator(str(log)).Reload()
    accuracy = events.Scalars("learning/test_accuracy")
    assert [(event.step, event.wall_time) for event in accuracy] == [
        (row["round"], row["end_s"]) for row in run.rounds.to_pylist()[1:]
    ]
    assert accuracy[-1].value == pytest.approx(last["test_accuracy"])
    assert len(events.Scalars("round/latency_s")) == 3
    shown = straggler("data", "partition", scenario, "--allow-code")
    assert (shown.returncode, "1500" in shown.stdout) == (0, True)


def test_the_partition_of_a_run_that_learns_nothing_is_refused():
    done = straggler("data", "partition", "scenarios/quickstart.yaml")
    assert done.returncode == 2
    assert "learning: is missing" in done.stderr
