import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from netsim.propagation.fading import BlockRayleigh, Clarke, NoFading
from netsim.propagation.mobility import Straight
from netsim.propagation.path_loss import Given, UrbanMicro
from netsim.propagation.shadowing import NONE, URBAN_MICRO
from netsim.streams import Streams
from netsim.traces import Generated, Kind, Propagation, Samples, Trace, trace_info

CARRIER_HZ = 3.5e9


def trace_of(*devices, kind=Kind.SNR_DB, step_s=None):
    samples = [Samples(np.array(t, float), np.array(v, float)) for t, v in devices]
    return Trace(kind, samples, step_s)


def fading_trace(speed_kmh, step_s, span_s, count=12, fading=None):
    device = Propagation(Given(90.0), NONE, fading or Clarke(), Straight(speed_kmh / 3.6), 100.0)
    times_s = np.arange(round(span_s / step_s)) * step_s
    made = Generated([device] * count, CARRIER_HZ, times_s, Streams(5))
    return Trace(Kind.GAIN_DB, made, step_s)


def test_the_shape_is_that_of_the_first_device():
    info = trace_info(trace_of(([3, 4, 6], [1, 2, 3]), ([0, 1], [1, 2]), step_s=0.5))
    assert (info.kind, info.num_devices, info.num_samples) == (Kind.SNR_DB, 2, 3)
    assert info.span_s == 3.5
    assert info.looked_at == 2


def test_steps_are_those_of_all_devices_with_the_last_one_held():
    info = trace_info(trace_of(([0, 1, 3], [1, 2, 3]), ([0, 0.25], [1, 2]), step_s=1.5))
    assert info.steps_s == (0.25, 1.5, 2.0)  # 1, 2, 1.5 and 0.25, 1.5
    info = trace_info(trace_of(([0, 1, 3], [1, 2, 3])))
    assert info.steps_s == (1.0, 2.0, 2.0)


def test_quantiles_are_of_all_values():
    values = np.random.default_rng(1).permutation(np.arange(1001.0))
    halves = values[:500], values[500:]
    info = trace_info(trace_of(*((np.arange(len(half)), half) for half in halves)))
    assert info.quantiles == {0.01: 10, 0.1: 100, 0.5: 500, 0.9: 900, 0.99: 990}


def test_quantiles_of_rayleigh_fading_are_those_of_the_exponential():
    info = trace_info(fading_trace(30, 0.01, 60, count=50))
    for portion, value in info.quantiles.items():
        assert value == pytest.approx(-90 + 10 * math.log10(-math.log1p(-portion)), abs=0.5)


@pytest.mark.parametrize(
    ("kind", "silence"),
    [(Kind.GAIN_DB, -math.inf), (Kind.SNR_DB, -math.inf), (Kind.SPECTRAL_EFFICIENCY, 0.0)],
)
def test_outage_is_the_portion_of_time_not_of_samples(kind, silence):
    one = [0, 1, 4], [5, silence, 5]  # silent for 3 of 5 s
    other = [0, 1], [5, 6]  # 2 s
    info = trace_info(trace_of(one, other, kind=kind, step_s=1.0))
    assert info.outage == pytest.approx(3 / 7)
    assert trace_info(trace_of(other, kind=kind)).outage == 0


def test_a_low_signal_is_no_outage():
    assert trace_info(trace_of(([0, 1], [-300, -400]))).outage == 0


def test_a_trace_that_is_silent_throughout_is_all_outage_and_stands_still():
    info = trace_info(trace_of(([0, 1, 2], [-math.inf] * 3)))
    assert info.outage == 1
    assert info.coherence_s == math.inf
    assert info.quantiles[0.5] == -math.inf


# The field's correlation J0(2 pi f_D tau) is a half where its argument is 1.5211.


def coherence_s(speed_kmh):
    return 1.5211 / (2 * math.pi * speed_kmh / 3.6 * CARRIER_HZ / 299_792_458)


