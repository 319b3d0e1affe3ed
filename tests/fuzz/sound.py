"""Sound files of every kind, to begin with."""

import io
import json
import tempfile
from functools import cache
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import torch

import fl
from fl.directory import run_directory
from fl.experiment import Experiment
from fl.scenario import load_scenario
from fl.weights import save_weights
from netsim.traces import Kind, Samples, Trace, write_trace

ROOT = Path(fl.__file__).parent.parent
#: Of the run that is unfinished.
ROUNDS = 20


def scenarios():
    """The scenarios that come with it."""
    folder = ROOT / "scenarios"
    paths = [*folder.glob("*.yaml"), *folder.glob("paper/*.yaml"), *folder.glob("schemes/*.yaml")]
    return [path.read_bytes() for path in sorted(paths)]


def studies():
    """The studies that come with it, and one with every way to vary a key."""
    shipped = [path.read_bytes() for path in sorted((ROOT / "scenarios/studies").glob("*.yaml"))]
    return [*shipped, _STUDY]


_STUDY = b"""\
name: every-way
base: ../frozen-channel.yaml
set: {rounds: 2}
seeds: [1, 2]
vary:
  grid: {devices.count: [2, 3]}
  zip:
    uplink.noise_power: [-110 dBm, null]
    uplink.noise_density: [null, -174 dBm/Hz]
  sample:
    count: 2
    keys:
      uplink.bandwidth: {log_uniform: [1 MHz, 100 MHz]}
      devices.cycles_per_weight: {uniform: [10, 30]}
      late: {choice: [wait]}
baseline: {devices.count: 3}
metrics: [latency_p50_s, {time_to_accuracy: 0.9}]
"""


@cache
def traces():
    """A trace as we write them, and two as other programs may."""
    rng = np.random.default_rng(3)
    devices = [Samples(np.arange(5.0) / 8, rng.uniform(-120, -80, 5)) for _ in range(3)]
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "t.parquet")
        write_trace(path, Trace(Kind.GAIN_DB, devices, 0.1, {"origin": "here"}))
        files = [path.read_bytes()]
    table = pa.table(
        {
            "device": pa.array(np.repeat(np.arange(3), 5), pa.int32()),
            "time_s": np.tile(np.arange(5.0), 3),
            "spectral_efficiency": rng.uniform(0, 8, 15),
        }
    )
    for options in ({"row_group_size": 7}, {"write_statistics": False, "store_schema": False}):
        sink = io.BytesIO()
        pq.write_table(table, sink, compression="none", **options)
        files.append(sink.getvalue())
    return files


class _InterruptError(Exception):
    pass


@cache
def unfinished():
    """The files of a run that was interrupted, by name."""
    path = ROOT / "scenarios/frozen-channel.yaml"
    scenario = load_scenario(path, [f"rounds={ROUNDS}", "devices.count=3"])

    def interrupt(outcome):
        if outcome.round == 2:
            raise _InterruptError

    with tempfile.TemporaryDirectory() as folder:
        experiment = Experiment(scenario)
        try:
            with run_directory(Path(folder, "run"), experiment, checkpoint_every_s=0) as directory:
                experiment.run(directory, interrupt)
        except _InterruptError:
            pass
        files = {file.name: file.read_bytes() for file in Path(folder, "run/unfinished").iterdir()}
        return files | {"manifest.json": Path(folder, "run/manifest.json").read_bytes()}


def checkpoints():
    """The checkpoint of that run, and one of a run that learns."""
    plain = json.loads(unfinished()["checkpoint.json"])
    spent = {"training_seconds": 0.5, "evaluation_seconds": 0.0}
    state = {"pruned": 1, "fewest_keepers": [3] * plain["round"]} | spent
    learning = plain | {"weights": "weights-3.pt", "learning": state}
    return [json.dumps(one, indent=2).encode() for one in (plain, learning)]


def cohort():
    """What of a cohort is in a file of weights."""
    return SimpleNamespace(shared=torch.arange(4.0), personal=torch.ones(2, 3))


@cache
def weights():
    """The weights of that cohort."""
    with tempfile.TemporaryDirectory() as folder:
        save_weights(Path(folder, "w.pt"), cohort())
        return [Path(folder, "w.pt").read_bytes()]
