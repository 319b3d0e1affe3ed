"""Real runs, killed at random moments: each goes on, and comes to the same bytes."""

import json
import multiprocessing
import signal
import time
from pathlib import Path

import numpy as np
import pytest

import fl
from fl.directory import run_directory
from fl.experiment import Experiment
from fl.manifest import RunDirectoryError
from fl.scenario import load_scenario
from netsim.errors import InputError

KILLS = {"waiting": 20, "dropping": 20, "learning": 10}
CELL = {
    "name": "waiting",
    "rounds": 20,
    "scheme": "equal-resource",
    "deadline": "40 ms",
    "devices": {"count": 10, "cpu_frequency": {"uniform": ["2 GHz", "3 GHz"]}, "cycles_per_weight": 20, "transmit_power": "28 dBm"},
    "uplink": {"bandwidth": "20 MHz", "spatial_layers": 10, "noise_power": "-110 dBm", "channel": {"trace": "traces/pedestrian.parquet", "at_end": "repeat"}},
    "model": {"personal_weights": 52_096, "global_weights": 402_826},
}  # fmt: skip
LEARNING = CELL | {
    "name": "learning",
    "rounds": 6,
    "scheme": {"split": {"personal": ["fc1.*"]}, "pruning": {"fixed": 0.4}},
    "deadline": None,
    "devices": CELL["devices"] | {"count": 4},
    "model": {"name": "mlp", "hidden": [16]},
    "learning": {"dataset": "synthetic", "partition": {"by": "iid"}, "batch_size": 8, "evaluate_every": 3, "test_samples": 10},
}  # fmt: skip
DROPPING = CELL | {
    "name": "dropping",
    "late": "drop",
    "uplink": CELL["uplink"] | {"release": "redistribute"},
    "faults": {
        "offline": {"probability": 0.1},
        "lost": {"probability": 0.2, "pause": "1 ms"},
        "slow": {"probability": 0.1, "factor": 3},
        "schedule": [{"fault": "offline", "devices": 3, "from": "100 ms", "until": "250 ms"}],
    },
}


def go(scenario, out, every_s=0.0):
    """Run, or go on."""
    fl.run(scenario, out=out, resume=True, checkpoint_every_s=every_s)


@pytest.fixture(scope="module")
def processes():
    """Makes processes in which everything is imported, so that they begin at once."""
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(["fl.enrolment"])
    return context


def tables(folder):
    return [(folder / f"{name}.parquet").read_bytes() for name in ("rounds", "devices", "events")]


@pytest.mark.parametrize("scenario", [CELL, DROPPING, LEARNING], ids=lambda one: one["name"])  # fmt: skip
def test_a_run_killed_at_any_moment_goes_on_to_the_same_bytes(tmp_path, processes, scenario):
    fl.run(scenario, out=tmp_path / "whole")
    whole = tables(tmp_path / "whole")
    lasts_s = 0.0
    for name in ("imported", "timed"):  # the first has to wait for what all of them need
        began = time.monotonic()
        first = processes.Process(target=go, args=(scenario, tmp_path / name))
        first.start()
        first.join()
        lasts_s = time.monotonic() - began
        assert tables(tmp_path / name) == whole
    rng = np.random.default_rng(1)
    kills = KILLS[scenario["name"]]
    interrupted = 0
    for index, part in enumerate(rng.permuted(np.linspace(0.1, 1.0, kills))):
        out = tmp_path / f"killed-{index}"
        # Most make sure of every round; others now and then, so that rounds are lost, and made again.
        every_s = 0.0 if index % 3 else 0.05
        process = processes.Process(target=go, args=(scenario, out, every_s))
        process.start()
        process.join(part * lasts_s)
        process.kill()
        process.join()
        interrupted += process.exitcode == -signal.SIGKILL
        go(scenario, out, every_s=5.0)
        assert tables(out) == whole, f"killed after {part:.2f} of the time"
        assert json.loads((out / "manifest.json").read_text())["status"] == "finished"
        assert not (out / "unfinished").exists()
    assert interrupted > kills / 3


def interrupted(out, scenario, rounds=3):
    """Leave a run that was interrupted after some rounds."""

    class StopError(Exception):
        pass

    def stop(outcome):
        if outcome.round + 1 == rounds:
            raise StopError

    experiment = Experiment(load_scenario(scenario))
    with pytest.raises(StopError), run_directory(out, experiment) as directory:
        experiment.run(directory, stop)


