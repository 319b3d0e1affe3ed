"""A share that is given on is never used twice, and never slows anybody down."""

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from simpy import Environment

import fl
from netsim.channel import AtEnd, Constant, Segments, replay
from netsim.redistribution import RedistributedUplink
from netsim.uplink import HeldUplink

BAND_HZ = 1e6


@st.composite
def channels(draw):
    if draw(st.booleans()):
        return Constant(draw(st.floats(0.5, 10.0)))
    size = draw(st.integers(2, 8))
    lengths_s = draw(st.lists(st.floats(0.01, 0.5), min_size=size, max_size=size))
    rates = draw(st.lists(st.sampled_from([0.0, 0.5, 3.0, 9.0]), min_size=size, max_size=size))
    rates[0] = 1.0
    starts_s = np.concatenate(([0.0], np.cumsum(lengths_s)[:-1]))
    return replay(Segments(starts_s, np.array(rates), sum(lengths_s)), AtEnd.REPEAT)


@st.composite
def cells(draw):
    count = draw(st.integers(1, 6))
    shares = draw(st.lists(st.floats(0.05, 1.0), min_size=count, max_size=count))
    total = draw(st.floats(1.0, 2.0)) * sum(shares)
    starts_s = draw(st.lists(st.floats(0.0, 0.4), min_size=count, max_size=count))
    bits = draw(st.lists(st.integers(0, 500_000), min_size=count, max_size=count))
    links = draw(st.lists(channels(), min_size=count, max_size=count))
    return [share / total for share in shares], starts_s, bits, links


def finish_times(kind, shares, starts_s, bits, links):
    env = Environment()
    uplink = kind(env, BAND_HZ, links)
    uplink.allot(shares)
    finished_s = {}

    def device(k):
        yield env.timeout(starts_s[k])
        seconds = yield uplink.send(k, bits[k])
        assert seconds == pytest.approx(env.now - starts_s[k], abs=1e-12)
        finished_s[k] = env.now

    for k in range(len(shares)):
        env.process(device(k))
    env.run()
    return [finished_s[k] for k in range(len(shares))]


@settings(max_examples=200, deadline=None)
@given(cells())
def test_nobody_finishes_later_than_when_shares_are_held(cell):
    held = finish_times(HeldUplink, *cell)
    redistributed = finish_times(RedistributedUplink, *cell)
    for late, soon in zip(held, redistributed, strict=True):
        assert soon <= late * (1 + 1e-9)


@settings(max_examples=200, deadline=None)
@given(cells())
def test_bits_are_conserved_and_the_band_is_never_overused(cell):
    # From the finish times alone, an independent account: at any time the senders divide
    # what they and the finished were given, in proportion; each must get just its bits.
    shares, starts_s, bits, links = cell
    ends_s = finish_times(RedistributedUplink, *cell)
    carried = [0.0] * len(shares)
    moments = sorted({*starts_s, *ends_s})
    for begin_s, end_s in itertools.pairwise(moments):
        middle_s = (begin_s + end_s) / 2
        sending = [k for k, s in enumerate(starts_s) if s < middle_s < ends_s[k]]
        freed = sum(share for share, e in zip(shares, ends_s, strict=True) if e < middle_s)
        own = sum(shares[k] for k in sending)
        used = 0.0
        for k in sending:
            share = shares[k] * (1 + freed / own)
            used += share
            carried[k] += share * BAND_HZ * links[k].carried(begin_s, end_s)
        assert used <= 1 + 1e-9
    for got, due in zip(carried, bits, strict=True):
        assert got == pytest.approx(due, rel=1e-6, abs=1e-3)


def test_two_equal_senders_finish_as_processor_sharing_says():
    # 1 and 3 Mbit at half a band of 1 Mbit/s each: the first is through at 2 s; then the
    # second has the band alone, and 2 Mbit left.
    links = [Constant(1.0), Constant(1.0)]
    cell = ([0.5, 0.5], [0.0, 0.0], [1_000_000, 3_000_000], links)
    assert finish_times(RedistributedUplink, *cell) == pytest.approx([2.0, 4.0])
    assert finish_times(HeldUplink, *cell) == pytest.approx([2.0, 6.0])


def test_a_latecomer_takes_its_part_of_what_was_freed():
    # Device 0 is through at 1 s and frees a half. From 1 s to 2 s device 1 alone has 3/4.
    # Then device 2 sends, too: both have twice their quarter.
    links = [Constant(1.0)] * 3
    cell = ([0.5, 0.25, 0.25], [0.0, 0.0, 2.0], [500_000, 1_500_000, 1_000_000], links)
    first, second, third = finish_times(RedistributedUplink, *cell)
    assert first == pytest.approx(1.0)
    assert second == pytest.approx(2.0 + (1_500_000 - 250_000 - 750_000) / 500_000)
    assert third == pytest.approx(second + (1_000_000 - 500_000 * (second - 2.0)) / 1_000_000)


def test_no_round_ends_later_than_with_held_shares(paper_cell, moving_trace):
    paper_cell["uplink"]["channel"] = {"trace": str(moving_trace), "at_end": "repeat"}
    # One round each: later rounds begin at different times, on another channel.
    for seed in range(1, 6):
        paper_cell["uplink"]["channel"]["offset"] = f"{seed / 5} s"
        held = fl.run(paper_cell, rounds=1, uplink={"release": "hold"})
        given_on = fl.run(paper_cell, rounds=1, uplink={"release": "redistribute"})
        assert given_on.rounds["latency_s"][0].as_py() <= held.rounds["latency_s"][0].as_py()
        assert given_on.rounds["uplink_bits"] == held.rounds["uplink_bits"]


def test_a_city_on_constant_channels_is_not_quadratic():
    # Twenty thousand senders that all finish apart: asking everybody at each finish would
    # be two hundred million questions, minutes instead of about a second.
    count = 20_000
    rng = np.random.default_rng(3)
    links = [Constant(rate) for rate in rng.uniform(1.0, 10.0, count).tolist()]
    cell = ([1 / count] * count, [0.0] * count, [1000] * count, links)
    ends_s = finish_times(RedistributedUplink, *cell)
    assert len(set(ends_s)) > count * 0.9
    assert max(ends_s) < max(finish_times(HeldUplink, *cell))
