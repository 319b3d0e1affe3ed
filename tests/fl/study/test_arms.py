"""From a study file to arms: all combinations, and every mistake told before anything is run."""

import time
from itertools import product

import numpy as np
import pytest

from fl.scenario import ScenarioError
from fl.study.arms import load_plan
from fl.study.labels import names_of


def test_a_grid_is_every_combination_in_order(written):
    grid = {"deadline": ["20 ms", "30 ms"], "devices.count": [2, 3, 4]}
    plan = load_plan(written(vary={"grid": grid}))
    assert [tuple(arm.values.values()) for arm in plan.arms] == list(product(*grid.values()))
    for arm in plan.arms:
        assert arm.scenario.deadline.text == arm.values["deadline"]
        assert arm.scenario.devices.count == arm.values["devices.count"]
    assert plan.arms[0].si("deadline") == 0.02
    assert plan.arms[0].label == "deadline 20 ms, count 2"


def test_lists_go_side_by_side_and_with_a_grid(written):
    vary = {
        "grid": {"devices.count": [2, 3]},
        "zip": {"uplink.noise_power": ["-110 dBm", None], "uplink.noise_density": [None, "-174 dBm/Hz"]},
    }  # fmt: skip
    plan = load_plan(written(vary=vary))
    assert len(plan.arms) == 4
    assert [arm.scenario.uplink.noise_power is None for arm in plan.arms] == [False, True] * 2
    assert [arm.scenario.uplink.noise_density is None for arm in plan.arms] == [True, False] * 2


def test_what_is_set_holds_in_every_arm_and_the_command_line_is_last(written):
    path = written(set={"rounds": 7, "devices.cpu_frequency": "1 GHz"})
    assert {arm.scenario.rounds for arm in load_plan(path).arms} == {7}
    assert {arm.scenario.rounds for arm in load_plan(path, ["rounds=9"]).arms} == {9}


def test_a_trace_is_found_from_the_study_file(written, moving_trace):
    vary = {"grid": {"uplink.channel": [{"trace": moving_trace.name, "at_end": "repeat"}]}}
    (arm,) = load_plan(written(vary=vary)).arms
    assert arm.scenario.uplink.channel.trace.resolve() == moving_trace.resolve()


def test_arms_share_their_seeds_unless_told_otherwise(written):
    shared = load_plan(written(seeds=[4, 9]))
    assert [list(arm.seeds) for arm in shared.arms] == [[4, 9], [4, 9]]
    apart = load_plan(written(seeds=[4, 9], common_random_numbers=False))
    seeds = [seed for arm in apart.arms for seed in arm.seeds]
    assert len(set(seeds)) == 4


def test_an_arm_is_compared_with_the_one_that_differs_in_the_baseline_only(written):
    grid = {"deadline": ["20 ms", "30 ms"], "devices.count": [2, 3]}
    plan = load_plan(written(vary={"grid": grid}, baseline={"devices.count": 3}))
    by_name = {arm.name: arm for arm in plan.arms}
    for arm in plan.arms:
        other = by_name[arm.baseline]
        assert other.values == {**arm.values, "devices.count": 3}
    first = load_plan(written(vary={"grid": grid}))
    assert {by_name[arm.baseline].values["deadline"] for arm in first.arms} == {"20 ms"}


def test_a_latin_hypercube_divides_every_range_evenly(written):
    keys = {
        "deadline": {"uniform": ["10 ms", "50 ms"]},
        "uplink.bandwidth": {"log_uniform": ["1 MHz", "100 MHz"]},
        "devices.count": {"uniform": [1, 40]},
    }
    plan = load_plan(written(vary={"sample": {"count": 40, "keys": keys}}))
    deadlines = np.array([arm.si("deadline") for arm in plan.arms])
    assert sorted(np.floor((deadlines - 0.01) / 0.001)) == list(range(40))
    decades = np.log10([arm.si("uplink.bandwidth") for arm in plan.arms])
    assert sorted(np.floor((decades - 6) / 2 * 40)) == list(range(40))
    assert sorted(arm.scenario.devices.count for arm in plan.arms) == list(range(1, 41))
    again = load_plan(written(vary={"sample": {"count": 40, "keys": keys}}))
    assert [arm.values for arm in again.arms] == [arm.values for arm in plan.arms]


