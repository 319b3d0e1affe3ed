"""Files from strangers stay where they are, and reach nothing else."""

import io
import os
import tarfile

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import fl
from fl.data import archives
from fl.files import write_atomically
from fl.journal import Journal, JournalError
from fl.lock import LOCK, locked
from fl.manifest import RunDirectoryError, read_manifest
from fl.report.perfetto import write_perfetto
from fl.report.recording import Recording
from fl.scenario import ScenarioError, load_scenario
from netsim.errors import TraceError
from netsim.traces import file as trace_file
from netsim.traces import read_trace
from netsim.traces.importers import Settings, arrays, import_files


@pytest.fixture
def precious(tmp_path):
    """A file that nobody may touch."""
    path = tmp_path / "precious"
    path.write_text("mine")
    yield path
    assert path.read_text() == "mine"


def archive(*members):
    made = io.BytesIO()
    with tarfile.open(fileobj=made, mode="w:gz") as opened:
        for name, kind, content in members:
            member = tarfile.TarInfo(name)
            member.type, member.size = kind, len(content)
            member.linkname = "/etc/passwd"
            opened.addfile(member, io.BytesIO(content))
    made.seek(0)
    return made


@pytest.mark.parametrize(
    "kind",
    [tarfile.SYMTYPE, tarfile.LNKTYPE, tarfile.CHRTYPE, tarfile.BLKTYPE, tarfile.FIFOTYPE],
)
def test_only_a_file_counts_in_an_archive(kind, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    hostile = archive(("wanted", kind, b""), ("../wanted", tarfile.REGTYPE, b"x"))
    with pytest.raises(ValueError, match="holds no file wanted"):
        archives.named_files(hostile, {"wanted": 10})
    assert not list(tmp_path.iterdir())


def test_an_archive_is_not_unpacked_without_end(monkeypatch):
    monkeypatch.setattr(archives, "_MOST_BYTES", 10**6)
    zeros = ("zeros", tarfile.REGTYPE, bytes(2 * 10**6))
    wanted = ("wanted", tarfile.REGTYPE, b"x")
    assert archives.named_files(archive(wanted, zeros), {"wanted": 1}) == {"wanted": b"x"}
    with pytest.raises(ValueError, match="holds more than 1e"):
        archives.named_files(archive(zeros, wanted), {"wanted": 1})


def test_an_array_of_zeros_without_end_is_refused(tmp_path, monkeypatch):
    monkeypatch.setattr(arrays, "_MOST_BYTES", 10**6)
    path = tmp_path / "zeros.npz"
    np.savez_compressed(path, v=np.zeros(10**6), t=np.zeros(3))
    assert path.stat().st_size < 10**4
    settings = Settings(time_column="t", time_unit="s", value_column="v", quantity="gain_db")
    with pytest.raises(TraceError, match="8000128 bytes is more than 1000000"):
        import_files([path], "arrays", settings)


@pytest.mark.parametrize("num_groups", [1, 2])
def test_a_trace_of_equal_rows_without_end_is_refused(tmp_path, monkeypatch, num_groups):
    monkeypatch.setattr(trace_file, "_MOST_ROWS", 1000)
    path = tmp_path / "equal.parquet"
    devices = np.repeat(np.arange(num_groups, dtype=np.int32), 2000)
    values = np.zeros(len(devices))
    table = pa.table({"device": devices, "time_s": values, "gain_db": values})
    pq.write_table(table, path, row_group_size=2000 if num_groups == 2 else None)
    with pytest.raises(TraceError, match="2000 rows to be read at once, more than 1000"):
        read_trace(path)


def test_a_trace_that_is_no_file_is_refused(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    for path in (tmp_path / "pipe", tmp_path):
        with pytest.raises(TraceError, match="is not a file"):
            read_trace(path)


@pytest.mark.parametrize(
    "name",
    ["..", ".", "", "../x", "a/b", "/etc", "-rf", ".hidden", "a\nb", "a\n", "a\\b", "x" * 101],
)
def test_the_name_of_a_scenario_is_no_path(paper_cell, name):
    with pytest.raises(ScenarioError, match="name: must match"):
        load_scenario(paper_cell | {"name": name})


def test_what_is_written_follows_no_link(precious, tmp_path):
    for name in (".page.html.partial", "page.html"):
        (tmp_path / name).symlink_to(precious)
    write_atomically(tmp_path / "page.html", "page")
    assert (tmp_path / "page.html").read_text() == "page"
    assert not (tmp_path / "page.html").is_symlink()


def test_nor_does_what_is_written_of_a_run(precious, tmp_path, paper_cell):
    fl.run(paper_cell, out=tmp_path / "run")
    (tmp_path / "run" / ".timeline.json.partial").symlink_to(precious)
    write_perfetto(Recording.open(tmp_path / "run"), tmp_path / "run" / "timeline.json")


def test_nor_does_a_lock(precious, tmp_path):
    (tmp_path / "folder").mkdir()
    (tmp_path / "folder" / LOCK).symlink_to(precious)
    with locked(tmp_path / "folder"):
        pass


def test_a_run_whose_tables_are_links_does_not_go_on(precious, tmp_path):
    (tmp_path / "rounds.arrows").symlink_to(precious)
    with pytest.raises(JournalError, match="is a link"):
        Journal(tmp_path)
    (tmp_path / "elsewhere").symlink_to(tmp_path)
    with pytest.raises(JournalError, match="is a link"):
        Journal(tmp_path / "elsewhere")


def test_a_manifest_that_never_ends_is_refused(tmp_path):
    (tmp_path / "manifest.json").symlink_to("/dev/zero")
    with pytest.raises(RunDirectoryError, match="too large, or no file"):
        read_manifest(tmp_path)
    (tmp_path / "manifest.json").unlink()
    with (tmp_path / "manifest.json").open("wb") as file:
        file.truncate(10**9)
    with pytest.raises(RunDirectoryError, match="too large, or no file"):
        read_manifest(tmp_path)
