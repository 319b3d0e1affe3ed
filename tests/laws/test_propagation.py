"""What theory says of fading, path loss, shadowing and movement, and what the code draws."""

import math

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from netsim.propagation.fading import BlockRayleigh, Clarke, NoFading, Rician
from netsim.propagation.mobility import (
    RandomWaypoint,
    Straight,
    Track,
    point_at_distance,
    point_in_disc,
)
from netsim.propagation.path_loss import (
    Given,
    LogDistance,
    UrbanMacro,
    UrbanMicro,
    free_space,
)
from netsim.propagation.shadowing import URBAN_MACRO, URBAN_MICRO, Shadowing, correlated_normal

CARRIER_HZ = 3.5e9
WAVELENGTH_M = 299_792_458 / CARRIER_HZ
UMI, UMA = UrbanMicro(CARRIER_HZ, 10.0), UrbanMacro(CARRIER_HZ, 25.0)


def bessel_j0(x):
    """J0 by its integral: the mean of cos(x sin t) over all t."""
    t = (np.arange(4096) + 0.5) * np.pi / 4096
    return float(np.mean(np.cos(x * np.sin(t))))


def doppler_hz(speed_kmh):
    return speed_kmh / 3.6 / WAVELENGTH_M


def rng_of(device, law=0):
    return np.random.default_rng([2024, law, device])


def track_along(travelled_m, times_s=None):
    travelled_m = np.asarray(travelled_m, dtype=float)
    times_s = np.arange(float(len(travelled_m))) if times_s is None else times_s
    return Track(times_s, np.full_like(travelled_m, 100.0), travelled_m)


def powers(fading, devices=1500, places=800):
    """The power at many places that are several wavelengths apart, for many devices."""
    way_m = np.arange(places) * 3.7 * WAVELENGTH_M
    return np.concatenate(
        [fading.power(track_along(way_m), WAVELENGTH_M, rng_of(n)) for n in range(devices)]
    )


@pytest.fixture(scope="module")
def rayleigh_power():
    return powers(Clarke())


def test_rayleigh_power_has_unit_mean_and_exponential_quantiles(rayleigh_power):
    assert rayleigh_power.min() >= 0
    assert rayleigh_power.mean() == pytest.approx(1.0, abs=0.01)
    assert np.mean(rayleigh_power**2) == pytest.approx(2.0, rel=0.03)
    for portion in (0.01, 0.05, 0.1, 0.25, 0.5, 0.75, 0.9, 0.99):
        found = np.quantile(rayleigh_power, portion)
        assert found == pytest.approx(-math.log1p(-portion), rel=0.05), portion


def test_the_distribution_of_rayleigh_power_is_nowhere_far_from_the_exponential(rayleigh_power):
    ordered = np.sort(rayleigh_power)
    portion = (np.arange(len(ordered)) + 0.5) / len(ordered)
    assert np.abs(portion + np.expm1(-ordered)).max() < 0.01


@pytest.mark.parametrize(("snr_db", "capacity"), [(0, 0.8603), (10, 2.9065), (20, 5.8840)])
def test_the_ergodic_capacity_of_rayleigh_fading(rayleigh_power, snr_db, capacity):
    found = np.mean(np.log2(1 + 10 ** (snr_db / 10) * rayleigh_power))
    assert found == pytest.approx(capacity, rel=0.01)


def test_the_quadratures_are_alike_and_uncorrelated():
    way_m = np.arange(400) * 3.7 * WAVELENGTH_M
    fields = [Clarke().quadratures(way_m, WAVELENGTH_M, rng_of(n)) for n in range(1000)]
    real, imaginary = np.concatenate(fields, axis=1)
    assert real.mean() == pytest.approx(0.0, abs=0.01)
    assert imaginary.mean() == pytest.approx(0.0, abs=0.01)
    assert real.var() == pytest.approx(0.5, abs=0.005)
    assert imaginary.var() == pytest.approx(0.5, abs=0.005)
    assert np.mean(real * imaginary) == pytest.approx(0.0, abs=0.005)


