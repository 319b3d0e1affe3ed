import itertools
import math

import numpy as np
import pytest
from hypothesis import assume, example, given
from hypothesis import strategies as st

from netsim.channel import (
    AtEnd,
    Constant,
    Replayed,
    Segments,
    replay,
    replay_trace,
    shannon_efficiency,
    snr_of_efficiency,
)
from netsim.errors import TraceError
from netsim.traces import Kind, Samples, Trace

# A piece is (seconds, efficiency); a trace is a list of pieces, one after another.
efficiencies = st.just(0.0) | st.floats(0.1, 10)
pieces_of = st.lists(st.tuples(st.floats(0.05, 2), efficiencies), min_size=1, max_size=6)
going_on = st.sampled_from([AtEnd.REPEAT, AtEnd.HOLD])
times = st.floats(0, 20)


def laid_out(pieces):
    ends_s = list(itertools.accumulate(seconds for seconds, _ in pieces))
    return Segments(
        np.array([0.0, *ends_s[:-1]]), np.array([rate for _, rate in pieces]), ends_s[-1]
    )


def span_of(pieces):
    return sum(seconds for seconds, _ in pieces)


def total_of(pieces):
    return sum(seconds * rate for seconds, rate in pieces)


def walk(pieces, at_end):
    """Yield (begin, end, efficiency) of one piece after another, and of what follows them."""
    end_s = 0.0
    for period in itertools.count():
        begin_s = period * span_of(pieces)
        for seconds, rate in pieces:
            end_s = begin_s + seconds
            yield begin_s, end_s, rate
            begin_s = end_s
        if at_end is AtEnd.HOLD:
            yield end_s, math.inf, pieces[-1][1]
            return


def walked(pieces, at_end, from_s, to_s):
    """The bits per hertz carried between two positions."""
    pieces_until = itertools.takewhile(lambda piece: piece[0] < to_s, walk(pieces, at_end))
    return math.fsum(
        max(min(end_s, to_s) - max(begin_s, from_s), 0) * rate
        for begin_s, end_s, rate in pieces_until
    )


def walked_seconds(pieces, at_end, from_s, need):
    """How long *need* takes from a position on."""
    for begin_s, end_s, rate in walk(pieces, at_end):
        start_s = max(begin_s, from_s)
        if rate == 0 or end_s <= start_s:
            continue
        if need <= rate * (end_s - start_s):
            return start_s - from_s + need / rate
        need -= rate * (end_s - start_s)
    return math.inf


@st.composite
def uploads(draw):
    """Pieces, what follows, an offset, a start, and a need of up to many repetitions."""
    pieces = draw(pieces_of)
    assume(total_of(pieces) > 0)
    need = draw(st.floats(0.01, 40)) * total_of(pieces)
    return pieces, draw(going_on), draw(times), draw(times), need


@given(uploads())
def test_what_should_be_carried_is_carried_when_its_time_is_over(upload):
    pieces, at_end, offset_s, from_s, need = upload
    channel = Replayed(laid_out(pieces), at_end, offset_s)
    seconds = channel.seconds_to_carry(from_s, need)
    if seconds < math.inf:
        assert channel.carried(from_s, from_s + seconds) == pytest.approx(need, rel=1e-9, abs=0)
    else:
        assert at_end is AtEnd.HOLD
        assert channel.carried(from_s, from_s + 1e6) < need


@given(uploads())
def test_the_time_to_carry_is_that_of_a_walk_over_the_pieces(upload):
    pieces, at_end, offset_s, from_s, need = upload
    seconds = Replayed(laid_out(pieces), at_end, offset_s).seconds_to_carry(from_s, need)
    # Just before a silence a hair more takes much longer, so the walk brackets the need.
    begin_s = from_s + offset_s
    least = walked_seconds(pieces, at_end, begin_s, need * (1 - 1e-9))
    most = walked_seconds(pieces, at_end, begin_s, need * (1 + 1e-9))
    assert least - 1e-9 <= seconds <= most + 1e-9


