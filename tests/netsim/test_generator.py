import tracemalloc
import weakref

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from netsim.propagation.fading import BlockRayleigh, Clarke, NoFading, Rician
from netsim.propagation.mobility import RandomWaypoint, Straight
from netsim.propagation.path_loss import Given, UrbanMacro, UrbanMicro, free_space
from netsim.propagation.shadowing import NONE, URBAN_MICRO
from netsim.streams import Streams
from netsim.traces import Generated, Kind, Propagation, Trace, read_trace, write_trace

CARRIER_HZ = 3.5e9
STEPS = np.arange(200) * 0.005

rich = Propagation(
    UrbanMicro(CARRIER_HZ, 10.0),
    URBAN_MICRO,
    Clarke(),
    RandomWaypoint(150.0, 1.0, 3.0, 0.5),
    150.0,
    anywhere=True,
)


def made(count=6, seed=3, times_s=STEPS, device=rich):
    return Generated([device] * count, CARRIER_HZ, times_s, Streams(seed))


def values(devices):
    return [samples.values.tolist() for samples in devices]


def test_the_same_seed_makes_the_same_samples_and_another_seed_others():
    assert values(made(seed=3)) == values(made(seed=3))
    for one, other in zip(made(seed=3), made(seed=4), strict=True):
        assert not np.isin(one.values, other.values).any()


def test_devices_have_channels_of_their_own():
    first = values(made(20))
    assert len({tuple(one) for one in first}) == 20


@given(st.permutations(range(6)), st.integers(6, 1000))
@settings(deadline=None, max_examples=20)
def test_a_device_depends_neither_on_the_order_of_asking_nor_on_how_many_there_are(order, count):
    expected = values(made(6))
    devices = made(count)
    for number in order:
        assert devices[number].values.tolist() == expected[number]


def test_a_device_does_not_depend_on_what_the_others_are():
    other = Propagation(Given(90.0), NONE, Rician(3.0), Straight(1.0), 10.0)
    mixed = Generated([other, rich, other, rich], CARRIER_HZ, STEPS, Streams(3))
    alike = made(4)
    for number in (1, 3):
        assert mixed[number].values.tolist() == alike[number].values.tolist()


def test_asking_twice_gives_the_same():
    devices = made()
    assert devices[2].values.tolist() == devices[2].values.tolist()


def test_devices_are_indexed_and_sliced_like_a_list():
    devices = made(6)
    whole = values(devices)
    assert len(devices) == 6
    assert devices[-1].values.tolist() == whole[5]
    for part in (slice(1, 4), slice(None, None, 2), slice(None, None, -1), slice(4, 99)):
        assert values(devices[part]) == whole[part]
    for beyond in (6, -7):
        with pytest.raises(IndexError):
            devices[beyond]


def test_samples_are_at_the_times_asked_for():
    times_s = np.array([3.0, 3.5, 10.0])
    assert made(times_s=times_s)[0].times_s.tolist() == [3.0, 3.5, 10.0]


@pytest.mark.parametrize("fading", [Clarke(), Rician(2.0), NoFading()])
def test_a_device_that_stands_still_has_a_frozen_channel(fading):
    standing = Propagation(
        UrbanMacro(CARRIER_HZ, 25.0), URBAN_MICRO, fading, Straight(0.0), 80.0, anywhere=True
    )
    for samples in made(20, device=standing):
        assert len(set(samples.values.tolist())) == 1


def test_a_device_that_moves_has_a_channel_that_moves():
    moving = Propagation(Given(90.0), NONE, Clarke(), Straight(1.0), 80.0)
    for samples in made(20, device=moving):
        assert len(set(samples.values.tolist())) == len(STEPS)


def test_faster_devices_see_the_same_channel_sooner():
    """Fading is a function of the way: ten times the speed is a tenth of the time."""
    slow, fast = (
        Propagation(Given(90.0), URBAN_MICRO, Clarke(), Straight(speed), 80.0)
        for speed in (1.0, 10.0)
    )
    one = made(1, device=slow, times_s=STEPS * 10)[0]
    other = made(1, device=fast, times_s=STEPS)[0]
    assert other.values == pytest.approx(one.values, abs=1e-6)


