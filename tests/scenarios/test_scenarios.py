"""Every scenario that is shipped loads, runs, and shows what it claims."""

import re
from pathlib import Path

import numpy as np
import pytest

import fl
from fl.scenario import load_scenario

SCENARIOS = sorted(
    set(Path("scenarios").rglob("*.yaml")) - set(Path("scenarios/studies").iterdir())
)


@pytest.mark.parametrize("path", SCENARIOS, ids=lambda path: path.stem)
def test_each_file_is_named_as_its_scenario_and_listed(path):
    assert load_scenario(path).name == path.stem
    listed = Path("scenarios/README.md").read_text(encoding="utf-8")
    assert f"`{path.relative_to('scenarios')}`" in listed


def test_quickstart_misses_deadlines_that_the_prediction_makes():
    run = fl.run("scenarios/quickstart.yaml")
    assert max(run.devices["predicted_latency_s"].to_numpy()) <= 0.04 * (1 + 1e-9)
    assert np.mean(run.devices["latency_s"].to_numpy() > 0.04) > 0.3


def test_drop_late_never_lasts_longer_than_the_deadline():
    run = fl.run("scenarios/drop-late.yaml")
    assert max(run.rounds["latency_s"].to_numpy()) <= 0.04
    assert 0 < np.mean(run.devices["arrived"].to_numpy()) < 1


def test_frozen_channel_emerges_as_predicted():
    run = fl.run("scenarios/frozen-channel.yaml")
    emerged, predicted = run.devices["latency_s"], run.devices["predicted_latency_s"]
    np.testing.assert_allclose(emerged.to_numpy(), predicted.to_numpy(), rtol=1e-9)


def test_stated_parameters_prune_nearly_all_and_overshoot_by_the_warmup():
    run = fl.run("scenarios/stated-parameters.yaml", rounds=2)
    whole_s = 20 * 402_826 / 3e9 + 402_826 * 32 / (2e6 * np.log2(1 + 10**3.8))
    ratio = 1 - (0.025 - 20 * 52_096 / 3e9) / whole_s
    assert run.devices["pruning_ratio"].to_numpy() == pytest.approx(ratio, abs=1 / 402_826)
    assert run.rounds["latency_s"].to_numpy() == pytest.approx(0.025 + 20 * 402_826 / 3e9, abs=2e-6)


@pytest.fixture(scope="module")
def schemes():
    """The mean round latency and pruning ratio of each scheme."""
    runs = {path.stem: fl.run(path) for path in Path("scenarios/schemes").glob("*.yaml")}
    return {
        name: (run.rounds["latency_s"].to_numpy().mean(), run.rounds["mean_pruning_ratio"][0:])
        for name, run in runs.items()
    }


def test_schemes_stand_in_the_order_of_what_they_send(schemes):
    latency_s = {name: values[0] for name, values in schemes.items()}
    order = ["equal-resource", "equal-resource-common", "personalization", "fedavg"]
    assert sorted(order, key=latency_s.get) == order


def test_the_proposed_scheme_prunes_least_in_every_round(schemes):
    proposed, equal = (schemes[name][1].to_numpy() for name in ("proposed", "equal-resource"))
    # Both begin their rounds at other times, on other fades, but for the first.
    assert proposed[0] <= equal[0]
    assert proposed.mean() < equal.mean()


README = Path("README.md").read_text(encoding="utf-8")
SPEEDS = re.findall(
    r"^\| (\d+) km/h \| ([\d.]+) ms \| ([\d.]+) ms \| ([\d.]+) ms \| ([\d.]+) % \|$",
    README,
    re.MULTILINE,
)


@pytest.mark.parametrize("row", SPEEDS, ids=lambda row: row[0])
def test_the_readme_says_what_a_moving_channel_does_to_the_optimum(row):
    speed, predicted, median, worst, missed = map(float, row)
    mobility = {"generate": {"mobility": {"speed": f"{speed:g} km/h"}}}
    run = fl.run("scenarios/moving-channel.yaml", uplink={"channel": mobility})
    sent = run.devices["upload_bits"].to_numpy() > 0
    latency_s = run.devices["latency_s"].to_numpy()[sent]
    rounds_s = run.rounds["latency_s"].to_numpy()
    assert run.devices["predicted_latency_s"].to_numpy().max() * 1e3 == pytest.approx(
        predicted, abs=0.06
    )
    assert np.percentile(rounds_s, 50) * 1e3 == pytest.approx(median, abs=0.06)
    assert np.percentile(rounds_s, 99) * 1e3 == pytest.approx(worst, abs=0.06)
    assert np.mean(latency_s > 0.025 * (1 + 1e-9)) * 100 == pytest.approx(missed, abs=0.06)


def test_the_readme_has_a_row_for_each_speed():
    assert [int(row[0]) for row in SPEEDS] == [0, 3, 10, 30, 60, 120]


def test_city_scale_in_small():
    run = fl.run("scenarios/city-scale.yaml", rounds=2, devices={"count": 2000})
    assert run.devices.num_rows == 4000
    assert run.rounds["arrived"].to_pylist() == [2000, 2000]


def test_generated_channel_is_as_good_as_a_guess():
    run = fl.run("scenarios/generated-channel.yaml")
    gap = run.devices["latency_s"].to_numpy() / run.devices["predicted_latency_s"].to_numpy() - 1
    assert np.quantile(gap, 0.1) < -0.1
    assert np.quantile(gap, 0.9) > 0.1


def test_a_round_of_a_thousand_among_a_million_meets_its_deadline():
    run = fl.run("scenarios/million-devices.yaml", rounds=2)
    assert run.devices.num_rows == 2000
    assert np.ptp(run.devices["device"].to_numpy()) > 900_000
    assert not any(run.rounds["deadline_missed"].to_pylist())
    assert run.devices["pruning_ratio"].to_numpy().max() > 0.1