@given(pieces_of, going_on, times, times, times)
def test_what_is_carried_is_that_of_a_walk_over_the_pieces(pieces, at_end, offset_s, one, other):
    from_s, to_s = sorted([one, other])
    carried = Replayed(laid_out(pieces), at_end, offset_s).carried(from_s, to_s)
    by_walking = walked(pieces, at_end, from_s + offset_s, to_s + offset_s)
    assert carried == pytest.approx(by_walking, rel=1e-9, abs=1e-11)


@given(pieces_of, going_on, times, st.tuples(times, times, times).map(sorted))
def test_what_is_carried_adds_up(pieces, at_end, offset_s, at_s):
    first, between, last = at_s
    channel = Replayed(laid_out(pieces), at_end, offset_s)
    parts = channel.carried(first, between) + channel.carried(between, last)
    assert parts == pytest.approx(channel.carried(first, last), rel=1e-9, abs=1e-11)


@given(uploads(), st.floats(0, 1))
def test_more_to_carry_never_takes_less_time(upload, fraction):
    pieces, at_end, offset_s, from_s, need = upload
    channel = Replayed(laid_out(pieces), at_end, offset_s)
    less = channel.seconds_to_carry(from_s, need * fraction)
    assert 0 <= less <= channel.seconds_to_carry(from_s, need) + 1e-9


def test_more_to_carry_never_takes_less_time_in_a_fade_below_the_last_digit():
    channel = Replayed(laid_out([(1.0, 1.0), (1.0, 1.5e-16), (1.0, 1.0)]), AtEnd.REPEAT)
    first, second = np.nextafter(1.0, 2.0), np.nextafter(1.0, 2.0) + 2.0**-52
    assert channel.seconds_to_carry(0.0, first) <= channel.seconds_to_carry(0.0, second)


@given(uploads(), st.integers(0, 10**6))
def test_whole_repetitions_take_whole_spans(upload, repetitions):
    pieces, _, offset_s, from_s, need = upload
    channel = Replayed(laid_out(pieces), AtEnd.REPEAT, offset_s)
    more = need + repetitions * total_of(pieces)
    longer = repetitions * span_of(pieces)
    least = channel.seconds_to_carry(from_s, need - 1e-9 * more) + longer
    most = channel.seconds_to_carry(from_s, need + 1e-9 * more) + longer
    tolerance = 1e-9 * longer + 1e-9
    assert least - tolerance <= channel.seconds_to_carry(from_s, more) <= most + tolerance


@given(uploads())
def test_the_efficiency_is_that_of_the_piece_the_clock_is_in(upload):
    pieces, at_end, offset_s, at_s, _ = upload
    position = at_s + offset_s
    around = [
        rate
        for begin_s, end_s, rate in itertools.takewhile(
            lambda piece: piece[0] <= position + 1e-9, walk(pieces, at_end)
        )
        if end_s > position - 1e-9
    ]
    channel = Replayed(laid_out(pieces), at_end, offset_s)
    assert channel.efficiency(at_s) in around
    assert channel.peak == max(rate for _, rate in pieces)


@given(pieces_of, st.floats(0, 1), st.floats(0, 0.999))
def test_within_the_trace_it_does_not_matter_what_follows(pieces, begin, fraction):
    from_s = begin * span_of(pieces)
    ending = Replayed(laid_out(pieces), AtEnd.ERROR)
    need = fraction * walked(pieces, AtEnd.HOLD, from_s, span_of(pieces))
    for at_end in (AtEnd.HOLD, AtEnd.REPEAT):
        other = Replayed(laid_out(pieces), at_end)
        assert ending.seconds_to_carry(from_s, need) == other.seconds_to_carry(from_s, need)


@given(pieces_of, st.floats(0, 0.99), st.floats(1e-6, 10))
def test_what_does_not_fit_into_the_trace_is_an_error(pieces, begin, excess):
    from_s = begin * span_of(pieces)
    need = walked(pieces, AtEnd.HOLD, from_s, span_of(pieces)) + excess
    with pytest.raises(TraceError, match="ends at"):
        Replayed(laid_out(pieces), AtEnd.ERROR).seconds_to_carry(from_s, need)


@given(pieces_of, st.floats(0, 0.99))
@example([(1.0, 1.0), (1.0, 1.9)], 0.35)  # 2.2 bit/Hz from 0.7 s on
def test_what_just_fits_into_the_trace_is_no_error(pieces, begin):
    channel = Replayed(laid_out(pieces), AtEnd.ERROR)
    from_s, end_s = begin * span_of(pieces), span_of(pieces)
    seconds = channel.seconds_to_carry(from_s, channel.carried(from_s, end_s))
    assert from_s + seconds <= end_s * (1 + 1e-9)