def field_correlation(lags_m):
    """The autocorrelation of the complex field over the ensemble of devices, by lag."""
    bases_m = np.arange(100) * 5.3 * WAVELENGTH_M
    way_m = (bases_m[:, None] + np.concatenate(([0.0], lags_m))).ravel()
    total = np.zeros(len(lags_m), dtype=complex)
    power, devices = 0.0, 2000
    for number in range(devices):
        real, imaginary = Clarke().quadratures(way_m, WAVELENGTH_M, rng_of(number, law=1))
        field = (real + 1j * imaginary).reshape(len(bases_m), -1)
        total += (field[:, :1].conj() * field[:, 1:]).mean(axis=0)
        power += np.mean(np.abs(field) ** 2)
    return total / power


def test_the_autocorrelation_is_j0_at_several_speeds():
    lags_s = np.array([0.001, 0.005, 0.010])
    speeds_kmh = (3, 30, 120)
    lags_m = np.concatenate([speed / 3.6 * lags_s for speed in speeds_kmh])
    expected = [bessel_j0(2 * math.pi * lag_m / WAVELENGTH_M) for lag_m in lags_m]
    # Known elsewhere, at 30 km/h and with light rounded to 300,000 km/s.
    assert expected[3:6] == pytest.approx([0.9089, -0.2779, 0.1794], abs=0.0015)
    found = field_correlation(lags_m)
    assert found.real == pytest.approx(expected, abs=0.01)
    assert found.imag == pytest.approx(np.zeros(9), abs=0.01)


def test_the_power_at_a_constant_speed_has_the_autocorrelation_of_clarkes_model():
    """Through mobility: time and speed in, not a way travelled.

    M waves a quadrature are a little short of Gaussian, so the covariance of the power is
    not quite J0(x)^2 but less by 1/(2 M) + J0(2 x)/(4 M): worked out by hand for phases that
    are independent and uniform.
    """
    lags_s = np.array([0.001, 0.005, 0.010])
    times_s = (np.arange(100)[:, None] * 0.3 + np.concatenate(([0.0], lags_s))).ravel()
    products, squares, means = np.zeros(3), 0.0, 0.0
    for number in range(2000):
        way = Straight(30 / 3.6).track(100 + 0j, times_s, rng_of(number, law=2))
        power = Clarke().power(way, WAVELENGTH_M, rng_of(number, law=3)).reshape(100, 4)
        products += np.mean(power[:, :1] * power[:, 1:], axis=0)
        squares += np.mean(power**2)
        means += power.mean()
    count = 2000
    found = (products / count - (means / count) ** 2) / (squares / count - (means / count) ** 2)
    angles = 2 * math.pi * doppler_hz(30) * lags_s
    ideal = np.array([bessel_j0(x) ** 2 for x in angles])
    less = np.array([1 / 32 + bessel_j0(2 * x) / 64 for x in angles])
    assert found == pytest.approx((ideal - less) / (1 - 3 / 64), abs=0.01)
    assert found == pytest.approx(ideal, abs=0.04)


@pytest.fixture(scope="module")
def envelopes():
    """The envelopes of many devices, 160 samples a wavelength, and their length in wavelengths."""
    per_wavelength, waves = 160, 100
    way_m = np.arange(per_wavelength * waves) / per_wavelength * WAVELENGTH_M
    track = track_along(way_m)
    rows = [Clarke().power(track, WAVELENGTH_M, rng_of(n, law=4)) for n in range(180)]
    return np.sqrt(np.array(rows)), waves, per_wavelength


@pytest.mark.parametrize("rho", [0.1, 0.3, 0.5, 1.0, 1.5])
def test_the_level_crossing_rate_and_the_fade_duration(envelopes, rho):
    envelope, waves, per_wavelength = envelopes
    below = envelope < rho
    crossings = np.sum(~below[:, 1:] & below[:, :-1])  # upwards
    # A wavelength travelled is one period of the Doppler frequency.
    rate = crossings / (len(envelope) * waves)
    assert rate == pytest.approx(math.sqrt(2 * math.pi) * rho * math.exp(-(rho**2)), rel=0.05)
    duration = below.sum() / per_wavelength / crossings
    expected = math.expm1(rho**2) / (rho * math.sqrt(2 * math.pi))
    assert duration == pytest.approx(expected, rel=0.05)


@pytest.mark.parametrize("k", [0.0, 1.0, 10 ** (9 / 10), 100.0])
def test_rician_power_has_unit_mean_and_the_second_moment_of_its_k(k):
    power = powers(Rician(k), devices=1500, places=150)
    assert power.mean() == pytest.approx(1.0, abs=0.01)
    variance = (1 + 2 * k) / (1 + k) ** 2
    assert power.var() == pytest.approx(variance, rel=0.06)


