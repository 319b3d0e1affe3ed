"""Theorem 1: its terms, their limits, and where it holds and where it does not."""

import math
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fl.bound import Constants, Course, convergence_bound, fewest_keepers

CONSTANTS = Constants(
    global_smoothness=2.0,
    personal_smoothness=3.0,
    global_gradient=5.0,
    global_noise=0.5,
    personal_noise=0.25,
    weight_norm=4.0,
    initial_gap=6.0,
)
COURSE = Course(
    rounds=8,
    num_devices=10,
    num_weights=7,
    personal_iterations=3,
    global_iterations=2,
    personal_rate=0.1,
    global_rate=0.01,
)


def test_each_term_is_the_printed_one():
    """With every number written in its place, in the order of Eqs. (41) and (42)."""
    bound = convergence_bound(CONSTANTS, COURSE, 5, sum_of_ratios=24.0)
    a1 = (
        0.1**2 * 3**2 * 0.25**2 * 3.0 / 2
        + 4 * 0.1**3 * 3.0**2 * 0.25**2 * 3**2 * (3 - 1)
        + 3 * 0.01**2 * 7**2 * 2**2 * 5.0**2 * 2.0 / 2
        + (
            7 * 5.0**2 * 10 * 0.01**3 * 2.0**2 * 2**3
            + 3 * 7**2 * 0.01**2 * 2**2 * 10 * 0.5**2 * 2.0
            + 3 * 7**2 * 2.0**3 * 2**4 * 0.01**4 * 10 * 5.0**2
        )
        / (2 * 5)
    )
    a2 = (7 * 0.01 * 2 * 2.0**2 * 4.0**2 + 3 * 7**2 * 0.01**2 * 2.0**3 * 4.0**2 * 2**2) / (8 * 5)
    assert bound.initial == 0.75
    assert bound.a1 == pytest.approx(a1, rel=1e-12)
    assert bound.a2 == pytest.approx(a2, rel=1e-12)
    assert bound.pruning == pytest.approx(24 * a2, rel=1e-12)
    assert bound.total == pytest.approx(0.75 + a1 + 24 * a2, rel=1e-12)


@given(st.integers(1, 9), st.floats(0, 79), st.floats(0.01, 1))
def test_it_grows_with_pruning_and_falls_with_the_devices_that_keep_a_weight(kappa, ratios, more):
    bound = convergence_bound(CONSTANTS, COURSE, kappa, ratios)
    assert convergence_bound(CONSTANTS, COURSE, kappa, ratios + more).total > bound.total
    assert convergence_bound(CONSTANTS, COURSE, kappa + 1, ratios).total < bound.total


def test_more_rounds_forget_the_beginning_and_nothing_else():
    """At the same ratios in each round, A_1 and the pruning stay: steps do not become smaller."""
    bounds = [
        convergence_bound(CONSTANTS, replace(COURSE, rounds=g), 5, sum_of_ratios=3.0 * g)
        for g in (1, 100, 10**9)
    ]
    assert [bound.initial for bound in bounds] == pytest.approx([6.0, 0.06, 6e-9])
    assert len({bound.a1 for bound in bounds}) == 1
    assert [bound.pruning for bound in bounds] == pytest.approx([bounds[0].pruning] * 3)


def test_without_steps_only_the_initial_gap_is_left():
    still = replace(COURSE, personal_rate=0.0, global_rate=0.0)
    assert convergence_bound(CONSTANTS, still, 5, 24.0).total == 0.75
    none = replace(COURSE, personal_iterations=0, global_iterations=0)
    assert convergence_bound(CONSTANTS, none, 5, 24.0).total == 0.75


def test_a_loss_measured_in_another_unit_gives_the_bound_in_that_unit():
    """A thousandth of the unit: what is a loss is 1000 times as much, a rate a thousandth."""
    values = {name: 1000 * value for name, value in vars(CONSTANTS).items()}
    constants = Constants(**values | {"weight_norm": CONSTANTS.weight_norm})
    course = replace(COURSE, personal_rate=0.1 / 1000, global_rate=0.01 / 1000)
    one = convergence_bound(CONSTANTS, COURSE, 5, 24.0)
    other = convergence_bound(constants, course, 5, 24.0)
    assert list(vars(other).values()) == pytest.approx([1000 * x for x in vars(one).values()])


def test_a_weight_that_nobody_keeps_makes_it_infinite():
    bound = convergence_bound(CONSTANTS, COURSE, 0, 24.0)
    assert (bound.initial, bound.a1, bound.a2, bound.pruning) == (0.75, *[math.inf] * 3)
    assert bound.total == math.inf
    # Nobody prunes, but nobody arrives.
    assert convergence_bound(CONSTANTS, COURSE, 0, 0.0).total == math.inf


def test_the_worst_round_counts():
    assert fewest_keepers(np.array([10, 7, 9])) == 7
    with pytest.raises(ValueError, match="by_round must have a round, got none"):
        fewest_keepers(np.array([], dtype=np.int64))


@pytest.mark.parametrize("value", [-1.0, math.nan, math.inf])
@pytest.mark.parametrize("name", list(vars(CONSTANTS)))
def test_a_constant_is_a_number_from_zero_on(name, value):
    with pytest.raises(ValueError, match=f"{name} must be >= 0 and finite, got {value}"):
        replace(CONSTANTS, **{name: value})


