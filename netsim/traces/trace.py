"""What a channel trace is: for each device, what its channel did from when on.

A value holds from its time until the next sample; the last one holds for a step.
"""

import hashlib
from abc import abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path
from typing import overload

import numpy as np
from numpy.typing import NDArray


class Kind(StrEnum):
    """What the values of a trace are; also the name of their column."""

    GAIN_DB = "gain_db"
    """Power gain, path loss included."""
    SNR_DB = "snr_db"
    """Signal-to-noise ratio at the receiver."""
    SPECTRAL_EFFICIENCY = "spectral_efficiency"
    """Bits a second and hertz."""


@dataclass(frozen=True)
class Samples:
    """The trace of one device."""

    times_s: NDArray[np.float64]
    values: NDArray[np.float64]


class OnDemand(Sequence[Samples]):
    """Devices whose samples are read or made each time one is asked for, and not kept."""

    @abstractmethod
    def samples(self, device: int) -> Samples:
        """Return the trace of one device, by its number from 0."""

    @overload
    def __getitem__(self, device: int) -> Samples: ...
    @overload
    def __getitem__(self, device: slice) -> Sequence[Samples]: ...
    def __getitem__(self, device: int | slice) -> Samples | Sequence[Samples]:
        """Return the trace of one device, or of several."""
        if isinstance(device, slice):
            return [self.samples(number) for number in range(*device.indices(len(self)))]
        return self.samples(range(len(self))[device])


@dataclass(frozen=True)
class Trace:
    """The traces of many devices, which may be read or made only when asked for."""

    kind: Kind
    devices: Sequence[Samples]
    step_s: float | None = None
    """How long the last sample of every device holds; None: as long as the one before it."""
    metadata: Mapping[str, str] = field(default_factory=dict)
    """What it says of itself: origin, seed, generator settings."""
    name: str = "trace"
    """How errors call it; the path, if it was read."""
    path: Path | None = None
    """The file it was read from."""

    def sha256(self) -> str:
        """Return the hash of the file it was read from, all of which is read for it."""
        if self.path is None:
            return ""
        with self.path.open("rb") as stream:
            return hashlib.file_digest(stream, "sha256").hexdigest()

    def span_s(self, samples: Samples) -> float:
        """Return how long the trace of one device is, from its first sample on."""
        times_s = samples.times_s
        last_s = times_s[-1] - times_s[-2] if self.step_s is None else self.step_s
        return float(times_s[-1] - times_s[0] + last_s)
