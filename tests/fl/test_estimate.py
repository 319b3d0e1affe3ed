"""Estimates are near what is measured, and what cannot fit is refused at once."""

import json
import subprocess
import sys
import tracemalloc
from pathlib import Path

import pytest

import fl
from fl import estimate
from fl.experiment import Experiment
from fl.scenario import ScenarioError, load_scenario

MEASURE = """
import json, re, sys
from pathlib import Path
import fl

def peak():  # not of whoever started this process
    return int(re.search(r"VmHWM:\\s+(\\d+)", Path("/proc/self/status").read_text())[1]) * 1024

before = peak()
fl.run(json.loads(sys.argv[1]), out=sys.argv[2])
print(peak() - before, sum(file.stat().st_size for file in Path(sys.argv[2]).iterdir()))
"""
GENERATED = {"path_loss": {"loss": "100 dB"}, "fading": "clarke", "mobility": {"speed": "1 m/s"}}


def refused(scenario, **changes):
    """Return what is said of a scenario that does not fit; making nothing on the way."""
    tracemalloc.start()
    try:
        with pytest.raises(ScenarioError) as raised:
            fl.run(scenario, **changes)
        assert tracemalloc.get_traced_memory()[1] < 2e7
    finally:
        tracemalloc.stop()
    return str(raised.value)


def test_it_is_near_what_a_large_run_takes(paper_cell, tmp_path):
    gains = {"gain": {"uniform": ["-110 dB", "-90 dB"]}}
    cell = paper_cell | {"uplink": paper_cell["uplink"] | {"channel": gains}}
    cell["devices"] = cell["devices"] | {"count": 20_000}
    command = [sys.executable, "-c", MEASURE, json.dumps(cell), str(tmp_path / "run")]
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    memory, disk = map(float, done.stdout.split())
    scenario = load_scenario(cell)
    estimated = sum(need.count for need in estimate._memory(scenario))
    assert memory < 1.5 * estimated
    assert estimated < 2.5 * memory
    rows = scenario.rounds * scenario.devices.count
    assert disk / rows == pytest.approx(estimate._BYTES_OF_ROW_WRITTEN, rel=0.5)


def test_too_many_devices_are_refused_with_what_they_would_take(paper_cell):
    said = refused(paper_cell, devices={"count": 10**12})
    assert "devices.count: must be <= 10000000: so many would take about 4.3 PB of memory" in said
    assert "4.3e+18 PB" in refused(paper_cell, devices={"count": 10**37})


def test_devices_that_do_not_fit_are_refused(paper_cell, monkeypatch):
    monkeypatch.setattr(estimate, "free_memory", lambda: 10**9)
    said = refused(paper_cell, devices={"count": 10**6})
    assert "cell: takes about 4.4 GB of memory, and 1 GB are free; devices.count asks" in said
    Experiment(
        load_scenario(paper_cell | {"participants": 1000}, overrides={"devices": {"count": 10**6}})
    )
    monkeypatch.setattr(estimate, "free_memory", lambda: None)  # who knows
    Experiment(load_scenario(paper_cell))


def test_rounds_that_do_not_fit_on_the_disk_are_refused(paper_cell, monkeypatch, tmp_path):
    monkeypatch.setattr(estimate, "free_disk", lambda _folder: 10**10)
    out = tmp_path / "out"
    said = refused(paper_cell, rounds=10**9, devices={"count": 1000}, out=out)
    assert f"510 TB of disk in {out}, and 10 GB are free; rounds asks for" in said
    assert not out.exists()


def test_rounds_that_are_kept_in_memory_must_fit_there(paper_cell, monkeypatch):
    monkeypatch.setattr(estimate, "free_memory", lambda: 10**10)
    assert "rounds asks for 40 GB" in refused(paper_cell, rounds=10**7)


def test_a_generated_trace_that_does_not_fit_is_refused(paper_cell):
    channel = {"generate": GENERATED | {"duration": "100000 s", "step": "1 ms"}}
    said = refused(paper_cell, devices={"count": 10**5}, uplink={"channel": channel})
    assert "240 TB of memory" in said
    assert "uplink.channel.generate.duration asks for 240 TB" in said


def test_a_trace_that_many_replay_counts_once_for_each_that_cannot_share(
    paper_cell, moving_trace, monkeypatch
):
    monkeypatch.setattr(estimate, "free_memory", lambda: 3 * 10**8)
    channel = {"trace": str(moving_trace), "devices": "random"}
    crowd = {"devices": {"count": 30_000}, "uplink": {"channel": channel}}
    Experiment(load_scenario(paper_cell, overrides=crowd))
    powers = {"devices": {"count": 30_000, "transmit_power": {"uniform": ["20 dBm", "28 dBm"]}}}
    assert "takes about 445 MB" in refused(paper_cell, **(crowd | powers))


def test_a_network_that_does_not_fit_is_refused(paper_cell):
    said = refused(paper_cell | {"model": {"name": "mlp", "hidden": [10**6, 10**6]}})
    assert "model.hidden asks for 24 TB" in said


def test_a_model_of_given_size_takes_nothing(paper_cell):
    sizes = {"personal_weights": 10**12, "global_weights": 10**12}
    assert fl.run(paper_cell | {"model": sizes, "rounds": 1}).rounds.num_rows == 1


def test_personal_parts_that_do_not_fit_are_refused(paper_cell, monkeypatch):
    monkeypatch.setattr(estimate, "free_memory", lambda: 5 * 10**8)
    learning = {"dataset": "synthetic", "partition": {"by": "iid"}}
    scheme = {"split": {"personal": ["fc1.*"]}}
    cell = paper_cell | {"scheme": scheme, "model": {"name": "mlp"}, "learning": learning}
    with pytest.raises(ScenarioError, match=r"the personal parts: takes about 1\.21 GB of memory"):
        fl.run(cell, devices={"count": 3000})


@pytest.mark.parametrize(
    ("devices", "duration", "said"),
    [
        (10**12, "1 s", "--devices asks for 4.3 PB"),
        (1000, "100000 s", "duration asks for 12 GB"),
        (10**6, "1000 s", "9 TB of disk in "),
    ],
)
def test_traces_to_be_written_must_fit(monkeypatch, devices, duration, said, tmp_path):
    from fl.scenario import load_generate  # noqa: PLC0415

    monkeypatch.setattr(estimate, "free_memory", lambda: 10**10)
    settings = ["step=1 ms", f"duration={duration}", "path_loss={loss: 100 dB}"]
    made = load_generate(settings, devices)
    with pytest.raises(ScenarioError) as raised:
        estimate.check_trace(made, devices, tmp_path / "trace.parquet")
    assert said in str(raised.value)
    assert not list(Path(tmp_path).iterdir())