@given(st.floats(0.01, 100), times, st.floats(0, 1e6))
def test_a_constant_channel_carries_its_efficiency_a_second(efficiency, from_s, seconds):
    channel = Constant(efficiency)
    need = efficiency * seconds
    assert channel.seconds_to_carry(from_s, need) == pytest.approx(seconds)
    assert channel.carried(from_s, from_s + seconds) == pytest.approx(need, rel=1e-9, abs=1e-9)
    assert channel.efficiency(from_s) == channel.peak == efficiency


@given(st.floats(0.1, 10), st.integers(1, 5), going_on, times)
def test_a_flat_trace_is_replayed_as_a_constant(efficiency, count, at_end, offset_s):
    flat = laid_out([(0.5, efficiency)] * count)
    channel, replayed = replay(flat, at_end, offset_s), Replayed(flat, at_end, offset_s)
    assert isinstance(channel, Constant)
    assert channel.is_constant
    assert channel.peak == efficiency
    assert channel.carried(1.0, 9.0) == pytest.approx(replayed.carried(1.0, 9.0))
    assert channel.seconds_to_carry(1, 9.0) == pytest.approx(replayed.seconds_to_carry(1, 9.0))


@given(pieces_of, st.sampled_from(AtEnd), st.floats(0, 1))
def test_where_noise_is_one_number_a_channel_serves_any_share(pieces, at_end, share):
    for channel in (Constant(3.0), replay(laid_out(pieces), at_end)):
        assert not channel.depends_on_share
        assert channel.at_share(share) is channel


def test_a_trace_that_moves_or_ends_is_not_a_constant():
    assert not replay(laid_out([(1.0, 1.0), (1.0, 2.0)]), AtEnd.REPEAT).is_constant
    ending = replay(laid_out([(1.0, 1.0), (1.0, 1.0)]), AtEnd.ERROR, who="device 7")
    with pytest.raises(TraceError, match="device 7 ends at 2 s"):
        ending.seconds_to_carry(0.0, 3.0)


@given(st.floats(0, 60))
def test_efficiency_and_signal_to_noise_ratio_are_inverse(efficiency):
    snr = snr_of_efficiency(np.array([efficiency]))
    assert snr[0] == pytest.approx(2**efficiency - 1, rel=1e-9, abs=1e-15)
    assert shannon_efficiency(snr)[0] == pytest.approx(efficiency, rel=1e-12, abs=0)


def test_a_weak_signal_is_not_rounded_away():
    assert math.log2(1 + 1e-17) == 0
    efficiency = shannon_efficiency(np.array([1e-17]))[0]
    assert efficiency == pytest.approx(1e-17 / math.log(2), rel=1e-12, abs=0)
    assert snr_of_efficiency(np.array([efficiency]))[0] == pytest.approx(1e-17, rel=1e-12, abs=0)


def test_an_upload_over_several_pieces_and_repetitions():
    channel = Replayed(laid_out([(1.0, 2.0), (2.0, 0.0), (1.0, 4.0)]), AtEnd.REPEAT)
    assert channel.seconds_to_carry(0.0, 2.0) == 1.0  # not at the end of the silence
    assert channel.seconds_to_carry(0.0, 3.0) == 3.25
    assert channel.seconds_to_carry(1.5, 1.0) == 1.75  # the rest of the silence, and a quarter
    assert channel.seconds_to_carry(3.5, 3.0) == 1.0  # over the end
    assert channel.seconds_to_carry(0.0, 6.0 * 10**9 + 3.0) == 4.0 * 10**9 + 3.25
    assert channel.carried(0.5, 4.0 * 10**9 + 0.5) == 6.0 * 10**9


def test_what_is_carried_does_not_depend_on_how_often_the_trace_was_played_before():
    channel = Replayed(laid_out([(1.0, 0.1), (1.0, 0.3)]), AtEnd.REPEAT)
    for played in (1, 10**6, 10**12):
        from_s = 2.0 * played + 0.25
        assert channel.carried(from_s, from_s + 0.25) == pytest.approx(0.025, rel=1e-12, abs=0)
        assert channel.seconds_to_carry(from_s, 0.175) == pytest.approx(0.75 + 0.1 / 0.3)