@pytest.mark.parametrize(
    ("name", "value", "least"),
    [("rounds", 0, 1), ("num_devices", 0, 1), ("num_weights", 0, 1), ("global_rate", -0.1, 0)],
)
def test_a_course_has_rounds_devices_and_weights(name, value, least):
    with pytest.raises(ValueError, match=f"{name} must be >= {least} and finite, got {value}"):
        replace(COURSE, **{name: value})


@pytest.mark.parametrize(("kappa", "ratios"), [(-1, 0.0), (11, 0.0), (5, -0.1), (5, 80.1)])
def test_no_more_devices_keep_a_weight_and_prune_than_there_are(kappa, ratios):
    with pytest.raises(ValueError, match=r"must be in \[0, (10|80)\]"):
        convergence_bound(CONSTANTS, COURSE, kappa, ratios)


def descend(curvature, targets, masks, rate, start):
    """Return what devices with F_k = sum_j c_j (u_j - t_kj)^2 / 2 do: u, by round, Eq. (26)."""
    u = np.array(start, dtype=float)
    path = [u]
    for mask in masks:  # [devices, weights]
        steps = rate * curvature * (u * mask - targets)
        mean = ((u - steps) * mask).sum(axis=0) / np.maximum(mask.sum(axis=0), 1)
        u = np.where(mask.any(axis=0), mean, u)
        path.append(u)
    return np.array(path)


@given(st.integers(0, 2**32 - 1), st.floats(0.001, 0.3))
def test_it_holds_where_all_devices_have_the_same_loss(seed, rate):
    """Even without the factors N: N = 1, and K / kappa* for the first N^2."""
    rng = np.random.default_rng(seed)
    devices, weights, rounds = 4, 6, 30
    curvature, target = rng.uniform(0.1, 3.0, weights), rng.normal(size=weights)
    masks = rng.random((rounds, devices, weights)) < 0.7
    masks[:, 0] |= ~masks.any(axis=1)  # somebody keeps each weight
    path = descend(curvature, target, masks, rate, rng.normal(size=weights))[:-1]

    ratios = 1 - masks.mean(axis=2)
    lost = ((path[:, None] * ~masks) ** 2).sum(axis=2)
    pruned = ratios > 0
    slopes = curvature * (path[:, None] * masks - target)
    squares = np.concatenate([(slopes**2).sum(axis=2).ravel(), _squares(curvature, path, target)])
    constants = Constants(
        global_smoothness=curvature.max(),
        personal_smoothness=0.0,
        global_gradient=math.sqrt(squares.max()),
        global_noise=0.0,
        personal_noise=0.0,
        weight_norm=math.sqrt((lost[pruned] / ratios[pruned]).max(initial=0.0)),
        initial_gap=(curvature * (path[0] - target) ** 2).sum() / 2,
    )
    kappa = fewest_keepers(masks.sum(axis=1).min(axis=1))
    course = Course(rounds, devices, 1, 0, 1, 0.0, rate)
    left = rate / 2 * _squares(curvature, path, target).mean()
    tight = convergence_bound(constants, course, kappa, ratios.sum())
    steps = 3 * rate**2 * squares.max() * curvature.max() / 2
    assert left <= tight.total + (devices / kappa - 1) * steps
    printed = convergence_bound(
        constants, replace(course, num_weights=weights), kappa, ratios.sum()
    )
    assert left <= printed.total


def _squares(curvature, path, target):
    return ((curvature * (path - target)) ** 2).sum(axis=1)


def test_it_fails_where_only_devices_unlike_the_others_keep_a_weight():
    """Of two devices one wants u = 0, where it is; the other wants 1, and prunes all.

    So u stays, and so does the gradient of the mean, 1/2. No pruning error, as u is 0.
    """
    rate, rounds = 0.01, 1000
    masks = np.broadcast_to(np.array([[True], [False]]), (rounds, 2, 1))
    path = descend(np.ones(1), np.array([[0.0], [1.0]]), masks, rate, [0.0])
    assert not path.any()
    constants = Constants(1.0, 0.0, 1.0, 0.0, 0.0, weight_norm=0.0, initial_gap=1 / 8)
    bound = convergence_bound(constants, Course(rounds, 2, 1, 0, 1, 0.0, rate), 1, float(rounds))
    assert rate / 2 * (1 / 2) ** 2 > 2 * bound.total


def test_its_left_side_lacks_the_mean_over_devices():
    """Personal parts alone, F_k = v_k^2 / 2 from v_k = 1, without noise: no term but the gap."""
    rate, rounds, devices = 0.01, 2000, 10
    v = (1 - rate) ** np.arange(rounds)
    constants = Constants(0.0, 1.0, 0.0, 0.0, 0.0, weight_norm=0.0, initial_gap=1 / 2)
    course = Course(rounds, devices, 1, 1, 0, rate, 0.0)
    bound = convergence_bound(constants, course, devices, 0.0).total
    left = rate / 8 * devices * (v**2).mean()
    assert left > bound
    assert left / devices < bound


def test_constants_beyond_all_numbers_give_no_bound():
    bound = convergence_bound(Constants(*[1e200] * 7), Course(10, 4, 9, 2, 2, 0.1, 0.1), 4, 3.0)
    assert bound.a1 == bound.total == float("inf")
