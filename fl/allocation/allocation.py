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
    FLOOR_MISSED = 2
    """It keeps less than it must, or is late with it, and could not do it in time with the whole
    band either; where a rule and not the optimum gave the share, not with this share."""
    FLOORS_CROWDED = 3
    """It could keep what it must, but all devices together need more than the band for that."""


class Decision(NamedTuple):
    """Shares and pruning of one round; arrays have one entry for each device that takes part."""

    devices: NDArray[np.int64]
    """The numbers of those who take part, in increasing order."""
    efficiency: NDArray[np.float64]
    """What it was decided on: the bit/s/Hz of each device on the whole band."""
    shares: NDArray[np.float64]
    """b_k."""
    rate_bps: NDArray[np.float64]
    """Of each device at its share, if the channel stayed as it was known."""
    kept: NDArray[np.int64]
    """Weights of the global part that the device trains and sends: (1 - rho) N_u."""
    status: NDArray[np.int8]
    """A `Status` each."""
