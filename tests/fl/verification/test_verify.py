"""What is wrong with a run directory is found, whichever way it went wrong."""

import json
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import fl
from fl.directory import file_hashes, run_directory
from fl.experiment import Experiment
from fl.manifest import RunDirectoryError, read_manifest, write_manifest
from fl.scenario import load_scenario
from fl.verification import verify

FAULTS = {
    "offline": {"probability": 0.1},
    "lost": {"probability": 0.2, "retries": 1, "pause": "1 ms"},
    "slow": {"probability": 0.1, "factor": 3},
    "schedule": [{"fault": "offline", "from": "200 ms", "until": "300 ms"}],
}
FLIPS = 25


def cell(**changes):
    return load_scenario("scenarios/quickstart.yaml", overrides={"rounds": 12} | changes)


@pytest.fixture(scope="module")
def original(tmp_path_factory):
    folder = tmp_path_factory.mktemp("verified") / "run"
    fl.run(cell(faults=FAULTS), out=folder)
    return folder


@pytest.fixture
def folder(original, tmp_path):
    return shutil.copytree(original, tmp_path / "run")


def wrong(folder, **options):
    """Return what is wrong, by what was looked at."""
    return {c.name: c.problems for c in verify(folder, **options) if c.problems}


@pytest.mark.parametrize(
    "changes",
    [
        {},
        {"faults": FAULTS, "late": "drop", "uplink": {"release": "redistribute"}},
        {"participants": 4, "faults": FAULTS},
        {"deadline": None, "scheme": "fedavg"},
        {"network": {"broadcast": "2 ms", "aggregation": "1 ms", "backhaul": [{"latency": "3 ms"}]}, "faults": FAULTS},
        {"scheme": {"pruning": {"fixed": 1.0}}},
    ],
)  # fmt: skip
def test_a_run_is_what_it_says(tmp_path, changes):
    fl.run(cell(**changes), out=tmp_path / "run")
    checks = verify(tmp_path / "run", replayed=12)
    assert [c for c in checks if c.problems or c.left_out] == []
    assert [c.name for c in checks] == ["files", "tables", "rounds", "devices", "events", "bits", "replay"]  # fmt: skip


def test_a_run_that_has_learnt_is_what_it_says(tmp_path, learning_cell):
    fl.run(learning_cell, out=tmp_path / "run", allow_code=True)
    checks = verify(tmp_path / "run", allow_code=True)
    assert [c for c in checks if c.problems or c.left_out] == []
    refused = verify(tmp_path / "run")[-1]
    assert "--allow-code" in refused.left_out


def test_the_finished_rounds_of_a_run_that_failed_are_what_they_say(tmp_path):
    def stop(outcome):
        if outcome.round == 5:
            raise KeyboardInterrupt

    experiment = Experiment(cell())
    with pytest.raises(KeyboardInterrupt), run_directory(tmp_path / "run", experiment) as directory:
        experiment.run(directory, stop)
    assert wrong(tmp_path / "run") == {}
    assert pq.read_table(tmp_path / "run/rounds.parquet").num_rows == 6


@pytest.mark.parametrize(
    "name",
    ["manifest.json", "scenario.yaml", "rounds.parquet", "devices.parquet", "events.parquet"],
)
def test_a_flipped_bit_is_found_wherever_it_is(folder, name):
    content = (folder / name).read_bytes()
    rng = np.random.default_rng(1)
    for place in rng.integers(len(content), size=FLIPS).tolist():
        flipped = bytearray(content)
        flipped[place] ^= 1 << int(rng.integers(8))
        (folder / name).write_bytes(flipped)
        is_found = False
        try:
            is_found = bool(wrong(folder, replayed=0))
        except RunDirectoryError:
            is_found = name == "manifest.json"  # it is none any more
        assert is_found, f"byte {place}"


def change(folder, name, alter):
    """Change a table, and make the manifest say that it was so from the beginning."""
    path = folder / f"{name}.parquet"
    pq.write_table(alter(pq.read_table(path)), path)
    reseal(folder)