def rician_portion_below(power, k):
    """Marcum's Q by numbers: integrate the density of the squared envelope of mean 1."""
    x = (np.arange(4000) + 0.5) / 4000 * power
    t = (np.arange(512) + 0.5) * np.pi / 512
    argument = 2 * np.sqrt(k * (k + 1) * x)
    # e^-z I0(z), so that nothing overflows.
    scaled_i0 = np.mean(np.exp(argument[:, None] * (np.cos(t) - 1)), axis=1)
    density = (k + 1) * np.exp(-k - (k + 1) * x + argument) * scaled_i0
    return density.sum() * power / 4000


@pytest.mark.parametrize("k", [1.0, 10 ** (9 / 10)])
def test_rician_power_is_distributed_as_its_k_says(k):
    power = powers(Rician(k), devices=1500, places=150)
    for level in (0.1, 0.3, 0.7, 1.0, 1.5, 2.0):
        assert np.mean(power < level) == pytest.approx(rician_portion_below(level, k), abs=0.01)


def test_rician_fading_with_k_zero_is_rayleigh_and_with_a_huge_k_stands_still():
    way = track_along(np.linspace(0, 50 * WAVELENGTH_M, 500))
    rayleigh = Clarke().power(way, WAVELENGTH_M, rng_of(1))
    assert Rician(0.0).power(way, WAVELENGTH_M, rng_of(1)) == pytest.approx(rayleigh)
    steady = Rician(1e12).power(way, WAVELENGTH_M, rng_of(1))
    assert steady == pytest.approx(np.ones(500), abs=1e-4)


def test_no_fading_is_one():
    assert NoFading().power(track_along([0, 1, 2]), WAVELENGTH_M, rng_of(1)).tolist() == [1, 1, 1]


@pytest.mark.parametrize("fading", [Clarke(), Rician(5.0), Rician(0.0)])
def test_fading_stands_still_with_the_device(fading):
    way_m = np.concatenate((np.linspace(0, 3, 50), np.full(40, 3.0), np.linspace(3, 5, 30)))
    power = fading.power(track_along(way_m), WAVELENGTH_M, rng_of(8))
    assert len(set(power[50:90].tolist())) == 1
    assert len(set(power[:50].tolist())) == 50


@pytest.mark.parametrize("length", [1, 4095, 4096, 4097, 10_000])
def test_fading_does_not_depend_on_what_follows(length):
    way_m = np.arange(12_000) * 0.013
    whole = Clarke().power(track_along(way_m), WAVELENGTH_M, rng_of(2))
    part = Clarke().power(track_along(way_m[:length]), WAVELENGTH_M, rng_of(2))
    assert part == pytest.approx(whole[:length], rel=1e-12)


@given(
    st.sampled_from([0.001, 0.1, 1 / 3, 0.0005, 0.7]),
    st.integers(1, 12),
    st.integers(1, 300),
    st.floats(-1e3, 1e3),
)
@settings(deadline=None, max_examples=100)
def test_a_block_holds_for_exactly_its_samples(step_s, per_block, blocks, begins_s):
    times_s = begins_s + np.arange(per_block * blocks) * step_s
    track = track_along(np.zeros(len(times_s)), times_s)
    power = BlockRayleigh(per_block * step_s).power(track, WAVELENGTH_M, rng_of(3))
    by_block = power.reshape(blocks, per_block)
    assert (by_block == by_block[:, :1]).all()
    assert len(set(power.tolist())) == blocks


def test_block_rayleigh_is_exponential_and_independent_across_blocks():
    times_s = np.arange(400_000) * 0.5
    track = track_along(np.zeros(400_000), times_s)
    power = BlockRayleigh(1.0).power(track, WAVELENGTH_M, rng_of(4))[::2]
    assert power.mean() == pytest.approx(1.0, abs=0.01)
    for portion in (0.01, 0.1, 0.5, 0.9, 0.99):
        assert np.quantile(power, portion) == pytest.approx(-math.log1p(-portion), rel=0.05)
    for lag in (1, 2, 7):
        assert np.corrcoef(power[:-lag], power[lag:])[0, 1] == pytest.approx(0, abs=0.01)


