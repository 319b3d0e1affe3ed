"""`straggler study`, from file to tables and page."""

import json
import os
import re
import signal
import subprocess
import sys
import time

import duckdb
import pandas as pd
import polars as pl
import pyarrow.parquet as pq
import pytest
from typer.testing import CliRunner

import fl
from fl.cli import app
from fl.manifest import RunDirectoryError
from fl.scenario import ScenarioError
from fl.study.metrics import METRICS
from netsim.errors import InputError


def straggler(*words):
    return CliRunner().invoke(app, [str(word) for word in words], catch_exceptions=False)


def plain(text):
    """Return what is printed without frames and line breaks."""
    return " ".join(re.sub("[^ -~±]", " ", text).split())


@pytest.fixture
def made(tmp_path, written):
    path = written(vary={"grid": {"scheme": ["personalization", "equal-resource"], "uplink.bandwidth": ["10 MHz", "20 MHz"]}})  # fmt: skip
    done = straggler("study", path, "--out", tmp_path / "out")
    assert done.exit_code == 0, done.output
    return path, tmp_path / "out", done


def test_it_makes_every_run_and_says_what_was_found(made):
    path, out, done = made
    assert "12 runs made, 0 were there already" in done.output
    runs = sorted(out.glob("runs/arm=*/seed=*/manifest.json"))
    assert len(runs) == 12
    summary = pq.read_table(out / "summary.parquet").to_pylist()
    assert [row["runs"] for row in summary] == [3] * 4
    mean_ms = summary[0]["latency_mean_s"] * 1e3
    assert f"{mean_ms:.0f}" in plain(done.output)
    alone = fl.run(path.with_name("cell.yaml"), seed=2, uplink={"bandwidth": "10 MHz"})
    run = out / "runs/arm=scheme-personalization-bandwidth-10-MHz/seed=2"
    assert fl.Run.open(run).devices.equals(alone.devices)


def test_what_is_there_is_not_made_again_and_more_seeds_are_added(made):
    path, out, _ = made
    before = {file: file.stat().st_mtime_ns for file in out.glob("runs/*/*/*.parquet")}
    again = straggler("study", path, "--out", out)
    assert "0 runs made, 12 were there already" in again.output
    text = path.read_text().replace("seeds: 3", "seeds: 4")
    path.write_text(text)
    more = straggler("study", path, "--out", out)
    assert "4 runs made, 12 were there already" in more.output
    after = {file: file.stat().st_mtime_ns for file in out.glob("runs/*/*/*.parquet")}
    assert before.items() <= after.items()
    assert pq.read_table(out / "summary.parquet")["runs"].to_pylist() == [4] * 4


def test_another_study_in_the_same_folder_is_refused(made):
    path, out, _ = made
    with pytest.raises(RunDirectoryError, match="holds a run of another scenario"):
        straggler("study", path, "--out", out, "--set", "rounds=1")


def test_one_dataset_that_everybody_can_open(made):
    _, out, _ = made
    rows = 4 * 3 * 2  # arms, seeds, rounds
    pandas = pd.read_parquet(out / "dataset")
    polars = pl.read_parquet(out / "dataset")
    query = f"select arm, seed, avg(latency_s) as latency_s from read_parquet('{out}/dataset/*/*.parquet', hive_partitioning=true) group by all order by all"  # fmt: skip
    duck = duckdb.sql(query).fetchall()
    assert len(pandas) == len(polars) == rows
    assert len(duck) == 12
    means = pandas.groupby(["arm", "seed"], observed=True)["latency_s"].mean()
    for arm, seed, latency_s in duck:
        assert latency_s == pytest.approx(means[arm, seed])
        run = fl.Run.open(out / f"runs/arm={arm}/seed={seed}")
        assert latency_s == pytest.approx(run.rounds["latency_s"].to_numpy().mean())
    assert set(polars["bandwidth"]) == {"10 MHz", "20 MHz"}
    assert set(polars["bandwidth_si"]) == {10e6, 20e6}
    devices = f"select count(*) from read_parquet('{out}/runs/*/*/devices.parquet', hive_partitioning=true) where seed = 2"  # fmt: skip
    assert duckdb.sql(devices).fetchall() == [(4 * 2 * 10,)]