def test_an_upload_that_ends_with_the_trace_does_not_wait_for_a_silence():
    silent_end = Replayed(laid_out([(1.0, 2.0), (3.0, 0.0)]), AtEnd.REPEAT)
    assert silent_end.seconds_to_carry(0.0, 20.0) == 9 * 4.0 + 1.0
    silent_begin = Replayed(laid_out([(3.0, 0.0), (1.0, 2.0)]), AtEnd.REPEAT)
    assert silent_begin.seconds_to_carry(0.0, 20.0) == 10 * 4.0


def test_after_its_end_a_held_trace_keeps_its_last_efficiency():
    channel = Replayed(laid_out([(1.0, 2.0), (1.0, 4.0)]), AtEnd.HOLD)
    assert channel.efficiency(1e6) == 4.0
    assert channel.seconds_to_carry(0.0, 406.0) == 102.0
    assert channel.seconds_to_carry(50.0, 4.0) == 1.0
    assert channel.seconds_to_carry(2.0, 4e-9) == 1e-9  # no digit is lost at the end,
    assert channel.seconds_to_carry(1e12, 4e-9) == 1e-9  # nor late in a long run
    assert channel.carried(1.5, 11.5) == 40.0


def test_the_offset_is_where_in_the_trace_the_simulation_begins():
    segments = laid_out([(1.0, 2.0), (1.0, 4.0)])
    early, late = Replayed(segments, AtEnd.REPEAT), Replayed(segments, AtEnd.REPEAT, 1.5)
    assert [early.efficiency(at_s) for at_s in (0.0, 0.5, 1.0, 2.0)] == [2, 2, 4, 2]
    assert [late.efficiency(at_s) for at_s in (0.0, 0.5, 1.0, 2.0)] == [4, 2, 2, 4]
    assert late.seconds_to_carry(0.0, 3.0) == 1.0


@pytest.mark.parametrize(
    "channel",
    [
        Constant(0.0),
        Constant(3.0),
        Replayed(laid_out([(1.0, 0.0), (1.0, 1.0)]), AtEnd.REPEAT),
        Replayed(laid_out([(1.0, 0.0), (1.0, 1.0)]), AtEnd.ERROR),
        Replayed(laid_out([(1.0, 1.0), (1.0, 0.0)]), AtEnd.HOLD),
    ],
)
def test_nothing_to_carry_takes_no_time_even_in_a_silence(channel):
    assert channel.seconds_to_carry(0.5, 0.0) == 0.0
    assert channel.seconds_to_carry(1.5, 0.0) == 0.0
    assert channel.carried(0.5, 0.5) == 0.0


@pytest.mark.parametrize("at_end", AtEnd)
@pytest.mark.parametrize("from_s", [1.0, 1.5, 2.0, 2.5])
def test_a_crumb_below_the_last_digit_passes_by_the_end_of_the_silence(at_end, from_s):
    channel = Replayed(laid_out([(1.0, 1.0), (1.0, 0.0), (1.0, 0.0), (1.0, 1.0)]), at_end)
    assert 0 <= channel.seconds_to_carry(from_s, 1e-17) <= 3.0 - from_s + 1e-9


@pytest.mark.parametrize(
    "channel",
    [
        Constant(0.0),
        Replayed(laid_out([(1.0, 0.0), (1.0, 0.0)]), AtEnd.REPEAT),
        Replayed(laid_out([(1.0, 0.0), (1.0, 0.0)]), AtEnd.HOLD),
        Replayed(laid_out([(1.0, 1.0), (1.0, 0.0)]), AtEnd.HOLD),
    ],
)
def test_a_silence_for_ever_never_ends_an_upload(channel):
    assert channel.seconds_to_carry(0.25, 1.0) == math.inf
    assert channel.seconds_to_carry(1.5, 1e-6) == math.inf
    assert channel.seconds_to_carry(100.0, 1e-6) == math.inf


