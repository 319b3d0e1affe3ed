import math

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from netsim.channel import (
    AtEnd,
    Constant,
    ConstantInNoise,
    Replayed,
    Segments,
    SegmentsInNoise,
    replay_in_noise,
    replay_trace,
    replay_trace_in_noise,
    shannon_efficiency,
)
from netsim.errors import TraceError
from netsim.traces import Kind, Samples, Trace

# A piece is (seconds, whole-band SNR); a trace is a list of pieces, one after another.
ratios = st.just(0.0) | st.floats(1e-3, 1e3)
pieces_of = st.lists(st.tuples(st.floats(0.05, 2), ratios), min_size=1, max_size=6)
shares = st.floats(1e-6, 1)
going_on = st.sampled_from([AtEnd.REPEAT, AtEnd.HOLD])
times = st.floats(0, 20)


def laid_out(pieces):
    lengths_s, snr = np.array(pieces).T
    ends_s = np.cumsum(lengths_s)
    return SegmentsInNoise(np.concatenate(([0.0], ends_s[:-1])), snr, float(ends_s[-1]))


def walked(pieces, share, *args, **kwargs):
    return replay_in_noise(laid_out(pieces), *args, **kwargs).at_share(share)


def tabled(pieces, share, *args, **kwargs):
    """The same channel in noise that is one number: that of the share."""
    lengths_s, snr = np.array(pieces).T
    ends_s = np.cumsum(lengths_s)
    starts_s = np.concatenate(([0.0], ends_s[:-1]))
    segments = Segments(starts_s, shannon_efficiency(snr / share), float(ends_s[-1]))
    return Replayed(segments, *args, **kwargs)


def random_pieces(count):
    rng = np.random.default_rng(5)
    snr = rng.exponential(1.0, count) * (rng.random(count) > 0.1)
    return np.column_stack((rng.uniform(0.001, 0.02, count), snr))


@st.composite
def uploads(draw):
    """Pieces, a share, what follows, an offset, a start, and a need of up to many repetitions."""
    pieces, share = draw(pieces_of), draw(shares)
    total = sum(seconds * math.log2(1 + snr / share) for seconds, snr in pieces)
    assume(total > 0)
    need = draw(st.floats(0.01, 40)) * total
    return (pieces, share, draw(going_on), draw(times)), draw(times), need


@given(uploads())
def test_the_time_to_carry_is_that_in_the_noise_of_the_share(upload):
    channel, from_s, need = upload
    seconds = walked(*channel).seconds_to_carry(from_s, need)
    # Just before a silence a hair more takes much longer, so the other brackets the need.
    other = tabled(*channel)
    least = other.seconds_to_carry(from_s, need * (1 - 1e-9))
    most = other.seconds_to_carry(from_s, need * (1 + 1e-9))
    assert least - 1e-9 <= seconds <= most + 1e-9


@given(uploads(), times)
def test_what_is_carried_is_that_in_the_noise_of_the_share(upload, seconds):
    channel, from_s, _ = upload
    one, other = walked(*channel), tabled(*channel)
    expected = other.carried(from_s, from_s + seconds)
    assert one.carried(from_s, from_s + seconds) == pytest.approx(expected, rel=1e-9, abs=1e-9)
    assert one.efficiency(from_s) == pytest.approx(other.efficiency(from_s), rel=1e-15, abs=0)
    assert one.peak == pytest.approx(other.peak, rel=1e-15, abs=0)


@given(uploads())
def test_what_should_be_carried_is_carried_when_its_time_is_over(upload):
    channel, from_s, need = upload
    one = walked(*channel)
    seconds = one.seconds_to_carry(from_s, need)
    if seconds < math.inf:
        assert one.carried(from_s, from_s + seconds) == pytest.approx(need, rel=1e-9, abs=0)


@given(uploads(), st.floats(0, 1))
def test_more_to_carry_never_takes_less_time(upload, fraction):
    channel, from_s, need = upload
    one = walked(*channel)
    less = one.seconds_to_carry(from_s, need * fraction)
    assert 0 <= less <= one.seconds_to_carry(from_s, need) + 1e-9


@pytest.mark.parametrize("at_end", AtEnd)
@pytest.mark.parametrize("span", [1, 20, 65, 66, 400, 1999])
def test_a_walk_over_many_segments_is_exact(at_end, span):
    pieces = random_pieces(2000)
    one, other = walked(pieces, 0.05, at_end), tabled(pieces, 0.05, at_end)
    edges_s = np.concatenate(([0.0], np.cumsum(pieces[:, 0])))
    for first in range(0, 2000 - span, 97):
        from_s, to_s = edges_s[first] + 0.0005, edges_s[first + span] - 0.0003
        need = other.carried(from_s, to_s)
        assert one.carried(from_s, to_s) == pytest.approx(need, rel=1e-11, abs=1e-11)
        need *= 0.999  # not at the edge of a silence, where a hair decides
        expected = other.seconds_to_carry(from_s, need)
        assert one.seconds_to_carry(from_s, need) == pytest.approx(expected, rel=1e-11, abs=1e-11)