def reseal(folder):
    write_manifest(folder, read_manifest(folder) | {"files": file_hashes(folder)})


def with_value(column, row, new):
    """Return what gives one entry another value."""

    def alter(table):
        values = table[column].to_pylist()
        values[row] = new(values[row])
        index = table.schema.get_field_index(column)
        return table.set_column(index, table.schema.field(index), pa.array(values, table.schema.field(index).type))  # fmt: skip

    return alter


def without(row):
    def alter(table):
        return pa.concat_tables([table.slice(0, row), table.slice(row + 1)])

    return alter


def longer(value):
    return value * (1 + 1e-6) + 1e-9


CORRUPTIONS = {
    "a missing round": ("rounds", without(4), "rounds"),
    "a missing last round": ("rounds", without(11), "rounds"),
    "a round twice": ("rounds", lambda t: pa.concat_tables([t.slice(0, 5), t.slice(4)]), "rounds"),
    "another number": ("rounds", with_value("round", 3, lambda _: 7), "rounds"),
    "a wrong latency": ("rounds", with_value("latency_s", 3, longer), "rounds"),
    "a gap": ("rounds", with_value("start_s", 3, longer), "rounds"),
    "a later end": ("rounds", with_value("end_s", 11, longer), "rounds"),
    "another deadline": ("rounds", with_value("deadline_s", 2, longer), "rounds"),
    "a deadline that was made": ("rounds", with_value("deadline_missed", 2, lambda v: not v), "devices"),
    "another straggler": ("rounds", with_value("straggler", 1, lambda v: (v + 1) % 10), "devices"),
    "one more arrived": ("rounds", with_value("arrived", 2, lambda v: v + 1), "devices"),
    "one more bit": ("rounds", with_value("uplink_bits", 2, lambda v: v + 1), "devices"),
    "more pruned": ("rounds", with_value("mean_pruning_ratio", 2, longer), "devices"),
    "a missing device": ("devices", without(17), "devices"),
    "a device twice": ("devices", with_value("device", 17, lambda _: 6), "devices"),
    "a device of another round": ("devices", with_value("round", 17, lambda _: 2), "devices"),
    "a wrong device latency": ("devices", with_value("latency_s", 14, longer), "devices"),
    "a longer upload": ("devices", with_value("upload_s", 14, longer), "devices"),
    "a negative phase": ("devices", with_value("global_s", 14, lambda v: -v), "devices"),
    "somebody who did not arrive": ("devices", with_value("arrived", 14, lambda v: not v), "devices"),
    "another outcome": ("devices", with_value("outcome", 14, lambda _: "cut"), "devices"),
    "a larger share": ("devices", with_value("bandwidth_fraction", 14, lambda v: v + 0.1), "devices"),
    "part of a weight": ("devices", with_value("pruning_ratio", 14, longer), "bits"),
    "bits sent by nobody": ("devices", with_value("upload_bits", 14, lambda v: v + 32), "bits"),
    "one attempt more": ("devices", with_value("attempts", 14, lambda v: v + 1), "bits"),
    "a missing event": ("events", without(100), "events"),
    "a missing last event": ("events", lambda t: t.slice(0, t.num_rows - 1), "events"),
    "an event too many": ("events", lambda t: pa.concat_tables([t, t.slice(t.num_rows - 1)]), "events"),
    "another phase": ("events", with_value("phase", 100, lambda _: "backhaul"), "events"),
    "an event that ends later": ("events", with_value("end_s", 100, longer), "events"),
    "a better channel": ("devices", with_value("snr_db", 0, longer), "replay"),
    "a better prediction": ("devices", with_value("predicted_latency_s", 0, longer), "replay"),
    "another status": ("devices", with_value("status", 0, lambda _: "infeasible"), "replay"),
    "a slower processor": ("devices", with_value("slowed_s", 0, lambda v: v + 1.0), "replay"),
}  # fmt: skip


