import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from fl.interval import Interval, difference, interval, slope

VALUES = st.lists(st.floats(-1e3, 1e3), min_size=2, max_size=20)


@given(VALUES)
def test_it_is_students(values):
    found = interval(values)
    expected = np.std(values, ddof=1) / np.sqrt(len(values))
    quantile = stats.t.ppf(0.975, len(values) - 1)
    assert found.mean == pytest.approx(np.mean(values), abs=1e-9)
    assert found.half_width == pytest.approx(quantile * expected, rel=1e-9, abs=1e-12)


@pytest.mark.parametrize("seeds", [2, 4, 10])
def test_it_holds_the_truth_in_95_of_100_cases(seeds):
    drawn = np.random.default_rng(1).normal(3.0, 2.0, (4000, seeds))
    held = [one.low <= 3.0 <= one.high for one in map(interval, drawn)]
    assert np.mean(held) == pytest.approx(0.95, abs=0.015)


def test_what_seeds_have_in_common_does_not_blur_a_difference():
    rng = np.random.default_rng(2)
    luck = rng.normal(0, 10, 5)
    better, worse = luck + rng.normal(1.0, 0.01, 5), luck + rng.normal(0.0, 0.01, 5)
    assert difference(better, worse).low > 0.9
    assert interval(better).half_width > 5


def test_one_observation_tells_nothing_of_others():
    assert interval([4.0]) == Interval(4.0, np.inf)


@given(
    st.floats(-10, 10), st.lists(st.floats(-100, 100), min_size=2, max_size=5), st.integers(0, 99)
)
def test_the_slope_of_straight_lines_is_theirs(steep, starts, seed):
    at = np.sort(np.random.default_rng(seed).uniform(0, 10, 4)) + np.arange(4)
    found = slope(at, [[start + steep * x for start in starts] for x in at])
    assert found.mean == pytest.approx(steep, abs=1e-9)
    assert found.half_width < 1e-6


def test_what_does_not_change_has_no_slope_at_all():
    assert slope([0.0, 0.3, 0.9], [[0.1, 0.7]] * 3) == Interval(0.0, 0.0)


@pytest.mark.parametrize(
    ("found", "told"),
    [
        (Interval(37.6512, 0.5234), "37.65 ± 0.52"),
        (Interval(37.6512, 13.1), "38 ± 13"),
        (Interval(0.00449, 0.0142), "0.004 ± 0.014"),
        (Interval(24.99999, 2e-6), "25.00"),
        (Interval(513.6, np.inf), "513.6"),
        (Interval(27.7, 0.0), "27.70"),
    ],
)
def test_people_read_as_many_digits_as_are_known(found, told):
    assert str(found) == told
