"""Devices that train on a Ray cluster learn the same, to the byte."""

import json
import os
import signal
import subprocess
import sys
import tempfile
import threading
import time
from functools import cache
from pathlib import Path
from unittest.mock import patch

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from process_tree import children_of, used_s
from ray_nodes import busy_workers, free_port, is_alive

import fl
from fl.enrolment import Enrolment
from fl.models.split import ModelError
from fl.phases import WAIT
from fl.ray_cluster import cluster
from fl.scenario import load_scenario
from fl.training import ray_tasks
from fl.training.cohort import Task
from fl.training.engine import EngineChoice
from fl.training.ray_tasks import RayTasks
from netsim.errors import InputError
from netsim.streams import Streams

TABLES = ("rounds.parquet", "devices.parquet", "events.parquet", "partition.parquet")
on_ray = [pytest.mark.ray, pytest.mark.xdist_group("ray")]


def tables(folder):
    return [(folder / name).read_bytes() for name in TABLES]


@pytest.fixture(scope="class")
def connection(ray_nodes):
    """Stay connected: new workers would import torch for each test."""
    with cluster(ray_nodes[0]) as running:
        yield running


@pytest.mark.usefixtures("connection")
class TestOnTwoNodes:
    pytestmark = on_ray

    @pytest.mark.parametrize(
        ("model", "workers"), [("TinyCnn", None), ("TinyCnn", 1), ("Forgetful", 2), ("Double", 2)]
    )
    def test_the_same_bytes(self, learning_cell, tmp_path, model, workers):
        learning_cell["model"] = {"name": f"tiny_models:{model}"}
        fl.run(learning_cell, allow_code=True, out=tmp_path / "inline")
        run = fl.run(
            learning_cell, allow_code=True, out=tmp_path / "ray", engine="ray", workers=workers
        )
        assert tables(tmp_path / "ray") == tables(tmp_path / "inline")
        assert (run.facts["engine"], run.facts["workers"]) == ("ray", workers or 2)
        arrived = run.devices["arrived"].to_pylist()
        assert any(arrived)
        assert not all(arrived)  # so what is cut is compared, too

    def test_the_same_weights_to_the_bit(self, learning_cell):
        parts = []
        for choice in (EngineChoice(), EngineChoice("ray", None)):
            enrolment = Enrolment(load_scenario(learning_cell), Streams(1))
            with enrolment.learning(choice) as learning:
                for round_ in range(3):
                    learning.begin(round_, [500, 300, 0, 1, 700])
                    learning.aggregate([WAIT] * 5)
                parts.append((learning.cohort.personal.clone(), learning.cohort.shared.clone()))
        assert torch.equal(parts[0][0], parts[1][0])
        assert torch.equal(parts[0][1], parts[1][1])

    def test_a_run_outlives_its_workers(self, learning_cell, tmp_path, ray_nodes):
        learning_cell |= {"rounds": 3, "iterations": {"personal": 50}}
        fl.run(learning_cell, allow_code=True, out=tmp_path / "inline")
        killed, over = [], threading.Event()

        def kill():
            while len(killed) < 2 and not over.wait(0.3):
                for pid in busy_workers(ray_nodes[1])[:1]:
                    os.kill(pid, signal.SIGKILL)
                    killed.append(pid)

        killer = threading.Thread(target=kill)
        killer.start()
        try:
            fl.run(learning_cell, allow_code=True, out=tmp_path / "ray", engine="ray")
        finally:
            over.set()
            killer.join()
        assert len(set(killed)) == 2
        assert tables(tmp_path / "ray") == tables(tmp_path / "inline")

    def test_a_model_that_fails_is_told_of_as_by_any_engine(self, learning_cell):
        learning_cell["model"] = {"name": "tiny_models:Moody"}
        told = []
        for engine in ("inline", "ray"):
            with pytest.raises(ModelError) as raised:
                fl.run(learning_cell, allow_code=True, engine=engine)
            told.append(str(raised.value))
        assert told[0] == told[1]
        assert "round 0, device 0" in told[0]

    def test_a_model_that_cannot_be_pickled_is_refused(self, learning_cell):
        learning_cell["model"] = {"name": "tiny_models:Unmovable"}
        with pytest.raises(InputError, match=r"Unmovable cannot be handed to a cluster: .*inline"):
            fl.run(learning_cell, allow_code=True, engine="ray")


