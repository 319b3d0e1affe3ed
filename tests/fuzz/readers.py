"""The readers of files that may come from anybody, and how each is asked.

A reader reads one file, in a folder in which everything that belongs to it lies as it should.
"""

import json
import math
import shutil
from collections.abc import Callable
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from fuzz import sound
from fuzz.law import read_or_refused

from fl.checkpoint import read_checkpoint
from fl.journal import Journal
from fl.manifest import check_over, read_manifest
from fl.scenario import load_scenario, write_scenario
from fl.study.arms import load_plan
from fl.weights import load_weights
from netsim.traces import read_trace


@dataclass(frozen=True)
class Reader:
    """How one kind of file is read."""

    file: str
    """Its path within the folder."""
    read: Callable[[Path], object]
    sound: Callable[[], list[bytes]]
    """Files to begin with."""
    prepare: Callable[[Path], object] = lambda folder: folder
    """Puts into the folder what belongs to the file."""

    def check(self, folder: Path, content: bytes) -> bool:
        """Return whether a file of this content is read; else it was refused in words."""
        path = folder / self.file
        path.write_bytes(content)
        return read_or_refused(lambda: self.read(path), folder)


def _copy_scenarios(folder):
    shutil.copytree(sound.ROOT / "scenarios", folder / "scenarios")
    # Scenarios of a subfolder are changed beside the others: what they extend is there, too.
    for path in [*folder.glob("scenarios/schemes/*.yaml"), *folder.glob("scenarios/paper/*.yaml")]:
        shutil.copy(path, folder / "scenarios" / path.name)


def _read_scenario(path):
    scenario = load_scenario(path)
    again = path.with_name("again.yaml")
    again.write_text(write_scenario(scenario, path.parent), encoding="utf-8")
    assert load_scenario(again).written() == scenario.written()


def _read_plan(path):
    plan = load_plan(path)
    assert len({arm.name for arm in plan.arms}) == len(plan.arms) > 0


def _read_trace(path):
    trace = read_trace(path)
    assert len(trace.devices) > 0
    for number in range(len(trace.devices)):  # a loop over devices would pass over an IndexError
        samples = trace.devices[number]
        assert len(samples.values) == len(samples.times_s) > 0
        assert np.isfinite(samples.times_s).all()
        assert (np.diff(samples.times_s) > 0).all()
        assert not np.isnan(samples.values).any()
        assert 0 < trace.span_s(samples) < math.inf
    json.dumps(dict(trace.metadata))


def _write_unfinished(folder):
    for name, content in sound.unfinished().items():
        (folder / name).write_bytes(content)


def _read_unfinished(path):
    """What goes on with a run, up to its tables."""
    learns = b"weights-" in (path.parent / "checkpoint.json").read_bytes()
    checkpoint = read_checkpoint(path.parent, sound.ROUNDS, learns=learns)
    with closing(Journal(path.parent, checkpoint.end)) as journal:
        journal.check()
        journal.write_parquet(path.parent)


def _read_manifest(path):
    read_manifest(path.parent)
    check_over(path.parent)


def _of_run(name):
    return Reader(name, _read_unfinished, lambda: [sound.unfinished()[name]], _write_unfinished)


READERS = {
    "scenario": Reader("scenarios/x.yaml", _read_scenario, sound.scenarios, _copy_scenarios),
    "study": Reader("scenarios/studies/x.yaml", _read_plan, sound.studies, _copy_scenarios),
    "trace": Reader("x.parquet", _read_trace, sound.traces),
    "checkpoint": Reader("checkpoint.json", _read_unfinished, sound.checkpoints, _write_unfinished),
    "rounds": _of_run("rounds.arrows"),
    "devices": _of_run("devices.arrows"),
    "events": _of_run("events.arrows"),
    "weights": Reader("x.pt", lambda path: load_weights(path, sound.cohort()), sound.weights),
    "manifest": Reader(
        "manifest.json", _read_manifest, lambda: [sound.unfinished()["manifest.json"]]
    ),
}