def test_a_trace_may_be_used_up_to_its_very_end_but_no_further():
    pieces = [(1.0, 2.0), (1.0, 4.0)]
    channel = Replayed(laid_out(pieces), AtEnd.ERROR, 0.5, who="walk.parquet: device 3")
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
        message = str(caught.value)
        assert message.startswith("walk.parquet: device 3 ends at 1.5 s of simulated time")
        assert "at_end: repeat or hold" in message


@pytest.mark.parametrize("efficiency", [-1.0, math.nan, math.inf])
def test_a_constant_must_be_finite_and_not_negative(efficiency):
    with pytest.raises(ValueError, match=f"finite and >= 0, got {efficiency}"):
        Constant(efficiency)


@pytest.mark.parametrize(
    ("starts_s", "span_s"),
    [([0.5, 1.0], 2.0), ([0.0, 0.0], 2.0), ([0.0, 2.0, 1.0], 3.0), ([0.0, 1.0], 1.0)],
)
def test_segments_must_begin_at_0_and_increase_up_to_their_span(starts_s, span_s):
    with pytest.raises(ValueError, match="begin at 0 and increase, up to span_s"):
        Segments(np.array(starts_s), np.ones(len(starts_s)), span_s)


@pytest.mark.parametrize("offset_s", [-0.001, math.nan])
def test_a_trace_cannot_begin_before_its_beginning(offset_s):
    with pytest.raises(ValueError, match=f"offset_s must be >= 0, got {offset_s}"):
        Replayed(laid_out([(1.0, 1.0)]), AtEnd.HOLD, offset_s)


def trace_of(kind, *devices, step_s=None):
    """A trace out of one list of (time, value) a device."""
    samples = [Samples(*np.array(device, dtype=float).T) for device in devices]
    return Trace(kind, samples, step_s, name="walk.parquet")


db = st.floats(-150, 60) | st.just(-math.inf)


@given(st.lists(st.tuples(db, db, st.floats(0.01, 1e12)), min_size=1, max_size=4))
def test_gains_become_efficiencies_with_the_powers_of_each_device(devices):
    trace = trace_of(Kind.GAIN_DB, *([(0, one), (1, other)] for one, other, _ in devices))
    snr_of_unit_gain = [snr for _, _, snr in devices]
    channels = replay_trace(
        trace, AtEnd.REPEAT, range(len(devices)), [0.0] * len(devices), snr_of_unit_gain
    )
    for channel, (one, other, snr) in zip(channels, devices, strict=True):
        for at_s, gain_db in ((0.5, one), (1.5, other)):
            expected = math.log1p(10 ** (gain_db / 10) * snr) / math.log(2)
            assert channel.efficiency(at_s) == pytest.approx(expected, rel=1e-9, abs=0)


def test_each_kind_says_what_its_values_are():
    samples = [(0, 0.0), (1, 10.0)]
    expected = {
        Kind.GAIN_DB: [math.log2(1 + 7), math.log2(1 + 70)],
        Kind.SNR_DB: [math.log2(1 + 1), math.log2(1 + 10)],
        Kind.SPECTRAL_EFFICIENCY: [0.0, 10.0],
    }
    for kind in Kind:
        [channel] = replay_trace(trace_of(kind, samples), AtEnd.HOLD, range(1), [0.0], [7.0])
        assert [channel.efficiency(0.5), channel.efficiency(1.5)] == pytest.approx(expected[kind])


def test_a_gain_of_no_power_at_all_is_silence():
    silent = trace_of(Kind.GAIN_DB, [(0, -math.inf), (1, -math.inf)])
    [channel] = replay_trace(silent, AtEnd.REPEAT, range(1), [0.0], [1e10])
    assert channel.seconds_to_carry(0.0, 1.0) == math.inf


@given(st.floats(0, 10), st.floats(-1000, 1000), going_on)
def test_offsets_are_times_of_the_trace_whenever_it_begins(later_s, begins_s, at_end):
    pieces = [(1.0, 2.0), (0.5, 0.0), (1.5, 3.0)]
    samples = [(begins_s, 2.0), (begins_s + 1.0, 0.0), (begins_s + 1.5, 3.0)]
    trace = trace_of(Kind.SPECTRAL_EFFICIENCY, samples, step_s=1.5)
    offset_s = begins_s + later_s
    assume(offset_s >= begins_s)
    [channel] = replay_trace(trace, at_end, range(1), [offset_s], [1.0])
    expected = walked(pieces, at_end, later_s, later_s + 5.0)
    assert channel.carried(0.0, 5.0) == pytest.approx(expected, abs=1e-9)