class Stored:
    """What lies in the memory of a cluster that is none."""

    def __init__(self, value):
        self.value = value


class Begun:
    """Some work that waits until it is asked for."""

    def __init__(self, work, arguments):
        self.work, self.arguments = work, arguments


class InThisProcess:
    """Does the work of a cluster, and remembers what was asked of it."""

    def __init__(self, workers, num_cpus):
        self.workers, self.num_cpus = workers, num_cpus
        self.under_way, self.most_under_way, self.num_stored = 0, 0, 0
        self.begun = []

    def store(self, value):
        self.num_stored += 1
        return Stored(value)

    def submit(self, work, *arguments, retries):
        assert retries > 0
        self.under_way += 1
        self.most_under_way = max(self.most_under_way, self.under_way)
        self.begun.append(arguments)
        return Begun(work, arguments)

    def result(self, handle):
        self.under_way -= 1
        return handle.work(*handle.arguments)


@cache
def many_devices():
    """Thirteen devices, each with a personal part that is like no other."""
    cell = {
        "name": "cell",
        "rounds": 1,
        "scheme": {"split": "conv", "pruning": {"fixed": 0.4}, "bandwidth": "equal"},
        "devices": {
            "count": 13,
            "cpu_frequency": "3 GHz",
            "cycles_per_weight": 20,
            "transmit_power": "28 dBm",
        },
        "uplink": {
            "bandwidth": "20 MHz",
            "noise_power": "-110 dBm",
            "channel": {"gain": "-100 dB"},
        },
        "model": {"name": "tiny_models:TinyCnn"},
        "learning": {"dataset": "synthetic", "partition": {"by": "iid"}, "batch_size": 4},
    }
    with Enrolment(load_scenario(cell), Streams(1)).learning(EngineChoice()) as learning:
        learning.cohort.personal.mul_(torch.linspace(0.5, 2, 13)[:, None])
        return learning.cohort


@settings(deadline=None, max_examples=10)  # each trains 26 devices
@given(st.integers(1, 6), st.integers(0, 4), st.integers(1, 13))
def test_each_device_goes_out_once_with_its_own_weights_and_comes_back_in_order(
    workers, spare, num_devices
):
    cohort = many_devices()
    running = InThisProcess(workers, workers + spare)
    with patch.object(ray_tasks, "stored", lambda kept: kept.value):
        engine = RayTasks(running, cohort)
        tasks = [Task(3, device, 400) for device in range(num_devices)]
        results = engine.updates(tasks)
        assert running.under_way > 0  # before anybody asks for a result
        for task, (update, seconds) in zip(tasks, results, strict=True):
            expected = cohort.update(task).result
            assert torch.equal(update.personal, expected.personal)
            assert torch.equal(update.shared, expected.shared)
            assert torch.equal(update.mask, expected.mask)
            assert (update.loss, seconds > 0) == (expected.loss, True)
        tested = [one.result for one in engine.evaluations(range(num_devices))]
    assert tested == [cohort.evaluate(device).result for device in range(num_devices)]
    updates = [arguments for arguments in running.begun if isinstance(arguments[3][0], Task)]
    assert [task for *_, group in updates for task in group] == tasks
    for _, _, personal, group in updates:
        rows = cohort.personal[[task.device for task in group]]
        assert torch.equal(torch.from_numpy(personal), rows)
    assert running.num_stored == 2  # the data, and the weights that nobody has changed
    assert running.under_way == 0
    assert running.most_under_way <= workers * (1 if spare else 3)


def test_weights_that_have_changed_are_broadcast_again():
    cohort = many_devices()
    running = InThisProcess(1, 1)
    with patch.object(ray_tasks, "stored", lambda kept: kept.value):
        engine = RayTasks(running, cohort)
        before = cohort.shared.clone()
        first = list(engine.evaluations([0]))
        cohort.shared.mul_(0.5)
        second = list(engine.evaluations([0]))
        cohort.shared.copy_(before)
    assert running.num_stored == 3
    assert first[0].result != second[0].result