def test_blocks_shorter_than_a_step_are_one_draw_a_sample():
    """Only draws that are looked at are made: 10^16 of them would not fit anywhere."""
    times_s = np.arange(11.0)
    track = track_along(np.zeros(11), times_s)
    power = BlockRayleigh(1e-15).power(track, WAVELENGTH_M, rng_of(5))
    assert len(set(power.tolist())) == 11


@pytest.mark.parametrize("block_s", [0.0, -1.0, math.nan])
def test_a_block_without_length_is_refused(block_s):
    with pytest.raises(ValueError, match="block_s"):
        BlockRayleigh(block_s)


@pytest.mark.parametrize("k", [-1.0, math.nan])
def test_a_negative_k_is_refused(k):
    with pytest.raises(ValueError, match="k must be"):
        Rician(k)


# Path loss


def loss_db(law, distance_m, *, los=True):
    return float(law.loss_db(np.array([float(distance_m)]), np.array([los]))[0])


@pytest.mark.parametrize(
    ("law", "los", "expected"),
    [(UMI, True, 85.31), (UMI, False, 104.64), (UMA, True, 83.14), (UMA, False, 103.04)],
)
def test_the_urban_losses_at_100_m_and_3500_mhz(law, los, expected):
    assert loss_db(law, 100, los=los) == pytest.approx(expected, abs=0.005)


def lg(value):
    return math.log10(value)


@given(
    st.floats(10, 5000), st.floats(0.5, 30), st.floats(2, 35), st.floats(1.5, 22.5), st.booleans()
)
@example(100.0, 3.5, 10.0, 1.5, True)
@example(500.0, 3.5, 10.0, 1.5, True)
def test_umi_and_uma_are_those_of_the_table(ground_m, carrier_ghz, base_m, device_m, los):
    carrier_hz = carrier_ghz * 1e9
    d = math.hypot(ground_m, base_m - device_m)
    breakpoint_m = 4 * (base_m - 1) * (device_m - 1) * carrier_hz / 299_792_458
    square = breakpoint_m**2 + (base_m - device_m) ** 2
    if ground_m <= breakpoint_m:
        umi, uma = 32.4 + 21 * lg(d), 28.0 + 22 * lg(d)
    else:
        umi, uma = 32.4 + 40 * lg(d) - 9.5 * lg(square), 28.0 + 40 * lg(d) - 9 * lg(square)
    umi, uma = umi + 20 * lg(carrier_ghz), uma + 20 * lg(carrier_ghz)
    if not los:
        umi = max(umi, 22.4 + 35.3 * lg(d) + 21.3 * lg(carrier_ghz) - 0.3 * (device_m - 1.5))
        uma = max(uma, 13.54 + 39.08 * lg(d) + 20 * lg(carrier_ghz) - 0.6 * (device_m - 1.5))
    found = UrbanMicro(carrier_hz, base_m, device_m), UrbanMacro(carrier_hz, base_m, device_m)
    assert loss_db(found[0], ground_m, los=los) == pytest.approx(umi, abs=1e-6)
    assert loss_db(found[1], ground_m, los=los) == pytest.approx(uma, abs=1e-6)


@pytest.mark.parametrize(("law", "base_m"), [(UMI, 10), (UMA, 25)])
def test_the_two_slopes_meet_at_the_breakpoint(law, base_m):
    breakpoint_m = 4 * (base_m - 1) * 0.5 / WAVELENGTH_M
    before, after = (loss_db(law, breakpoint_m * factor) for factor in (1 - 1e-9, 1 + 1e-9))
    assert before == pytest.approx(after, abs=1e-6)
    # Beyond it, the slope is 40 dB a decade of direct distance.
    far = [loss_db(law, factor * breakpoint_m) for factor in (10, 100)]
    assert far[1] - far[0] == pytest.approx(40.0, abs=0.05)


@given(st.floats(0, 1e5), st.floats(0, 1e5), st.sampled_from([UMI, UMA, free_space(CARRIER_HZ)]))
def test_farther_is_never_better_and_hidden_never_better_than_seen(one_m, other_m, law):
    near_m, far_m = sorted((one_m, other_m))
    for los in (True, False):
        assert loss_db(law, near_m, los=los) <= loss_db(law, far_m, los=los) + 1e-9
    assert loss_db(law, near_m, los=False) >= loss_db(law, near_m, los=True)