@pytest.mark.parametrize("played", [1, 10**6, 10**9])
def test_it_is_the_same_however_often_the_trace_was_played_before(played):
    channel = walked([(1.0, 0.5), (1.0, 3.5)], 0.5, AtEnd.REPEAT)  # 1 and 3 bit/s/Hz
    from_s = 2.0 * played + 0.25
    assert channel.efficiency(from_s) == 1.0
    assert channel.carried(from_s, from_s + 0.25) == 0.25
    assert channel.carried(from_s, from_s + 1.0) == 0.75 + 0.75
    assert channel.carried(from_s, from_s + 2.0) == 4.0
    assert channel.seconds_to_carry(from_s, 1.5) == 1.0
    assert channel.seconds_to_carry(from_s, 3.75 + 0.25) == 2.0


def test_millions_of_repetitions_are_not_walked_over():
    channel = walked([(1.0, 1.5), (2.0, 0.0), (1.0, 7.5)], 0.5, AtEnd.REPEAT)  # 2, 0, 4
    assert channel.seconds_to_carry(0.0, 6.0 * 10**9 + 3.0) == 4.0 * 10**9 + 3.25
    assert channel.carried(0.5, 4.0 * 10**9 + 0.5) == 6.0 * 10**9


def test_an_upload_that_ends_with_the_trace_does_not_wait_for_a_silence():
    silent_end = walked([(1.0, 1.5), (3.0, 0.0)], 0.5, AtEnd.REPEAT)
    assert silent_end.seconds_to_carry(0.0, 20.0) == 9 * 4.0 + 1.0
    silent_begin = walked([(3.0, 0.0), (1.0, 1.5)], 0.5, AtEnd.REPEAT)
    assert silent_begin.seconds_to_carry(0.0, 20.0) == 10 * 4.0


def test_after_its_end_a_held_trace_keeps_its_last_efficiency():
    channel = walked([(1.0, 1.5), (1.0, 7.5)], 0.5, AtEnd.HOLD)
    assert channel.efficiency(1e6) == 4.0
    assert channel.seconds_to_carry(0.0, 406.0) == 102.0
    assert channel.seconds_to_carry(1e12, 4e-9) == 1e-9  # no digit is lost late in a long run
    assert channel.carried(1.5, 11.5) == 40.0


def test_a_trace_may_be_used_up_to_its_very_end_but_no_further():
    pieces = [(1.0, 1.5), (1.0, 7.5)]
    channel = walked(pieces, 0.5, AtEnd.ERROR, 0.5, who="walk.parquet: device 3")
    assert channel.seconds_to_carry(0.0, 5.0) == 1.5
    assert channel.carried(0.0, 1.5) == 5.0
    assert channel.carried(0.0, 1.5 + 1e-15) == 5.0  # the clock has rounded
    assert channel.efficiency(1.5) == 4.0
    past_the_end = [
        lambda: channel.seconds_to_carry(0.0, 5.001),
        lambda: channel.seconds_to_carry(1.5, 0.001),
        lambda: channel.carried(0.0, 1.501),
        lambda: channel.efficiency(1.501),
    ]
    for use in past_the_end:
        with pytest.raises(TraceError) as caught:
            use()
        assert str(caught.value) == (
            "walk.parquet: device 3 ends at 1.5 s of simulated time, and the simulation goes on; "
            "give a longer trace, or say at_end: repeat or hold"
        )


@pytest.mark.parametrize("at_end", AtEnd)
def test_a_silence_takes_no_time_for_nothing_and_for_ever_for_something(at_end):
    silent = walked([(1.0, 1.0), (1.0, 0.0)], 0.0, at_end)
    assert silent.seconds_to_carry(0.5, 0.0) == walked([(1.0, 0.0)], 0.5, at_end).carried(0, 1) == 0
    assert silent.seconds_to_carry(0.5, 1e-6) == math.inf
    assert walked([(1.0, 1.0), (1.0, 0.0)], 0.5, at_end).seconds_to_carry(1.5, 0.0) == 0.0
    if at_end is AtEnd.HOLD:
        held = walked([(1.0, 1.0), (1.0, 0.0)], 0.5, at_end)
        assert held.seconds_to_carry(0.5, 9.0) == held.seconds_to_carry(9.0, 1e-6) == math.inf


@given(pieces_of, st.sampled_from(AtEnd), shares)
def test_a_channel_on_a_share_is_that_of_this_share_for_good(pieces, at_end, share):
    whole = replay_in_noise(laid_out(pieces), at_end)
    assert whole.depends_on_share
    assert whole.at_share(1.0) is whole
    part = whole.at_share(share)
    assert part is whole or not part.depends_on_share
    assert part.at_share(0.5) is part or part is whole


