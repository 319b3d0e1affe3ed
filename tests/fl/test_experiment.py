import gc

import pytest

from fl.experiment import Experiment
from fl.results import InMemory
from fl.scenario import load_scenario


def garbage_of(rounds, late, release):
    settings = [f"rounds={rounds}", f"late={late}", f"uplink.release={release}"]
    experiment = Experiment(load_scenario("scenarios/quickstart.yaml", settings))
    gc.collect()
    experiment.run(InMemory())
    return gc.collect()


@pytest.mark.parametrize("late", ["wait", "drop"])
@pytest.mark.parametrize("release", ["hold", "redistribute"])
def test_rounds_leave_no_cycles_for_the_collector_that_is_off_meanwhile(late, release):
    few, many = garbage_of(10, late, release), garbage_of(200, late, release)
    assert many - few < 100  # of the two thousand device-rounds, none


def test_the_collector_is_as_it_was(paper_cell):
    experiment = Experiment(load_scenario(paper_cell))
    experiment.run(InMemory())
    assert gc.isenabled()
    gc.disable()
    try:
        experiment.run(InMemory())
        assert not gc.isenabled()
    finally:
        gc.enable()


def test_an_experiment_runs_as_often_as_it_is_asked_to(paper_cell):
    experiment = Experiment(load_scenario(paper_cell))
    runs = [InMemory(), InMemory()]
    for tables in runs:
        experiment.run(tables)
    assert runs[0].run().events == runs[1].run().events


def test_progress_is_told_round_by_round(paper_cell):
    told = []
    Experiment(load_scenario(paper_cell, ["rounds=4"])).run(InMemory(), told.append)
    assert [outcome.round for outcome in told] == [0, 1, 2, 3]