@pytest.mark.parametrize("what", CORRUPTIONS)
def test_what_breaks_a_law_is_found_though_all_hashes_agree(folder, what):
    table, alter, finds = CORRUPTIONS[what]
    before = pq.read_table(folder / f"{table}.parquet")
    change(folder, table, alter)
    assert not pq.read_table(folder / f"{table}.parquet").equals(before)
    found = wrong(folder)
    assert "files" not in found
    assert finds in found


def test_what_breaks_no_law_is_found_where_a_round_is_run_again(folder):
    change(folder, "devices", with_value("snr_db", 3, lambda v: v - 0.01))
    (told,) = wrong(folder)["replay"]
    assert told.startswith("round 0: devices, device 3: snr_db is ")


def test_another_scenario_is_found(folder):
    text = (folder / "scenario.yaml").read_text()
    (folder / "scenario.yaml").write_text(text.replace("deadline: 40 ms", "deadline: 41 ms"))
    assert "files" in wrong(folder)
    reseal(folder)
    assert {"rounds", "replay"} <= set(wrong(folder))


def test_a_missing_column_or_file_is_told(folder):
    change(folder, "devices", lambda table: table.drop(["attempts"]))
    assert wrong(folder)["tables"] == ("devices.parquet: has no column attempts",)
    (folder / "events.parquet").unlink()
    assert "events.parquet: is missing" in wrong(folder)["files"]


def test_a_replay_without_its_trace_or_with_another_is_left_out(tmp_path):
    trace = tmp_path / "walk.parquet"
    shutil.copy("traces/pedestrian.parquet", trace)
    scenario = cell(uplink={"channel": {"trace": str(trace)}})
    fl.run(scenario, out=tmp_path / "run")
    shutil.copy("traces/vehicle.parquet", trace)
    checks = verify(tmp_path / "run")
    assert "walk.parquet" in checks[-1].left_out
    assert not any(c.problems for c in checks)
    trace.unlink()
    assert "walk.parquet" in verify(tmp_path / "run")[-1].left_out


def straggler(*arguments):
    return subprocess.run(
        [sys.executable, "-m", "fl", "verify", *map(str, arguments)],
        capture_output=True,
        text=True,
        check=False,
    )


def test_the_command_says_what_is_right_and_what_is_wrong(folder, original):
    right = straggler(original)
    assert (right.returncode, right.stderr) == (0, "")
    assert "ok        replay: rounds 0, " in right.stdout
    change(folder, "rounds", with_value("latency_s", 3, longer))
    bad = straggler(original, folder)
    assert bad.returncode == 1
    assert "wrong     rounds: round 3 lasts from" in bad.stdout
    assert bad.stderr == "straggler: 1 of the runs are wrong\n"


@pytest.mark.parametrize("content", [None, "{}", "nonsense", '{"status": "running"}'])
def test_what_holds_no_results_is_told_with_status_2(tmp_path, content):
    if content is not None:
        (tmp_path / "manifest.json").write_text(content)
    told = straggler(tmp_path)
    if content == "{}":  # of nothing, everything is wrong
        assert told.returncode == 1
        return
    assert told.returncode == 2
    assert "holds no results" in told.stderr
    assert "Traceback" not in told.stderr


def test_a_study_is_all_its_runs(tmp_path):
    study = tmp_path / "study.yaml"
    base = json.dumps(str(Path("scenarios/quickstart.yaml").resolve()))
    vary = "{grid: {deadline: [30 ms, 40 ms]}}"
    study.write_text(f"name: s\nbase: {base}\nset: {{rounds: 2}}\nseeds: 2\nvary: {vary}\n")
    made = subprocess.run(
        [sys.executable, "-m", "fl", "study", str(study), "--out", str(tmp_path / "out")],
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert made.returncode == 0, made.stderr
    told = straggler(tmp_path / "out")
    assert told.returncode == 0, told.stdout
    assert told.stdout.count("ok        replay") == 4
