"""What memory and disk this computer has left."""

import resource
import shutil
from collections.abc import Iterator
from pathlib import Path

_PROC = Path("/proc")
_CGROUPS = Path("/sys/fs/cgroup")
#: Of the two versions of control groups: folder, limit, use, and what of that is given back.
_FILES = (
    ("", "memory.max", "memory.current", "inactive_file"),
    ("memory", "memory.limit_in_bytes", "memory.usage_in_bytes", "total_inactive_file"),
)


def free_memory() -> int | None:
    """Return how many bytes this process may still take; None, if that cannot be told.

    The least of what is free at all, what its control groups leave it, as a container's do,
    and what a limit on its address space does.
    """
    known = [*_available(), *_left_by_groups(), *_left_by_limit()]
    return max(min(known), 0) if known else None


def free_disk(folder: Path) -> int:
    """Return how many bytes fit where *folder* is, or would be made."""
    there = folder.absolute()
    while not there.exists():
        there = there.parent
    return shutil.disk_usage(there).free


def told_bytes(count: float) -> str:
    """Return a size as a person says it.

    >>> told_bytes(4300), told_bytes(5.6e15)
    ('4.3 kB', '5.6 PB')
    """
    units = ("B", "kB", "MB", "GB", "TB", "PB")
    power = 0
    while count >= 999.5 and power < len(units) - 1:
        count, power = count / 1000, power + 1
    return f"{count:.3g} {units[power]}" if count < 1e6 else f"{count:.1e} {units[power]}"


def _available() -> Iterator[int]:
    said = _table(_PROC / "meminfo")
    if "MemAvailable:" in said:
        yield said["MemAvailable:"] * 1024


def _left_by_groups() -> Iterator[int]:
    """Yield what is left within each group that this process is in, and those around it."""
    lines = _read(_PROC / "self" / "cgroup").splitlines()
    for line in lines:
        _, controllers, path = [*line.split(":", 2), "", ""][:3]
        for folder, most, used, reclaimable in _FILES:
            if folder not in controllers.split(","):
                continue
            root = _CGROUPS / folder
            group = root / path.lstrip("/")
            for level in (group, *group.parents):
                limit, use = _read(level / most), _read(level / used)
                if limit.strip().isdigit() and use.strip().isdigit():
                    cached = _table(level / "memory.stat").get(reclaimable, 0)
                    yield int(limit) - int(use) + cached
                if level == root:
                    break


def _left_by_limit() -> Iterator[int]:
    limit, _ = resource.getrlimit(resource.RLIMIT_AS)
    pages = _read(_PROC / "self" / "statm").split()
    if limit != resource.RLIM_INFINITY and pages:
        yield limit - int(pages[0]) * resource.getpagesize()


def _table(path: Path) -> dict[str, int]:
    """Return a file of names and numbers."""
    rows = (line.split() for line in _read(path).splitlines())
    return {row[0]: int(row[1]) for row in rows if len(row) > 1 and row[1].isdigit()}


def _read(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8")
    except OSError:  # another system, or another version of it
        return ""
