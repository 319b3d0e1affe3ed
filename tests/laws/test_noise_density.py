"""In noise of a fixed density, a narrower share of the band holds less of it."""

import math
from decimal import Decimal, localcontext

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from simpy import Environment

from fl.allocation.noise_density import NoiseDensity
from netsim.channel import (
    AtEnd,
    Constant,
    ConstantInNoise,
    replay_trace,
    replay_trace_in_noise,
    shannon_efficiency,
)
from netsim.traces import Kind, Samples, Trace
from netsim.units import GAIN, POWER, POWER_DENSITY, ratios_to_db
from netsim.uplink import HeldUplink

BAND_HZ = 20e6
POWER_W = POWER.parse("28 dBm")
NOISE_W = POWER_DENSITY.parse("-174 dBm/Hz") * GAIN.parse("5 dB") * BAND_HZ


def powers_of_ten(low, high):
    return st.floats(low, high).map(lambda exponent: 10.0**exponent)


def seconds_to_send(channel, bandwidth_hz, share, bits, start_s=0.0):
    env = Environment(start_s)
    uplink = HeldUplink(env, bandwidth_hz, [channel])
    uplink.allot([share])
    return env.run(uplink.send(0, bits))


def dbm(power_w):
    return float(ratios_to_db(np.array([power_w / 1e-3]))[0])


def test_the_noise_of_a_resource_block_and_the_band_of_the_papers_noise():
    density = POWER_DENSITY.parse("-174 dBm/Hz")
    assert dbm(density * 180e3) == pytest.approx(-121.45, abs=0.005)
    assert POWER.parse("-110 dBm") / density == pytest.approx(2.51e6, rel=1e-3)
    # -91.45 dBm arrive: 30 dB above the noise of one resource block, whatever the band.
    arriving_w = POWER.parse("-91.45 dBm")
    for band_hz in (180e3, 20e6, 100e6):
        channel = ConstantInNoise(arriving_w / (density * band_hz))
        efficiency = channel.at_share(180e3 / band_hz).efficiency(0.0)
        assert efficiency == pytest.approx(math.log2(1 + 1000), abs=0.002)
        # Over that of 2.51 MHz it is what -110 dBm of noise say.
        efficiency = channel.at_share(2.5119e6 / band_hz).efficiency(0.0)
        assert efficiency == pytest.approx(math.log2(1 + 10**1.855), rel=1e-5)


@given(
    powers_of_ten(-12, 12),
    powers_of_ten(-9, 0),
    powers_of_ten(3, 9),
    powers_of_ten(0, 12),
)
def test_on_a_frozen_channel_the_time_is_the_closed_form(snr, share, band_hz, bits):
    seconds = seconds_to_send(ConstantInNoise(snr), band_hz, share, bits)
    with localcontext(prec=60):
        efficiency = (1 + Decimal(snr) / Decimal(share)).ln() / Decimal(2).ln()
        expected = Decimal(bits) / (Decimal(share) * Decimal(band_hz) * efficiency)
    assert seconds == pytest.approx(float(expected), rel=1e-12, abs=0)


@given(powers_of_ten(-12, 12), powers_of_ten(-9, 0), powers_of_ten(-9, 0))
def test_the_rate_is_concave_in_the_share_and_the_efficiency_falls(snr, one, other):
    channel = ConstantInNoise(snr)

    def rate(share):
        return share * channel.at_share(share).efficiency(0.0)

    assert rate((one + other) / 2) >= (rate(one) + rate(other)) / 2 * (1 - 1e-12)
    less, more = sorted([one, other])
    assert rate(less) <= rate(more) * (1 + 1e-12)
    assert channel.at_share(less).peak >= channel.at_share(more).peak >= channel.peak


@given(st.lists(st.tuples(powers_of_ten(-9, 9), powers_of_ten(-9, 0)), min_size=1, max_size=5))
def test_the_network_has_the_rate_that_the_allocation_reckons_with(devices):
    snr, shares = np.array(devices).T
    expected = NoiseDensity(BAND_HZ, snr).rate_bps(shares)
    for k, (ratio, share) in enumerate(devices):
        rate_bps = share * BAND_HZ * ConstantInNoise(ratio).at_share(share).efficiency(0.0)
        assert rate_bps == pytest.approx(expected[k], rel=1e-12, abs=0)


@pytest.fixture(scope="module")
def gains():
    """Irregular steps, deep fades and silences of one device, over about 3 s."""
    rng = np.random.default_rng(7)
    steps_s = rng.uniform(0.001, 0.02, 300)
    gain_db = rng.uniform(-125.0, -85.0, 300)
    gain_db[:-1][rng.random(299) < 0.1] = -np.inf
    return Trace(Kind.GAIN_DB, [Samples(np.cumsum(steps_s) - steps_s[0], gain_db)])