@pytest.mark.parametrize("share", [0.0, 5e-324])
def test_no_share_or_one_below_all_numbers_is_silent(share):
    moving = replay_in_noise(laid_out([(1.0, 1.0), (1.0, 2.0)]), AtEnd.ERROR)
    for channel in (ConstantInNoise(2.0), moving):
        assert channel.at_share(share).peak == 0
        assert channel.at_share(share).seconds_to_carry(0.0, 1.0) == math.inf


@pytest.mark.parametrize("share", [-0.1, math.nan])
def test_a_share_is_never_negative(share):
    moving = replay_in_noise(laid_out([(1.0, 1.0), (1.0, 2.0)]), AtEnd.REPEAT)
    for channel in (ConstantInNoise(2.0), moving):
        with pytest.raises(ValueError, match=f"share must be >= 0, got {share}"):
            channel.at_share(share)


@pytest.mark.parametrize("snr", [-1.0, math.nan, math.inf])
def test_a_constant_must_be_finite_and_not_negative(snr):
    with pytest.raises(ValueError, match=f"whole_band_snr must be finite and >= 0, got {snr}"):
        ConstantInNoise(snr)


@given(st.floats(0, 1e6), st.integers(1, 5), going_on, times, shares)
def test_a_flat_trace_is_a_constant(snr, count, at_end, offset_s, share):
    channel = replay_in_noise(laid_out([(0.5, snr)] * count), at_end, offset_s)
    assert isinstance(channel, ConstantInNoise)
    part = channel.at_share(share)
    assert isinstance(part, Constant)
    assert part.is_constant
    assert part.peak == ConstantInNoise(snr).at_share(share).peak


def test_a_trace_that_moves_or_ends_is_not_a_constant():
    moving = walked([(1.0, 1.0), (1.0, 2.0)], 0.5, AtEnd.REPEAT)
    assert not moving.is_constant
    ending = walked([(1.0, 1.0), (1.0, 1.0)], 0.5, AtEnd.ERROR, who="device 7")
    with pytest.raises(TraceError, match="device 7 ends at 2 s"):
        ending.seconds_to_carry(0.0, 9.0)


def trace_of(kind, *devices):
    """A trace out of one list of (time, value) a device."""
    samples = [Samples(*np.array(device, dtype=float).T) for device in devices]
    return Trace(kind, samples, name="walk.parquet")


def test_each_device_replays_its_own_gains_with_its_own_power_from_its_own_offset():
    trace = trace_of(Kind.GAIN_DB, [(0, 0.0), (1, 10.0)], [(5, -math.inf), (6, 20.0)])
    one, other = replay_trace_in_noise(trace, AtEnd.REPEAT, [0, 1], [0.0, 6.5], [7.0, 0.5])
    assert one.at_share(0.1).efficiency(0.5) == pytest.approx(math.log2(1 + 70))
    assert one.at_share(0.1).efficiency(1.5) == pytest.approx(math.log2(1 + 700))
    assert other.at_share(0.1).efficiency(0.0) == pytest.approx(math.log2(1 + 500))
    assert other.at_share(0.1).efficiency(0.5) == 0


@pytest.mark.parametrize("kind", [Kind.SNR_DB, Kind.SPECTRAL_EFFICIENCY])
def test_only_a_trace_of_gains_has_no_noise_in_it(kind):
    trace = trace_of(kind, [(0, 1.0), (1, 2.0)])
    with pytest.raises(TraceError, match=rf"walk\.parquet: holds {kind}, .*trace of gain_db"):
        replay_trace_in_noise(trace, AtEnd.REPEAT, [0], [0.0], [1.0])


@pytest.mark.parametrize(
    ("samples", "at_end", "devices", "offset_s"),
    [
        ([(0, 1.0), (1, 2.0)], AtEnd.REPEAT, [1], 0.0),
        ([(2.5, 1.0), (3, 2.0)], AtEnd.REPEAT, [0], 2.0),
        ([(0, 1.0), (1, 2.0)], AtEnd.ERROR, [0], 9.0),
        ([(0, 1.0), (1, 5000.0)], AtEnd.HOLD, [0], 0.0),
        ([(-1e10, 1.0), (0, 1.0), (1e-9, 2.0)], AtEnd.HOLD, [0], 0.0),
    ],
)
def test_what_is_refused_is_refused_as_in_fixed_noise(samples, at_end, devices, offset_s):
    arguments = trace_of(Kind.GAIN_DB, samples), at_end, devices, [offset_s], [1.0]
    messages = []
    for replay in (replay_trace, replay_trace_in_noise):
        with pytest.raises(TraceError) as caught:
            replay(*arguments)
        messages.append(str(caught.value))
    assert messages[0] == messages[1]
