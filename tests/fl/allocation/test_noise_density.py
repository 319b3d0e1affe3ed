import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fl.allocation.noise_density import NoiseDensity

SNR = st.floats(-60, 80).map(lambda db: 10 ** (db / 10))
SHARES = st.floats(-9, 0).map(lambda log: 10**log)


def noise(snr):
    return NoiseDensity(20e6, np.array([snr]))


@settings(deadline=None)
@given(SNR, SHARES)
def test_the_share_for_a_rate_is_the_share_that_gives_it(snr, share):
    rate_bps = noise(snr).rate_bps(np.array([share]))
    # Where power is short, the rate hardly tells the share: a rounding of it is more of that.
    rounding = 1e-14 * (1 + share / snr)
    assert noise(snr).share_for(rate_bps) == pytest.approx([share], rel=rounding + 1e-13)


@settings(deadline=None)
@given(SNR)
def test_more_than_the_whole_band_carries_takes_for_ever(snr):
    whole = noise(snr).rate_bps(np.ones(1))
    assert noise(snr).share_for(whole * 1.001).tolist() == [np.inf]
    assert noise(snr).share_for(whole * 0).tolist() == [0.0]


@settings(deadline=None)
@given(SNR, SHARES)
def test_the_marginal_rate_is_the_slope_and_falls(snr, share):
    shares = np.array([share * 0.999, share * 1.001])
    both = NoiseDensity(20e6, np.full(2, snr))
    slope = np.diff(both.rate_bps(shares)) / np.diff(shares)
    high, low = both.marginal_rate_bps(shares)
    rounding = 1e-10 * both.rate_bps(shares)[0] / share
    assert low - rounding <= slope[0] <= high + rounding
    assert low < high


def test_half_the_band_carries_more_than_half_the_rate():
    """20 MHz at an SNR of 1 carry 20 Mbit/s; 10 MHz hold half the noise."""
    rates = [float(noise(1.0).rate_bps(np.array([share]))[0]) for share in (1.0, 0.5, 0.0)]
    assert rates == pytest.approx([20e6, 10e6 * np.log2(3.0), 0.0])
