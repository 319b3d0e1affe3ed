"""An engine changes how long a run takes, and nothing else. Real processes, really killed."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
import torch
from process_tree import children_of, is_worker, used_s

import fl
from fl.enrolment import Enrolment
from fl.phases import WAIT
from fl.scenario import load_scenario
from fl.training import shared_memory
from fl.training.engine import EngineChoice
from fl.worker_pool import WorkerError
from netsim.errors import InputError
from netsim.streams import Streams

TABLES = ("rounds.parquet", "devices.parquet", "events.parquet", "partition.parquet")


@pytest.mark.parametrize("model", ["TinyCnn", "Forgetful", "Double"])
def test_the_same_bytes_whatever_the_engine_and_the_number_of_workers(
    learning_cell, tmp_path, model
):
    choices = [("inline", None), ("inline", None), *(("processes", n) for n in (1, 2, 3))]
    learning_cell["model"] = {"name": f"tiny_models:{model}"}
    for index, (engine, workers) in enumerate(choices):
        fl.run(
            learning_cell,
            allow_code=True,
            out=tmp_path / str(index),
            engine=engine,
            workers=workers,
        )
    for table in TABLES:
        bytes_ = {(tmp_path / str(index) / table).read_bytes() for index in range(len(choices))}
        assert len(bytes_) == 1
    run = fl.Run.open(tmp_path / "0")
    arrived = run.devices["arrived"].to_pylist()
    assert any(arrived)
    assert not all(arrived)  # so what is cut is compared, too
    assert run.rounds["test_accuracy"].null_count == 2


def test_the_same_weights_to_the_bit(learning_cell):
    scenario = load_scenario(learning_cell)
    parts = []
    for choice in (EngineChoice(), EngineChoice("processes", 2)):
        with Enrolment(scenario, Streams(1)).learning(choice) as learning:
            for round_ in range(3):
                learning.begin(round_, [500, 300, 0, 1, 700])
                learning.aggregate([WAIT] * 5)
            parts.append((learning.cohort.personal.clone(), learning.cohort.shared.clone()))
    assert torch.equal(parts[0][0], parts[1][0])
    assert torch.equal(parts[0][1], parts[1][1])


def test_threads_are_given_back(learning_cell):
    threads = torch.get_num_threads()
    fl.run(learning_cell, allow_code=True, rounds=1)
    assert torch.get_num_threads() == threads


@pytest.mark.parametrize(
    ("name", "workers", "message"),
    [
        ("threads", None, "must be inline, processes or ray"),
        ("processes", 0, "must be from 1 to 1024"),
        ("inline", 3, "the engine inline has one"),
    ],
)
def test_an_engine_that_is_not_there_is_refused(name, workers, message):
    with pytest.raises(InputError, match=message):
        EngineChoice.of(name, workers)


def test_want_of_shared_memory_is_said_before_it_is_written(learning_cell, monkeypatch, tmp_path):
    usage = shared_memory.shutil.disk_usage(tmp_path)._replace(free=1_000)
    monkeypatch.setattr(shared_memory.shutil, "disk_usage", lambda _path: usage)
    with pytest.raises(WorkerError, match="0 MB free, data and weights take"):
        fl.run(learning_cell, allow_code=True, engine="processes", workers=1)


def scenario_file(folder, cell, rounds):
    path = folder / "long.yaml"
    cell["learning"]["evaluate_every"] = 1
    path.write_text(json.dumps(cell | {"rounds": rounds, "name": "long"}))
    return path


def started(folder, cell, engine="processes"):
    """Start a long run in a process of its own, and wait until it is well under way."""
    command = [sys.executable, "-m", "fl", "run", str(scenario_file(folder, cell, 10**6))]
    command.append("--allow-code")
    environment = os.environ | {"PYTHONPATH": f"{Path('tests').resolve()}:{Path.cwd()}"}
    process = subprocess.Popen(
        [*command, "--out", str(folder / "out"), "--engine", engine],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=environment,
    )
    deadline = time.monotonic() + 60
    while (busy(process.pid) < 2) if engine == "processes" else not used_s(process.pid) > 6:
        assert time.monotonic() < deadline
        assert process.poll() is None, process.stderr.read()
        time.sleep(0.2)
    return process


def busy(pid):
    """Count the workers that have computed for a while: many rounds of a tiny network."""
    return sum(map(is_worker, children_of(pid)))


def test_a_worker_that_is_killed_ends_the_run_with_one_message(learning_cell, tmp_path):
    process = started(tmp_path, learning_cell)
    workers = [child for child in children_of(process.pid) if is_worker(child)]
    os.kill(workers[-1], signal.SIGKILL)
    _, errors = process.communicate(timeout=60)
    assert process.returncode == 1
    assert errors.splitlines()[-1].startswith("straggler: a worker process is gone")
    assert "Traceback" not in errors
    assert_kept(tmp_path / "out", "a worker process is gone")


def assert_kept(folder, reason):
    """The rounds that were over are there, and the manifest says why there are no more."""
    manifest = json.loads((folder / "manifest.json").read_text())
    assert manifest["status"] == "failed"
    assert manifest["reason"].startswith(reason)
    rounds = fl.Run.open(folder).rounds
    assert rounds.num_rows > 0
    # Every round was tested; only the last ones can have been under way.
    assert rounds["test_accuracy"][:-2].null_count == 0


@pytest.mark.parametrize(("sign", "status"), [(signal.SIGINT, 1), (signal.SIGTERM, 143)])
@pytest.mark.parametrize("engine", ["processes", "inline"])
def test_a_run_that_is_interrupted_keeps_its_rounds(learning_cell, tmp_path, sign, status, engine):
    process = started(tmp_path, learning_cell, engine)
    process.send_signal(sign)
    began = time.monotonic()
    _, errors = process.communicate(timeout=60)
    assert time.monotonic() - began < 30
    assert process.returncode in (status, 128 + sign)
    assert "Traceback" not in errors
    assert_kept(tmp_path / "out", "")


def test_work_under_way_is_not_waited_for(learning_cell, tmp_path):
    learning_cell["model"] = {"name": "cnn"}
    learning_cell["iterations"] = {"personal": 2000}  # minutes for each device
    process = started(tmp_path, learning_cell)
    process.send_signal(signal.SIGINT)
    process.communicate(timeout=30)
    assert not (tmp_path / "out").exists()  # no round was over


def test_workers_do_not_outlive_a_run_that_is_killed(learning_cell, tmp_path):
    process = started(tmp_path, learning_cell)
    below = children_of(process.pid)
    process.kill()
    process.communicate(timeout=60)
    deadline = time.monotonic() + 30
    while any(Path(f"/proc/{pid}").exists() for pid in below):
        assert time.monotonic() < deadline
        time.sleep(0.2)
