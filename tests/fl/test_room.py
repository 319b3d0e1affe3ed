"""What is free, on computers that are not this one."""

import resource

import pytest

from fl import room

MEMINFO = "MemTotal:       24682416 kB\nMemFree:        10532036 kB\nMemAvailable:   19000000 kB\n"


@pytest.fixture
def computer(tmp_path, monkeypatch):
    """A computer with 19.456 GB available, as its files tell it; more of them can be written."""
    monkeypatch.setattr(room, "_PROC", tmp_path / "proc")
    monkeypatch.setattr(room, "_CGROUPS", tmp_path / "cgroup")

    def write(path, text):
        (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / path).write_text(text)

    write("proc/meminfo", MEMINFO)
    return write


@pytest.mark.usefixtures("computer")
def test_memory_that_is_available_is_free():
    assert room.free_memory() == 19_000_000 * 1024


def test_a_group_of_version_2_leaves_what_it_does_not_use(computer):
    computer("proc/self/cgroup", "0::/box/inner\n")
    computer("cgroup/memory.max", "max\n")
    computer("cgroup/memory.current", "99\n")
    computer("cgroup/box/memory.max", "2000000000\n")
    computer("cgroup/box/memory.current", "700000000\n")
    computer("cgroup/box/memory.stat", "anon 5\ninactive_file 100000000\n")
    computer("cgroup/box/inner/memory.max", "8000000000\n")
    computer("cgroup/box/inner/memory.current", "0\n")
    assert room.free_memory() == 1_400_000_000


def test_a_group_of_version_1_does_too(computer):
    computer("proc/self/cgroup", "4:memory:/a\n2:cpu:/b\n0::/\n")
    computer("cgroup/memory/a/memory.limit_in_bytes", "1000\n")
    computer("cgroup/memory/a/memory.usage_in_bytes", "1200\n")
    computer("cgroup/memory/memory.limit_in_bytes", "9223372036854771712\n")
    computer("cgroup/memory/memory.usage_in_bytes", "1200\n")
    assert room.free_memory() == 0


def test_a_limit_on_the_address_space_counts(computer, monkeypatch):
    computer("proc/self/statm", "1000 1 1 1 0 1 0\n")
    monkeypatch.setattr(resource, "getrlimit", lambda _which: (10**9, 10**9))
    assert room.free_memory() == 10**9 - 1000 * resource.getpagesize()


def test_where_nothing_is_told_nothing_is_known(tmp_path, monkeypatch):
    monkeypatch.setattr(room, "_PROC", tmp_path)
    assert room.free_memory() is None


def test_the_disk_of_a_folder_that_is_not_there_is_that_of_the_one_above(tmp_path):
    assert room.free_disk(tmp_path / "a" / "b") == pytest.approx(room.free_disk(tmp_path), rel=0.1)


@pytest.mark.parametrize(
    ("count", "told"), [(0, "0 B"), (999, "999 B"), (999.6, "1 kB"), (4.3e30, "4.3e+15 PB")]
)
def test_sizes_are_told_in_their_unit(count, told):
    assert room.told_bytes(count) == told
