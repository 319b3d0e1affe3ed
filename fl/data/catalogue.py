"""The data sets there are: what they show, how large they are, what is in their files.

A set that is fetched is kept as four idx files, the format of the original MNIST: images and
labels, to train and to test with. An idx file of images has three dimensions; images in
colour are kept channel by channel, one below the other. The checksums are those of the
files as they are unpacked, so that it does not matter where a set came from.
"""

from dataclasses import dataclass, field

from fl.data.dataset import DatasetError

TRAIN_IMAGES = "train-images-idx3-ubyte"
TRAIN_LABELS = "train-labels-idx1-ubyte"
TEST_IMAGES = "t10k-images-idx3-ubyte"
TEST_LABELS = "t10k-labels-idx1-ubyte"


@dataclass(frozen=True)
class Entry:
    """What is known of a data set before it is loaded."""

    name: str
    shows: str
    num_train: int
    num_test: int
    image_shape: tuple[int, int, int]
    """Channels, height, width."""
    mean: tuple[float, ...]
    std: tuple[float, ...]
    sha256: dict[str, str] = field(default_factory=dict)
    """Of each of its files; a set without any is made, not fetched."""
    num_labels: int = 10

    def file_bytes(self, file: str) -> int:
        """Return how long one of its files is."""
        num_samples = self.num_train if file.startswith("train") else self.num_test
        channels, height, width = self.image_shape
        if file in (TRAIN_LABELS, TEST_LABELS):
            return 8 + num_samples
        return 16 + num_samples * channels * height * width


CATALOGUE = {
    entry.name: entry
    for entry in (
        Entry(
            name="mnist",
            shows="handwritten digits",
            num_train=60_000,
            num_test=10_000,
            image_shape=(1, 28, 28),
            mean=(0.1307,),
            std=(0.3081,),
            sha256={
                TRAIN_IMAGES: "ba891046e6505d7aadcbbe25680a0738ad16aec93bde7f9b65e87a2fc25776db",
                TRAIN_LABELS: "65a50cbbf4e906d70832878ad85ccda5333a97f0f4c3dd2ef09a8a9eef7101c5",
                TEST_IMAGES: "0fa7898d509279e482958e8ce81c8e77db3f2f8254e26661ceb7762c4d494ce7",
                TEST_LABELS: "ff7bcfd416de33731a308c3f266cc351222c34898ecbeaf847f06e48f7ec33f2",
            },
        ),
        Entry(
            name="fashion-mnist",
            shows="clothing",
            num_train=60_000,
            num_test=10_000,
            image_shape=(1, 28, 28),
            mean=(0.2860,),
            std=(0.3530,),
            sha256={
                TRAIN_IMAGES: "c59f468a2f672dc815687fe0f83887768d799fd8a3f3276145d20f83aa44d888",
                TRAIN_LABELS: "bad3541b69d912435c50bb6ba87bec294ff4f6a2e1246121d8633921760443d9",
                TEST_IMAGES: "5b4141f0afbad91edebe8549f8fcffe087ea10ca49f1dbef5c9a5cd8815ce37b",
                TEST_LABELS: "0402a96d92fd2663957122ceb108a494c5af83dab82d92729df917d7dec38c34",
            },
        ),
        Entry(
            name="cifar-10",
            shows="animals, vehicles",
            num_train=50_000,
            num_test=10_000,
            image_shape=(3, 32, 32),
            mean=(0.4914, 0.4822, 0.4465),
            std=(0.2470, 0.2435, 0.2616),
            sha256={
                TRAIN_IMAGES: "8b7cd0f9f9e4cbfba4f0ce8a8e1c29a1566ccb69f2975aecc4bcbadf6720b280",
                TRAIN_LABELS: "1a4c5fb4e1cab2caa8eee134c093de84d620899e907756e71736fb7b0d4ab554",
                TEST_IMAGES: "699cbf62ddbf8f09f73121d06d57682dc82ba17e1d1fe9911919d321d1f9412c",
                TEST_LABELS: "987e01129ceec0098f1e9d9404cff9fa82ad3d15383a61e8ec60ff20ffe6db40",
            },
        ),
        Entry(
            name="synthetic",
            shows="patterns in noise",
            num_train=6_000,
            num_test=1_000,
            image_shape=(1, 28, 28),
            mean=(0.4878,),
            std=(0.1943,),
        ),
    )
}


def entry_of(name: str) -> Entry:
    """Return what is known of a data set.

    Raises:
        DatasetError: There is none of that name.
    """
    if name not in CATALOGUE:
        raise DatasetError(f"{name}: there is no such data set; must be {_one_of(CATALOGUE)}")
    return CATALOGUE[name]


def _one_of(names: dict[str, Entry]) -> str:
    *first, last = names
    return f"{', '.join(first)} or {last}"
