"""What the server decides at the start of a round."""

from enum import IntEnum
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray


class Status(IntEnum):
    """How the decision for a device came out; a column of the results."""

    SOLVED = 0
    """As the scheme wants it."""
    INFEASIBLE = 1
    """No pruning ratio meets the deadline on this device."""


class Decision(NamedTuple):
    """Shares and pruning of one round; arrays are indexed by device."""

    whole_band_bps: NDArray[np.float64]
    """What it was decided on: the rate of each device, had it the band for itself."""
    shares: NDArray[np.float64]
    """b_k."""
    kept: NDArray[np.int64]
    """Weights of the global part that the device trains and sends: (1 - rho) N_u."""
    status: NDArray[np.int8]
    """A `Status` each."""