def test_the_coherence_times_that_are_expected_below():
    t = (np.arange(1000) + 0.5) * np.pi / 1000
    assert np.mean(np.cos(1.5211 * np.sin(t))) == pytest.approx(0.5, abs=1e-4)
    assert [coherence_s(v) for v in (3, 30, 120)] == pytest.approx(
        [0.0249, 0.00249, 0.00062], rel=0.01
    )


@pytest.mark.parametrize(
    ("speed_kmh", "step_s", "span_s"), [(3, 2e-3, 60), (30, 2.5e-4, 8), (120, 1e-4, 3)]
)
def test_the_coherence_time_is_that_of_clarkes_model(speed_kmh, step_s, span_s):
    info = trace_info(fading_trace(speed_kmh, step_s, span_s))
    assert info.coherence_s == pytest.approx(coherence_s(speed_kmh), rel=0.12)
    assert not info.too_coarse


def test_the_coherence_time_does_not_depend_on_the_step_while_it_is_fine():
    found = [trace_info(fading_trace(30, step_s, 8)).coherence_s for step_s in (1e-4, 5e-4, 1e-3)]
    assert found == pytest.approx([coherence_s(30)] * 3, rel=0.15)


def test_path_loss_and_shadowing_do_not_hide_how_fast_fading_is():
    """A walk away from the base station: the mean falls, the fading is as fast as ever."""
    device = Propagation(
        UrbanMicro(CARRIER_HZ, 10.0), URBAN_MICRO, Clarke(), Straight(30 / 3.6), 60.0, anywhere=True
    )
    times_s = np.arange(20_000) * 5e-4
    made = Generated([device] * 20, CARRIER_HZ, times_s, Streams(5))
    info = trace_info(Trace(Kind.GAIN_DB, made, 5e-4))
    assert info.coherence_s == pytest.approx(coherence_s(30), rel=0.5)


@pytest.mark.parametrize(
    ("step_s", "too_coarse"),
    [(5e-4, False), (1e-3, False), (2e-3, True), (1e-2, True), (0.1, True)],
)
def test_a_step_is_too_coarse_when_the_channel_changes_within_it(step_s, too_coarse):
    assert trace_info(fading_trace(30, step_s, 20)).too_coarse is too_coarse


def test_a_walk_sampled_once_a_second_is_too_coarse_even_beside_devices_that_rest():
    """Half of the devices stand still; what the others do between samples is lost."""
    moving, resting = (
        Propagation(Given(90.0), NONE, Clarke(), Straight(speed), 100.0) for speed in (1.0, 0.0)
    )
    made = Generated([moving, resting] * 10, CARRIER_HZ, np.arange(500.0), Streams(5))
    assert trace_info(Trace(Kind.GAIN_DB, made, 1.0)).too_coarse


def test_block_fading_is_coherent_for_about_its_block():
    info = trace_info(fading_trace(0, 1e-3, 20, fading=BlockRayleigh(0.1)))
    # A triangle: correlation 1 - lag / block falls to a quarter at three quarters of it.
    assert info.coherence_s == pytest.approx(0.075, rel=0.15)


def test_a_channel_that_stands_still_is_coherent_for_ever():
    for trace in (
        fading_trace(0, 1e-3, 1),
        fading_trace(30, 1e-3, 1, fading=NoFading()),
        trace_of(([0, 1, 2], [7, 7, 7])),
        trace_of(([0], [7]), step_s=1.0),
        trace_of(([0, 1], [0, 0]), kind=Kind.SPECTRAL_EFFICIENCY),
    ):
        info = trace_info(trace)
        assert info.coherence_s == math.inf
        assert not info.too_coarse


