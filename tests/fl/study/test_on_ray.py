"""Runs on a real Ray cluster of two workers: the same bytes, and nothing lost with a worker."""

import os
import signal
import threading
import time
from pathlib import Path

import pytest
from study_jobs import LONG, job, quiet

from fl.ray_cluster import cluster
from fl.study.local import Local
from fl.study.on_ray import OnRay
from fl.study.runner import run_missing

pytest.importorskip("ray", reason="Ray is not installed: pip install 'straggler[ray]'")
pytestmark = [pytest.mark.ray, pytest.mark.xdist_group("ray")]


@pytest.fixture(scope="module")
def joined():
    with cluster(workers=2) as started:
        yield started


def tables(one):
    return [
        (one.folder / f"{name}.parquet").read_bytes() for name in ("rounds", "devices", "events")
    ]


def test_the_same_bytes_as_on_this_machine(tmp_path, joined):
    here = [job(tmp_path / "here", seed) for seed in (1, 2, 3)]
    there = [job(tmp_path / "there", seed) for seed in (1, 2, 3)]
    told = []
    assert run_missing(here, Local(2), quiet).runs == 3
    assert run_missing(there, OnRay(joined), told.append).runs == 3
    assert [tables(one) for one in here] == [tables(one) for one in there]
    assert told[-1].done == 3


def working():
    """Return the processes of Ray that work for us."""
    found = []
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            if path.read_bytes().startswith(b"ray::_perform"):
                found.append(int(path.parent.name))
        except OSError:
            continue
    return found


def test_a_killed_worker_loses_nothing_but_the_run_it_was_at_which_is_made_again(tmp_path, joined):
    jobs = [job(tmp_path / "there", seed, **LONG) for seed in (1, 2, 3)]
    runs = iter(OnRay(joined).run(jobs))
    killed = []

    def kill_one():
        end = time.monotonic() + 60
        while not list(tmp_path.glob("there/*/manifest.json")):
            assert time.monotonic() < end
            time.sleep(0.01)
        killed.extend(working()[:1])
        os.kill(killed[0], signal.SIGKILL)

    thread = threading.Thread(target=kill_one)
    thread.start()
    ended = list(runs)
    thread.join()
    assert killed
    assert [one.error for one in ended] == [None] * 3
    alone = [job(tmp_path / "here", seed, **LONG) for seed in (1, 2, 3)]
    run_missing(alone, Local(2), quiet)
    assert [tables(one) for one in jobs] == [tables(one) for one in alone]


def test_a_run_that_fails_is_told(tmp_path, joined):
    silent = {"uplink": {"channel": {"gain": "-4000 dB"}}, "scheme": "personalization"}
    jobs = [job(tmp_path, 1), job(tmp_path, 2, **silent)]
    made = run_missing(jobs, OnRay(joined), quiet)
    assert made.runs == 1
    assert "can never end" in made.failed[0].error
