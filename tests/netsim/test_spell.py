import math
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from simpy import Environment

from netsim.cpu import Cpu
from netsim.last_call import seconds_until
from netsim.spell import Spell, joined, spell_at, stretched

times = st.integers(0, 40).map(lambda quarters: quarters / 4)


@st.composite
def spells(draw):
    """Spells in order that do not overlap, of different factors."""
    edges = sorted(draw(st.sets(times, min_size=2, max_size=8)))
    pairs = zip(edges[::2], edges[1::2], strict=False)
    return [Spell(a, b, draw(st.sampled_from([1.0, 2.0, 4.0, 8.0]))) for a, b in pairs]


@given(spells(), times, times)
def test_the_work_done_in_the_time_taken_is_the_work_asked_for(some, start_s, seconds):
    taken_s = stretched(seconds, start_s, some)
    # Speed is constant on a grid of 1/32 s, on which all edges lie: summed up cell by cell.
    cells = np.arange(start_s, start_s + taken_s, 1 / 32)
    inside = [next((s.factor for s in some if s.from_s <= t < s.until_s), 1.0) for t in cells]
    whole = sum(1 / 32 / factor for factor in inside)
    assert whole == pytest.approx(seconds, abs=1e-9 + 1 / 32)
    done = sum(
        max(min(s.until_s, start_s + taken_s) - max(s.from_s, start_s), 0.0) * (1 / s.factor - 1)
        for s in some
    )
    assert taken_s + done == pytest.approx(seconds, abs=1e-9)


@given(spells(), times)
def test_the_spell_of_a_moment_is_the_one_that_holds_then(some, now_s):
    holding = [spell for spell in some if spell.from_s <= now_s < spell.until_s]
    assert spell_at(some, now_s) == (holding[0] if holding else None)


@given(
    st.lists(st.tuples(times, times).map(sorted).filter(lambda p: p[0] < p[1]), max_size=6), times
)
def test_joined_spells_hold_just_when_one_of_them_does(pairs, now_s):
    whole = joined(Spell(*pair) for pair in pairs)
    assert (spell_at(whole, now_s) is not None) == any(a <= now_s < b for a, b in pairs)
    assert all(one.until_s < other.from_s for one, other in pairwise(whole))


def test_a_processor_is_slow_for_a_round_and_by_schedule():
    env = Environment()
    cpu = Cpu(env, 2.0)
    cpu.slow_down(3.0)
    assert env.run(cpu.run(2.0)) == 3.0
    cpu.slow_down(spells=[Spell(4.0, 6.0, 2.0)])
    assert env.run(cpu.run(6.0)) == 4.0  # from 3: a second, two for one, a second
    assert env.now == 7.0


def test_work_queued_behind_other_work_meets_the_spells_of_its_own_time():
    env = Environment()
    cpu = Cpu(env, 1.0)
    cpu.slow_down(spells=[Spell(2.0, 4.0, 2.0)])
    first, second = cpu.run(2.0), cpu.run(2.0)
    assert env.run(first) == 2.0
    assert env.run(second) == 5.0
    assert env.now == 5.0


@given(st.floats(0, 1e6), st.floats(0, 1e6))
def test_a_delay_never_ends_before_its_time(now_s, more_s):
    env = Environment(now_s)
    at_s = now_s + more_s / 3
    env.run(env.timeout(seconds_until(env, at_s)))
    assert at_s <= env.now <= math.nextafter(math.nextafter(at_s, math.inf), math.inf)