def test_random_samples_and_choices(written):
    keys = {"scheme": {"choice": ["personalization", "fedavg"]}, "deadline": {"uniform": ["10 ms", "50 ms"]}}  # fmt: skip
    sample = {"count": 200, "by": "random", "keys": keys}
    plan = load_plan(written(vary={"sample": sample}))
    chosen = [arm.values["scheme"] for arm in plan.arms]
    assert 70 < chosen.count("fedavg") < 130
    other = load_plan(written(vary={"sample": {**sample, "seed": 2}}))
    assert [arm.values for arm in other.arms] != [arm.values for arm in plan.arms]


def test_names_may_stand_in_a_path_and_no_two_are_the_same():
    values = [{"a": "x/y"}, {"a": "x y"}, {"a": "X-Y"}, {"a": "../.."}, {"a": "z" * 300}, {"a": "=,:"}]  # fmt: skip
    names = names_of(values)
    assert len({name.lower() for name in names}) == len(values)
    for name in names:
        assert 0 < len(name) <= 106
        assert not set(name) & set("/=,: ")
        assert not name.startswith(".")


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"vary": {"grid": {"deadlin": ["20 ms"]}}}, r"study.yaml:\d+: deadlin: unknown key; did you mean deadline\?"),
        ({"vary": {"grid": {"uplink.bandwith": ["1 MHz"]}}}, r"uplink.bandwith: unknown key; did you mean bandwidth\?"),
        ({"vary": {"grid": {"deadline": ["20 mm"]}}}, r"study.yaml:\d+: deadline: .*got '?20 mm"),
        ({"vary": {"grid": {"deadline": []}}}, r"vary.grid.deadline: .*must not be an empty list"),
        ({"vary": {"grid": {}}}, "vary: is empty; say grid, zip or sample"),
        ({"vary": {}}, "vary: is empty"),
        ({"vary": {"grid": {"deadline": ["20 ms", "20 ms"]}}}, "two arms are the same run: deadline 20 ms; and deadline 20 ms"),
        ({"vary": {"grid": {"deadline": ["20 ms", "0.02 s"]}, "zip": {"deadline": ["1 s"]}}}, "vary: deadline: stands there twice"),
        ({"vary": {"zip": {"deadline": ["20 ms"], "rounds": [1, 2]}}}, "lists must be of the same length: deadline has 1, rounds has 2"),
        ({"vary": {"grid": {"seed": [1, 2]}}}, "seed: say seeds"),
        ({"vary": {"grid": {"extends": ["a"]}}}, "extends: must be a key of a scenario"),
        ({"vary": {"grid": {"a..b": [1]}}}, "a..b: must be a key of a scenario"),
        ({"vary": {"sample": {"count": 2, "keys": {"deadline": {"uniform": ["1 ms", "2 s"]}}}}}, "keys.deadline: both ends must have the same unit"),
        ({"vary": {"sample": {"count": 2, "keys": {"deadline": {"uniform": ["3 ms", "2 ms"]}}}}}, r"must be \[low, high\]"),
        ({"vary": {"sample": {"count": 2, "keys": {"deadline": {"log_uniform": ["0 ms", "2 ms"]}}}}}, "must be above 0"),
        ({"vary": {"sample": {"count": 2, "keys": {"deadline": {"uniform": ["soon", "2 ms"]}}}}}, "must be a number or a quantity"),
        ({"vary": {"sample": {"count": 2, "keys": {"deadline": {"normal": [1, 2]}}}}}, r"must be \{uniform: \[low, high\]\}"),
        ({"vary": {"sample": {"count": 2, "by": "sobol", "keys": {"rounds": {"choice": [1]}}}}}, "latin-hypercube"),
        ({"vary": {"gird": {"deadline": ["20 ms"]}}}, r"vary.gird: unknown key; did you mean grid\?"),
        ({"base": "nowhere.yaml"}, "base: there is no file .*nowhere.yaml"),
        ({"baseline": {"deadline": "1 s"}}, "baseline.deadline: is not varied; varied are scheme"),
        ({"baseline": {"scheme": "fedavg"}}, "baseline.scheme: no arm has 'fedavg'"),
        ({"metrics": ["latency"]}, "metrics.0: must be one of latency_mean_s"),
        ({"metrics": [{"time_to_accuracy": 2}]}, "time_to_accuracy: .*1"),
        ({"metrics": []}, "metrics"),
        ({"seeds": 0}, "seeds: must be >= 1"),
        ({"seeds": [1, 1]}, "seeds: must be different from each other"),
        ({"seeds": []}, "seeds"),
        ({"seeds": "many"}, "seeds: must be a whole number"),
        ({"set": {"uplink.colour": "red"}}, "uplink.colour: unknown key"),
        ({"seeds": 10**5, "vary": {"grid": {"rounds": list(range(1, 12))}}}, "makes 1100000 runs"),
        ({"nam": "x"}, r"nam: unknown key; did you mean name\?"),
    ],
)  # fmt: skip
def test_mistakes_are_told_with_their_place(written, changes, message):
    with pytest.raises(ScenarioError, match=message):
        load_plan(written(**changes))


