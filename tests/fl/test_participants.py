"""Learning where some of the devices take part in a round, and others do not."""

import tracemalloc

import numpy as np
import pytest
import torch

import fl
from fl.enrolment import Enrolment
from fl.experiment import Experiment
from fl.phases import UPLOAD, WAIT
from fl.results import InMemory
from fl.scenario import ScenarioError, load_scenario
from fl.summary import summarise
from fl.training.engine import EngineChoice
from netsim.streams import Streams


@pytest.fixture
def cell(paper_cell):
    """Six devices that learn the synthetic set with a tiny network, two in each round."""
    return paper_cell | {
        "rounds": 4,
        "participants": 2,
        "scheme": {"split": "conv", "pruning": {"fixed": 0.5}, "bandwidth": "equal"},
        "devices": paper_cell["devices"] | {"count": 6},
        "model": {"name": "tiny_models:TinyCnn"},
        "learning": {
            "dataset": "synthetic",
            "partition": {"by": "iid"},
            "batch_size": 16,
            "learning_rate": {"personal": 0.1, "global": 0.1},
            "evaluate_every": 1,
        },
    }


def test_who_does_not_take_part_keeps_its_personal_part_bit_for_bit(cell):
    with Enrolment(load_scenario(cell), Streams(1)).learning(EngineChoice()) as learning:
        before = learning.cohort.personal.clone()
        learning.begin(0, [400, 400], [1, 4])
        learnt = learning.aggregate([WAIT, WAIT])
        changed = (learning.cohort.personal != before).any(dim=1)
        assert changed.tolist() == [False, True, False, False, True, False]
        assert np.isfinite(learnt.train_loss).tolist() == changed.tolist()
        assert np.isfinite(learnt.test_accuracy).all()  # all are tested


def test_those_who_take_part_train_as_they_would_among_all(cell):
    """What a device learns depends on itself and the round, not on who else takes part."""

    def shared(devices, reached):
        with Enrolment(load_scenario(cell), Streams(1)).learning(EngineChoice()) as learning:
            learning.begin(3, [400] * len(devices), devices)
            learning.aggregate(reached)
            return learning.cohort.personal.clone(), learning.cohort.shared.clone()

    some = shared([1, 4], [WAIT, WAIT])
    among_all = shared(range(6), [WAIT if k in (1, 4) else UPLOAD for k in range(6)])
    torch.testing.assert_close(some[1], among_all[1], rtol=0, atol=0)  # the others have no vote
    torch.testing.assert_close(some[0][[1, 4]], among_all[0][[1, 4]], rtol=0, atol=0)


def test_all_engines_learn_the_same_of_those_who_take_part(cell):
    one, other = (
        fl.run(cell, allow_code=True, engine=engine) for engine in ("inline", "processes")
    )
    assert one.devices.equals(other.devices)
    assert one.rounds.equals(other.rounds)


def test_losses_of_a_round_are_those_of_its_participants_and_tests_those_of_all(cell):
    run = fl.run(cell, allow_code=True)
    rows = run.devices.to_pylist()
    assert len(rows) == 8
    samples = {
        device: sum(
            row["train_samples"] for row in run.partition.to_pylist() if row["device"] == device
        )
        for device in range(6)
    }
    for round_ in run.rounds.to_pylist():
        mine = [row for row in rows if row["round"] == round_["round"]]
        losses = [row["train_loss"] for row in mine]
        weights = [samples[row["device"]] for row in mine]
        assert round_["train_loss"] == pytest.approx(np.average(losses, weights=weights))
    # Over two devices of six the spread would be another one.
    last = [row["test_accuracy"] for row in rows[-2:]]
    assert run.rounds["test_accuracy_std"][3].as_py() != pytest.approx(np.std(last))


def test_all_of_them_learn_as_all_do(cell):
    one, other = (fl.run(cell, allow_code=True, participants=number) for number in (6, "all"))
    assert one.rounds.equals(other.rounds)
    assert one.devices.equals(other.devices)


def test_the_bound_of_theorem_1_needs_everybody(cell):
    with pytest.raises(ScenarioError, match="bound: holds where all devices take part"):
        fl.run(cell, allow_code=True, learning={"bound": "estimated"})


def test_the_summary_finds_stragglers_by_their_number(paper_cell):
    paper_cell["devices"] |= {"count": 30, "cpu_frequency": {"uniform": ["1 MHz", "3 GHz"]}}
    run = fl.run(paper_cell, rounds=25, participants=4)
    summary = summarise(run.rounds, run.devices)
    assert (summary.num_rounds, summary.num_devices) == (25, 4)
    counts = {one.device: one.rounds for one in summary.stragglers}
    last = run.rounds["straggler"].to_pylist()
    assert counts == {device: last.count(device) for device in set(last)}
    rows = {(row["round"], row["device"]): row for row in run.devices.to_pylist()}
    for number, device in enumerate(last):
        assert rows[number, device]["wait_s"] == 0


def test_memory_goes_with_those_who_take_part():
    scenario = load_scenario(
        "scenarios/million-devices.yaml",
        overrides={"rounds": 3, "devices": {"count": 200_000}, "participants": 100},
    )
    experiment = Experiment(scenario)
    tracemalloc.start()
    try:
        experiment.run(InMemory())
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak < 10e6  # a process for each of 200,000 would take 400 MB