@pytest.mark.parametrize("law", [UMI, UMA])
def test_nearer_than_ten_metres_counts_as_ten(law):
    assert loss_db(law, 0) == loss_db(law, 3) == loss_db(law, 10) < loss_db(law, 11)


def test_free_space_is_friis_law():
    for distance_m in (1, 10, 123.4, 1e5):
        expected = 20 * lg(4 * math.pi * distance_m / WAVELENGTH_M)
        assert loss_db(free_space(CARRIER_HZ), distance_m) == pytest.approx(expected, abs=1e-9)
    assert loss_db(free_space(CARRIER_HZ), 0) == pytest.approx(43.33, abs=0.005)


def test_a_power_law_adds_ten_times_the_exponent_a_decade():
    law = LogDistance(3.76, 128.1, 1000.0)
    assert loss_db(law, 1000) == 128.1
    assert loss_db(law, 10_000) == pytest.approx(128.1 + 37.6)
    assert loss_db(law, 10) == 128.1  # not nearer than the reference


def test_a_given_loss_is_the_same_everywhere():
    assert [loss_db(Given(97.0), d) for d in (0, 1, 1e6)] == [97, 97, 97]


@pytest.mark.parametrize(("law", "expected"), [(UMI, 0.2310), (UMA, 0.3477)])
def test_the_probability_of_a_line_of_sight_at_100_m(law, expected):
    assert law.los_probability(np.array([100.0]))[0] == pytest.approx(expected, abs=5e-5)


@given(st.floats(0, 1e6), st.floats(1.5, 22.5))
def test_the_probability_of_a_line_of_sight_is_that_of_the_table(distance_m, height_m):
    def table(scale_m):
        if distance_m <= 18:
            return 1.0
        return 18 / distance_m + math.exp(-distance_m / scale_m) * (1 - 18 / distance_m)

    lift = ((max(height_m, 13) - 13) / 10) ** 1.5 * 1.25 * (distance_m / 100) ** 3
    uma = table(63) * (1 + lift * math.exp(-distance_m / 150)) if distance_m > 18 else 1.0
    where = np.array([distance_m])
    found = UrbanMicro(CARRIER_HZ, 10.0, height_m).los_probability(where)[0]
    assert found == pytest.approx(table(36), abs=1e-12)
    found = UrbanMacro(CARRIER_HZ, 25.0, height_m).los_probability(where)[0]
    assert found == pytest.approx(min(uma, 1.0), abs=1e-12)
    assert 0 <= found <= 1


@pytest.mark.parametrize("law", [UMI, UMA])
def test_a_line_of_sight_is_certain_nearby_and_ever_rarer_farther_away(law):
    probability = law.los_probability(np.linspace(0, 2000, 4001))
    assert (probability[:37] == 1).all()  # up to 18 m
    assert (np.diff(probability[36:]) < 0).all()


# Shadowing


def test_shadowing_is_that_of_the_tables():
    micro, macro = Shadowing(4.0, 10.0, 7.82, 13.0), Shadowing(4.0, 37.0, 6.0, 50.0)
    assert (micro, macro) == (URBAN_MICRO, URBAN_MACRO)


@pytest.mark.parametrize(
    "places_m",
    [np.arange(6) * 5.0, np.array([0, 0.1, 3.0, 3.5, 20.0, 45.0]), np.arange(6) * 100.0],
    ids=["regular", "irregular", "far apart"],
)
def test_the_correlation_of_shadowing_falls_exponentially_over_the_way(places_m):
    decorrelation_m = 13.0
    rng = rng_of(0, law=5)
    draws = np.array([correlated_normal(places_m, decorrelation_m, rng) for _ in range(12_000)])
    assert draws.mean(axis=0) == pytest.approx(np.zeros(6), abs=0.03)
    assert draws.std(axis=0) == pytest.approx(np.ones(6), abs=0.03)
    expected = np.exp(-np.abs(places_m[:, None] - places_m) / decorrelation_m)
    assert np.corrcoef(draws.T) == pytest.approx(expected, abs=0.03)