def test_each_device_replays_its_own_samples_from_its_own_offset():
    trace = trace_of(
        Kind.SPECTRAL_EFFICIENCY,
        [(0, 1.0), (1, 2.0)],
        [(5, 3.0), (6, 4.0), (8, 5.0)],
        [(0, 6.0), (1, 7.0)],
    )
    one, other = replay_trace(trace, AtEnd.REPEAT, range(2), [0.0, 6.5], [1.0, 1.0])
    assert [one.efficiency(at_s) for at_s in (0.0, 1.0, 2.0, 3.0)] == [1, 2, 1, 2]
    # 4 until 8 s of the trace, 5 for as long as that took, and 3 again from 10 s on.
    assert [other.efficiency(at_s) for at_s in (0.0, 1.5, 3.0, 3.5, 4.5)] == [4, 5, 5, 3, 4]


def test_a_stated_step_is_how_long_the_last_sample_holds():
    trace = trace_of(Kind.SPECTRAL_EFFICIENCY, [(0, 1.0), (1, 2.0)], step_s=0.25)
    [channel] = replay_trace(trace, AtEnd.REPEAT, range(1), [0.0], [1.0])
    assert [channel.efficiency(at_s) for at_s in (1.0, 1.125, 1.25, 2.25)] == [2, 2, 1, 2]


def test_a_trace_of_too_few_devices_is_refused():
    trace = trace_of(Kind.SNR_DB, [(0, 1.0), (1, 2.0)])
    with pytest.raises(
        TraceError, match=r"walk\.parquet: has 1 devices, numbered from 0; device 1 is asked for"
    ):
        replay_trace(trace, AtEnd.REPEAT, range(2), [0.0, 0.0], [1.0, 1.0])


def test_a_trace_that_begins_after_the_simulation_is_told_the_offset_that_works():
    trace = trace_of(Kind.SNR_DB, [(0, 1.0), (1, 2.0)], [(2.5, 1.0), (3, 2.0)])
    with pytest.raises(TraceError) as caught:
        replay_trace(trace, AtEnd.REPEAT, range(2), [0.0, 2.0], [1.0, 1.0])
    assert "walk.parquet: device 1 begins at 2.5 s" in str(caught.value)
    assert str(caught.value).endswith("say offset: 2.5 s")
    assert len(replay_trace(trace, AtEnd.REPEAT, range(2), [0.0, 2.5], [1.0, 1.0])) == 2


@pytest.mark.parametrize("kind", [Kind.GAIN_DB, Kind.SNR_DB])
def test_a_signal_of_more_than_any_number_is_refused(kind):
    trace = trace_of(kind, [(0, 1.0), (1, 5000.0)])
    with pytest.raises(TraceError, match=r"walk\.parquet: device 0 reaches 5000 "):
        replay_trace(trace, AtEnd.REPEAT, range(1), [0.0], [1.0])


@pytest.mark.parametrize(("times_s", "step_s"), [([-1e10, 0.0, 1e-9], None), ([0.0, 1.0], 1e-17)])
def test_a_trace_with_samples_too_close_to_tell_apart_is_refused_by_name(times_s, step_s):
    trace = trace_of(Kind.SNR_DB, [(time_s, 0.0) for time_s in times_s], step_s=step_s)
    with pytest.raises(TraceError, match=r"walk\.parquet: device 0"):
        replay_trace(trace, AtEnd.REPEAT, range(1), [0.0], [1.0])


def test_an_error_past_the_end_names_the_file_and_the_device():
    trace = trace_of(Kind.SPECTRAL_EFFICIENCY, [(0, 1.0), (1, 2.0)], [(0, 1.0), (1, 2.0)])
    channels = replay_trace(trace, AtEnd.ERROR, range(2), [0.0, 0.5], [1.0, 1.0])
    with pytest.raises(TraceError, match=r"walk\.parquet: device 1 ends at 1\.5 s"):
        channels[1].seconds_to_carry(0.0, 100.0)