def test_no_finished_round_is_lost_by_an_error_and_they_can_be_read(tmp_path):
    interrupted(tmp_path / "run", CELL)
    assert fl.Run.open(tmp_path / "run").rounds.num_rows == 3
    resumed = fl.run(CELL, out=tmp_path / "run", resume=True)
    assert resumed.devices.equals(fl.run(CELL).devices)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"rounds": 61}, "rounds: 20 -> 61"),
        ({"seed": 2}, "seed: 1 -> 2"),
        ({"uplink": CELL["uplink"] | {"bandwidth": "21 MHz"}}, "uplink.bandwidth: '20 MHz' -> '21 MHz'"),
    ],
)  # fmt: skip
def test_another_scenario_is_refused_with_what_differs(tmp_path, change, message):
    interrupted(tmp_path / "run", CELL)
    with pytest.raises(RunDirectoryError, match=message):
        fl.run(CELL | change, out=tmp_path / "run", resume=True)
    assert fl.run(CELL, out=tmp_path / "run", resume=True).rounds.num_rows == 20


def test_another_trace_under_the_same_name_is_refused(tmp_path):
    trace = tmp_path / "trace.parquet"
    trace.write_bytes(Path("traces/pedestrian.parquet").read_bytes())
    cell = CELL | {"uplink": CELL["uplink"] | {"channel": {"trace": str(trace), "at_end": "repeat"}}}  # fmt: skip
    interrupted(tmp_path / "run", cell)
    trace.write_bytes(Path("traces/vehicle.parquet").read_bytes())
    with pytest.raises(RunDirectoryError, match=r"trace\.parquet: '.*' -> '.*'"):
        fl.run(cell, out=tmp_path / "run", resume=True)
    trace.unlink()
    with pytest.raises(InputError, match=r"trace\.parquet"):
        fl.run(cell, out=tmp_path / "run", resume=True)


@pytest.mark.parametrize("field", ["versions", "code"])
def test_other_code_is_refused(tmp_path, field):
    interrupted(tmp_path / "run", CELL)
    manifest = json.loads((tmp_path / "run/manifest.json").read_text())
    name = next(iter(manifest[field]))
    manifest[field][name] = "another"
    (tmp_path / "run/manifest.json").write_text(json.dumps(manifest))
    with pytest.raises(RunDirectoryError, match=f"{name}: 'another' -> "):
        fl.run(CELL, out=tmp_path / "run", resume=True)


def test_without_being_asked_to_nothing_goes_on_or_is_overwritten(tmp_path):
    interrupted(tmp_path / "run", CELL)
    with pytest.raises(RunDirectoryError, match="holds a run that was interrupted; go on with it by --resume"):  # fmt: skip
        fl.run(CELL, out=tmp_path / "run")
    fl.run(CELL, out=tmp_path / "run", resume=True)
    before = tables(tmp_path / "run")
    with pytest.raises(RunDirectoryError, match="already holds a run"):
        fl.run(CELL, out=tmp_path / "run")
    fl.run(CELL, out=tmp_path / "run", resume=True)
    assert tables(tmp_path / "run") == before


class Payload:
    def __init__(self, canary):
        self._canary = canary

    def __reduce__(self):
        return Path.touch, (self._canary,)


def test_a_hostile_checkpoint_runs_nothing(tmp_path):
    import torch  # noqa: PLC0415 -- takes seconds

    interrupted(tmp_path / "run", LEARNING)
    (weights,) = (tmp_path / "run/unfinished").glob("weights-*.pt")
    canary = tmp_path / "canary"
    torch.save({"global": Payload(canary), "personal": Payload(canary)}, weights)
    with pytest.raises(InputError, match="cannot be read as weights"):
        fl.run(LEARNING, out=tmp_path / "run", resume=True)
    assert not canary.exists()


@pytest.mark.parametrize("text", ["", "{}", "[1]", "null", '{"round": -1}', '{"round": 1e99}', "\x00", '{"weights": "../../x"}'])  # fmt: skip
def test_a_checkpoint_of_nonsense_is_told(tmp_path, text):
    interrupted(tmp_path / "run", CELL)
    (tmp_path / "run/unfinished/checkpoint.json").write_text(text)
    with pytest.raises(InputError, match=r"checkpoint\.json"):
        fl.run(CELL, out=tmp_path / "run", resume=True)