def test_shadowing_on_a_long_way_keeps_its_spread_and_correlation():
    """One device for 200 km: many blocks of the vectorised recursion, one after another."""
    process = correlated_normal(np.arange(1_000_000) * 0.2, 10.0, rng_of(0, law=6))
    assert process.std() == pytest.approx(1.0, abs=0.03)
    for steps in (1, 50, 100):
        found = np.mean(process[:-steps] * process[steps:]) / np.mean(process**2)
        assert found == pytest.approx(math.exp(-steps * 0.2 / 10.0), abs=0.03)
    # Innovations are the same size wherever a block begins.
    innovations = process[1:] - math.exp(-0.02) * process[:-1]
    sizes = innovations[:999_000].reshape(-1, 1000).std(axis=1)
    assert sizes == pytest.approx(np.full(999, math.sqrt(-math.expm1(-0.04))), rel=0.15)


def test_shadowing_is_the_recursion_it_says_it_is():
    """Step by step, with the same draws, on a way of short, long and no steps."""
    steps_m = np.array([0.0, 0.1, 5.0, 0.0, 400.0, 1e-9, 29.0, 2.0, 31.0, 1e5, 0.3, 0.3])
    way_m = np.cumsum(steps_m)
    found = correlated_normal(way_m, 1.0, rng_of(1, law=7))
    rng = rng_of(1, law=7)
    draws, state = rng.standard_normal(len(way_m)), rng.standard_normal()
    for step_m, draw, value in zip(np.diff(way_m, prepend=0), draws, found, strict=True):
        r = math.exp(-step_m)
        state = r * state + math.sqrt(-math.expm1(-2 * step_m)) * draw
        assert value == pytest.approx(state, rel=1e-6, abs=1e-6)


@given(
    st.lists(st.floats(0, 1e9) | st.floats(0, 1e-3) | st.just(0.0), min_size=1, max_size=40),
    st.floats(1e-6, 1e6),
)
@settings(deadline=None)
def test_no_way_is_too_long_and_no_step_too_large_for_shadowing(steps_m, decorrelation_m):
    way_m = np.cumsum(np.array(steps_m))
    process = correlated_normal(way_m, decorrelation_m, rng_of(len(steps_m), law=8))
    assert np.isfinite(process).all()
    assert np.abs(process).max() < 7  # an overflow of the exponentials would be far off


@given(st.floats(0, 1e9), st.floats(1e-3, 1e6))
def test_shadowing_stands_still_with_the_device(where_m, decorrelation_m):
    process = correlated_normal(np.full(30, where_m), decorrelation_m, rng_of(9))
    assert len(set(process.tolist())) == 1


def test_shadowing_has_the_spread_of_where_the_device_is():
    los = np.array([True, False])
    rng = rng_of(0, law=10)
    draws = np.array([URBAN_MICRO.loss_db(np.zeros(2), los, rng) for _ in range(10_000)])
    assert draws.mean(axis=0) == pytest.approx([0, 0], abs=0.25)
    assert draws.std(axis=0) == pytest.approx([4.0, 7.82], rel=0.02)


# Movement


@given(
    st.complex_numbers(max_magnitude=1e4), st.floats(0, 100), st.floats(-100, 100), st.integers(0)
)
def test_a_constant_velocity_leads_along_a_straight_line(start, speed_mps, begins_s, seed):
    times_s = begins_s + np.array([0.0, 0.5, 3.0, 10.0, 11.0])
    track = Straight(speed_mps).track(start, times_s, np.random.default_rng(seed))
    way_m = speed_mps * np.array([0.0, 0.5, 3.0, 10.0, 11.0])
    assert track.travelled_m == pytest.approx(way_m, abs=1e-9)
    assert track.distance_m[0] == pytest.approx(abs(start), abs=1e-9)
    # On a line, the square of the distance is a parabola of the way: d^2 + 2 d c x + x^2.
    linear = track.distance_m**2 - abs(start) ** 2 - way_m**2
    slope = linear[-1] / way_m[-1] if way_m[-1] > 0 else 0.0
    assert linear == pytest.approx(slope * way_m, abs=1e-6 * (abs(start) + way_m[-1] + 1) ** 2)
    assert abs(slope) <= 2 * abs(start) * (1 + 1e-6) + 1e-6 or way_m[-1] < 1e-3


