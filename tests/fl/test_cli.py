"""The command as a person uses it: a real process, its output, its status, its files."""

import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from fl.results import TABLES, Run
from netsim.traces import Kind, Samples, Trace, write_trace

FILES = {"manifest.json", "scenario.yaml", *(f"{name}.parquet" for name in TABLES)}


def straggler(*arguments, **options):
    command = [sys.executable, "-m", "fl", *map(str, arguments)]
    return subprocess.run(command, check=False, capture_output=True, text=True, **options)


def refused(tmp_path, *arguments):
    """Run with an out directory, and check that it ends as bad input should."""
    out = tmp_path / "out"
    done = straggler("run", *arguments, "--out", out)
    assert done.returncode == 2
    assert done.stdout == ""
    assert "Traceback" not in done.stderr
    assert not out.exists()
    return done.stderr


def test_a_run_leaves_its_five_files_and_a_summary(tmp_path):
    out = tmp_path / "deep" / "out"
    done = straggler("run", "scenarios/quickstart.yaml", "--set", "rounds=5", "--out", out)
    assert done.returncode == 0
    assert done.stderr == ""  # no progress bar where nobody watches
    assert {path.name for path in out.iterdir()} == FILES
    run = Run.open(out)
    assert (run.rounds.num_rows, run.devices.num_rows) == (5, 50)
    p50 = np.percentile(run.rounds["latency_s"].to_numpy(), 50)
    assert f"{p50 * 1e3:.4g} ms" in done.stdout
    missed = sum(run.rounds["deadline_missed"].to_pylist())
    assert f"in {missed} of 5 rounds" in done.stdout
    assert str(out) in done.stdout.replace("\n", "")
    manifest = json.loads((out / "manifest.json").read_text())
    assert manifest["status"] == "finished"
    assert manifest["wall_seconds"] > 0
    assert set(manifest["sha256"]) == {"pedestrian.parquet"}


def test_without_out_a_free_directory_is_found(tmp_path):
    scenario = Path("scenarios/frozen-channel.yaml").resolve()
    for folder in ("frozen-channel", "frozen-channel-2"):
        done = straggler("run", scenario, "--set", "rounds=1", cwd=tmp_path)
        assert done.returncode == 0
        assert (tmp_path / "runs" / folder / "rounds.parquet").is_file()


def test_a_directory_that_holds_a_run_is_refused_and_left_alone(tmp_path):
    arguments = ("run", "scenarios/frozen-channel.yaml", "--set", "rounds=1", "--out", tmp_path)
    assert straggler(*arguments).returncode == 0
    before = {path.name: path.read_bytes() for path in tmp_path.iterdir()}
    again = straggler(*arguments)
    assert again.returncode == 2
    assert "already holds a run" in again.stderr
    assert {path.name: path.read_bytes() for path in tmp_path.iterdir()} == before


def test_an_out_that_cannot_be_is_refused(tmp_path):
    (tmp_path / "file").write_text("x")
    done = straggler("run", "scenarios/frozen-channel.yaml", "--out", tmp_path / "file" / "out")
    assert (done.returncode, done.stdout) == (2, "")
    assert "cannot be written" in done.stderr


def test_a_missing_scenario_and_a_bad_key_are_refused(tmp_path):
    assert "no such scenario file" in refused(tmp_path, "none.yaml")
    quickstart = "scenarios/quickstart.yaml"
    assert "unknown key" in refused(tmp_path, quickstart, "--set", "uplink.bandwith=1 MHz")


def good_trace(devices=10):
    times_s = np.arange(50) * 0.01
    return Trace(Kind.GAIN_DB, [Samples(times_s, np.full(50, -100.0))] * devices, step_s=0.01)


