"""Runs in real processes: busy, killed, interrupted."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from process_tree import children_of, used_s
from study_jobs import LONG, job, quiet

import fl
from fl.study.local import ATTEMPTS, Local
from fl.study.runner import run_missing


def test_runs_are_those_that_the_library_makes(tmp_path):
    jobs = [job(tmp_path, seed) for seed in (1, 2, 3)]
    made = run_missing(jobs, Local(2), quiet)
    assert (made.runs, list(made.failed)) == (3, [])
    for one in jobs:
        alone = tmp_path / f"alone-{one.scenario.seed}"
        fl.run(one.scenario, out=alone)
        for table in ("rounds", "devices", "events"):
            file = f"{table}.parquet"
            assert (one.folder / file).read_bytes() == (alone / file).read_bytes()


def test_a_run_that_fails_is_told_and_the_others_go_on(tmp_path):
    silent = {"uplink": {"channel": {"gain": "-4000 dB"}}, "scheme": "personalization"}
    jobs = [job(tmp_path, 1), job(tmp_path, 2, **silent), job(tmp_path, 3)]
    told = []
    made = run_missing(jobs, Local(2), told.append)
    assert made.runs == 2
    (ended,) = made.failed
    assert ended.job.scenario.seed == 2
    assert "can never end" in ended.error
    assert (told[-1].done, told[-1].failed, told[-1].total) == (3, 1, 3)
    assert told[0].running == 2
    assert told[-1].running == 0


def workers_of(pid, least=1):
    """Wait for processes that the fork server below *pid* has made, and that have computed."""
    end = time.monotonic() + 60
    while True:
        below = {worker for child in children_of(pid) for worker in children_of(child)}
        found = [worker for worker in below if used_s(worker) > 0.02]
        if len(found) >= least:
            return found
        assert time.monotonic() < end
        time.sleep(0.02)


def started(folder, seeds):
    """Run a study's jobs in a process of their own."""
    script = folder / "go.py"
    script.write_text(
        "from pathlib import Path\n"
        "from study_jobs import job, LONG\n"
        "from fl.study.local import Local\n"
        "from fl.study.runner import run_missing\n"
        "if __name__ == '__main__':\n"
        f"    jobs = [job(Path({str(folder)!r}), seed, **LONG) for seed in {seeds!r}]\n"
        "    made = run_missing(jobs, Local(2), lambda p: print(p.done, flush=True))\n"
        "    print('failed', [ended.error for ended in made.failed], flush=True)\n"
    )
    environment = os.environ | {"PYTHONPATH": os.pathsep.join([str(Path.cwd()), "tests"])}
    return subprocess.Popen(
        [sys.executable, str(script)], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        env=environment,
    )  # fmt: skip


def test_a_killed_process_costs_only_its_run_which_is_made_again(tmp_path):
    process = started(tmp_path, [1, 2, 3])
    os.kill(workers_of(process.pid)[0], signal.SIGKILL)
    out, errors = process.communicate(timeout=120)
    assert out.splitlines()[-1] == "failed []", errors
    alone = fl.run("scenarios/quickstart.yaml", **LONG, seed=1)
    assert fl.Run.open(tmp_path / "seed=1").devices.equals(alone.devices)
    assert fl.Run.open(tmp_path / "seed=3").rounds.num_rows == 3000


def test_a_run_whose_process_dies_again_and_again_is_given_up(tmp_path):
    process = started(tmp_path, [1])
    for _ in range(ATTEMPTS):
        (worker,) = workers_of(process.pid)
        os.kill(worker, signal.SIGKILL)
        while Path(f"/proc/{worker}").exists():
            time.sleep(0.01)
    out, _ = process.communicate(timeout=60)
    assert "killed by SIGKILL, 3 times; if memory was short" in out.splitlines()[-1]


@pytest.mark.parametrize("sign", [signal.SIGINT, signal.SIGKILL])
def test_an_interrupted_study_leaves_no_process(tmp_path, sign):
    process = started(tmp_path, [1, 2])
    workers = workers_of(process.pid, least=2)
    process.send_signal(sign)
    process.communicate(timeout=60)
    end = time.monotonic() + 30
    while any(Path(f"/proc/{pid}").exists() for pid in workers):
        assert time.monotonic() < end
        time.sleep(0.05)
    jobs = [job(tmp_path, seed, **LONG) for seed in (1, 2)]
    run_missing(jobs, Local(2), quiet)
    alone = fl.run("scenarios/quickstart.yaml", **LONG, seed=2)
    assert fl.Run.open(tmp_path / "seed=2").devices.equals(alone.devices)
