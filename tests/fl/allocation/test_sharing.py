import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fl.allocation import Status
from fl.allocation.fixed_noise import FixedNoise
from fl.allocation.noise_density import NoiseDensity
from fl.allocation.problem import Problem
from fl.allocation.root import increasing_root
from fl.allocation.sharing import channel_inversion, common_kept, equal_share, max_min

DEVICES = st.lists(
    st.tuples(st.floats(0.1, 2.0), st.floats(0.0, 2.0), st.floats(1.0, 100.0)),
    min_size=1,
    max_size=20,
)
DENSITY = st.booleans()


def cell(devices, density):
    budget_s, computing_s, heard = np.array(devices).T
    noise = NoiseDensity(2.0 * len(heard), heard) if density else FixedNoise(heard)
    return Problem(budget_s, computing_s, np.ones(len(heard))), noise


def latency_s(problem, noise, shares, kept):
    return kept * (problem.computing_s + problem.bits / noise.rate_bps(shares))


@settings(deadline=None)
@given(DEVICES, DENSITY)
def test_equal_shares_meet_the_deadline_each_with_its_own_ratio(devices, density):
    problem, noise = cell(devices, density)
    equal = equal_share(problem, noise)
    assert equal.shares == pytest.approx(1 / len(devices))
    taken_s = latency_s(problem, noise, equal.shares, 1 - equal.pruning_ratio)
    assert np.all(taken_s <= problem.budget_s * (1 + 1e-12))


@settings(deadline=None)
@given(DEVICES, DENSITY)
def test_max_min_is_one_ratio_and_no_lower_one_fits(devices, density):
    problem, noise = cell(devices, density)
    fair = max_min(problem, noise)
    assert fair.shares.sum() == pytest.approx(1.0, abs=1e-13)
    assert np.ptp(fair.pruning_ratio) < 1e-9
    kept = 1 - fair.pruning_ratio[0]
    if kept < 1 - 1e-9:
        needed = noise.share_for(problem.rate_for(kept * (1 + 1e-7)))
        assert needed.sum() > 1.0
    assert np.all(equal_share(problem, noise).pruning_ratio.max() >= fair.pruning_ratio - 1e-9)


@settings(deadline=None)
@given(DEVICES, DENSITY, st.sampled_from([0.3, 1.0]))
def test_channel_inversion_makes_all_finish_together(devices, density, kept):
    problem, noise = cell(devices, density)
    together = channel_inversion(problem, noise, kept)
    assert together.shares.sum() == pytest.approx(1.0, abs=1e-13)
    late_s = latency_s(problem, noise, together.shares, kept) - problem.budget_s
    assert np.ptp(late_s) <= 1e-7 * (1 + np.abs(late_s).max())
    assert np.all(together.pruning_ratio == 1 - kept)


def test_channel_inversion_gives_half_the_rate_twice_the_band():
    problem = Problem(np.ones(2), np.full(2, 0.5), np.ones(2))
    assert channel_inversion(problem, FixedNoise(np.array([2.0, 1.0]))).shares == pytest.approx(
        [1 / 3, 2 / 3]
    )


def test_devices_that_cannot_take_part_are_left_out_and_named():
    problem = Problem(np.array([1.0, -1.0, 1.0]), np.full(3, 0.5), np.ones(3), min_kept=0.1)
    fair = max_min(problem, FixedNoise(np.array([1.0, 1.0, 0.0])))
    assert fair.shares.tolist() == [1.0, 0.0, 0.0]
    assert fair.status.tolist() == [Status.SOLVED, Status.INFEASIBLE, Status.FLOOR_MISSED]
    silent = FixedNoise(np.zeros(3))
    assert max_min(problem, silent).shares.tolist() == [0.0] * 3
    assert channel_inversion(problem, silent).shares.tolist() == [0.0] * 3


def test_channel_inversion_keeps_something_and_at_most_all():
    with pytest.raises(ValueError, match=r"kept must be above 0 and at most 1, got 0\.0"):
        channel_inversion(*cell([(1.0, 1.0, 1.0)], density=False), kept=0.0)


def test_the_common_ratio_is_that_of_the_mean_rate():
    """At half the band: rates 1 and 3, mean 2, so 0.5 s to compute and 0.5 s to send."""
    problem = Problem(np.full(2, 0.6), np.full(2, 0.5), np.ones(2))
    assert common_kept(problem, np.array([1.0, 3.0])) == pytest.approx([0.6, 0.6])


def test_the_common_ratio_explains_the_38_ms_of_table_1():
    """10 layers, 97 dB, Rayleigh fading each round, the warm-up beyond the deadline."""
    rng = np.random.default_rng(0)
    second = 20 / 3e9
    parts = [np.full(10, x) for x in (0.025 - second * 52_096, second * 402_826, 402_826 * 32.0)]
    problem = Problem(*parts)
    rounds_s = []
    for _ in range(2000):
        snr = 10 ** ((28 - 97 + 110) / 10) * rng.exponential(size=10)
        noise, shares = FixedNoise(200e6 * np.log2(1 + snr)), np.full(10, 0.1)
        kept = common_kept(problem, noise.rate_bps(shares))
        taken_s = latency_s(problem, noise, shares, kept)
        rounds_s.append(second * (52_096 + 402_826) + taken_s.max())
    assert np.mean(rounds_s) == pytest.approx(0.0381, abs=0.0006)


@settings(deadline=None)
@given(st.floats(1e-6, 0.999))
def test_the_root_of_a_function_with_a_pole_at_the_end(root):
    def pole(x):
        return x / (1 - x) - root / (1 - root) if x < 1 else np.inf

    assert increasing_root(pole, 0.0, 1.0) == pytest.approx(root, rel=1e-9)
