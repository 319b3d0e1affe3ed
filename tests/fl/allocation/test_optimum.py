import numpy as np
import pytest

from fl.allocation import Status
from fl.allocation.fixed_noise import FixedNoise
from fl.allocation.interior import interior
from fl.allocation.noise_density import NoiseDensity
from fl.allocation.optimum import optimum
from fl.allocation.problem import Problem
from fl.allocation.solution import solution


def problem(budget_s, computing_s, bits=1.0, min_kept=0.0):
    """Arrays from numbers."""
    parts = np.broadcast_arrays(*map(np.atleast_1d, (budget_s, computing_s, bits)))
    return Problem(*(part.astype(float) for part in parts), min_kept)


def fixed(*whole_band_bps):
    return FixedNoise(np.array(whole_band_bps, dtype=float))


@pytest.fixture
def spread_cell():
    """The paper's cell with 10 layers, and devices at 90 to 110 dB of path loss."""
    loss_db = np.linspace(90.0, 110.0, 10)
    whole_band_bps = 200e6 * np.log2(1 + 10 ** ((28 + 110 - loss_db) / 10))
    second = 20 / 3e9  # for each weight
    budget_s = np.full(10, 0.025 - second * 52_096)
    paper = problem(budget_s, second * 402_826, 402_826 * 32)
    return paper, FixedNoise(whole_band_bps)


def test_the_paper_s_cell(spread_cell):
    best = optimum(*spread_cell)
    shares = [0.184, 0.193, 0.203, 0.180, 0.135, 0.083, 0.022, 0, 0, 0]
    ratios = [0, 0, 0, 0.141, 0.374, 0.628, 0.905, 1, 1, 1]
    assert best.shares == pytest.approx(shares, abs=6e-4)
    assert best.pruning_ratio == pytest.approx(ratios, abs=6e-4)
    assert best.kkt_residual < 1e-14


def test_the_paper_s_cell_as_printed(spread_cell):
    printed = interior(*spread_cell)
    assert printed.shares[[0, -1]] == pytest.approx([0.31, -0.21], abs=6e-3)
    assert printed.pruning_ratio[[0, -1]] == pytest.approx([-0.55, 1.81], abs=6e-3)
    assert printed.shares.sum() == pytest.approx(1.0)


def test_one_device_gets_the_whole_band():
    alone = optimum(problem(1.0, 0.5), fixed(1.0))
    assert alone.shares == pytest.approx([1.0])
    assert alone.pruning_ratio == pytest.approx([1 / 3])
    assert alone.kkt_residual < 1e-14


def test_spare_band_is_handed_out_by_need():
    """They need 0.1 and 0.2 of it."""
    rich = optimum(problem(1.0, 0.5), fixed(20.0, 10.0))
    assert rich.shares == pytest.approx([1 / 3, 2 / 3])
    assert rich.pruning_ratio.tolist() == [0.0, 0.0]
    assert (rich.multiplier, rich.kkt_residual) == (0.0, 0.0)


def test_silent_devices_and_those_without_time_get_nothing():
    some = optimum(problem([1.0, 1.0, -1.0, 0.0], 0.5), fixed(1.0, 0.0, 1.0, 1.0))
    assert some.shares == pytest.approx([1.0, 0.0, 0.0, 0.0])
    assert some.pruning_ratio == pytest.approx([1 / 3, 1.0, 1.0, 1.0])
    late = Status.INFEASIBLE
    assert some.status.tolist() == [Status.SOLVED, Status.SOLVED, late, late]


@pytest.mark.parametrize("noise", [fixed(0.0, 0.0), NoiseDensity(1.0, np.zeros(2))])
def test_all_silent(noise):
    none = optimum(problem(1.0, [0.5, 0.5]), noise)
    assert none.shares.tolist() == [0.0, 0.0]
    assert none.objective == 2.0
    assert none.kkt_residual == 0.0


def test_devices_that_compute_in_no_time_are_served_in_the_order_of_their_rate():
    """They need 1/4, 1/2 and 1 of the band; the last gets what is left."""
    served = optimum(problem(1.0, 0.0), fixed(2.0, 4.0, 1.0))
    assert served.shares == pytest.approx([0.5, 0.25, 0.25])
    assert served.pruning_ratio == pytest.approx([0.0, 0.0, 0.75])
    assert served.kkt_residual < 1e-12


def test_a_tie_between_devices_that_compute_in_no_time_is_split_equally():
    tied = optimum(problem(1.0, 0.0), fixed(1.0, 1.0, 1.0, 10.0))
    assert tied.shares == pytest.approx([0.3, 0.3, 0.3, 0.1])
    assert tied.shares[0] == tied.shares[1] == tied.shares[2]


