import json
import shutil

import numpy as np
import pytest

import fl
from fl.manifest import RunDirectoryError
from fl.report import recording as module
from fl.report.recording import Recording


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    made = tmp_path_factory.mktemp("run") / "out"
    fl.run("scenarios/drop-late.yaml", rounds=7, out=made)
    return made


def test_chunks_are_the_table_whatever_their_size(folder, monkeypatch):
    whole = fl.Run.open(folder).devices
    recording = Recording.open(folder)
    for rows in (3, 10, 25, 1000):
        monkeypatch.setattr(module, "_ROWS_AT_ONCE", rows)
        chunks = list(recording.in_chunks(("latency_s", "upload_bits")))
        for name in ("latency_s", "upload_bits"):
            joined = np.concatenate([chunk[name] for chunk in chunks])
            assert joined.shape == (7, 10)
            np.testing.assert_array_equal(joined.ravel(), whole[name].to_numpy().astype(float))
    assert np.isnan(joined).sum() == 0
    assert any(np.isnan(chunk["latency_s"]).any() for chunk in chunks)  # some were cut


def test_some_devices_only(folder):
    recording = Recording.open(folder)
    found = recording.devices(["device", "latency_s"], of=[2, 7])
    assert found["device"].to_pylist() == [2, 7] * 7
    assert found.column_names == ["device", "latency_s"]


def test_if_there_are_many_those_who_straggled_are_among_the_chosen(folder):
    recording = Recording.open(folder)
    assert recording.some_devices(10) == list(range(10))
    chosen = recording.some_devices(4)
    assert len(set(chosen)) == 4
    assert {0, 9} <= set(chosen)  # from the first to the last
    last = recording.rounds["straggler"].to_pylist()
    assert max(set(last), key=last.count) in chosen


def test_channels_are_those_of_the_run(folder):
    recording = Recording.open(folder)
    state_db = fl.Run.open(folder).devices["snr_db"].to_pylist()[:10]
    for channel, snr_db in zip(recording.channels, state_db, strict=True):
        assert 2 ** channel.efficiency(0.0) - 1 == pytest.approx(10 ** (snr_db / 10))


def test_without_its_trace_a_run_has_no_channels_but_all_its_tables(folder, tmp_path):
    moved = tmp_path / "elsewhere" / "out"
    shutil.copytree(folder, moved)
    recording = Recording.open(moved)
    assert recording.channels is None
    assert recording.num_rounds == 7


def test_a_trace_that_was_replaced_is_not_taken_for_the_runs_own(tmp_path):
    shutil.copy("traces/pedestrian.parquet", tmp_path / "walk.parquet")
    channel = {"channel": {"trace": str(tmp_path / "walk.parquet")}}
    fl.run("scenarios/quickstart.yaml", rounds=2, uplink=channel, out=tmp_path / "out")
    assert Recording.open(tmp_path / "out").channels is not None
    shutil.copy("traces/vehicle.parquet", tmp_path / "walk.parquet")
    assert Recording.open(tmp_path / "out").channels is None


@pytest.mark.parametrize("broken", ["manifest.json", "rounds.parquet", "devices.parquet"])
def test_a_folder_without_results_is_refused(folder, tmp_path, broken):
    copy = tmp_path / "copy"
    shutil.copytree(folder, copy)
    (copy / broken).write_text("no")
    with pytest.raises(RunDirectoryError, match=r"copy: holds no results: "):
        Recording.open(copy)
    (copy / broken).unlink()
    with pytest.raises(RunDirectoryError, match=r"copy: holds no results: "):
        Recording.open(copy)


def test_a_failed_run_shows_what_it_has(folder, tmp_path):
    copy = tmp_path / "copy"
    shutil.copytree(folder, copy)
    manifest = json.loads((copy / "manifest.json").read_text())
    (copy / "manifest.json").write_text(json.dumps(manifest | {"status": "failed"}))
    assert Recording.open(copy).num_rounds == 7
