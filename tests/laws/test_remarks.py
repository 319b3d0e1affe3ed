"""What is true of Remarks 2 and 3, in the optimum with the paper's noise.

Of two devices with the same budget T, the same size and the same computing time a:

- Remark 2 holds always: the better channel never prunes more, nor does the faster processor; nor
  does a device prune more because its own channel or processor became better.
- Remark 3, on channels, holds in part. Let both be pruned, but not whole. The worse channel gets
  more band if and only if a (y_1 + y_2) > T: the two compute, in the mean, for more than half
  their time. Where sending takes longer than computing it gets less, down to nothing. Devices
  that prune nothing get the more band the worse their channel.
- Remark 3, on processors, holds for devices that prune: the faster one gets more band. Once a
  device need not prune, it gets the less the faster it is.
"""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fl.allocation.fixed_noise import FixedNoise
from fl.allocation.noise_density import NoiseDensity
from fl.allocation.optimum import optimum
from fl.allocation.problem import Problem

COUNT = 8
SEEDS = st.integers(0, 2**32)


def cell(seed, density):
    """Devices alike but for two things, given by name: how fast they compute, how well heard."""
    rng = np.random.default_rng(seed)
    computing_s = rng.uniform(0.02, 1.2) * 10 ** rng.uniform(-0.2, 0.2, COUNT)
    heard = 10 ** rng.uniform(-0.7, 0.7, COUNT) * 10 ** rng.uniform(0.2, 1.2)
    bandwidth_hz = float(10 ** rng.uniform(-0.3, 0.7))

    def solve(computing_s=computing_s, heard=heard):
        noise = NoiseDensity(bandwidth_hz, heard) if density else FixedNoise(heard)
        return optimum(Problem(np.ones(COUNT), computing_s, np.ones(COUNT)), noise)

    return solve, computing_s, heard


@settings(deadline=None)
@given(SEEDS, st.booleans())
def test_remark_2_among_devices(seed, density):
    solve, computing_s, heard = cell(seed, density)
    by_channel = np.argsort(heard)
    ratios = solve(computing_s=np.full(COUNT, computing_s[0])).pruning_ratio
    assert np.all(np.diff(ratios[by_channel]) <= 1e-12)
    by_processor = np.argsort(computing_s)
    ratios = solve(heard=np.full(COUNT, heard[0])).pruning_ratio
    assert np.all(np.diff(ratios[by_processor]) >= -1e-12)


@settings(deadline=None)
@given(SEEDS, st.booleans(), st.floats(1.0, 10.0))
def test_remark_2_of_a_device_that_becomes_better(seed, density, factor):
    solve, computing_s, heard = cell(seed, density)
    better = np.ones(COUNT)
    better[0] = factor
    usual = solve().pruning_ratio[0]
    assert solve(heard=heard * better).pruning_ratio[0] <= usual + 1e-12
    assert solve(computing_s=computing_s / better).pruning_ratio[0] <= usual + 1e-12


@settings(deadline=None, max_examples=300)
@given(SEEDS)
def test_remark_3_on_channels(seed):
    solve, computing_s, heard = cell(seed, density=False)
    solution = solve(computing_s=np.full(COUNT, computing_s[0]))
    kept, shares = 1 - solution.pruning_ratio, solution.shares
    spare = solution.multiplier == 0
    for one in range(COUNT):
        for other in range(COUNT):
            if heard[one] >= heard[other]:
                continue  # one has the worse channel
            if kept[one] > 1e-9 and kept[other] < 1 - 1e-9:
                half = computing_s[0] * (kept[one] + kept[other])
                assert (shares[one] > shares[other]) == (half > 1) or abs(half - 1) < 1e-9
            if kept[one] == 0:
                assert shares[one] == 0
            if kept[one] > 1 - 1e-12 and not spare:
                assert shares[one] > shares[other]


@settings(deadline=None, max_examples=300)
@given(SEEDS)
def test_remark_3_on_processors(seed):
    solve, computing_s, heard = cell(seed, density=False)
    solution = solve(heard=np.full(COUNT, heard[0]))
    order = np.argsort(computing_s)  # the fastest first
    shares, ratios = solution.shares[order], solution.pruning_ratio[order]
    assert np.all(np.diff(shares[ratios > 1e-9]) <= 1e-12)
    assert np.all(np.diff(shares[ratios < 1e-12]) >= -1e-12)


def test_remark_3_fails_where_sending_takes_most_of_the_time():
    """Two devices, the second with half the rate: it gets less, and then nothing."""
    problem = Problem(np.ones(2), np.array([0.2, 0.2]), np.ones(2))
    shares = optimum(problem, FixedNoise(np.array([1.0, 0.9]))).shares
    assert 0 < shares[1] < shares[0]
    shares = optimum(problem, FixedNoise(np.array([1.0, 0.5]))).shares
    assert shares == pytest.approx([1.0, 0.0])
    assert shares[1] == 0.0


def test_remark_3_holds_where_computing_does():
    problem = Problem(np.ones(2), np.array([0.9, 0.9]), np.ones(2))
    solution = optimum(problem, FixedNoise(np.array([12.0, 10.0])))
    assert np.all((solution.pruning_ratio > 0) & (solution.pruning_ratio < 1))
    assert solution.shares[1] > solution.shares[0]
    assert solution.shares.sum() == pytest.approx(1.0)