def test_a_device_too_slow_for_the_whole_never_stops_gaining():
    slow = optimum(problem(1.0, [2.0, 0.5]), fixed(100.0, 100.0))
    assert slow.shares[1] == pytest.approx(0.02)
    assert slow.shares.sum() == pytest.approx(1.0)
    assert 0.5 < slow.pruning_ratio[0] < 0.52


def test_a_floor_that_starves_nobody():
    """Free, the second device would get nothing."""
    both = optimum(problem(1.0, 0.2, min_kept=0.1), fixed(1.0, 0.5))
    needed = 0.1 / (1 - 0.02) / 0.5
    assert both.shares == pytest.approx([1 - needed, needed])
    assert both.pruning_ratio[1] == pytest.approx(0.9)
    assert both.status.tolist() == [Status.SOLVED, Status.SOLVED]
    assert both.kkt_residual < 1e-14


def test_a_floor_out_of_reach_of_one_device_names_it_and_binds_the_others():
    """The third computes too long for the floor, the fourth sends too long, the last is mute."""
    cell = problem(1.0, [0.2, 0.2, 9.0, 0.2, 0.2], min_kept=0.2)
    mixed = optimum(cell, fixed(1.0, 0.9, 1.0, 0.1, 0.0))
    missed = Status.FLOOR_MISSED
    assert mixed.status.tolist() == [0, 0, missed, missed, missed]
    assert np.all(mixed.pruning_ratio[:2] <= 0.8 + 1e-12)
    assert mixed.kkt_residual < 1e-12


def test_floors_that_need_more_than_the_band_are_lowered_for_all_alike():
    cell = problem([1.0, 1.0, 1.0, -1.0], [0.2, 0.2, 9.0, 0.2], min_kept=0.5)
    crowded = optimum(cell, fixed(1.0, 0.8, 1.0, 1.0))
    together, late = Status.FLOORS_CROWDED, Status.INFEASIBLE
    assert crowded.status.tolist() == [together, together, Status.FLOOR_MISSED, late]
    assert crowded.pruning_ratio[0] == pytest.approx(crowded.pruning_ratio[1])
    assert crowded.pruning_ratio[0] > 0.5
    assert crowded.shares.sum() == pytest.approx(1.0)
    assert np.isnan(crowded.multiplier)


def test_floors_that_fill_the_band_exactly_are_met():
    """Each needs 1/4."""
    full = optimum(problem(1.0, 0.0, min_kept=0.5), fixed(*[2.0] * 4))
    assert full.shares == pytest.approx([0.25] * 4)
    assert full.status.tolist() == [0] * 4


def test_with_a_noise_density_nobody_who_is_heard_goes_without():
    cell = problem(1.0, [0.2] * 4)
    snr = np.array([1e4, 1e2, 1.0, 1e-3])
    shares = optimum(cell, NoiseDensity(0.2, snr)).shares
    assert np.all(shares > 0)
    assert shares.sum() == pytest.approx(1.0, abs=1e-13)


def test_the_residual_bounds_what_could_be_gained(spread_cell):
    best = optimum(*spread_cell)
    equal = solution(*spread_cell, np.full(10, 0.1), best.multiplier)
    assert equal.objective - best.objective <= 10 * equal.kkt_residual
    assert equal.kkt_residual > 1e-3


@pytest.mark.parametrize("factor", [1e-6, 1e12])
def test_scales_far_apart(factor):
    wide = optimum(problem([1.0, factor], [0.3, 0.3 * factor]), fixed(1.0, 1 / factor))
    assert wide.shares == pytest.approx([0.5, 0.5])


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((np.inf, 0.5), "budget_s must be finite"),
        ((np.nan, 0.5), "budget_s must be finite"),
        ((1.0, -0.5), "computing_s must be >= 0"),
        ((1.0, 0.5, 0.0), "bits must be > 0"),
        ((1.0, 0.5, 1.0, 1.5), r"min_kept must be from 0 to 1, got 1\.5"),
    ],
)
def test_values_without_a_meaning_are_refused(arguments, message):
    with pytest.raises(ValueError, match=message):
        problem(*arguments)


def test_the_printed_solution_does_not_divide_by_no_time():
    with pytest.raises(ValueError, match="computing_s must be > 0"):
        interior(problem(1.0, 0.0), fixed(1.0))
    left_out = interior(problem([1.0, -1.0], 0.5), fixed(1.0, 1.0))
    assert left_out.shares == pytest.approx([1.0, 0.0])
    assert left_out.status.tolist() == [Status.SOLVED, Status.INFEASIBLE]
