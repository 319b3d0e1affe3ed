"""What it takes to find the optimal shares: for each device, and against a general solver.

The first table is one decision for more and more devices, with both models of the noise: the time
for each device should not grow with their number. The second sets the same decision against
SciPy's SLSQP, which is given the same gradient; both in turns in one process, the ratio is the
median over such pairs, with the lowest and the highest. One thread for the linear algebra: with
more, SLSQP's small matrices make it several times slower yet. The third is the decision as part of a
whole round of ten devices; where the channel stands still, it is taken once and remembered.

    OPENBLAS_NUM_THREADS=1 python benchmarks/allocation.py
"""

import statistics
import time
from collections.abc import Callable

import numpy as np
from scipy.optimize import Bounds, LinearConstraint, minimize

from fl.allocation.fixed_noise import FixedNoise
from fl.allocation.noise import Noise
from fl.allocation.noise_density import NoiseDensity
from fl.allocation.optimum import optimum
from fl.allocation.problem import Problem
from fl.allocation.solution import share_bounds
from fl.experiment import Experiment
from fl.results import InMemory
from fl.scenario import load_scenario

SECOND_PER_WEIGHT = 20 / 3e9
HZ_PER_DEVICE = 20e6


def paper_cell(count: int) -> tuple[Problem, dict[str, Noise]]:
    """Return the paper's devices at 90 to 110 dB of path loss, with a band that grows with them."""
    loss_db = np.random.default_rng(0).uniform(90.0, 110.0, count)
    snr = 10 ** ((28.0 + 110.0 - loss_db) / 10)
    problem = Problem(
        np.full(count, 0.025 - SECOND_PER_WEIGHT * 52_096),
        np.full(count, SECOND_PER_WEIGHT * 402_826),
        np.full(count, 402_826 * 32.0),
    )
    band_hz = HZ_PER_DEVICE * count
    fixed = FixedNoise(band_hz * np.log2(1.0 + snr))
    # As much noise in a device's equal share as the paper has in any.
    return problem, {"fixed": fixed, "density": NoiseDensity(band_hz, snr / count)}


def seconds(solver: Callable[[Problem, Noise], object], cell: tuple, times: int = 1) -> float:
    """Return how long a decision takes, in the mean of so many times."""
    began = time.perf_counter()
    for _ in range(times):
        solver(*cell)
    return (time.perf_counter() - began) / times


def general_solver(problem: Problem, noise: Noise) -> float:
    """Return the objective that SLSQP finds from equal shares, made to fit the band."""
    least, most = share_bounds(problem, noise)
    count = len(least)

    def gradient(shares: np.ndarray) -> np.ndarray:
        marginal = problem.marginal_kept(noise.rate_bps(shares))
        return -marginal * noise.marginal_rate_bps(shares)

    found = minimize(
        lambda shares: -problem.kept(noise.rate_bps(shares)).sum(),
        np.full(count, 1.0 / count),
        jac=gradient,
        method="SLSQP",
        bounds=Bounds(least, np.minimum(most, 1.0), keep_feasible=True),
        constraints=LinearConstraint(np.ones(count), -np.inf, 1.0),
        options={"maxiter": 1000, "ftol": 1e-9},
    )
    shares = found.x / max(found.x.sum(), 1.0)
    return float((1.0 - problem.kept(noise.rate_bps(shares))).sum())


def scaling() -> None:
    """Print the time for each device, from few to many."""
    print(f"{'devices':>8} {'noise':>8} {'decision us':>12} {'us/device':>10} {'residual':>9}")
    for count in (10, 100, 1000, 10_000, 100_000):
        problem, noises = paper_cell(count)
        for name, noise in noises.items():
            residual = optimum(problem, noise).kkt_residual
            times = max(2000 // count, 1) * 5
            taken_s = min(seconds(optimum, (problem, noise), times) for _ in range(7))
            row = f"{count:>8} {name:>8} {taken_s * 1e6:>12.1f} {taken_s * 1e6 / count:>10.3f}"
            print(f"{row} {residual:>9.0e}", flush=True)


def against_the_general_solver() -> None:
    """Print how many times faster, and how much less is pruned."""
    print(f"\n{'devices':>8} {'noise':>8} {'times faster':>13}  (range) {'pruned less by':>27}")
    for count in (10, 100):
        problem, noises = paper_cell(count)
        for name, noise in noises.items():
            ratios = sorted(
                seconds(general_solver, (problem, noise)) / seconds(optimum, (problem, noise), 5)
                for _ in range(9)
            )
            less = general_solver(problem, noise) - optimum(problem, noise).objective
            span = f"({ratios[0]:.0f} to {ratios[-1]:.0f})"
            median = statistics.median(ratios)
            print(f"{count:>8} {name:>8} {median:>13.0f}  {span:<20} {less:>14.1e}", flush=True)


def of_a_round(rounds: int = 1500) -> None:
    """Print which part of a latency-only round of ten devices is the decision."""
    print(f"\n{'scheme':>16} {'channel':>10} {'decision us':>12} {'round us':>10} {'part':>6}")
    still = {"gain": {"uniform": ["-107 dB", "-90 dB"]}}
    for scheme in ("equal-resource", "proposed"):
        for name, changes in (("moving", {}), ("constant", {"uplink": {"channel": still}})):
            overrides = {"rounds": rounds, "scheme": scheme} | changes
            scenario = load_scenario("scenarios/moving-channel.yaml", overrides=overrides)
            experiment = Experiment(scenario)
            decide, spent_s = experiment.policy.decide, []

            def timed(*known: object, decide: Callable = decide, spent_s: list = spent_s) -> object:
                began = time.perf_counter()
                decision = decide(*known)
                spent_s.append(time.perf_counter() - began)
                return decision

            experiment.policy.decide = timed
            began = time.perf_counter()
            experiment.run(InMemory())
            whole_s = time.perf_counter() - began
            row = f"{scheme:>16} {name:>10} {sum(spent_s) / rounds * 1e6:>12.1f}"
            print(
                f"{row} {whole_s / rounds * 1e6:>10.1f} {sum(spent_s) / whole_s:>6.1%}", flush=True
            )


if __name__ == "__main__":
    scaling()
    against_the_general_solver()
    of_a_round()
