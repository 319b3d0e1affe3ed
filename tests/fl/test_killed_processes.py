"""Runs that learn, and lose a worker or are ended themselves: each goes on to the same bytes."""

import json
import os
import shlex
import signal
from pathlib import Path

import pytest
from commands import wait_for
from process_tree import children_of
from run_folders import check_finished, check_told, check_whole, rounds_kept

EVERY_ROUND = ("--checkpoint-every", "0")
GONE = "a worker process is gone, killed by a signal or for want of memory"


CELL = {
    "name": "cell",
    "rounds": 80,
    "scheme": {"split": {"personal": ["fc2.*"]}, "pruning": {"fixed": 0.4}},
    "devices": {"count": 4, "cpu_frequency": "3 GHz", "cycles_per_weight": 20, "transmit_power": "28 dBm"},
    "uplink": {"bandwidth": "20 MHz", "noise_power": "-110 dBm", "channel": {"gain": "-100 dB"}},
    "model": {"name": "mlp", "hidden": [16]},
    "learning": {"dataset": "synthetic", "partition": {"by": "iid"}, "batch_size": 8, "evaluate_every": 40, "test_samples": 10},
}  # fmt: skip


@pytest.fixture(scope="module")
def learning(tmp_path_factory):
    """A run that takes seconds, every round made sure of."""
    file = tmp_path_factory.mktemp("learning") / "cell.yaml"
    file.write_text(json.dumps(CELL))
    return ["run", file]


@pytest.fixture(scope="module")
def whole(commands, learning, tmp_path_factory):
    """The run that nothing disturbs."""
    out = tmp_path_factory.mktemp("whole") / "run"
    done = commands.run(*learning, "--engine", "inline", "--out", out)
    assert done.status == 0, done.errors
    return out


def under_way(commands, words, out):
    """Begin a run or go on with it, and return it when some more rounds are made sure of."""
    before = rounds_kept(out)
    command = commands.begin(*words, *EVERY_ROUND, "--out", out)
    wait_for(lambda: rounds_kept(out) >= before + 3 or command.is_over())
    assert not command.is_over(), command.errors
    return command


def workers_and_server(pid):
    """Return the workers of a run, and the process that they are forked from."""
    (server,) = [child for child in children_of(pid) if children_of(child)]
    return children_of(server), server


def told_command(errors):
    """Return the command that a message says to go on with."""
    _, _, told = errors.splitlines()[0].partition("go on with: straggler ")
    return shlex.split(told)


def test_a_run_that_loses_a_worker_and_then_is_killed(commands, learning, whole, tmp_path):
    out = tmp_path / "run"
    first = under_way(commands, [*learning, "--engine", "processes", "--workers", "2"], out)
    workers, _ = workers_and_server(first.pid)
    assert len(workers) == 2
    os.kill(workers[0], signal.SIGKILL)  # as the kernel does when memory runs out
    first.wait()
    check_told(first, GONE, "fewer --workers", f"--resume --out {out}", statuses=[1])
    check_whole(out)

    resumed = [*learning, "--resume", "--engine", "processes", "--workers", "3"]
    second = under_way(commands, resumed, out)
    below = children_of(second.pid)
    assert len(workers_and_server(second.pid)[0]) == 3
    os.kill(second.pid, signal.SIGKILL)
    assert second.wait() == -signal.SIGKILL

    last = commands.run(*told_command(first.errors), "--engine", "inline")
    check_finished(last, out, whole)
    wait_for(lambda: not any(Path(f"/proc/{pid}").exists() for pid in below))


def test_a_run_that_loses_the_server_of_its_workers(commands, learning, whole, tmp_path):
    words = [*learning, "--engine", "processes", "--workers", "1"]
    command = under_way(commands, words, tmp_path / "run")
    _, server = workers_and_server(command.pid)
    os.kill(server, signal.SIGKILL)
    command.wait()
    check_told(command, GONE, statuses=[1])
    check_whole(tmp_path / "run")
    last = commands.run(*told_command(command.errors), "--engine", "inline")
    check_finished(last, tmp_path / "run", whole)


@pytest.mark.parametrize(("sign", "status"), [(signal.SIGINT, 1), (signal.SIGTERM, 143)])
def test_a_run_that_is_asked_to_end(commands, learning, whole, tmp_path, sign, status):
    command = under_way(commands, [*learning, "--engine", "inline"], tmp_path / "run")
    os.kill(command.pid, sign)
    assert command.wait() in (status, 128 + sign)
    assert command.errors.startswith("straggler: stopped; go on with: ")
    assert "Traceback" not in command.errors
    check_whole(tmp_path / "run")
    last = commands.run(*told_command(command.errors), "--engine", "inline")
    check_finished(last, tmp_path / "run", whole)