def test_a_task_brings_back_no_more_than_fits(monkeypatch):
    """Of one device, if need be, but always of one."""
    cohort = many_devices()
    update_bytes = 4 * cohort.personal.shape[1] + 5 * len(cohort.shared)
    for room, size in ((update_bytes - 1, 1), (3 * update_bytes, 3), (10**9, 5)):
        monkeypatch.setattr(ray_tasks, "_GROUP_BYTES", room)
        running = InThisProcess(1, 1)
        RayTasks(running, cohort).updates([Task(0, device, 400) for device in range(13)])
        assert max(len(group) for *_, group in running.begun) == size


def command(folder, cell, *options):
    path = folder / "cell.yaml"
    path.write_text(json.dumps(cell))
    return [
        sys.executable,
        "-m",
        "fl",
        "run",
        str(path),
        "--out",
        str(folder / "out"),
        "--allow-code",
        *options,
    ]


def environment(**others):
    return os.environ | {"PYTHONPATH": f"{Path('tests').resolve()}:{Path.cwd()}"} | others


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--address", "127.0.0.1:6379"], "--address: belongs to --engine ray, not processes"),
        (["--engine", "inline", "--address", "h:1"], "--address: belongs to --engine ray"),
        (["--engine", "ray", "--workers", "0"], "--workers: must be from 1 to 1024"),
        pytest.param(
            ["--engine", "ray", "--address", f"127.0.0.1:{free_port()}"],
            "cannot be reached: Connection refused",
            marks=pytest.mark.ray,
        ),
    ],
)
def test_a_cluster_that_is_not_there_is_told_before_anything_is_run(
    learning_cell, tmp_path, options, message, request
):
    if "127.0.0.1" in options[-1] and "ray" in options:
        request.getfixturevalue("ray_settings")
    done = subprocess.run(
        command(tmp_path, learning_cell, *options),
        capture_output=True,
        text=True,
        check=False,
        env=environment(),
        timeout=30,  # on a busy machine; Ray itself takes 40 s on an idle one
    )
    assert done.returncode == 2
    assert message in done.stderr
    assert len(done.stderr.splitlines()) == 1
    assert not (tmp_path / "out").exists()


class TestCommand:
    pytestmark = on_ray

    def test_a_cluster_is_named_by_its_address(self, learning_cell, tmp_path, ray_address):
        fl.run(learning_cell, allow_code=True, out=tmp_path / "inline")
        done = subprocess.run(
            command(tmp_path, learning_cell, "--engine", "ray", "--address", ray_address),
            capture_output=True,
            text=True,
            check=False,
            env=environment(),
        )
        assert (done.returncode, done.stderr) == (0, "")
        assert "2 workers trained for" in done.stdout
        assert tables(tmp_path / "out") == tables(tmp_path / "inline")

    @pytest.mark.usefixtures("ray_settings")
    def test_a_cluster_that_was_started_for_a_run_ends_with_it(self, learning_cell, tmp_path):
        learning_cell["rounds"] = 10**6
        with tempfile.TemporaryDirectory(prefix="run-", dir="/tmp") as files:
            process = subprocess.Popen(
                command(tmp_path, learning_cell, "--engine", "ray", "--workers", "2"),
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                text=True,
                env=environment(TMPDIR=files, RAY_ADDRESS="local"),
            )
            wait_until(lambda: many_tasks(process))
            below = children_of(process.pid)
            process.send_signal(signal.SIGINT)
            _, errors = process.communicate(timeout=60)
            wait_until(lambda: not any(map(is_alive, below)))
            assert process.returncode in (1, 130)
            (told,) = errors.splitlines()
            assert told.startswith("straggler: stopped; go on with: straggler run ")
            assert list(Path(files).iterdir()) == []
        assert fl.Run.open(tmp_path / "out").rounds.num_rows > 0


def many_tasks(process):
    """Whether workers have computed for longer than it takes them to import torch."""
    assert process.poll() is None, process.stderr.read()
    return any(used_s(pid) > 6 for pid in busy_workers([process.pid]))


def wait_until(condition, seconds=90):
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.2)
