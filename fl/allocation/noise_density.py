"""Noise as physics has it: of a fixed density, so that a narrower share holds less of it."""

import math
from dataclasses import dataclass
from typing import Self

import numpy as np
from numpy.typing import NDArray

from fl.allocation.problem import ROUNDING, Problem

_Array = NDArray[np.float64]
#: Newton's method squares its error: after a step this small the next changes no digit.
_SMALL_STEP = 1e-8
_MAX_STEPS = 100
#: A share at this many times the signal-to-noise ratio of the whole band is none.
_NO_SHARE = 1e-150
#: The signal-to-noise ratio below which a series is better than the difference.
_WEAK = 1e-3


@dataclass(frozen=True)
class NoiseDensity:
    r"""The rate is concave in the share.

    .. math:: r_k(b_k) = b_k B \log_2\left(1 + \frac{g_k}{b_k}\right),
        \qquad g_k = \frac{p_k h_k}{N_0 B F}

    for a noise density N_0 and a noise figure F. The first sliver of band is worth infinitely
    much, so no device that is heard goes without; its share can be vanishingly small.

    Within, a share is told by u, the logarithm of the signal-to-noise ratio x = g/b on it:
    all functions are smooth in u over any range.
    """

    bandwidth_hz: float
    """B."""
    whole_band_snr: _Array
    """g_k."""

    @property
    def heard(self) -> NDArray[np.bool_]:
        """Whether the device has a rate at all."""
        return self.whole_band_snr > 0

    @property
    def _scale_bps(self) -> float:
        return self.bandwidth_hz / np.log(2.0)

    def rate_bps(self, shares: _Array) -> _Array:
        """Return r_k(b_k)."""
        snr = np.divide(self.whole_band_snr, shares, out=np.zeros_like(shares), where=shares > 0)
        return self._scale_bps * shares * np.log1p(snr)

    def marginal_rate_bps(self, shares: _Array) -> _Array:
        """Return dr_k/db_k; at no share that of the smallest one."""
        x = self.whole_band_snr / np.maximum(shares, self.whole_band_snr * _NO_SHARE)
        return self._scale_bps * _marginal(x, np.log1p(x), x / (1.0 + x))

    def share_for(self, rate_bps: _Array) -> _Array:
        """Return the share with which a device has this rate; infinite where none gives it."""
        snr = self.whole_band_snr
        wanted, whole = rate_bps / self._scale_bps, np.log1p(snr)
        shares = np.where(wanted > 0, np.inf, 0.0)
        some = (wanted > 0) & (wanted <= whole * (1.0 + ROUNDING))
        wanted = np.minimum(wanted, whole)
        # x / ln(1 + x) = g / wanted; near 1, where power and not band is short, to all digits.
        log_ratio = np.log1p((snr[some] - wanted[some]) / wanted[some])
        shares[some] = snr[some] * np.exp(-_log_snr_for(log_ratio))
        return shares

    def demand(self, problem: Problem, least: _Array, most: _Array) -> "ConcaveDemand":
        """Return the demand of each device, kept between a least and a most share."""
        sending = problem.sending_rate_bps / self._scale_bps
        return ConcaveDemand(self.whole_band_snr, sending, problem.computing_part, least, most)

    def only(self, devices: NDArray[np.bool_]) -> Self:
        """Return the channel state of some of the devices."""
        return type(self)(self.bandwidth_hz, self.whole_band_snr[devices])


class ConcaveDemand:
    r"""The share at which dy/db falls to lambda, within bounds.

    With :math:`R(b) = b \ln(1 + g/b)`, :math:`\alpha = a/T` and
    :math:`q^2 = s \ln 2 / (B T)` the kept fraction is :math:`y = R / (\alpha R + q^2)`: concave
    in R, which is concave in b, hence concave in b. Its marginal meets
    :math:`\lambda = 1/\mu^2` where

    .. math:: \ln R' + \ln q^2 - 2 \ln(\alpha R + q^2) + 2 \ln \mu = 0.

    The left side rises with u, at a slope that hardly ever grows: Newton's method, kept
    within the bounds, converges from wherever it starts.
    """

    def __init__(
        self, snr: _Array, sending: _Array, computing_part: _Array, least: _Array, most: _Array
    ) -> None:
        self._snr = snr
        self._sending = sending
        self._computing_part = computing_part
        # Some could use any share; what is more than all there is need not be told apart.
        self._least, self._most = least, np.minimum(most, 2.0)
        self._lowest = np.log(snr / self._most)
        self._highest = np.log(snr / np.maximum(least, snr * _NO_SHARE))
        self._log_snr = np.clip(np.log(snr * len(snr)), self._lowest, self._highest)

    def first_guess(self) -> float:
        """Return the mean of the levels at which a device would have an equal share."""
        return float(np.exp(-0.5 * self._log_marginal(self._log_snr)[0]).mean())

    def __call__(self, level: float) -> tuple[_Array, float]:
        """Return the shares at a water level, and how fast their sum rises with it."""
        log_snr, log_price = self._log_snr, -2.0 * math.log(level)
        for _ in range(_MAX_STEPS):
            log_marginal, slope = self._log_marginal(log_snr)
            unbound = log_snr - (log_marginal - log_price) / slope
            before, log_snr = log_snr, np.minimum(np.maximum(unbound, self._lowest), self._highest)
            if (np.abs(log_snr - before) <= _SMALL_STEP).all():
                break
        self._log_snr = log_snr
        shares = np.minimum(np.maximum(self._snr * np.exp(-log_snr), self._least), self._most)
        rising = shares / slope * (unbound == log_snr)
        return shares, 2.0 * float(rising.sum()) / level

    def _log_marginal(self, log_snr: _Array) -> tuple[_Array, _Array]:
        """Return ln dy/db and its derivative by u."""
        x = np.exp(log_snr)
        log1p_x, sigmoid = np.log1p(x), x / (1.0 + x)
        marginal = _marginal(x, log1p_x, sigmoid)
        computing = self._computing_part * self._snr * log1p_x / x
        whole = computing + self._sending
        slope = sigmoid * sigmoid / marginal + 2.0 * computing * marginal / (whole * log1p_x)
        return np.log(marginal * self._sending / (whole * whole)), slope


def _marginal(x: _Array, log1p_x: _Array, sigmoid: _Array) -> _Array:
    """Return R' = ln(1 + x) - x / (1 + x), by its series where the two cancel."""
    exact = log1p_x - sigmoid
    if (x >= _WEAK).all():
        return exact
    few = np.minimum(x, _WEAK)
    terms = 1 / 2 - few * (2 / 3 - few * (3 / 4 - few * (4 / 5 - few * 5 / 6)))
    return np.where(x < _WEAK, few * few * terms, exact)


def _log_snr_for(log_ratio: _Array) -> _Array:
    """Return u with x / ln(1 + x) = e^log_ratio, by Newton's method from above: it is convex."""
    log_snr = log_ratio + np.log1p(log_ratio) + 1.0
    for _ in range(_MAX_STEPS):
        x = np.exp(log_snr)
        log1p_x, sigmoid = np.log1p(x), x / (1.0 + x)
        marginal = _marginal(x, log1p_x, sigmoid)
        surplus = x * sigmoid - marginal  # x - ln(1 + x), without the cancellation
        step = (np.log1p(surplus / log1p_x) - log_ratio) * log1p_x / marginal
        log_snr = log_snr - step
        if (np.abs(step) <= _SMALL_STEP).all():
            break
    return log_snr
