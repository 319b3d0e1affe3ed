"""What must hold of every division of data, whatever the law."""

import time

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fl.data import ByLabel, DatasetError, Dirichlet, Iid, Shards, partition_samples
from fl.data.laws import whole_counts
from netsim.streams import Streams

LAWS = [Iid(), ByLabel(2), Shards(3), Dirichlet(1.0)]
TRAIN = np.random.default_rng(1).permutation(np.repeat(np.arange(10), np.arange(300, 400, 10)))
TEST = np.random.default_rng(2).permutation(np.repeat(np.arange(10), np.arange(50, 60)))
COUNTS = np.bincount(TRAIN)


def divide(law, num_devices=12, seed=1, test_samples=None, train=TRAIN, test=TEST):
    return partition_samples(law, num_devices, train, test, Streams(seed), test_samples)


def laws():
    return st.one_of(
        st.just(Iid()),
        st.integers(1, 4).map(ByLabel),
        st.integers(1, 4).map(Shards),
        st.floats(0.5, 100.0).map(Dirichlet),
    )


@settings(max_examples=60, deadline=None)
@given(laws(), st.integers(1, 25), st.lists(st.integers(30, 200), min_size=4, max_size=7))
def test_devices_share_no_sample_and_all_samples_of_a_held_label_are_held(law, num_devices, sizes):
    labels = np.random.default_rng(3).permutation(np.repeat(np.arange(len(sizes)), sizes))
    made = divide(law, num_devices, train=labels, test=labels)
    held = np.concatenate(made.train)
    assert len(held) == len(set(held.tolist()))
    counts = made.counts(labels)
    assert counts.shape == (num_devices, len(sizes))
    assert (counts.sum(axis=1) > 0).all()
    of_label = counts.sum(axis=0)
    assert ((of_label == sizes) | (of_label == 0)).all()


@settings(max_examples=60, deadline=None)
@given(laws(), st.integers(1, 25), st.integers(0, 5))
def test_proportions_are_parts_and_counts_follow_them(law, num_devices, seed):
    rng = np.random.default_rng(seed)
    proportions = law.proportions(num_devices, COUNTS, rng)
    assert proportions.shape == (num_devices, 10)
    assert (proportions >= 0).all()
    np.testing.assert_allclose(proportions.sum(axis=0)[proportions.any(axis=0)], 1.0)
    counts = whole_counts(proportions, COUNTS, rng)
    assert (np.abs(counts - proportions * COUNTS) < 1).all()
    assert (counts[proportions == 0] == 0).all()


@settings(max_examples=40, deadline=None)
@given(laws(), st.integers(1, 25), st.one_of(st.none(), st.integers(1, 80)))
def test_test_samples_have_the_labels_of_the_training_samples(law, num_devices, test_samples):
    made = divide(law, num_devices, test_samples=test_samples)
    counts = made.counts(TRAIN)
    wanted = counts / counts.sum(axis=1, keepdims=True)
    for device, samples in enumerate(made.test):
        assert len(samples) == len(set(samples.tolist())) > 0
        got = np.bincount(TEST[samples], minlength=10)
        assert (np.abs(got - wanted[device] * len(samples)) < 1).all()
        assert test_samples is None or len(samples) <= test_samples


@pytest.mark.parametrize("law", LAWS)
def test_as_many_test_samples_as_possible_means_that_one_more_would_run_short(law):
    made = divide(law)
    counts = made.counts(TRAIN)
    for device, samples in enumerate(made.test):
        part = counts[device] / counts[device].sum()
        assert ((len(samples) + 1) * part > np.bincount(TEST)).any()


def test_equal_labels_give_the_number_of_test_samples_asked_for():
    labels = np.repeat(np.arange(10), 100)
    made = divide(ByLabel(2), 10, test_samples=50, train=labels, test=labels)
    for samples in made.test:
        assert sorted(np.bincount(labels[samples], minlength=10)) == [0] * 8 + [25, 25]


@pytest.mark.parametrize("law", LAWS)
def test_the_seed_decides(law):
    first, again, other = divide(law), divide(law), divide(law, seed=2)
    for a, b in zip(first.train + first.test, again.train + again.test, strict=True):
        np.testing.assert_array_equal(a, b)
    assert any(a.tolist() != b.tolist() for a, b in zip(first.train, other.train, strict=True))
    assert any(a.tolist() != b.tolist() for a, b in zip(first.test, other.test, strict=True))


@pytest.mark.parametrize("law", LAWS)
def test_indices_ascend(law):
    for samples in (*divide(law).train, *divide(law).test):
        assert samples.dtype == np.int64
        assert (np.diff(samples) > 0).all()


@settings(max_examples=60, deadline=None)
@given(st.integers(1, 40), st.integers(1, 10), st.integers(0, 5))
def test_every_device_holds_its_number_of_labels_and_holders_are_balanced(devices, each, seed):
    proportions = ByLabel(each).proportions(devices, COUNTS, np.random.default_rng(seed))
    assert ((proportions > 0).sum(axis=1) == each).all()
    holders = (proportions > 0).sum(axis=0)
    assert holders.max() - holders.min() <= 1
    held = proportions[:, holders > 0]
    np.testing.assert_allclose(
        held[held > 0], np.broadcast_to(1 / holders[holders > 0], held.shape)[held > 0]
    )


