import struct

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from simpy import Environment

from netsim.timeline import Timeline, clock_times

PHASES = ("broadcast", "compute", "upload")
seconds_of_each = st.tuples(*[st.floats(0, 1e6)] * len(PHASES))
chains = st.tuples(
    st.integers(0, 2**31 - 1), st.integers(0, 2**31 - 1), st.floats(0, 1e9), seconds_of_each
)


@given(st.lists(chains, max_size=20))
def test_chains_come_out_as_they_went_in(recorded):
    timeline = Timeline(PHASES)
    for chain in recorded:
        timeline.record(*chain)
    taken = timeline.take()
    assert taken["round"].tolist() == [chain[0] for chain in recorded]
    assert taken["device"].tolist() == [chain[1] for chain in recorded]
    assert taken["start_s"].tolist() == [chain[2] for chain in recorded]
    assert taken["seconds"].tolist() == [list(chain[3]) for chain in recorded]


@given(st.lists(st.tuples(st.floats(0, 1e6), seconds_of_each), min_size=1, max_size=6))
def test_clock_times_are_what_the_clock_showed(starts_and_seconds):
    env = Environment()
    timeline = Timeline(PHASES)
    shown = {}

    def chain(device, begin_s, seconds):
        yield env.timeout(begin_s)
        start_s = env.now
        shown[device] = [start_s]
        for duration_s in seconds:
            yield env.timeout(duration_s)
            shown[device].append(env.now)
        timeline.record(0, device, start_s, seconds)

    for device, (begin_s, seconds) in enumerate(starts_and_seconds):
        env.process(chain(device, begin_s, seconds))
    env.run()
    taken = timeline.take()
    assert clock_times(taken).tolist() == [shown[device] for device in taken["device"]]


def test_chains_stand_in_the_order_in_which_they_were_recorded():
    timeline = Timeline(PHASES)
    for device in (2, 0, 1):
        timeline.record(7, device, 0.0, (1.0, 2.0, 3.0))
    assert timeline.take()["device"].tolist() == [2, 0, 1]


def test_what_was_taken_is_forgotten_and_does_not_change_any_more():
    timeline = Timeline(PHASES)
    timeline.record(0, 5, 1.5, (1.0, 2.0, 3.0))
    first = timeline.take()
    timeline.record(1, 6, 2.5, (4.0, 5.0, 6.0))
    second = timeline.take()
    assert (first["device"].tolist(), second["device"].tolist()) == ([5], [6])
    assert len(timeline.take()) == 0


def test_nothing_recorded_has_no_clock_times():
    assert clock_times(Timeline(PHASES).take()).shape == (0, len(PHASES) + 1)


def test_lengths_late_in_a_long_run_keep_digits_that_clock_times_lose():
    timeline = Timeline(["compute"])
    timeline.record(0, 0, 1e9, (1e-9,))
    taken = timeline.take()
    assert taken["seconds"].tolist() == [[1e-9]]
    assert np.diff(clock_times(taken)).tolist() == [[0.0]]


def test_reading_clock_times_leaves_the_chains_alone():
    timeline = Timeline(PHASES)
    timeline.record(0, 0, 10.0, (1.0, 2.0, 3.0))
    taken = timeline.take()
    assert clock_times(taken).tolist() == [[10.0, 11.0, 13.0, 16.0]]
    assert taken["start_s"].tolist() == [10.0]
    assert taken["seconds"].tolist() == [[1.0, 2.0, 3.0]]


@pytest.mark.parametrize("seconds", [(1.0, 2.0), (1.0, 2.0, 3.0, 4.0)])
def test_a_chain_with_too_few_or_too_many_phases_is_refused(seconds):
    timeline = Timeline(PHASES)
    with pytest.raises(struct.error, match="expected 6 items"):
        timeline.record(0, 0, 0.0, seconds)
    assert len(timeline.take()) == 0
