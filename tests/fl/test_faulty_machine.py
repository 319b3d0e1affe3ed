"""Folders that cannot be written, traces that go, runs in each other's way: told, and nothing is lost."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from commands import wait_for
from run_folders import check_finished, check_told, contents, rounds_kept

from fl.directory import run_directory
from fl.experiment import Experiment
from fl.scenario import load_scenario
from netsim.errors import TraceError
from netsim.traces import read_trace

#: Enough to be found under way; it takes seconds, every round made sure of.
LONG = ("--set", "rounds=150", "--checkpoint-every", "0")
READ_ONLY = "Read-only file system"


@pytest.fixture
def trace(tmp_path):
    """A trace of the test's own."""
    copy = tmp_path / "walk.parquet"
    copy.write_bytes(Path("traces/pedestrian.parquet").read_bytes())
    return copy


@pytest.fixture
def words(trace):
    """A command that replays the trace."""
    channel = f"uplink.channel={{trace: {trace}, at_end: repeat}}"
    return ["run", "scenarios/quickstart.yaml", "--set", channel, *LONG]


@pytest.fixture
def whole(commands, words, tmp_path):
    """The run that nothing disturbs."""
    done = commands.run(*words[:-2], "--out", tmp_path / "whole")
    assert done.status == 0, done.errors
    return tmp_path / "whole"


def under_way(commands, words, out):
    """Begin a run, and return it when some of its rounds are made sure of."""
    command = commands.begin(*words, "--out", out)
    wait_for(lambda: rounds_kept(out) >= 2 or command.is_over())
    assert not command.is_over(), command.errors
    return command


def interrupted(commands, words, out):
    command = under_way(commands, words, out)
    os.kill(command.pid, signal.SIGKILL)
    assert command.wait() == -signal.SIGKILL


def test_a_disk_that_is_read_only(commands, disk, words):
    disk.remount("ro")
    for command in (words, ["study", "scenarios/studies/noise.yaml"]):
        failed = commands.run(*command, "--out", disk.folder / "out", place=disk.place)
        check_told(failed, disk.folder / "out", READ_ONLY)
    assert not list(disk.here.iterdir())


def test_a_run_whose_disk_has_become_read_only(commands, disk, words, whole):
    out, here = disk.folder / "run", disk.here / "run"
    command = commands.begin(*words, "--out", out, place=disk.place)
    wait_for(lambda: rounds_kept(here) >= 2 or command.is_over())
    os.kill(command.pid, signal.SIGKILL)
    assert command.wait() == -signal.SIGKILL
    before = contents(here)
    disk.remount("ro")
    again = [*words[:-2], "--resume", "--out", out]
    check_told(commands.run(*again, place=disk.place), out, READ_ONLY)
    assert contents(here) == before
    disk.remount("rw")
    check_finished(commands.run(*again, place=disk.place), here, whole)
    disk.remount("ro")
    there = commands.run(*again, place=disk.place)
    assert (there.status, there.errors) == (0, "")
    assert "is finished" in there.out


def test_a_folder_in_which_nothing_may_be_made(tmp_path):
    tmp_path.chmod(0o555)
    command = [sys.executable, "-m", "fl", "run", "scenarios/quickstart.yaml"]
    # Root may write everywhere, unless it gives that up.
    rootless = ["setpriv", "--bounding-set=-dac_override"] if os.geteuid() == 0 else []
    done = subprocess.run([*rootless, *command, "--out", str(tmp_path / "out")], capture_output=True, text=True, check=False)  # fmt: skip
    tmp_path.chmod(0o755)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == f"straggler: {tmp_path / 'out'}: cannot be written: Permission denied\n"
    assert not list(tmp_path.iterdir())


def test_an_out_that_is_a_file(commands, words, tmp_path):
    (tmp_path / "file").write_text("mine")
    for options in ([], ["--resume"]):
        failed = commands.run(*words, *options, "--out", tmp_path / "file")
        check_told(failed, f"{tmp_path / 'file'}: is no folder", statuses=[2])
    assert (tmp_path / "file").read_text() == "mine"


def test_a_trace_that_is_gone_or_cut_before_a_run_goes_on(commands, words, whole, trace, tmp_path):
    kept, out = trace.read_bytes(), tmp_path / "run"
    interrupted(commands, words, out)
    before = contents(out)
    again = [*words[:-2], "--resume", "--out", out]
    trace.unlink()
    check_told(commands.run(*again), f"{trace}: there is no such trace file", statuses=[2])
    trace.write_bytes(kept[: len(kept) // 2])
    check_told(commands.run(*again), f"{trace}: cannot be read as a Parquet file", statuses=[2])
    assert contents(out) == before
    trace.write_bytes(kept)
    check_finished(commands.run(*again), out, whole)


def test_a_run_under_way_needs_its_trace_no_more(commands, words, whole, trace, tmp_path):
    command = under_way(commands, words, tmp_path / "run")
    os.truncate(trace, 1000)
    trace.unlink()
    command.wait()
    check_finished(command, tmp_path / "run", whole)


def test_a_trace_that_is_cut_while_it_is_read(trace):
    read = read_trace(trace)
    assert len(read.devices[0].times_s) > 0
    os.truncate(trace, 1000)
    with pytest.raises(TraceError, match=rf"{trace}: cannot be read as a Parquet file"):
        read.devices[5]


def test_a_trace_that_goes_before_the_run_is_begun(trace, tmp_path):
    channel = {"trace": str(trace), "at_end": "repeat"}
    experiment = Experiment(load_scenario("scenarios/quickstart.yaml", overrides={"uplink": {"channel": channel}}))  # fmt: skip
    trace.unlink()
    with pytest.raises(OSError, match=str(trace)), run_directory(tmp_path / "run", experiment):
        pass
    assert not (tmp_path / "run").exists()


def test_two_runs_in_one_folder(commands, words, whole, tmp_path):
    out = tmp_path / "run"
    first = under_way(commands, words, out)
    os.kill(first.pid, signal.SIGSTOP)  # it lives, and lets the test take its time
    before = contents(out)
    for options in ([], ["--resume"]):
        second = commands.run(*words, *options, "--out", out)
        check_told(second, f"{out}: another process is at work here", statuses=[2])
    assert contents(out) == before
    os.kill(first.pid, signal.SIGKILL)
    first.wait()
    assert (out / ".lock").exists()
    check_finished(commands.run(*words[:-2], "--resume", "--out", out), out, whole)
    assert not (out / ".lock").exists()


def test_a_finished_run_stays_as_it_is(commands, words, whole):
    before = contents(whole)
    for options, told in (
        ([], "already holds a run"),
        (["--set", "seed=2"], "already holds a run"),
        (["--set", "seed=2", "--resume"], "seed: 1 -> 2"),
    ):
        refused = commands.run(*words, *options, "--out", whole)
        assert refused.status == 2
        assert told in refused.errors
        assert contents(whole) == before
    (whole / "unfinished").mkdir()  # as if killed over removing it
    check_finished(commands.run(*words, "--resume", "--out", whole), whole, whole)
    assert contents(whole) == before