def test_the_table_of_runs_has_every_metric(made):
    _, out, _ = made
    table = pq.read_table(out / "runs.parquet")
    assert set(METRICS) <= set(table.column_names)
    assert table["status"].to_pylist() == ["finished"] * 12
    assert all(seconds > 0 for seconds in table["wall_seconds"].to_pylist())


def test_the_plan_alone_runs_nothing(written, tmp_path):
    done = straggler("study", written(), "--plan", "--out", tmp_path / "out")
    assert "2 arms, 6 runs" in done.output
    assert not (tmp_path / "out").exists()


def test_failed_runs_are_told_and_the_rest_is_there(written, tmp_path):
    vary = {"grid": {"uplink.channel.gain": ["-100 dB", "-4000 dB"]}}
    done = straggler("study", written(vary=vary), "--out", tmp_path / "out")
    assert done.exit_code == 1
    assert "3 runs failed; see runs.parquet" in plain(done.output)
    assert "can never end" in done.output
    table = pq.read_table(tmp_path / "out/runs.parquet").to_pylist()
    assert [row["status"] for row in table] == ["finished"] * 3 + ["failed"] * 3
    assert "can never end" in table[-1]["reason"]
    assert pq.read_table(tmp_path / "out/summary.parquet")["runs"].to_pylist() == [3, 0]
    assert straggler("report", tmp_path / "out").exit_code == 0


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--engine", "slurm"], "--engine: must be processes or ray, got slurm"),
        (["--workers", "0"], "--workers: must be from 1 to 1024"),
        (["--address", "a:1"], "--address: belongs to --engine ray"),
        (["--set", "rounds"], "must be path.to.key=value"),
        (["--set", "roundz=1"], "roundz: unknown key"),
    ],
)
def test_bad_options_are_refused_before_anything_is_made(written, tmp_path, options, message):
    with pytest.raises(InputError, match=message):
        straggler("study", written(), "--out", tmp_path / "out", *options)
    assert not (tmp_path / "out").exists()


def test_a_file_that_is_no_study_is_named(tmp_path):
    with pytest.raises(ScenarioError, match=r"nowhere.yaml: there is no such"):
        straggler("study", tmp_path / "nowhere.yaml")
    with pytest.raises(ScenarioError, match=r"quickstart.yaml.*vary: is missing"):
        straggler("study", "scenarios/quickstart.yaml")


def test_ctrl_c_leaves_a_study_that_goes_on(written, tmp_path):
    path = written(seeds=2, set={"rounds": 20_000})
    command = [sys.executable, "-m", "fl", "study", str(path), "--out", str(tmp_path / "out")]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    end = time.monotonic() + 60
    while not list(tmp_path.glob("out/runs/*/*/manifest.json")):
        assert time.monotonic() < end
        time.sleep(0.05)
    process.send_signal(signal.SIGINT)
    _, errors = process.communicate(timeout=60)
    assert "the same command goes on where it was" in errors
    assert "Traceback" not in errors
    done = subprocess.run(command, capture_output=True, text=True, check=False, env=os.environ)
    assert done.returncode == 0, done.stderr
    for manifest in tmp_path.glob("out/runs/*/*/manifest.json"):
        assert json.loads(manifest.read_text())["status"] == "finished"


@pytest.mark.parametrize("name", ["deadline-vs-speed", "csi-age", "hold-vs-redistribute", "wait-vs-drop", "device-count", "noise"])  # fmt: skip
def test_the_studies_that_come_with_the_project_can_be_planned(name):
    done = straggler("study", f"scenarios/studies/{name}.yaml", "--plan")
    assert done.exit_code == 0
    assert re.search(r"\d+ arms, \d+ runs", done.output)