def test_efficiencies_are_correlated_as_they_are():
    """A square wave of eight samples: the correlation is a triangle, a quarter at 1.5."""
    values = np.tile([1.0, 1, 1, 1, 3, 3, 3, 3], 200)
    times_s = np.arange(1600) * 0.25
    info = trace_info(trace_of((times_s, values), kind=Kind.SPECTRAL_EFFICIENCY))
    assert info.coherence_s == pytest.approx(1.5 * 0.25, rel=0.02)


def test_irregular_samples_are_looked_at_on_their_own_clock():
    """The same channel, some of its samples left out where it did not change."""
    trace = fading_trace(0, 1e-3, 5, count=1, fading=BlockRayleigh(0.02))
    samples = trace.devices[0]
    kept = np.ones(5000, bool)
    kept[5::20] = kept[13::20] = False
    thinned = Trace(
        Kind.GAIN_DB, [Samples(samples.times_s[kept], samples.values[kept])], step_s=1e-3
    )
    assert trace_info(thinned).coherence_s == pytest.approx(trace_info(trace).coherence_s, rel=0.01)


def test_devices_sampled_at_different_steps_have_their_own_lags():
    """One channel, seen every 1 ms by one device and every 4 ms by another."""
    values = np.repeat(np.random.default_rng(3).exponential(size=500), 40)
    fine = np.arange(20_000) * 1e-3
    both = trace_of((fine, values), (fine[::4], values[::4]), kind=Kind.SPECTRAL_EFFICIENCY)
    alone = trace_of((fine, values), kind=Kind.SPECTRAL_EFFICIENCY)
    expected = trace_info(alone).coherence_s
    assert expected == pytest.approx(0.030, rel=0.2)
    assert trace_info(both).coherence_s == pytest.approx(expected, rel=0.15)


class Asked(list):
    """Devices, with a record of which were asked for."""

    def __init__(self, devices):
        super().__init__(devices)
        self.numbers = []

    def __getitem__(self, number):
        self.numbers.append(number)
        return super().__getitem__(number)

    def __iter__(self):
        return (self[number] for number in range(len(self)))


def test_of_a_large_trace_some_devices_are_looked_at_evenly():
    devices = Asked([Samples(np.arange(3.0), np.full(3, float(n))) for n in range(1001)])
    info = trace_info(Trace(Kind.SNR_DB, devices))
    assert info.num_devices == 1001
    assert info.looked_at == len(set(devices.numbers)) == len(devices.numbers) < 200
    assert {0, 1000} <= set(devices.numbers)
    assert info.quantiles[0.5] == pytest.approx(500, abs=25)


# Eighths of a second, and next to nothing. Nothing between: a grid of 10^9 samples that a
# broken inspection lays out would take the machine with it.
eighths, tiny = st.integers(-1000, 1000).map(lambda n: n / 8), st.floats(1e-200, 1e-100)
moments = st.lists(eighths | tiny, min_size=2, max_size=6, unique=True).map(sorted)
levels = st.floats(-400, 200) | st.just(-math.inf)


@given(st.data())
@settings(deadline=None, max_examples=100)
def test_whatever_can_be_read_can_be_looked_at(data):
    """Even times that are too close to tell apart."""
    devices = []
    for _ in range(data.draw(st.integers(1, 3))):
        times_s = data.draw(moments)
        values = data.draw(st.lists(levels, min_size=len(times_s), max_size=len(times_s)))
        devices.append((times_s, values))
    info = trace_info(trace_of(*devices))
    assert 0 <= info.outage <= 1
    assert info.coherence_s > 0
    assert info.steps_s[0] <= info.steps_s[1] <= info.steps_s[2]


def test_a_long_gap_between_fine_samples_does_not_fill_the_memory():
    """A clock that was set in the middle; so long a gap that no machine holds it by mistake."""
    times_s = np.concatenate((np.arange(1000) * 1e-3, [1e13]))
    values = np.append(np.tile([1.0, 1.0, 2.0, 2.0], 250), 1.0)
    info = trace_info(trace_of((times_s, values), step_s=1e-3))
    assert info.num_samples == 1001
