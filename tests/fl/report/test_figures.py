"""Figures as files: all of them whole, the same for the same run, and as named."""

import hashlib
import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest
from pyarrow import csv

import fl
from fl.report.figures import write_figures
from fl.report.plots import FIGURES, Plots
from fl.report.recording import Recording
from netsim.errors import InputError

ROOT = Path(__file__).parents[3]
SCENARIOS = ROOT / "scenarios"
FORMS = ("svg", "pdf", "png", "csv")
HOSTILE = "../../<script>alert('$x_1$')</script>\\'; rm -rf ~"
ELSEWHERE = """
import sys
from pathlib import Path
from fl.report.figures import write_figures
from fl.report.recording import Recording
write_figures(Recording.open(Path(sys.argv[1])), Path(sys.argv[2]))
"""


@pytest.fixture(scope="module")
def learnt(tmp_path_factory):
    """A small run that learns, and the folder of its figures."""
    out = tmp_path_factory.mktemp("learnt")
    fl.run(
        SCENARIOS / "fashion-mnist.yaml",
        out=out / "run",
        rounds=3,
        devices={"count": 3},
        allow_code=True,
        model={"name": "tiny_models:TinyCnn"},
        learning={"dataset": "synthetic", "batch_size": 16, "evaluate_every": 2},
    )
    write_figures(Recording.open(out / "run"), out / "figures")
    return out


@pytest.fixture(scope="module")
def dropping(tmp_path_factory):
    """A run that goes on without those who are late."""
    out = tmp_path_factory.mktemp("dropping") / "run"
    fl.run(SCENARIOS / "drop-late.yaml", out=out, rounds=4)
    return Recording.open(out)


@pytest.fixture(scope="module")
def written(dropping, tmp_path_factory):
    """Its figures, as if its scenario had had a name that no scenario may have."""
    scenario = dropping.scenario.model_copy(update={"name": HOSTILE})
    manifest = dict(dropping.manifest) | {"scenario": HOSTILE}
    renamed = replace(dropping, scenario=scenario, manifest=manifest)
    return write_figures(renamed, tmp_path_factory.mktemp("written") / "deep" / "figures")


def hashes(folder):
    return {path.name: hashlib.sha256(path.read_bytes()).hexdigest() for path in folder.iterdir()}


def test_the_same_run_gives_the_same_bytes_in_another_process(learnt, tmp_path):
    here = hashes(learnt / "figures")
    assert sorted(here) == sorted(f"{name}.{form}" for name in FIGURES for form in FORMS)
    subprocess.run(
        [sys.executable, "-c", ELSEWHERE, learnt / "run", tmp_path],
        check=True,
        # Sets come in another order there, and whoever asks for the time gets another one.
        env=os.environ | {"PYTHONHASHSEED": "7", "PYTHONPATH": str(ROOT), "TZ": "Asia/Tokyo"},
    )
    assert hashes(tmp_path) == here


def test_the_csv_holds_what_is_drawn_to_the_last_digit(learnt):
    run = fl.Run.open(learnt / "run")
    for name, plot in Plots(run.rounds, run.devices).every().items():
        read = csv.read_csv(learnt / "figures" / f"{name}.csv")
        assert read.column_names == plot.table.column_names
        for column in read.column_names:
            assert read[column].to_pylist() == plot.table[column].to_pylist()


def test_a_run_of_latencies_has_all_figures_but_that_of_learning(written):
    names = [name for name in FIGURES if name != "learning"]
    assert [path.name for path in written] == [f"{name}.{form}" for name in names for form in FORMS]
    assert sorted(written[0].parent.iterdir()) == sorted(written)


def test_files_are_what_they_are_called_and_carry_no_date(written):
    begins = {".svg": b"<?xml", ".pdf": b"%PDF", ".png": b"\x89PNG", ".csv": b'"'}
    for path in written:
        content = path.read_bytes()
        assert content.startswith(begins[path.suffix])
        assert b"CreationDate" not in content
        assert b"<dc:date>" not in content
        assert b"tIME" not in content


def test_the_name_of_a_scenario_reaches_neither_files_nor_pictures(written):
    assert {path.stem for path in written} <= set(FIGURES)
    assert len({path.parent for path in written}) == 1
    assert all(b"script>" not in path.read_bytes() for path in written)


def test_uploads_that_were_cut_are_left_out_and_counted(dropping, written):
    cut = dropping.devices(["latency_s"])["latency_s"].null_count
    assert cut > 0
    folder = written[0].parent
    panels = csv.read_csv(folder / "prediction.csv")["panel"].to_pylist()
    assert panels.count("scatter") == 40 - cut
    assert f"{cut} uploads that were cut" in (folder / "prediction.svg").read_text()


def test_a_folder_that_cannot_be_made_is_named(dropping, tmp_path):
    (tmp_path / "file").write_text("in the way")
    with pytest.raises(InputError, match=r"file.figures: cannot hold figures: Not a directory"):
        write_figures(dropping, tmp_path / "file" / "figures")


def test_nothing_is_left_half_written(dropping, tmp_path, monkeypatch):
    def disk_full(_table, path):
        path.write_text("half")
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(csv, "write_csv", disk_full)
    with pytest.raises(InputError, match="cannot hold figures: No space left on device"):
        write_figures(dropping, tmp_path)
    left = sorted(path.name for path in tmp_path.iterdir())
    assert left == ["latency.pdf", "latency.png", "latency.svg"]
