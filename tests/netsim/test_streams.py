import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from netsim.streams import Streams

seeds = st.integers(0, 2**64)
purposes = st.text("fading .0µ", max_size=20)
indices = st.lists(st.integers(0, 2**32 - 1), max_size=4).map(tuple)
names = st.tuples(seeds, purposes, indices)


def draws(seed, purpose, index, size=4):
    return Streams(seed)(purpose, *index).random(size).tolist()


@given(names)
def test_the_same_name_draws_the_same(name):
    assert draws(*name) == draws(*name)


@given(names, names)
def test_another_seed_purpose_or_index_draws_something_else(one, other):
    assert (draws(*one) == draws(*other)) == (one == other)


@given(seeds, purposes, indices)
def test_each_part_of_the_name_counts(seed, purpose, index):
    variants = [
        draws(seed, purpose, index),
        draws(seed + 1, purpose, index),
        draws(seed + 2**32, purpose, index),
        draws(seed, purpose + "x", index),
        draws(seed, purpose, (*index, 0)),
        draws(seed, purpose, (*index, 0, 0)),
        draws(seed, purpose, (*index, 1)),
    ]
    assert len({tuple(variant) for variant in variants}) == len(variants)


def test_indices_are_not_interchangeable():
    assert draws(1, "fading", (3, 17)) != draws(1, "fading", (17, 3))


def test_neither_the_order_of_asking_nor_what_others_drew_matters():
    streams = Streams(seed=1)
    forward = [streams("fading", k).random() for k in range(20)]
    streams("a new purpose", 5).random(1000)
    backward = [streams("fading", k).random() for k in reversed(range(20))]
    assert forward == backward[::-1]
    assert len(set(forward)) == 20


def test_a_stream_asked_for_twice_begins_again_and_its_twin_does_not_move_it():
    streams = Streams(seed=1)
    one, twin = streams("fading"), streams("fading")
    first = one.random(5).tolist()
    assert one.random(5).tolist() != first
    assert twin.random(5).tolist() == first


def test_long_draws_of_neighbouring_streams_do_not_correlate():
    size = 10_000
    neighbours = [
        *(draws(1, "fading", (device,), size) for device in range(6)),
        *(draws(seed, "fading", (0,), size) for seed in (2, 3, 2**32 + 1)),
        draws(1, "fading", (), size),
        draws(1, "fading", (0, 0), size),
        draws(1, "Fading", (0,), size),
    ]
    correlation = np.corrcoef(neighbours) - np.eye(len(neighbours))
    assert np.abs(correlation).max() < 5 / np.sqrt(size)  # five standard deviations
    assert np.mean(neighbours, axis=1) == pytest.approx(0.5, abs=5 / np.sqrt(12 * size))


def test_numpy_integers_name_the_same_stream_as_python_integers():
    assert draws(1, "fading", (np.int64(3), np.uint8(7))) == draws(1, "fading", (3, 7))


@pytest.mark.parametrize("index", [(-1,), (2**32,), (0, -1), (2**40, 0)])
def test_an_index_out_of_range_is_refused(index):
    with pytest.raises(ValueError, match=r"indices must be in \[0, 2\*\*32\)") as caught:
        Streams(1)("fading", *index)
    assert str(index) in str(caught.value)


def test_the_largest_index_is_accepted_and_its_own():
    assert draws(1, "fading", (2**32 - 1,)) != draws(1, "fading", (0,))


@pytest.mark.parametrize("index", [1.0, 1.5])
def test_an_index_that_is_no_integer_is_refused(index):
    with pytest.raises(TypeError, match="integer"):
        Streams(1)("fading", index)


def test_a_negative_seed_is_refused():
    with pytest.raises(ValueError, match="seed must be >= 0, got -3"):
        Streams(-3)
