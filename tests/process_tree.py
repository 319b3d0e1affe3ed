"""Processes below another one, as Linux tells of them."""

import os
from pathlib import Path


def children_of(pid):
    """Return all processes below one."""
    found = {}
    for stat in Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = stat.read_text().rpartition(")")[2].split()
        except OSError:
            continue
        found.setdefault(int(fields[1]), []).append(int(stat.parent.name))
    below, todo = [], [pid]
    while todo:
        todo += (children := found.get(todo.pop(), []))
        below += children
    return below


def used_s(pid):
    """Return the processor time of a process, 0 if it is gone."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return 0.0
    return int(fields[11]) / os.sysconf("SC_CLK_TCK")


def is_worker(pid, after_s=3.0):
    """Tell workers that have computed for a while from the fork server and the resource tracker."""
    return not children_of(pid) and used_s(pid) > after_s
