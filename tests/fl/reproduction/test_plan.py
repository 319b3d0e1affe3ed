import itertools

import numpy as np
import pytest

import fl
from fl.reproduction import plan as planning
from fl.reproduction.plan import FULL, QUICK, READINGS, plan
from fl.reproduction.published import DEADLINES_MS
from fl.scenario import load_scenario
from netsim.errors import InputError

STATED = {
    ("devices", "count"): 10,
    ("devices", "cpu_frequency"): "3 GHz",
    ("devices", "transmit_power"): "28 dBm",
    ("uplink", "bandwidth"): "20 MHz",
    ("uplink", "noise_power"): "-110 dBm",
    ("uplink", "bits_per_weight"): 32,
}


@pytest.mark.parametrize("size", [FULL, QUICK], ids=lambda size: size.name)
def test_every_arm_keeps_what_the_paper_states(size):
    for arm in plan(size):
        written = arm.scenario(1).written()
        for (block, key), value in STATED.items():
            assert written[block][key] == value, arm
        if not arm.name.startswith("deadline"):
            assert written["deadline"] == "25 ms"
        if "learning" in arm.file or arm.experiment.endswith("mnist"):
            assert written["learning"]["batch_size"] == 128
            assert written["learning"]["optimizer"] == "sgd"
            assert written["learning"]["dataset"] == arm.experiment


def test_every_run_has_a_folder_of_its_own():
    folders = [arm.folder(seed) for arm in plan(FULL) for seed in arm.seeds]
    assert len(set(folders)) == len(folders)


def test_all_that_the_figures_need_is_there():
    arms = {(arm.experiment, arm.name) for arm in plan(FULL)}
    for dataset, ratio in itertools.product(planning.DATASETS, FULL.ratios):
        assert (dataset, planning.ratio_name(ratio)) in arms
    for deadline_ms in DEADLINES_MS:
        assert ("fashion-mnist", planning.deadline_name(deadline_ms)) in arms
    assert min(FULL.ratios) == 0.0
    assert max(FULL.ratios) == 0.9


def test_the_same_seed_is_the_same_channel_for_every_scheme():
    first_round = {
        reading: fl.run("scenarios/paper/table-1.yaml", rounds=1, **said).devices["snr_db"]
        for reading, said in READINGS.items()
    }
    for snr_db in first_round.values():
        assert snr_db.equals(first_round["proposed"])


def test_readings_of_table_1_on_a_channel_that_stands_still():
    """What the clock comes to, against formulas written out here."""
    latency_ms, devices = {}, None
    for reading, said in READINGS.items():
        run = fl.run("scenarios/paper/calibrated.yaml", rounds=1, seed=5, **said)
        latency_ms[reading] = run.rounds["latency_s"][0].as_py() * 1e3
        if reading == "personalization":
            devices = run.devices
    rate = 40 * 20e6 / 10 * np.log2(1 + 10 ** (devices["snr_db"].to_numpy() / 10))
    weight_s = 70 / 3e9
    head_s = (52_096 + 402_826) * weight_s
    assert latency_ms["personalization"] == pytest.approx(
        (head_s + 402_826 * 32 / rate.min()) * 1e3, rel=1e-9
    )
    kept = (0.025 - head_s) / (402_826 * (weight_s + 32 / rate.mean()))
    one_ratio_s = head_s + kept * 402_826 * (weight_s + 32 / rate.min())
    conv_s = 52_096 * (weight_s + 32 / rate.min())
    assert latency_ms["equal-resource"] == pytest.approx(one_ratio_s * 1e3, rel=1e-5)
    assert latency_ms["pruning-only"] == pytest.approx((one_ratio_s + conv_s) * 1e3, rel=1e-5)
    for reading in ("proposed", "equal-resource-each", "pruning-only-each"):
        assert latency_ms[reading] == pytest.approx(25.0, rel=1e-5)


def test_choices_of_ours_are_marked_in_the_scenarios():
    """Every value that differs from the paper's, or that it does not give, says so."""
    marked = "".join(path.read_text(encoding="utf-8") for path in planning.SCENARIOS.glob("*.yaml"))
    for key in ("cycles_per_weight", "spatial_layers", "kernel_size", "rounds", "fading", "loss"):
        lines = [line for line in marked.splitlines() if line.strip().startswith(f"{key}:")]
        assert lines
        for line in lines:
            above = marked.splitlines()[marked.splitlines().index(line) - 1]
            assert "# ours:" in line + above or "# fitted:" in line + above, line
    assert load_scenario(planning.SCENARIOS / "stated.yaml").count_warmup is False


def test_without_the_scenarios_it_says_where_they_are(monkeypatch, tmp_path):
    monkeypatch.setattr(planning, "SCENARIOS", tmp_path / "none")
    with pytest.raises(InputError, match="is not there; the paper's scenarios come with"):
        plan(QUICK)