@pytest.mark.parametrize(
    ("damage", "message"),
    [
        ("missing", "there is no such trace file"),
        ("few", "has 3 devices, numbered from 0; device 9 is asked for"),
        ("truncated", "cannot be read as a Parquet file"),
        ("nan", "row 7 (device 0): gain_db must be a number, is nan"),
        ("unsorted", "row 20 (device 0): time_s must increase"),
        ("text", "cannot be read as a Parquet file"),
        ("snr", "have no effect on a trace of snr_db"),
    ],
)
def test_a_bad_trace_is_refused(tmp_path, damage, message):
    path = tmp_path / "bad.parquet"
    trace = good_trace(3 if damage == "few" else 10)
    if damage == "snr":
        trace = Trace(Kind.SNR_DB, trace.devices, step_s=0.01)
    write_trace(path, trace)
    table = pq.read_table(path)
    if damage == "missing":
        path.unlink()
    elif damage == "truncated":
        path.write_bytes(path.read_bytes()[:-200])
    elif damage == "text":
        path.write_text("time,gain\n0,-100\n")
    elif damage in ("nan", "unsorted"):
        name, row, value = ("gain_db", 7, np.nan) if damage == "nan" else ("time_s", 20, 0.0)
        column = table[name].to_numpy().copy()
        column[row] = value
        index = table.column_names.index(name)
        pq.write_table(table.set_column(index, name, pa.array(column)), path)
    setting = f"uplink.channel={{trace: {path}}}"
    assert message in refused(tmp_path, "scenarios/quickstart.yaml", "--set", setting)


def test_a_trace_that_ends_too_soon_fails_the_run_and_keeps_its_rounds(tmp_path):
    out = tmp_path / "out"
    setting = "uplink.channel.at_end=error"
    done = straggler(
        "run", "scenarios/quickstart.yaml", "--set", setting, "--set", "rounds=999", "--out", out
    )
    assert done.returncode == 2
    assert "ends at 10 s of simulated time" in done.stderr
    manifest = json.loads((out / "manifest.json").read_text())
    assert manifest["status"] == "failed"
    assert "ends at 10 s" in manifest["reason"]
    assert 190 < Run.open(out).rounds.num_rows < 999


def test_check_show_and_schema(tmp_path):
    done = straggler("scenario", "check", "scenarios/quickstart.yaml", "scenarios/drop-late.yaml")
    assert (done.returncode, len(done.stdout.splitlines())) == (0, 2)
    bad = straggler("scenario", "check", "scenarios/quickstart.yaml", "none.yaml")
    assert bad.returncode == 2
    shown = straggler("scenario", "show", "scenarios/drop-late.yaml", "--set", "seed=9")
    resolved = tmp_path / "resolved.yaml"
    resolved.write_text(shown.stdout)
    assert "late: drop" in shown.stdout
    assert "seed: 9" in shown.stdout
    schema = straggler("scenario", "schema")
    assert json.loads(schema.stdout)["title"] == "Scenario"


def test_what_show_prints_runs_from_where_it_was_printed(tmp_path):
    shown = straggler("scenario", "show", Path("scenarios/quickstart.yaml").resolve(), cwd=tmp_path)
    (tmp_path / "resolved.yaml").write_text(shown.stdout)
    done = straggler("run", "resolved.yaml", "--set", "rounds=1", cwd=tmp_path)
    assert done.returncode == 0, done.stderr


def test_a_wrong_command_is_status_2_too():
    assert straggler("rum").returncode == 2
    assert straggler("run").returncode == 2


def test_a_run_that_fails_before_its_first_round_leaves_nothing(tmp_path):
    shares = "scheme={pruning: none, bandwidth: [0.1, 0.1, 0.1, 0.1, 0.1, 0.1, 0.1, 0.1, 0.1, 0]}"
    message = refused(tmp_path, "scenarios/frozen-channel.yaml", "--set", shares)
    assert "round 0 can never end: the upload of device 9" in message


def test_the_resolved_scenario_finds_its_trace_through_a_link(tmp_path):
    (tmp_path / "far" / "away").mkdir(parents=True)
    (tmp_path / "link").symlink_to(tmp_path / "far" / "away")
    out = tmp_path / "link" / "out"
    settings = ("--set", "rounds=1")
    assert straggler("run", "scenarios/quickstart.yaml", *settings, "--out", out).returncode == 0
    again = straggler("scenario", "check", out / "scenario.yaml")
    assert again.returncode == 0, again.stderr
