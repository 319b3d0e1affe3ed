import pytest
from hypothesis import given
from hypothesis import strategies as st
from simpy import Environment

from netsim.topology import Link
from netsim.wire import Wire

messages = st.lists(st.tuples(st.floats(0, 10), st.floats(0.01, 10)), min_size=1, max_size=8)


def arrived(link, sent):
    """When each message arrives, and the seconds its event told; sent are (at_s, bits)."""
    env = Environment()
    wire = Wire(env, link)
    arrivals = {}

    def sender(number, at_s, bits):
        yield env.timeout(at_s)
        seconds = yield wire.send(bits)
        arrivals[number] = (env.now, seconds)

    for number, (at_s, bits) in enumerate(sent):
        env.process(sender(number, at_s, bits))
    env.run()
    return arrivals


@given(messages, st.floats(0.1, 10), st.floats(0, 5))
def test_messages_leave_one_after_another_and_arrive_a_latency_later(sent, capacity, latency):
    arrivals = arrived(Link(capacity, latency), sent)
    free_at_s = 0.0
    for number in sorted(range(len(sent)), key=lambda n: sent[n][0]):
        at_s, bits = sent[number]
        free_at_s = max(free_at_s, at_s) + bits / capacity
        arrival_s = free_at_s + latency
        assert arrivals[number] == pytest.approx((arrival_s, arrival_s - at_s))


@given(messages, st.floats(0, 5))
def test_without_a_capacity_everything_arrives_a_latency_later(sent, latency):
    arrivals = arrived(Link(latency_s=latency), sent)
    assert arrivals == {n: (at_s + latency, latency) for n, (at_s, _) in enumerate(sent)}


def test_messages_of_the_same_time_arrive_in_the_order_sent():
    arrivals = arrived(Link(2.0, 10.0), [(0.0, 4.0), (0.0, 2.0), (0.0, 6.0)])
    assert arrivals == {0: (12.0, 12.0), 1: (13.0, 13.0), 2: (16.0, 16.0)}
    assert list(arrivals) == [0, 1, 2]


def test_the_latency_of_one_message_does_not_hold_up_the_next():
    assert arrived(Link(1.0, 100.0), [(0.0, 1.0), (1.0, 1.0)])[1] == (102.0, 101.0)


def test_a_wire_that_was_idle_does_not_save_up_time():
    assert arrived(Link(1.0), [(0.0, 1.0), (10.0, 3.0)])[1] == (13.0, 3.0)


def test_over_two_wires_a_message_is_stored_and_forwarded_whole():
    env = Environment()
    hops = [Wire(env, Link(10.0, 1.0)), Wire(env, Link(5.0, 2.0))]

    def message():
        for hop in hops:
            yield hop.send(20.0)

    env.run(env.process(message()))
    assert env.now == (20 / 10 + 1) + (20 / 5 + 2)