def efficiency_at(trace, at_s, at_end, share):
    """Bit/s/Hz at times *at_s*, straight from the samples."""
    times_s, gain_db = trace.devices[0].times_s, trace.devices[0].values
    position = at_s % (2 * times_s[-1] - times_s[-2]) if at_end is AtEnd.REPEAT else at_s
    gain = 10 ** (gain_db[np.searchsorted(times_s, position, side="right") - 1] / 10)
    noise_w = 10 ** ((-174 + 5 - 30) / 10) * share * BAND_HZ
    return np.log2(1 + gain * 10**-0.2 / noise_w)  # 28 dBm is 10^-0.2 W


@pytest.mark.parametrize("at_end", [AtEnd.REPEAT, AtEnd.HOLD])
@pytest.mark.parametrize("share", [0.001, 0.03, 0.1, 0.9, 1.0])
@pytest.mark.parametrize("start_s", [0.0, 1.7, 3.0, 1000.3])
def test_finish_times_equal_a_fine_grained_integration(gains, at_end, share, start_s):
    [channel] = replay_trace_in_noise(gains, at_end, [0], [0.0], [POWER_W / NOISE_W])
    for bits in (share * 3e6, share * 3e7, share * 6e8):  # few segments, many, many periods
        seconds = seconds_to_send(channel, BAND_HZ, share, bits, start_s)
        step_s = seconds / 200_000
        midpoints = start_s + (np.arange(200_000) + 0.5) * step_s
        rate_bps = share * BAND_HZ * efficiency_at(gains, midpoints, at_end, share)
        # Each segment boundary blurs the sum by at most one step of the integration.
        assert (rate_bps * step_s).sum() == pytest.approx(bits, rel=1e-3)


@settings(max_examples=100, deadline=None)
@given(
    powers_of_ten(-6, 0),
    st.floats(0.0, 1e4),
    powers_of_ten(3, 9),
    st.floats(0.0, 1.0),
    st.sampled_from([AtEnd.REPEAT, AtEnd.HOLD]),
)
def test_bits_are_conserved_when_an_upload_is_cut(gains, share, start_s, bits, fraction, at_end):
    [channel] = replay_trace_in_noise(gains, at_end, [0], [0.0], [POWER_W / NOISE_W])
    bits *= share
    uncut_s = seconds_to_send(channel, BAND_HZ, share, bits, start_s)
    env = Environment(start_s)
    uplink = HeldUplink(env, BAND_HZ, [channel])
    uplink.allot([share])
    uplink.send(0, bits)
    if start_s + fraction * uncut_s > start_s:
        env.run(start_s + fraction * uncut_s)
    sent = uplink.cut(0)
    in_a_tick = 1e-11 * share * BAND_HZ * channel.at_share(share).peak  # to which clocks round
    assert 0 <= sent <= bits * (1 + 1e-9) + in_a_tick
    before_s = env.now - start_s
    after_s = env.run(uplink.send(0, max(bits - sent, 0.0)))
    assert before_s + after_s == pytest.approx(uncut_s, rel=1e-6, abs=1e-6)


@pytest.mark.parametrize("at_end", AtEnd)
def test_on_the_whole_band_it_is_the_channel_in_the_noise_of_the_whole_band(gains, at_end):
    arguments = gains, at_end, [0], [0.4], [POWER_W / NOISE_W]
    [fixed], [whole] = replay_trace(*arguments), replay_trace_in_noise(*arguments)
    for channel in (whole, whole.at_share(1.0)):
        for from_s in (0.0, 0.7, 1.1):
            assert channel.efficiency(from_s) == fixed.efficiency(from_s)
            assert channel.carried(from_s, 2.0) == fixed.carried(from_s, 2.0)
            for bits_per_hz in (1e-3, 0.5, 5.0):
                seconds = fixed.seconds_to_carry(from_s, bits_per_hz)
                assert channel.seconds_to_carry(from_s, bits_per_hz) == seconds


@given(powers_of_ten(-12, 12))
def test_so_it_is_where_nothing_moves(snr):
    [efficiency] = shannon_efficiency(np.array([snr])).tolist()
    fixed, whole = Constant(efficiency), ConstantInNoise(snr)
    assert whole.efficiency(3.0) == whole.at_share(1.0).efficiency(3.0) == fixed.efficiency(3.0)
    assert whole.seconds_to_carry(3.0, 7.0) == fixed.seconds_to_carry(3.0, 7.0)