def test_labels_are_not_always_dealt_in_the_same_pairs():
    holds = ByLabel(2).proportions(200, COUNTS, np.random.default_rng(1)) > 0
    assert len({tuple(row) for row in holds.tolist()}) > 30


def test_equal_parts_give_equally_many_samples_even_if_there_are_hardly_any():
    labels = np.repeat(np.arange(10), np.arange(95, 105))
    sizes = [len(samples) for samples in divide(Iid(), 400, train=labels).train]
    assert set(sizes) <= {2, 3}


def test_equal_parts_of_few_samples_are_any_labels():
    labels = np.repeat(np.arange(10), 100)
    counts = divide(Iid(), 500, train=labels).counts(labels)
    pairs = {tuple(np.flatnonzero(row)) for row in counts}
    assert len(pairs) > 20


def test_shards_are_equal_and_hold_few_labels():
    labels = np.repeat(np.arange(10), 120)
    counts = divide(Shards(2), 30, train=labels).counts(labels)
    assert (counts.sum(axis=1) == 40).all()
    assert ((counts > 0).sum(axis=1) <= 2).all()
    assert (counts % 20 == 0).all()


def test_a_large_alpha_is_nearly_equal_and_a_small_one_is_not():
    equal = divide(Dirichlet(1e5), 10).counts(TRAIN)
    assert np.abs(equal - COUNTS / 10).max() < 3
    skewed = divide(Dirichlet(0.1), 10).counts(TRAIN)
    assert (skewed.max(axis=0) > COUNTS / 2).sum() >= 5


@settings(max_examples=30, deadline=None)
@given(st.floats(0.3, 5.0), st.integers(0, 40))
def test_every_device_gets_the_least_number_of_samples(alpha, least):
    made = divide(Dirichlet(alpha, min_samples=least), 5)
    assert min(len(samples) for samples in made.train) >= least


def test_draws_that_never_suffice_come_to_an_end():
    began = time.monotonic()
    with pytest.raises(DatasetError, match=r"^learning\.partition: in 1000 draws .* larger alpha"):
        divide(Dirichlet(0.01, min_samples=200), 12)
    assert time.monotonic() - began < 10


def test_what_is_impossible_is_refused_before_any_draw():
    with pytest.raises(DatasetError, match=r"min_samples must be <= 287 for 12 devices .* got 288"):
        divide(Dirichlet(1.0, min_samples=288), 12)


def test_more_labels_than_there_are_is_refused():
    with pytest.raises(DatasetError, match=r"^learning\.partition: labels_per_device .* 10.* 11$"):
        divide(ByLabel(11))


def test_more_shards_than_samples_is_refused():
    with pytest.raises(DatasetError, match=r"1000 devices with 4 shards .* 3450 training samples"):
        divide(Shards(4), 1000)


def test_a_device_without_samples_is_named():
    with pytest.raises(
        DatasetError, match=r"^learning\.partition: device \d+ would hold no .*fewer"
    ):
        divide(Iid(), 4000)


def test_a_label_that_cannot_be_tested_is_named():
    with pytest.raises(
        DatasetError, match=r"device 0 would hold label 3, of which there is no test"
    ):
        divide(Iid(), test=TEST[TEST != 3])


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: ByLabel(0), "labels_per_device must be >= 1, got 0"),
        (lambda: Shards(0), "shards_per_device must be >= 1, got 0"),
        (lambda: Dirichlet(0.0), "alpha must be > 0 and finite, got 0"),
        (lambda: Dirichlet(float("nan")), "alpha must be > 0 and finite, got nan"),
        (lambda: Dirichlet(1.0, -1), "min_samples must be >= 0, got -1"),
        (lambda: divide(Iid(), 0), "num_devices must be >= 1, got 0"),
        (lambda: divide(Iid(), test_samples=0), "test_samples must be >= 1, got 0"),
    ],
)
def test_senseless_numbers_are_refused(make, message):
    with pytest.raises(ValueError, match=message):
        make()


@pytest.mark.parametrize("law", [Iid(), ByLabel(2), Shards(2), Dirichlet(10.0)])
def test_ten_thousand_devices_are_no_trouble(law):
    labels = np.repeat(np.arange(10), 6000)
    began = time.process_time()
    made = divide(law, 10_000, test_samples=20, train=labels)
    assert time.process_time() - began < 10
    assert len(made.train) == len(made.test) == 10_000
    assert sum(map(len, made.train)) == 60_000


def test_the_table_says_who_has_how_many_of_what():
    labels = np.array([0, 0, 0, 0, 1, 1, 1, 1])
    table = divide(ByLabel(1), 2, test_samples=1, train=labels, test=labels)
    rows = table.table(labels, labels).to_pylist()
    assert [row["device"] for row in rows] == [0, 1]
    assert sorted(row["label"] for row in rows) == [0, 1]
    assert all((row["train_samples"], row["test_samples"]) == (4, 1) for row in rows)
