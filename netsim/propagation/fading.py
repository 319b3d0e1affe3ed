r"""Many paths that add up: power that changes within a wavelength, around a mean of one.

Fading is a function of the way travelled, not of time: a device that moves by x sees each
path's phase turn by 2 pi (x / wavelength) cos(angle of arrival). At a constant speed v that
is Clarke's model, with the Doppler frequency v / wavelength and the autocorrelation
J0(2 pi x / wavelength).
"""

from abc import ABC, abstractmethod
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from netsim.propagation.mobility import Track

#: Samples worked on at once; a block's sinusoids fit into the processor's cache.
_BLOCK = 4096


class Fading(ABC):
    """Power over the way of one device, of mean 1."""

    @abstractmethod
    def power(
        self, track: Track, wavelength_m: float, rng: np.random.Generator
    ) -> NDArray[np.float64]:
        """Return the factor on the received power along *track*."""


class NoFading(Fading):
    """One path only."""

    def power(
        self, track: Track, wavelength_m: float, rng: np.random.Generator
    ) -> NDArray[np.float64]:
        """Return ones."""
        del wavelength_m, rng
        return np.ones_like(track.times_s)


@dataclass(frozen=True)
class BlockRayleigh(Fading):
    """One exponential draw for each block of time, independent of all others."""

    block_s: float

    def __post_init__(self) -> None:
        if not self.block_s > 0:
            raise ValueError(f"block_s must be > 0, got {self.block_s}")

    def power(
        self, track: Track, wavelength_m: float, rng: np.random.Generator
    ) -> NDArray[np.float64]:
        """Return a draw for each block, held through it."""
        del wavelength_m
        # A sample at the border of two blocks belongs to the second, rounded or not.
        block = np.floor((track.times_s - track.times_s[0]) / self.block_s + 1e-9)
        seen, draw = np.unique(block, return_inverse=True)
        return rng.exponential(size=len(seen))[draw]


@dataclass(frozen=True)
class Clarke(Fading):
    """Rayleigh fading by the sum of sinusoids of Zheng and Xiao (2003).

    Paths arrive from all around. With 16 sinusoids a quadrature the autocorrelation of the
    ensemble is J0 and the power exponential, as closely as a few thousand draws can tell.
    """

    waves: int = 16

    def power(
        self, track: Track, wavelength_m: float, rng: np.random.Generator
    ) -> NDArray[np.float64]:
        """Return the squared envelope."""
        real, imaginary = self.quadratures(track.travelled_m, wavelength_m, rng)
        return real**2 + imaginary**2

    def quadratures(
        self, travelled_m: NDArray[np.float64], wavelength_m: float, rng: np.random.Generator
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Return real and imaginary part of the field, each of variance 1/2."""
        theta = rng.uniform(-np.pi, np.pi)
        phases = rng.uniform(-np.pi, np.pi, (2, self.waves))
        angles = (2.0 * np.pi * np.arange(1, self.waves + 1) - np.pi + theta) / (4.0 * self.waves)
        turns = 2.0 * np.pi / wavelength_m * np.array([np.cos(angles), np.sin(angles)])
        field = np.empty((2, len(travelled_m)))
        for start in range(0, len(travelled_m), _BLOCK):
            way_m = travelled_m[start : start + _BLOCK]
            waves = turns[:, :, None] * way_m + phases[:, :, None]
            np.cos(waves, out=waves)
            waves.sum(axis=1, out=field[:, start : start + _BLOCK])
        field /= np.sqrt(self.waves)
        return field[0], field[1]


@dataclass(frozen=True)
class Rician(Fading):
    """A steady path, K times as strong as all the others together."""

    k: float
    """The ratio of the powers; 0 is Rayleigh."""

    def __post_init__(self) -> None:
        if not self.k >= 0:
            raise ValueError(f"k must be >= 0, got {self.k}")

    def power(
        self, track: Track, wavelength_m: float, rng: np.random.Generator
    ) -> NDArray[np.float64]:
        """Return the squared envelope."""
        real, imaginary = Clarke().quadratures(track.travelled_m, wavelength_m, rng)
        arrival, phase = rng.uniform(-np.pi, np.pi, 2)
        steady = 2.0 * np.pi / wavelength_m * np.cos(arrival) * track.travelled_m + phase
        share = np.sqrt(self.k / (self.k + 1.0)), np.sqrt(1.0 / (self.k + 1.0))
        return (share[0] * np.cos(steady) + share[1] * real) ** 2 + (
            share[0] * np.sin(steady) + share[1] * imaginary
        ) ** 2
