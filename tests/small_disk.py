"""A disk of a few pages, which only those see who are told of it."""

import os
import subprocess
from contextlib import contextmanager
from pathlib import Path

import pytest
from commands import Place

PAGE = os.sysconf("SC_PAGE_SIZE")


class SmallDisk:
    """A tmpfs in a mount namespace of its own."""

    def __init__(self, holder, folder, namespaces):
        self.folder = folder
        """What it is called by those who see it."""
        self.here = Path(f"/proc/{holder}/root{folder}")
        """What it is called by the tests."""
        self.place = Place(namespaces=tuple(namespaces))
        self._holder = holder

    def leave(self, *, pages=None, files=None):
        """Leave room for some pages, or files, and no more."""
        self.make_room()
        filler = self.here / "filler"
        filler.mkdir()
        (filler / "pages").touch()
        free = os.statvfs(self.here)
        if pages is not None:
            with (filler / "pages").open("wb") as file:
                os.posix_fallocate(file.fileno(), 0, (free.f_bavail - pages) * PAGE)
        for number in range(0 if files is None else free.f_ffree - files):
            (filler / str(number)).touch()

    def make_room(self):
        for file in (self.here / "filler").glob("*"):
            file.unlink()
        if (self.here / "filler").exists():
            (self.here / "filler").rmdir()

    def remount(self, option):
        """Change how it is mounted: ``ro``, ``rw``."""
        enter = ["nsenter", f"--target={self._holder}", "--mount"]
        if os.geteuid():
            enter += ["--user", "--preserve-credentials"]
        subprocess.run([*enter, "mount", "-o", f"remount,{option}", self.folder], check=True)


@contextmanager
def small_disk(folder, pages=2000, files=60):
    """Mount one at *folder*; where that cannot be, leave the test out."""
    options = f"size={pages * PAGE},nr_inodes={files}"
    # It reads until the tests are over, however that comes, and its mounts go with it.
    script = f'mount -t tmpfs -o {options} tmpfs "$0" && echo mounted && exec cat'
    kinds = ["mount"] if os.geteuid() == 0 else ["user", "map-root-user", "mount"]
    command = ["unshare", *(f"--{kind}" for kind in kinds), "sh", "-c", script, str(folder)]
    pipes = dict.fromkeys(("stdin", "stdout", "stderr"), subprocess.PIPE)
    try:
        holder = subprocess.Popen(command, text=True, **pipes)
    except OSError as error:
        pytest.skip(f"no disk can be mounted: {error}")
    with holder:
        if holder.stdout.readline() != "mounted\n":
            pytest.skip(f"no disk can be mounted: {holder.stderr.read().strip()}")
        entered = ("mnt",) if os.geteuid() == 0 else ("user", "mnt")
        namespaces = [f"/proc/{holder.pid}/ns/{name}" for name in entered]
        yield SmallDisk(holder.pid, folder, namespaces)
        holder.stdin.close()
