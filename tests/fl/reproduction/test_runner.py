"""Runs of a plan, made in real processes, interrupted by real signals."""

import json
import os
import signal
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path

import pytest
from process_tree import children_of

import fl
from fl.lock import LockedError
from fl.manifest import RunDirectoryError
from fl.reproduction.plan import Arm
from fl.reproduction.runner import run_arms
from fl.study.jobs import Job
from fl.study.runner import is_finished
from netsim.errors import InputError

ARM = Arm("stated", "proposed", "stated.yaml", {"rounds": 3}, 3)
LONG = Arm("stated", "long", "table-1-moving.yaml", {"rounds": 100_000}, 2)


def quiet(_progress):
    pass


def stamps(folder):
    """Return when each file of each run was written."""
    return {path: path.stat().st_mtime_ns for path in folder.rglob("[!.]*.*")}


def test_runs_are_those_that_the_library_makes(tmp_path):
    told = []
    assert run_arms([ARM], tmp_path, 2, told.append) == 3
    for seed in (1, 2, 3):
        made = fl.Run.open(tmp_path / "stated/proposed" / f"seed-{seed}")
        assert made.facts["seed"] == seed
        assert made.devices.equals(fl.run(ARM.scenario(seed)).devices)
    assert [(one.done, one.total) for one in told] == [(0, 3), (1, 3), (2, 3), (3, 3)]
    assert told[-1].left_s == 0
    assert told[0].left_s is None  # nothing is known yet


def test_what_is_finished_is_not_run_again_and_what_is_not_is(tmp_path):
    run_arms([ARM], tmp_path, 2, quiet)
    before = stamps(tmp_path)
    assert run_arms([ARM], tmp_path, 2, quiet) == 0
    assert stamps(tmp_path) == before
    broken = tmp_path / ARM.folder(2)
    manifest = json.loads((broken / "manifest.json").read_text())
    (broken / "manifest.json").write_text(json.dumps(manifest | {"status": "running"}))
    (broken / "rounds.parquet").unlink()
    assert run_arms([replace(ARM, num_seeds=4)], tmp_path, 2, quiet) == 2  # that, and a new seed
    assert fl.Run.open(broken).rounds.num_rows == 3
    kept = {path: at for path, at in before.items() if broken not in path.parents}
    assert kept.items() <= stamps(tmp_path).items()


def test_a_run_of_something_else_is_not_overwritten(tmp_path):
    run_arms([ARM], tmp_path, 1, quiet)
    before = stamps(tmp_path)
    other = replace(ARM, overrides={"rounds": 4})
    with pytest.raises(RunDirectoryError, match="holds a run of another scenario; give another"):
        run_arms([other], tmp_path, 1, quiet)
    assert stamps(tmp_path) == before


def test_two_at_once_do_not_get_into_each_others_way(tmp_path):
    process = started(tmp_path)
    with pytest.raises(LockedError, match="another process is at work here"):
        run_arms([ARM], tmp_path, 1, quiet)
    assert (tmp_path / LONG.folder(1) / "manifest.json").exists()
    process.kill()
    process.communicate(timeout=60)
    assert run_arms([ARM], tmp_path, 1, quiet) == 3  # the lock is gone with who held it


def test_bad_input_ends_it_with_its_message(tmp_path):
    silent = {"scheme": "personalization", "uplink": {"channel": {"gain": "-4000 dB"}}}
    with pytest.raises(InputError, match="can never end"):
        run_arms([replace(ARM, overrides=silent)], tmp_path, 2, quiet)


def started(folder):
    script = (
        "from pathlib import Path\n"
        "from fl.reproduction.runner import run_arms\n"
        "from fl.reproduction.plan import Arm\n"
        f"arm = {LONG!r}\n"
        "if __name__ == '__main__':\n"
        f"    run_arms([arm], Path({str(folder)!r}), 2, lambda p: print(p.done, flush=True))\n"
    )
    path = folder / "go.py"
    path.write_text(script)
    environment = os.environ | {"PYTHONPATH": str(Path.cwd())}
    process = subprocess.Popen(
        [sys.executable, str(path)], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        env=environment,
    )  # fmt: skip
    deadline = time.monotonic() + 120
    while not (folder / LONG.folder(1) / "manifest.json").exists():
        assert time.monotonic() < deadline
        assert process.poll() is None, process.stderr.read()
        time.sleep(0.1)
    return process


@pytest.mark.parametrize("sign", [signal.SIGINT, signal.SIGKILL])
def test_an_interrupted_plan_leaves_no_process_and_no_half_run_that_counts(tmp_path, sign):
    process = started(tmp_path)
    workers = children_of(process.pid)
    process.send_signal(sign)
    process.communicate(timeout=60)
    deadline = time.monotonic() + 30
    while any(Path(f"/proc/{pid}").exists() for pid in workers):
        assert time.monotonic() < deadline
        time.sleep(0.1)
    for seed in LONG.seeds:
        assert not is_finished(Job(LONG.scenario(seed), tmp_path / LONG.folder(seed)))
