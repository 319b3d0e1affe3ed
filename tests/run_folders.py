"""What tests look for in a run directory, and in what a command says of it."""

import json

import pyarrow.parquet as pq

from fl.scenario.document import read_document


def tables(folder):
    return [(folder / f"{name}.parquet").read_bytes() for name in ("rounds", "devices", "events")]


def contents(folder):
    """Return all files below a folder, with what is in them."""
    files = (path for path in folder.rglob("*") if path.is_file())
    return {str(path.relative_to(folder)): path.read_bytes() for path in files}


def status(folder):
    return json.loads((folder / "manifest.json").read_text())["status"]


def rounds_kept(folder):
    """Return how many rounds of a run under way are made sure of."""
    path = folder / "unfinished" / "checkpoint.json"
    return json.loads(path.read_text())["round"] if path.exists() else 0


def check_told(command, *parts, statuses=(1, 2)):
    """One message, with all that it must say."""
    assert command.status in statuses, command.errors
    (line,) = command.errors.splitlines()
    assert line.startswith("straggler: ")
    for part in parts:
        assert str(part) in line


def check_whole(folder):
    """Whatever a run that failed has left is whole; return the names."""
    names = {str(path.relative_to(folder)) for path in folder.rglob("*")}
    assert not [name for name in names if name.endswith(".partial")]
    assert ".lock" not in names
    assert names or not folder.exists()
    if names:
        assert status(folder) in ("running", "failed")
        assert read_document(folder / "scenario.yaml").data["rounds"] > 0
    for path in folder.glob("*.parquet"):
        pq.read_table(path).validate(full=True)
    return names


def check_finished(command, folder, whole):
    """A command has led to a finished run, and it is that of another folder."""
    assert (command.status, command.errors) == (0, "")
    assert tables(folder) == tables(whole)
    assert status(folder) == "finished"
    assert not (folder / "unfinished").exists()
