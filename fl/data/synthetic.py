"""A small image set that needs no files: the same on every computer and in every run.

Each label is a smooth random pattern, drawn once. An image is the pattern of its label,
moved by a few pixels, with a fainter one of any label laid over it, under noise. What tells
labels apart has to be learnt: a network soon is right most of the time, and hardly ever
always. Only whole numbers are drawn and computed with, so no two platforms differ.
"""

import numpy as np
from numpy.typing import NDArray

from fl.data.catalogue import Entry
from fl.data.dataset import Samples
from netsim.streams import Streams

_SEED = 0  # of the set, not of a run
_COARSE = 8  # random values along each side of a pattern, smoothed in between
_SHIFT = 3  # pixels, at most, in each direction
_NOISE = 40
_LEVELS = 256


def synthetic_samples(entry: Entry) -> tuple[Samples, Samples]:
    """Return the samples to train and to test with; every label is equally frequent."""
    patterns = _patterns(entry)
    train = _samples(patterns, entry.num_train, Streams(_SEED)("data.synthetic.train"))
    return train, _samples(patterns, entry.num_test, Streams(_SEED)("data.synthetic.test"))


def _patterns(entry: Entry) -> NDArray[np.int64]:
    """Return a pattern for each label, of values about zero, with a margin to move it in."""
    rng = Streams(_SEED)("data.synthetic.patterns")
    coarse = rng.integers(-_LEVELS, _LEVELS, (entry.num_labels, _COARSE, _COARSE))
    side = entry.image_shape[1] + 2 * _SHIFT
    return np.stack([_smooth(pattern, side) for pattern in coarse])


def _smooth(coarse: NDArray[np.int64], side: int) -> NDArray[np.int64]:
    """Return *coarse* values interpolated linearly in both directions, in whole numbers."""
    steps = side - 1
    position = np.arange(side) * (len(coarse) - 1)
    below = np.minimum(position // steps, len(coarse) - 2)
    above = position - below * steps
    rows = coarse[below] * (steps - above)[:, None] + coarse[below + 1] * above[:, None]
    both = rows[:, below] * (steps - above) + rows[:, below + 1] * above
    return both // steps**2


def _samples(patterns: NDArray[np.int64], num_samples: int, rng: np.random.Generator) -> Samples:
    import torch  # noqa: PLC0415 -- takes seconds

    labels = rng.permutation(np.arange(num_samples) % len(patterns))
    others = rng.integers(0, len(patterns), num_samples)
    strength = rng.integers(12, 29, (num_samples, 1, 1))
    fainter = strength * rng.integers(0, 8, (num_samples, 1, 1)) // 8
    side = patterns.shape[1] - 2 * _SHIFT
    noise = rng.integers(-_NOISE, _NOISE + 1, (2, num_samples, side, side)).sum(axis=0)
    shown = _moved(patterns, labels, rng) * strength + _moved(patterns, others, rng) * fainter
    pixels = np.clip(_LEVELS // 2 + shown // 64 + noise, 0, _LEVELS - 1).astype(np.uint8)
    return Samples(torch.from_numpy(pixels[:, None]), torch.from_numpy(labels))


def _moved(
    patterns: NDArray[np.int64], labels: NDArray[np.int64], rng: np.random.Generator
) -> NDArray[np.int64]:
    """Return the patterns of some labels, each moved at random in both directions."""
    side = patterns.shape[1] - 2 * _SHIFT
    down, right = rng.integers(0, 2 * _SHIFT + 1, (2, len(labels)))
    rows = (down[:, None] + np.arange(side))[:, :, None]
    columns = (right[:, None] + np.arange(side))[:, None, :]
    return patterns[labels[:, None, None], rows, columns]