def test_constant_velocities_head_everywhere_alike():
    times_s = np.array([0.0, 1.0])
    ends = [Straight(50.0).track(50 + 0j, times_s, rng_of(n)).distance_m[1] for n in range(4000)]
    # The chord 2 r |cos(half the heading)|: half of all headings lead beyond r sqrt 2.
    assert np.mean(np.array(ends) > 50 * math.sqrt(2)) == pytest.approx(0.5, abs=0.03)
    assert max(ends) == pytest.approx(100, abs=0.1)


speeds = st.tuples(st.floats(0.1, 50), st.floats(0.1, 50)).map(sorted)


@given(st.floats(1, 5000), speeds, st.integers(0, 2**32), st.floats(0.001, 5))
@settings(deadline=None, max_examples=60)
def test_a_waypoint_walk_without_pauses_keeps_to_its_disc_and_speeds(
    radius_m, between, seed, step_s
):
    slowest, fastest = between
    rng = np.random.default_rng(seed)
    start = point_in_disc(radius_m, rng)
    times_s = 7.0 + np.arange(200) * step_s
    track = RandomWaypoint(radius_m, slowest, fastest).track(start, times_s, rng)
    assert track.distance_m[0] == pytest.approx(abs(start))
    assert track.travelled_m[0] == 0
    assert track.distance_m.max() <= radius_m * (1 + 1e-9)
    moved_m = np.diff(track.travelled_m)
    assert moved_m.min() >= slowest * step_s * (1 - 1e-6) - 1e-7
    assert moved_m.max() <= fastest * step_s * (1 + 1e-6) + 1e-7
    # Nobody comes nearer, or goes away, by more than the way travelled.
    assert (np.abs(np.diff(track.distance_m)) <= moved_m + 1e-6).all()


def test_a_pausing_device_neither_travels_nor_moves():
    walk = RandomWaypoint(20.0, 2.0, 4.0, pause_s=5.0)
    times_s = np.arange(20_000) * 0.1
    track = walk.track(3 + 4j, times_s, rng_of(1))
    moved_m, nearer_m = np.diff(track.travelled_m), np.diff(track.distance_m)
    resting = moved_m == 0
    assert (nearer_m[resting] == 0).all()
    moving = moved_m[~resting] / 0.1
    assert moving.max() <= 4.0 * (1 + 1e-9)
    # Every rest is 5 s long: 49 or 50 whole steps of 0.1 s.
    edges = np.flatnonzero(np.diff(np.concatenate(([0], resting.astype(int), [0]))))
    rests = (edges[1::2] - edges[::2])[1:-1]
    assert len(rests) > 50
    assert set(rests.tolist()) <= {49, 50}
    # And between two rests, at a constant speed of its own.
    for begin, end in zip(edges[1:-1:2], edges[2::2], strict=False):
        inner = moved_m[begin + 1 : end - 1]
        if len(inner):
            assert inner == pytest.approx(np.full(len(inner), inner[0]), rel=1e-6)
            assert inner[0] / 0.1 >= 2.0 * (1 - 1e-6)


def test_a_walk_of_one_sample_is_where_it_begins():
    track = RandomWaypoint(20.0, 1.0, 2.0).track(3 + 4j, np.array([5.0]), rng_of(1))
    assert (track.distance_m.tolist(), track.travelled_m.tolist()) == ([5.0], [0.0])


def test_devices_are_uniform_in_the_area_of_the_disc():
    points = np.array([point_in_disc(200.0, rng_of(n)) for n in range(8000)])
    assert np.abs(points).max() <= 200
    for portion in (0.1, 0.5, 0.9):
        found = np.mean(np.abs(points) < 200 * math.sqrt(portion))
        assert found == pytest.approx(portion, abs=0.015)
    assert points.mean() == pytest.approx(0, abs=4)


def test_devices_at_a_distance_are_at_that_distance_in_any_direction():
    points = np.array([point_at_distance(200.0, rng_of(n)) for n in range(4000)])
    assert np.abs(points) == pytest.approx(np.full(4000, 200.0))
    assert points.mean() == pytest.approx(0, abs=8)


@pytest.mark.parametrize(
    "arguments", [(0.0, 1.0, 2.0), (10.0, 0.0, 1.0), (10.0, 2.0, 1.0), (10.0, math.nan, 1.0)]
)
def test_a_walk_that_cannot_be_is_refused(arguments):
    with pytest.raises(ValueError, match="must be"):
        RandomWaypoint(*arguments)