def test_the_gain_is_minus_the_loss_where_nothing_else_attenuates():
    law = free_space(CARRIER_HZ)
    still = Propagation(law, NONE, NoFading(), Straight(), 123.0)
    expected = -20 * np.log10(4 * np.pi * 123.0 * CARRIER_HZ / 299_792_458)
    for samples in made(3, device=still):
        assert samples.values == pytest.approx(np.full(len(STEPS), expected), abs=1e-9)


@pytest.mark.parametrize(
    ("law", "losses", "probability"),
    [
        (UrbanMicro(CARRIER_HZ, 10.0), (85.31, 104.64), 0.2310),
        (UrbanMacro(CARRIER_HZ, 25.0), (83.14, 103.04), 0.3477),
    ],
)
def test_as_many_devices_have_a_line_of_sight_as_the_law_says(law, losses, probability):
    still = Propagation(law, NONE, NoFading(), Straight(), 100.0)
    gains = np.array([one.values[0] for one in made(3000, device=still, times_s=np.zeros(1))])
    seen, hidden = (np.abs(gains + loss_db) < 0.005 for loss_db in losses)
    assert (seen ^ hidden).all()
    assert seen.mean() == pytest.approx(probability, abs=0.025)


def test_a_line_of_sight_is_lost_once_on_the_way_out():
    leaving = Propagation(UrbanMicro(CARRIER_HZ, 10.0), NONE, NoFading(), Straight(30.0), 0.001)
    times_s = np.arange(3000) * 0.01
    lost = []
    for samples in made(100, device=leaving, times_s=times_s):
        jumps = np.flatnonzero(np.diff(samples.values) < -2.0)
        assert len(jumps) <= 1
        lost.append(30.0 * times_s[jumps[0]] if len(jumps) else np.inf)
        assert samples.values[0] == samples.values[1]  # nearer than 10 m
    # The distance at which half are hidden: where the probability is one half.
    assert 18 / 52.6 + np.exp(-52.6 / 36) * (1 - 18 / 52.6) == pytest.approx(0.5, abs=0.01)
    assert np.median(lost) == pytest.approx(52.6, abs=10)


def test_block_fading_changes_even_where_the_device_does_not():
    still = Propagation(Given(90.0), NONE, BlockRayleigh(0.05), Straight(), 80.0)
    for samples in made(3, device=still):
        assert len(set(samples.values.tolist())) == 20


@pytest.mark.parametrize("carrier_hz", [0.0, -1.0, float("nan")])
def test_a_carrier_that_is_none_is_refused(carrier_hz):
    with pytest.raises(ValueError, match="carrier_hz"):
        Generated([rich], carrier_hz, STEPS, Streams(1))


class Counted(Generated):
    """Made devices, with a record of how many of them live at once."""

    alive, most = 0, 0

    def __getitem__(self, device):
        samples = super().__getitem__(device)
        self.asked = [*getattr(self, "asked", []), device]
        self.alive += 1
        self.most = max(self.most, self.alive)
        weakref.finalize(samples, self._gone)
        return samples

    def _gone(self):
        self.alive -= 1


def test_writing_holds_one_device_at_a_time(tmp_path):
    devices = Counted([rich] * 30, CARRIER_HZ, STEPS, Streams(3))
    write_trace(tmp_path / "t.parquet", Trace(Kind.GAIN_DB, devices, 0.005))
    assert devices.asked == list(range(30))  # each made once, in order
    assert devices.most <= 2  # the one being made, and the one just written
    assert values(read_trace(tmp_path / "t.parquet").devices) == values(made(30))


def test_the_memory_of_writing_does_not_grow_with_the_number_of_devices(tmp_path):
    peaks = []
    for count in (3, 30):
        still = Propagation(Given(90.0), NONE, NoFading(), Straight(), 80.0)
        devices = made(count, device=still, times_s=np.arange(100_000) * 1e-3)
        tracemalloc.start()
        write_trace(tmp_path / f"{count}.parquet", Trace(Kind.GAIN_DB, devices, 1e-3))
        peaks.append(tracemalloc.get_traced_memory()[1])
        tracemalloc.stop()
    assert peaks[1] < 1.5 * peaks[0]
