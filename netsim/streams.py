"""Named random generators out of one seed.

What a stream draws depends on the seed, its purpose and its indices, and on nothing
else: not on which streams were asked for before, nor on which worker asks. So devices
can be simulated in any order, and a new purpose changes no old draw.
"""

import hashlib
from dataclasses import dataclass

import numpy as np

_WORD = 2**32


@dataclass(frozen=True)
class Streams:
    """The random generators of one simulation.

    >>> streams = Streams(seed=1)
    >>> draws = streams("fading", 3, 17).random(2)
    >>> bool((draws == streams("fading", 3, 17).random(2)).all())
    True
    """

    seed: int

    def __post_init__(self) -> None:
        if self.seed < 0:
            raise ValueError(f"seed must be >= 0, got {self.seed}")

    def __call__(self, purpose: str, *indices: int) -> np.random.Generator:
        """Return a fresh generator for *purpose*, at its first draw.

        Args:
            purpose: What is drawn, such as ``"fading"``.
            indices: For whom and when, such as a device and a round; each below 2**32.
        """
        if any(not 0 <= index < _WORD for index in indices):
            raise ValueError(f"indices must be in [0, 2**32), got {indices}")
        digest = hashlib.sha256(purpose.encode()).digest()[:16]
        words = tuple(int.from_bytes(digest[i : i + 4], "little") for i in range(0, 16, 4))
        sequence = np.random.SeedSequence(self.seed, spawn_key=words + indices)
        return np.random.Generator(np.random.PCG64(sequence))
