"""Same scenario, same seed: the same bytes."""

import subprocess
import sys

import pytest

import fl

TABLES = ("rounds.parquet", "devices.parquet", "events.parquet")


def test_the_same_seed_gives_the_same_bytes_in_another_process(tmp_path):
    for name in ("one", "two"):
        command = [sys.executable, "-m", "fl", "run", "scenarios/quickstart.yaml"]
        out = ["--set", "rounds=20", "--out", str(tmp_path / name)]
        subprocess.run([*command, *out], check=True, capture_output=True)
    for table in TABLES:
        assert (tmp_path / "one" / table).read_bytes() == (tmp_path / "two" / table).read_bytes()


def test_the_resolved_scenario_runs_to_the_same_bytes(tmp_path):
    fl.run("scenarios/drop-late.yaml", rounds=10, out=tmp_path / "one")
    fl.run(tmp_path / "one" / "scenario.yaml", out=tmp_path / "deep" / "two")
    for table in TABLES:
        one, two = tmp_path / "one" / table, tmp_path / "deep" / "two" / table
        assert one.read_bytes() == two.read_bytes()


def test_another_seed_draws_other_devices(paper_cell):
    paper_cell["devices"]["cpu_frequency"] = {"uniform": ["1 GHz", "3 GHz"]}
    one, two = (fl.run(paper_cell, seed=seed).devices["personal_s"] for seed in (1, 2))
    assert one != two


def test_what_one_key_draws_does_not_depend_on_another(paper_cell):
    paper_cell["devices"]["cpu_frequency"] = {"uniform": ["1 GHz", "3 GHz"]}
    before = fl.run(paper_cell)
    gains = {"channel": {"gain": {"uniform": ["-110 dB", "-90 dB"]}}}
    after = fl.run(paper_cell, uplink=gains)
    assert before.devices["personal_s"] == after.devices["personal_s"]
    assert before.devices["snr_db"] != after.devices["snr_db"]


def test_a_device_keeps_its_draw_when_others_join(paper_cell):
    paper_cell["devices"]["cpu_frequency"] = {"choice": ["1 GHz", "2 GHz", "3 GHz"]}
    few = fl.run(paper_cell, rounds=1).devices["personal_s"].to_pylist()
    many = fl.run(paper_cell, rounds=1, devices={"count": 25}).devices["personal_s"].to_pylist()
    assert many[:10] == few


@pytest.mark.parametrize("release", ["hold", "redistribute"])
def test_batches_do_not_show(monkeypatch, release):
    settings = {"rounds": 7, "uplink": {"release": release}}
    whole = fl.run("scenarios/drop-late.yaml", **settings)
    monkeypatch.setattr("fl.tables._ROWS_AT_ONCE", 20)
    pieces = fl.run("scenarios/drop-late.yaml", **settings)
    assert pieces.rounds.to_pylist() == whole.rounds.to_pylist()
    assert pieces.devices.to_pylist() == whole.devices.to_pylist()
    assert pieces.events.to_pylist() == whole.events.to_pylist()
