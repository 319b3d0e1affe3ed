"""What a link carries over time: the interface of every channel."""

from abc import ABC, abstractmethod

import numpy as np
from numpy.typing import NDArray


def shannon_efficiency(snr: NDArray[np.float64]) -> NDArray[np.float64]:
    r"""Return the spectral efficiency, in bit/s/Hz, at signal-to-noise ratios *snr*.

    .. math:: \log_2\left(1 + \frac{h\,p}{\sigma^2}\right)

    the right factor of Eq. (9) of Liu et al. In the paper the noise power :math:`\sigma^2` is
    one number, whatever the width of the sub-band; `netsim.channel.noise_density` has it
    in proportion to the width.

    >>> shannon_efficiency(np.array([0.0, 1.0, 3.0])).tolist()
    [0.0, 1.0, 2.0]
    """
    efficiency: NDArray[np.float64] = np.log1p(snr) / np.log(2.0)
    return efficiency


def snr_of_efficiency(efficiency: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the signal-to-noise ratios at which Shannon allows *efficiency* (bit/s/Hz)."""
    snr: NDArray[np.float64] = np.expm1(efficiency * np.log(2.0))
    return snr


class Channel(ABC):
    """The spectral efficiency of one device's link over simulated time.

    Multiplied by the hertz a device has, it is a rate. Work is counted in bits per hertz.
    Where the noise power is one number, one channel serves any share of the band; where it
    grows with the share, this is the channel of the whole band, and `at_share` gives that
    of a part.
    """

    __slots__ = ()

    @property
    @abstractmethod
    def peak(self) -> float:
        """The highest efficiency it ever has, in bit/s/Hz."""

    @property
    @abstractmethod
    def is_constant(self) -> bool:
        """Whether the efficiency is the same at all times."""

    @property
    def depends_on_share(self) -> bool:
        """Whether the efficiency is another one on another share of the band."""
        return False

    def at_share(self, share: float) -> "Channel":
        """Return the channel that a device with this share of the band has.

        Args:
            share: Fraction of the band, >= 0; none at all is silent where it matters.
        """
        del share
        return self

    @abstractmethod
    def efficiency(self, at_s: float) -> float:
        """Return the efficiency at time *at_s*, in bit/s/Hz."""

    @abstractmethod
    def carried(self, from_s: float, to_s: float) -> float:
        """Return the bits per hertz carried between two times."""

    @abstractmethod
    def seconds_to_carry(self, from_s: float, bits_per_hz: float) -> float:
        """Return how long *bits_per_hz* take from *from_s* on; ``inf`` if they never pass."""
