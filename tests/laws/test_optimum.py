"""The optimum is one: no solver finds better, and the conditions for it hold."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import Bounds, LinearConstraint, minimize

from fl.allocation.allocation import Status
from fl.allocation.fixed_noise import FixedNoise
from fl.allocation.interior import interior
from fl.allocation.noise_density import NoiseDensity
from fl.allocation.optimum import optimum
from fl.allocation.problem import Problem
from fl.allocation.sharing import equal_share, max_min
from fl.allocation.solution import share_bounds

FLOORS = (0.0, 0.0, 0.02, 0.2)
NOISES = ("fixed", "density")


def random_problem(seed, count, noise, min_kept, decades=1.0):
    """Devices some of which starve, saturate, have no time, no rate, or compute in no time."""
    rng = np.random.default_rng(seed)

    def spread(centre, decades):
        return centre * 10 ** rng.uniform(-decades, decades, count)

    budget_s = spread(0.02, 0.3 * decades)
    computing_s = budget_s * spread(0.3, 0.7 * decades)
    computing_s[rng.random(count) < 0.05] = 0.0
    budget_s[rng.random(count) < 0.1] *= -1
    problem = Problem(budget_s, computing_s, spread(1e7, 0.2 * decades), min_kept)
    heard = rng.random(count) > 0.1
    # A scarcity around 1: from band for everybody to band for few.
    whole_band_bps = spread(5e8 * count * 10 ** rng.uniform(-1, 0.5), decades) * heard
    if noise == "fixed":
        return problem, FixedNoise(whole_band_bps)
    snr = spread(100.0, 2 * decades) * heard
    return problem, NoiseDensity(1e8 * count * 10 ** rng.uniform(-1, 0.5), snr)


@st.composite
def problems(draw, noises=NOISES, floors=FLOORS, max_count=60, decades=1.0):
    return random_problem(
        draw(st.integers(0, 2**32)),
        draw(st.integers(1, max_count)),
        draw(st.sampled_from(noises)),
        draw(st.sampled_from(floors)),
        decades,
    )


def kept(problem, noise, shares):
    return problem.kept(noise.rate_bps(shares))


def peer(problem, noise, start, method):
    """What SciPy finds, brought back within the bounds; all devices live."""
    least, most = share_bounds(problem, noise)
    most = np.minimum(most, 1.0)

    def gradient(shares):
        rate_bps = noise.rate_bps(shares)
        return -problem.marginal_kept(rate_bps) * noise.marginal_rate_bps(shares)

    result = minimize(
        lambda shares: -kept(problem, noise, shares).sum(),
        np.clip(start, least, most),
        jac=gradient,
        method=method,
        bounds=Bounds(least, most, keep_feasible=True),
        constraints=LinearConstraint(np.ones(len(least)), -np.inf, 1.0),
        options={"maxiter": 200},
    )
    shares = np.clip(result.x, least, most)
    over = shares.sum() - 1.0
    if over > 0:
        shares -= (shares - least) * over / (shares - least).sum()
    return (1.0 - kept(problem, noise, shares)).sum()


def live_part(problem, noise):
    live = problem.feasible & noise.heard
    return problem.only(live), noise.only(live), int((~live).sum())


@pytest.mark.filterwarnings("ignore")  # SciPy steps out of bounds, and says so
@pytest.mark.parametrize("noise", NOISES)
@pytest.mark.parametrize("min_kept", [0.0, 0.05])
@pytest.mark.parametrize("count", [2, 3, 5, 10, 30, 100, 200])
def test_no_solver_finds_better(count, min_kept, noise):
    near = 0
    seeds = range(10 if count < 100 else 2)
    for seed in seeds:
        problem, channel = random_problem(seed, count, noise, min_kept)
        ours = optimum(problem, channel)
        live, heard, dead = live_part(problem, channel)
        if np.isnan(ours.multiplier) or dead == count:
            near += 1
            continue
        theirs = dead + peer(live, heard, np.full(count - dead, 1 / count), "SLSQP")
        assert ours.objective <= theirs + 1e-9
        near += theirs <= ours.objective + 1e-3 * count
    assert near >= 0.5 * len(seeds)  # else the peer is none


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("noise", NOISES)
def test_no_interior_point_finds_better(noise):
    for seed in range(4):
        problem, channel, dead = live_part(*random_problem(seed, 12, noise, 0.0))
        theirs = peer(problem, channel, np.full(12 - dead, 1 / 12), "trust-constr")
        assert optimum(problem, channel).objective <= theirs + 1e-9


@settings(deadline=None)
@given(problems(max_count=200))
def test_the_optimum_meets_all_constraints_and_conditions(both):
    problem, noise = both
    solution = optimum(problem, noise)
    assert np.all((solution.shares >= 0) & (solution.shares <= 1 + 1e-12))
    assert solution.shares.sum() <= 1 + 1e-12
    assert np.all((solution.pruning_ratio >= 0) & (solution.pruning_ratio <= 1))
    rate_bps = noise.rate_bps(solution.shares)
    sent = rate_bps > 0
    whole_s = problem.computing_s[sent] + problem.bits[sent] / rate_bps[sent]
    fits = problem.budget_s[sent] / whole_s
    assert np.all(1 - solution.pruning_ratio[sent] <= fits + 1e-12)
    assert np.all(solution.shares[~(problem.feasible & noise.heard)] == 0)
    if (solution.status == Status.FLOORS_CROWDED).any():
        assert np.isnan(solution.kkt_residual)
    else:
        assert solution.kkt_residual < 1e-11
        assert np.all(1 - solution.pruning_ratio[solution.status == 0] >= problem.min_kept - 1e-12)


@settings(deadline=None)
@given(problems(decades=6.0, floors=(0.0, 1e-6)))
def test_the_conditions_hold_over_any_range(both):
    solution = optimum(*both)
    assert not solution.kkt_residual > 1e-9
    assert solution.shares.sum() <= 1 + 1e-12


@settings(deadline=None)
@given(problems(floors=(0.0,)), st.integers(0, 2**32))
def test_no_random_allocation_prunes_less(both, seed):
    problem, noise = both
    least = optimum(problem, noise).objective
    rng = np.random.default_rng(seed)
    for shape in (0.1, 1.0, 10.0):
        shares = rng.dirichlet(np.full(len(problem.bits), shape))
        assert least <= (1 - kept(problem, noise, shares)).sum() + 1e-9
    assert least <= equal_share(problem, noise).objective + 1e-9
    assert least <= max_min(problem, noise).objective + 1e-9


@settings(deadline=None)
@given(st.lists(st.tuples(st.floats(0.01, 0.99), st.floats(0.01, 1.0)), min_size=1, max_size=30))
def test_within_bounds_the_optimum_is_the_printed_one(devices):
    """Equations (54) and (58), from the answer back: with a budget of 1 s and 1 bit to send."""
    kept_, computing_s = np.array(devices).T
    level = (kept_ * (1 - computing_s * kept_)).sum() ** -0.5
    whole_band_bps = (level * (1 - computing_s * kept_)) ** -2
    problem = Problem(np.ones(len(devices)), computing_s, np.ones(len(devices)))
    for solver in (interior, optimum):
        solution = solver(problem, FixedNoise(whole_band_bps))
        assert solution.pruning_ratio == pytest.approx(1 - kept_, abs=1e-9)
        assert solution.multiplier == pytest.approx(level**-2, rel=1e-9)
        assert solution.shares.sum() == pytest.approx(1.0, abs=1e-9)


@settings(deadline=None)
@given(problems(), st.integers(0, 2**32))
def test_the_order_of_devices_does_not_matter(both, seed):
    problem, noise = both
    order = np.random.default_rng(seed).permutation(len(problem.bits))
    usual, other = optimum(problem, noise), optimum(problem.only(order), noise.only(order))
    assert other.objective == pytest.approx(usual.objective, abs=1e-10)
    assert other.status.tolist() == usual.status[order].tolist()
    assert other.pruning_ratio == pytest.approx(usual.pruning_ratio[order], abs=1e-6)


@settings(deadline=None)
@given(problems(noises=("fixed",)), st.floats(1e-3, 1e3), st.floats(1e-3, 1e3))
def test_units_do_not_matter(both, seconds, bits):
    problem, noise = both
    times = (problem.budget_s * seconds, problem.computing_s * seconds)
    other = Problem(*times, problem.bits * bits, problem.min_kept)
    usual = optimum(problem, noise)
    scaled = optimum(other, FixedNoise(noise.whole_band_bps * (bits / seconds)))
    assert scaled.objective == pytest.approx(usual.objective, abs=1e-10)
    assert scaled.multiplier == pytest.approx(usual.multiplier, rel=1e-9, nan_ok=True)


@settings(deadline=None)
@given(problems(max_count=8), st.integers(2, 5))
def test_equal_devices_get_equal_shares(both, times):
    problem, noise = both
    index = np.repeat(np.arange(len(problem.bits)), times)
    shares = optimum(problem.only(index), noise.only(index)).shares.reshape(-1, times)
    assert np.all(shares == shares[:, :1])


@settings(deadline=None)
@given(problems(floors=(0.0,)), st.floats(1.0, 10.0))
def test_more_of_anything_prunes_no_more(both, factor):
    problem, noise = both
    least = optimum(problem, noise).objective
    more_time = Problem(problem.budget_s * factor, problem.computing_s, problem.bits)
    faster = Problem(problem.budget_s, problem.computing_s / factor, problem.bits)
    smaller = Problem(problem.budget_s, problem.computing_s, problem.bits / factor)
    for other in (more_time, faster, smaller):
        assert optimum(other, noise).objective <= least + 1e-9


@settings(deadline=None)
@given(problems(max_count=20), st.sampled_from([0.05, 0.3]))
def test_a_floor_costs_something_or_nothing_and_never_helps(both, floor):
    problem, noise = both
    free = optimum(Problem(problem.budget_s, problem.computing_s, problem.bits), noise)
    bound = optimum(Problem(problem.budget_s, problem.computing_s, problem.bits, floor), noise)
    assert bound.objective >= free.objective - 1e-9
