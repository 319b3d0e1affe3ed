"""Runs on a disk that is full, hit wherever they write: nothing is broken, and all of them go on."""

import json
import shlex
import shutil
import subprocess
import sys

import pytest
from commands import Place
from run_folders import check_finished, check_told, check_whole, contents, tables

FULL = "No space left on device"
TOO_LARGE = "File too large"
#: After each, something else was left of a run when it failed.
STAGES = ("manifest.json", "unfinished/checkpoint.json", "rounds.parquet", "events.parquet")


@pytest.fixture
def waiting(paper_cell, tmp_path):
    """A run in which nothing is learnt."""
    return written(paper_cell | {"rounds": 3}, tmp_path)


@pytest.fixture
def learning(paper_cell, tmp_path):
    """A run with weights to be kept: 14 pages of them."""
    cell = paper_cell | {
        "rounds": 3,
        "scheme": {"split": {"personal": ["fc2.*"]}, "pruning": {"fixed": 0.4}},
        "devices": paper_cell["devices"] | {"count": 4},
        "model": {"name": "mlp", "hidden": [16]},
        "learning": {"dataset": "synthetic", "partition": {"by": "iid"}, "batch_size": 8, "test_samples": 10},
    }  # fmt: skip
    return written(cell, tmp_path)


def written(cell, folder):
    (folder / "cell.yaml").write_text(json.dumps(cell))
    return ["run", folder / "cell.yaml", "--engine", "inline"]


EVERY_ROUND = ("--checkpoint-every", "0")


def fails_and_goes_on(commands, words, place, *, out, here, whole, reason=FULL, make_room=None):
    """Run until the disk is full, make room, and go on; return what was left between.

    Args:
        commands: Begins commands.
        words: Of the command.
        place: Where it meets a disk that is full.
        out: The run directory, as the command sees it.
        here: The same, as the test sees it.
        whole: The run without such a disk.
        reason: What the command must say.
        make_room: Called before it goes on, if given.
    """
    failed = commands.run(*words, "--out", out, place=place)
    left = set()
    if failed.status:
        refused = failed.status == 2 and "are free" in failed.errors  # before anything is made
        check_told(failed, out, "takes about" if refused else reason)
        left = check_whole(here)
        # It can go on just if the message says so.
        assert (f"--resume --out {out}" in failed.errors) == bool(left)
    if make_room is not None:
        make_room()
    again = commands.run(*words, "--resume", "--out", out, place=Place(place.namespaces))
    check_finished(again, here, whole)
    return None if failed.status == 0 else left


def sweep(disk, commands, words, whole, rooms):
    """Fail and go on with ever more room; return what was left each time, until nothing failed."""
    found = []
    for number, room in enumerate(rooms):
        disk.leave(**room)
        name = f"run-{number}"
        left = fails_and_goes_on(
            commands,
            words,
            disk.place,
            out=disk.folder / name,
            here=disk.here / name,
            whole=whole,
            make_room=disk.make_room,
        )
        shutil.rmtree(disk.here / name)
        if left is None:
            return found
        found.append(left)
    raise AssertionError("the disk was always full")


def test_a_disk_with_ever_more_pages(commands, waiting, disk, tmp_path):
    commands.run(*waiting, "--out", tmp_path / "whole")
    rooms = ({"pages": pages} for pages in range(3, 40))
    found = sweep(disk, commands, [*waiting, *EVERY_ROUND], tmp_path / "whole", rooms)
    assert set() in found
    for stage in STAGES:
        assert any(stage in left for left in found), f"never full after {stage}"


def test_a_disk_with_ever_more_files(commands, waiting, disk, tmp_path):
    commands.run(*waiting, "--out", tmp_path / "whole")
    rooms = ({"files": files} for files in range(40))
    found = sweep(disk, commands, [*waiting, *EVERY_ROUND], tmp_path / "whole", rooms)
    assert len(found) > 8


@pytest.mark.parametrize(
    ("options", "pages"),
    [
        (EVERY_ROUND, (12, 24, 36)),
        ((), (9, 11)),  # no weights are written before it fails
    ],
    ids=["every round", "at the end"],
)
def test_a_run_that_learns(commands, learning, disk, tmp_path, options, pages):
    commands.run(*learning, "--out", tmp_path / "whole")
    rooms = [{"pages": number} for number in (*pages, 300)]
    found = sweep(disk, commands, [*learning, *options], tmp_path / "whole", rooms)
    assert len(found) == len(pages)


@pytest.mark.parametrize(
    ("scenario", "limits"),
    [("waiting", (300, 600, 2500, 5000, 6000)), ("learning", (5000, 50_000))],
)
def test_files_that_must_not_be_larger(commands, scenario, limits, tmp_path, request):
    words = [*request.getfixturevalue(scenario), *EVERY_ROUND]
    commands.run(*words, "--out", tmp_path / "whole")
    for limit in limits:
        out, place = tmp_path / f"run-{limit}", Place(most_bytes=limit)
        left = fails_and_goes_on(
            commands,
            words,
            place,
            out=out,
            here=out,
            whole=tmp_path / "whole",
            reason=TOO_LARGE,
        )
        assert left is not None