HOSTILE = {
    "grid": ({"grid": {f"k{i}": list(range(10)) for i in range(15)}}, r"makes 3\d{15} runs"),
    "sample": (
        {"sample": {"count": 10**5, "keys": {f"k{i}": {"uniform": [0, 1]} for i in range(101)}}},
        "at most 100",
    ),
    "repeated": (
        {"grid": {"devices.cpu_frequency": [["1 GHz"] * 3000], "rounds": list(range(1, 10**4))}},
        r"makes 9999 scenarios of about 18\d\d\d values",
    ),
    "spaces": ({"sample": {"count": 2, "keys": {"deadline": {"uniform": ["1 ms", f"1{' ' * 10**5}\nx\nx"]}}}}, "must be a number or a quantity"),
    "infinite": ({"sample": {"count": 2, "keys": {"rounds": {"uniform": [1, 10**400]}}}}, "too wide a range"),
    "logarithmic": ({"sample": {"count": 2, "keys": {"deadline": {"log_uniform": ["1e-300 s", "1e300 s"]}}}}, "too wide a range"),
    "long value": ({"grid": {"deadline": ["x" * 10**6]}}, "deadline: must be a number"),
    "tag": ({"grid": {"<word>": [1]}}, "<word>: unknown key"),
}  # fmt: skip


@pytest.mark.parametrize("case", HOSTILE)
def test_what_would_never_be_planned_is_refused_at_once(written, case):
    vary, message = HOSTILE[case]
    began = time.process_time()
    with pytest.raises(ScenarioError, match=message) as raised:
        load_plan(written(vary=vary))
    assert len(str(raised.value)) < 10_000
    assert time.process_time() - began < 20


def test_a_base_of_an_impossible_name_is_not_there(written):
    with pytest.raises(ScenarioError, match="base: there is no file"):
        load_plan(written(base="x" * 300))


def test_thousands_of_arms_are_planned_in_seconds(written):
    rounds = list(range(1, 4001))
    began = time.process_time()
    plan = load_plan(written(vary={"zip": {"rounds": rounds, "csi_age": [f"{n} ns" for n in rounds]}}))  # fmt: skip
    assert len(plan.arms) == len(rounds)
    assert time.process_time() - began < 60  # it was a matter of their square


def test_a_relative_trace_is_found_from_the_study_file_in_every_arm(written, moving_trace, monkeypatch):  # fmt: skip
    path = written(
        vary={
            "grid": {
                "uplink.channel": [{"trace": moving_trace.name, "at_end": "repeat"}],
                "devices.count": [2, 3, 4],
            }
        }
    )
    monkeypatch.chdir(path.parent.parent)
    plan = load_plan(path.relative_to(path.parent.parent))
    found = {arm.scenario.uplink.channel.trace.resolve() for arm in plan.arms}
    assert found == {moving_trace.resolve()}
