"""What torchvision downloads itself, from where the data sets are published."""

import contextlib
import io
import socket
import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from fl.data.catalogue import TEST_IMAGES, TEST_LABELS, TRAIN_IMAGES, TRAIN_LABELS, Entry
from fl.data.idx import image_bytes, label_bytes
from fl.data.source import Source
from fl.data.torchvision_import import import_torchvision

_SILENCE_S = 10.0  # of a connection, before it counts as none


@dataclass(frozen=True)
class Torchvision(Source):
    """What torchvision downloads itself."""

    dataset_class: str

    def __str__(self) -> str:
        return f"torchvision's download ({self.dataset_class})"

    def files(self, entry: Entry, scratch: Path) -> dict[str, bytes]:
        """Download, and write anew as idx files; these equal the originals where those are."""
        del entry
        with _quiet_and_impatient():
            datasets = import_torchvision().datasets
            made = getattr(datasets, self.dataset_class)
            train = made(scratch, train=True, download=True)
            test = made(scratch, train=False, download=True)
        return {
            TRAIN_IMAGES: image_bytes(train.data),
            TRAIN_LABELS: label_bytes(train.targets),
            TEST_IMAGES: image_bytes(test.data),
            TEST_LABELS: label_bytes(test.targets),
        }


@contextlib.contextmanager
def _quiet_and_impatient() -> Iterator[None]:
    """Keep progress bars away from the terminal, and give up soon where there is no network."""
    before = socket.getdefaulttimeout()
    socket.setdefaulttimeout(_SILENCE_S)
    noise = io.StringIO()
    try:
        with (
            contextlib.redirect_stdout(noise),
            contextlib.redirect_stderr(noise),
            warnings.catch_warnings(action="ignore"),
        ):
            yield
    finally:
        socket.setdefaulttimeout(before)
