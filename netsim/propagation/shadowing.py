"""Obstacles: attenuation that is normal in dB, and correlated over the way travelled.

Two places a distance d apart have the correlation exp(-d / decorrelation): TR 38.901,
section 7.4.4, and Gudmundson (1991) before it.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

#: The exponentials of one block stay within this power of e: nothing over- or underflows.
_LARGEST_EXPONENT = 30.0


@dataclass(frozen=True)
class Shadowing:
    """Standard deviation and decorrelation distance, with and without a line of sight."""

    los_sigma_db: float
    los_decorrelation_m: float
    nlos_sigma_db: float
    nlos_decorrelation_m: float

    def __post_init__(self) -> None:
        if not min(self.los_sigma_db, self.nlos_sigma_db) >= 0:
            raise ValueError("sigma_db must be >= 0")
        if not min(self.los_decorrelation_m, self.nlos_decorrelation_m) > 0:
            raise ValueError("decorrelation_m must be > 0")

    def loss_db(
        self,
        travelled_m: NDArray[np.float64],
        los: NDArray[np.bool_],
        rng: np.random.Generator,
    ) -> NDArray[np.float64]:
        """Return the attenuation in dB along a way; below zero, the signal is stronger."""
        seen = self.los_sigma_db * correlated_normal(travelled_m, self.los_decorrelation_m, rng)
        hidden = self.nlos_sigma_db * correlated_normal(travelled_m, self.nlos_decorrelation_m, rng)
        return np.where(los, seen, hidden)


#: TR 38.901, tables 7.4.1-1 and 7.5-6.
URBAN_MICRO = Shadowing(4.0, 10.0, 7.82, 13.0)
URBAN_MACRO = Shadowing(4.0, 37.0, 6.0, 50.0)
#: Nothing in the way.
NONE = Shadowing(0.0, 1.0, 0.0, 1.0)


def correlated_normal(
    travelled_m: NDArray[np.float64], decorrelation_m: float, rng: np.random.Generator
) -> NDArray[np.float64]:
    r"""Return a standard normal process whose correlation decays over the way travelled.

    It is the first-order recursion

    .. math:: s_n = r_n s_{n-1} + \sqrt{1 - r_n^2}\,w_n, \qquad r_n = e^{-(x_n - x_{n-1})/d}

    for any spacing of the samples x. Divided by exp(-x / d) it is a plain sum, so it is
    done with vectors, a block at a time.
    """
    steps = np.diff(travelled_m, prepend=travelled_m[:1]) / decorrelation_m
    innovations = np.sqrt(-np.expm1(-2.0 * steps)) * rng.standard_normal(len(steps))
    state = rng.standard_normal()
    process = np.empty_like(travelled_m)
    position = np.cumsum(steps)
    start = 0
    while start < len(steps):
        origin = position[start] - steps[start]
        stop = int(np.searchsorted(position, origin + _LARGEST_EXPONENT, side="right"))
        stop = max(stop, start + 1)
        into = np.minimum(position[start:stop] - origin, 700.0)
        process[start:stop] = np.exp(-into) * (
            state + np.cumsum(np.exp(into) * innovations[start:stop])
        )
        state = process[stop - 1]
        start = stop
    return process
