import numpy as np
import pyarrow as pa
import pytest

import fl
from fl.manifest import RunDirectoryError
from fl.report.comparison import arms_of, find_runs, labels_of, scheme_name
from fl.report.comparison_page import common_accuracy, unbeaten
from fl.scenario import load_scenario


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Two schemes with three seeds, and one with one."""
    made = tmp_path_factory.mktemp("runs")
    for scheme in ("equal-resource", "personalization"):
        for seed in (1, 2, 3):
            out = made / scheme / str(seed)
            fl.run("scenarios/quickstart.yaml", rounds=5, scheme=scheme, seed=seed, out=out)
    fl.run("scenarios/drop-late.yaml", rounds=5, out=made / "late")
    return made


def test_runs_are_found_at_any_depth_and_once(folder):
    assert len(find_runs([folder])) == 7
    assert len(find_runs([folder, folder / "late"])) == 7
    assert len(find_runs([folder / "late"])) == 1


def test_a_folder_without_runs_is_named(tmp_path):
    with pytest.raises(RunDirectoryError, match="holds no run, nor does any folder below it"):
        find_runs([tmp_path])


def test_what_differs_in_the_seed_only_is_one_arm(folder):
    arms = {arm.label: arm for arm in arms_of(find_runs([folder]))}
    assert set(arms) == {
        "drop-late",
        "quickstart, scheme equal-resource",
        "quickstart, scheme personalization",
    }
    arm = arms["quickstart, scheme personalization"]
    assert [run.scenario.seed for run in arm.runs] == [1, 2, 3]
    means = [
        1e3 * np.mean(fl.Run.open(run.folder).rounds["latency_s"].to_pylist()) for run in arm.runs
    ]
    assert arm.latency_ms.mean == pytest.approx(np.mean(means))
    # Student's t with two degrees of freedom.
    assert arm.latency_ms.half_width == pytest.approx(4.302653 * np.std(means, ddof=1) / 3**0.5)
    assert arm.missed.mean == 1.0
    assert arms["drop-late"].latency_ms.half_width == float("inf")
    assert not arm.has_learnt


def test_labels_say_no_more_than_they_must():
    said = load_scenario("scenarios/quickstart.yaml").written()
    later = said | {"deadline": "50 ms", "late": "drop"}
    named = said | {"name": "other"}
    assert labels_of([said, named]) == ["quickstart", "other"]
    assert labels_of([said, later])[0] in ("quickstart, deadline 40 ms", "quickstart, late wait")
    assert len(set(labels_of([said, later, later | {"rounds": 3}]))) == 3


def test_a_scheme_of_ones_own_is_called_by_what_it_says():
    base, own = "scenarios/quickstart.yaml", {"scheme": {"update": "simultaneous"}}
    scheme = load_scenario(base, overrides=own).written()["scheme"]
    assert scheme_name(scheme) == "update simultaneous + pruning deadline"


def test_on_the_front_nobody_is_beaten_in_both():
    assert unbeaten([25, 38, 55, 25], [0.9, 0.92, 0.91, 0.95]) == [False, False, False, True]
    assert unbeaten([25, 25], [0.9, 0.9]) == [True, True]  # nobody beats an equal


class MadeUp:
    def __init__(self, accuracies):
        self.runs = [_Run(values) for values in accuracies]


class _Run:
    def __init__(self, values):
        table = {"end_s": range(len(values)), "test_accuracy": values, "test_loss": values}
        self.rounds = pa.table(table)


def test_the_target_is_one_that_everybody_reached():
    arms = [MadeUp([[0.5, 0.912], [0.95, 0.9]]), MadeUp([[0.1, 0.987]])]
    assert common_accuracy(arms) == pytest.approx(0.91)
