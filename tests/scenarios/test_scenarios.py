"""Every scenario that is shipped loads, runs, and shows what it claims."""

from pathlib import Path

import numpy as np
import pytest

import fl
from fl.scenario import load_scenario

SCENARIOS = sorted(Path("scenarios").glob("*.yaml"))


@pytest.mark.parametrize("path", SCENARIOS, ids=lambda path: path.stem)
def test_each_file_is_named_as_its_scenario_and_listed(path):
    assert load_scenario(path).name == path.stem
    assert f"`{path.name}`" in Path("scenarios/README.md").read_text(encoding="utf-8")


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


def test_city_scale_in_small():
    run = fl.run("scenarios/city-scale.yaml", rounds=2, devices={"count": 2000})
    assert run.devices.num_rows == 4000
    assert run.rounds["arrived"].to_pylist() == [2000, 2000]


def test_generated_channel_is_as_good_as_a_guess():
    run = fl.run("scenarios/generated-channel.yaml")
    gap = run.devices["latency_s"].to_numpy() / run.devices["predicted_latency_s"].to_numpy() - 1
    assert np.quantile(gap, 0.1) < -0.1
    assert np.quantile(gap, 0.9) > 0.1
