import math

import pytest
from hypothesis import given
from hypothesis import strategies as st
from simpy import Environment

from netsim.cpu import Cpu

pieces = st.lists(st.tuples(st.floats(0, 10), st.floats(0.01, 10)), min_size=1, max_size=8)


def finished(frequency_hz, arrivals):
    """When each piece is done, and the seconds its event told; arrivals are (at_s, cycles)."""
    env = Environment()
    cpu = Cpu(env, frequency_hz)
    done = {}

    def user(number, at_s, cycles):
        yield env.timeout(at_s)
        seconds = yield cpu.run(cycles)
        done[number] = (env.now, seconds)

    for number, (at_s, cycles) in enumerate(arrivals):
        env.process(user(number, at_s, cycles))
    env.run()
    return done


@given(pieces, st.floats(0.1, 10))
def test_work_queues_on_one_core_in_the_order_asked_for(arrivals, frequency_hz):
    done = finished(frequency_hz, arrivals)
    free_at_s = 0.0
    for number in sorted(range(len(arrivals)), key=lambda n: arrivals[n][0]):
        at_s, cycles = arrivals[number]
        free_at_s = max(free_at_s, at_s) + cycles / frequency_hz
        assert done[number] == pytest.approx((free_at_s, free_at_s - at_s))


@given(st.floats(0, 1e15), st.floats(1e3, 1e10))
def test_a_free_core_takes_cycles_over_frequency(cycles, frequency_hz):
    seconds = cycles / frequency_hz
    assert finished(frequency_hz, [(0.0, cycles)]) == {0: (seconds, seconds)}


def test_work_asked_for_at_the_same_time_is_done_one_after_another():
    done = finished(2.0, [(1.0, 4.0), (1.0, 4.0), (1.0, 2.0)])
    assert done == {0: (3.0, 2.0), 1: (5.0, 4.0), 2: (6.0, 5.0)}


def test_a_core_that_was_idle_does_not_save_up_time():
    assert finished(1.0, [(0.0, 1.0), (10.0, 1.0)]) == {0: (1.0, 1.0), 1: (11.0, 1.0)}


def test_two_devices_compute_side_by_side():
    env = Environment()
    both = Cpu(env, 1.0).run(3.0) & Cpu(env, 2.0).run(3.0)
    env.run(both)
    assert env.now == 3.0


def test_abandoning_frees_the_core_for_the_next_piece_at_once():
    env = Environment()
    cpu = Cpu(env, 1.0)
    cpu.run(100.0)
    cpu.run(100.0)
    env.run(until=30.0)
    cpu.abandon()
    seconds = env.run(cpu.run(5.0))
    assert (env.now, seconds) == (35.0, 5.0)


def test_abandoning_an_idle_core_changes_nothing():
    env = Environment()
    cpu = Cpu(env, 1.0)
    env.run(cpu.run(1.0))
    env.run(until=7.0)
    cpu.abandon()
    assert env.run(cpu.run(2.0)) == 2.0


@pytest.mark.parametrize("frequency_hz", [0.0, -1.0, math.nan])
def test_a_core_that_never_ticks_is_refused(frequency_hz):
    with pytest.raises(ValueError, match=f"frequency_hz must be > 0, got {frequency_hz}"):
        Cpu(Environment(), frequency_hz)
