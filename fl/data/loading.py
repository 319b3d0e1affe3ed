"""A data set by its name: out of the cache, or made."""

from pathlib import Path

from fl.data.cache import Kept, cache_folder, file_path, kept
from fl.data.catalogue import (
    TEST_IMAGES,
    TEST_LABELS,
    TRAIN_IMAGES,
    TRAIN_LABELS,
    Entry,
    entry_of,
)
from fl.data.dataset import Dataset, DatasetError, Samples
from fl.data.idx import read_images, read_labels
from fl.data.synthetic import synthetic_samples


def load_dataset(name: str, folder: Path | None = None) -> Dataset:
    """Load a data set; nothing is downloaded.

    Args:
        name: One of the catalogue.
        folder: Of all data sets; by default the cache folder.

    Raises:
        DatasetError: There is no such set, it was not fetched, or its files are damaged.
    """
    entry = entry_of(name)
    if entry.sha256:
        train, test = _out_of_files(entry, cache_folder() if folder is None else folder)
    else:
        train, test = synthetic_samples(entry)
    return Dataset(name, train, test, entry.num_labels, entry.mean, entry.std)


def _out_of_files(entry: Entry, folder: Path) -> tuple[Samples, Samples]:
    place = folder / entry.name
    try:
        state = kept(entry, folder)
    except OSError as error:
        raise DatasetError(f"{place}: cannot be read: {error.strerror}") from None
    if state is Kept.MISSING:
        raise DatasetError(
            f"{entry.name}: is not in {folder}; fetch it with: straggler data fetch {entry.name}"
        )
    if state is Kept.DAMAGED:
        raise DatasetError(
            f"{place}: is damaged: its files are not those of {entry.name}; "
            f"fetch it anew with: straggler data fetch {entry.name}"
        )
    train = _samples(entry, folder, TRAIN_IMAGES, TRAIN_LABELS)
    return train, _samples(entry, folder, TEST_IMAGES, TEST_LABELS)


def _samples(entry: Entry, folder: Path, images_file: str, labels_file: str) -> Samples:
    images = read_images(file_path(entry, images_file, folder))
    labels = read_labels(file_path(entry, labels_file, folder))
    return Samples(images.view(-1, *entry.image_shape), labels)