def test_a_process_that_is_begun_and_ended_by_a_shell(learning, tmp_path):
    command = [sys.executable, "-m", "fl", *map(str, learning), "--out", str(tmp_path / "out")]
    shell = ["sh", "-c", 'ulimit -f 40; exec "$@"', "sh", *command, *EVERY_ROUND]
    done = subprocess.run(shell, capture_output=True, text=True, check=False)
    (line,) = done.stderr.splitlines()
    assert (done.returncode, done.stdout) == (1, "")
    assert f"{tmp_path / 'out/unfinished/weights-1.pt'}: {TOO_LARGE}; mend that" in line
    check_whole(tmp_path / "out")


def test_going_on_needs_room_only_for_what_is_not_there(commands, waiting, disk, tmp_path):
    words = [*waiting, "--set", "rounds=60"]
    commands.run(*words, "--out", tmp_path / "whole")
    out, here = disk.folder / "run", disk.here / "run"
    disk.leave(pages=80)
    check_told(commands.run(*words, *EVERY_ROUND, "--out", out, place=disk.place), out, FULL)
    before = contents(here)
    check_told(commands.run(*words, "--resume", "--out", out, place=disk.place), out, FULL)
    assert contents(here) == before  # still no room
    disk.leave(pages=60)
    new = commands.run(*words, "--out", disk.folder / "new", place=disk.place)
    check_told(new, "takes about 308 kB of disk", statuses=[2])
    again = commands.run(*words, "--resume", "--out", out, place=disk.place)
    check_finished(again, here, tmp_path / "whole")


def test_a_study_tells_which_runs_failed_and_completes_with_room(commands, waiting, disk, tmp_path):
    commands.run(*waiting, "--set", "seed=2", "--out", tmp_path / "whole")
    study = {"name": "small", "base": "cell.yaml", "seeds": 2, "vary": {"grid": {"csi_age": ["0 s", "1 ms"]}}, "metrics": ["latency_mean_s"]}  # fmt: skip
    (tmp_path / "study.yaml").write_text(json.dumps(study))
    words = ["study", tmp_path / "study.yaml", "--workers", "1", "--out", disk.folder / "study"]
    here = disk.here / "study"
    for pages in (0, 10, 20):
        disk.leave(pages=pages)
        failed = commands.run(*words, place=disk.place)
        lines = [line for line in failed.errors.splitlines() if "of 4 runs" not in line]
        assert failed.status == 1
        assert lines[-1].startswith("straggler: ")
        assert all(str(disk.folder) in line for line in lines)
        assert all(FULL in line or "are free" in line for line in lines)
        assert not list(here.glob(".*.partial"))
        for run in here.glob("runs/*/*"):
            if json.loads((run / "manifest.json").read_text())["status"] != "finished":
                check_whole(run)
    disk.make_room()
    done = commands.run(*words, place=disk.place)
    assert done.status == 0, done.errors
    assert "4 runs made" not in done.out  # some were there
    assert tables(next(here.glob("runs/*csi_age-0*/seed=2"))) == tables(tmp_path / "whole")


def test_a_log_for_tensorboard(commands, waiting, disk, tmp_path):
    pytest.importorskip("tensorboard", exc_type=ImportError)
    words = [*waiting, "--set", "rounds=200", "--tensorboard", disk.folder / "log"]
    commands.run(*waiting, "--set", "rounds=200", "--out", tmp_path / "whole")
    disk.leave(pages=0)
    failed = commands.run(*words, "--out", tmp_path / "none", place=disk.place)
    check_told(failed, disk.folder / "log", FULL)
    assert not (tmp_path / "none").exists()
    disk.leave(pages=1)
    failed = commands.run(*words, "--out", tmp_path / "run", place=disk.place)
    check_told(failed, disk.folder / "log", FULL, "mend that, then go on with")
    check_whole(tmp_path / "run")
    disk.make_room()
    again = commands.run(*words, "--resume", "--out", tmp_path / "run", place=disk.place)
    check_finished(again, tmp_path / "run", tmp_path / "whole")


def test_traces_pages_and_timelines(commands, waiting, disk, tmp_path):
    commands.run(*waiting, "--out", tmp_path / "run")
    before = contents(tmp_path / "run")
    settings = ["duration=1 s", "step=10 ms", "path_loss=umi", "placement={disc: 100 m}", "mobility={speed: 3 km/h}", "fading=clarke"]  # fmt: skip
    made = disk.folder / "made"
    disk.leave(pages=1)
    for words in (
        ["trace", "generate", made, "--devices", "4", *(f"--set={one}" for one in settings)],
        ["report", tmp_path / "run", "--out", made],
        ["timeline", tmp_path / "run", "--out", made],
    ):
        check_told(commands.run(*words, place=disk.place), made, FULL)
        assert [path.name for path in disk.here.iterdir()] == ["filler"]
    assert contents(tmp_path / "run") == before


def test_a_run_with_code_of_its_own_goes_on_as_it_is_told(commands, waiting, tmp_path):
    rule = "scheme={pruning: none, bandwidth: 'tests.own_rules:WeakestFirst'}"
    words = [*waiting, "--set", "rounds=30", "--set", rule, "--allow-code"]
    commands.run(*words, "--out", tmp_path / "whole")
    place = Place(most_bytes=20_000)
    failed = commands.run(*words, *EVERY_ROUND, "--out", tmp_path / "run", place=place)
    check_told(failed, tmp_path / "run", TOO_LARGE)
    _, _, told = failed.errors.partition("go on with: straggler ")
    check_finished(commands.run(*shlex.split(told)), tmp_path / "run", tmp_path / "whole")
