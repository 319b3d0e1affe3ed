r"""What theory promises of a run: the upper bound of Theorem 1.

It bounds the squared gradients that devices see, averaged over rounds, Eq. (40):

.. math::

    \frac1G \sum_g \Bigl[ \frac{\eta_v \tau_v}{8} \sum_k \|\nabla_v F_k\|^2
    + \frac{\eta_u \tau_u}{2} \|\nabla_u F\|^2 \Bigr]
    \le \frac{F(u^0, V^0) - F^*}{G} + A_1 + A_2 \sum_g \sum_k \rho_k^g

for plain stochastic gradient descent that alternates between the two parts. Eqs. (41) and (42)
stand here as printed; they are what the appendix arrives at, and every term has the unit of
a loss. What the proof does on its way there says how to read them:

- Two steps each cost a factor N. Eq. (76) takes the norm of a vector for that of the sum of its
  entries; Eqs. (72), (74) and (77) bound each entry of a gradient by the whole of it. Neither is
  needed: each N and N^2 can be 1, but for the N^2 outside of the fraction, which becomes
  K / kappa*. At 400,000 weights the bound is up to 10^11 times too large: it orders runs, and
  does not predict a gradient.
- Eq. (79) takes the mean gradient of the devices that kept a weight for that of all devices. So
  it is if all keep it, or if their losses are the same. Otherwise the bound may fail: Assumption
  5, on how much devices differ, is not used.
- Eq. (65) sums over devices where F, Eq. (63), is a mean. A factor 1/K is missing before the
  first sum on the left; without it the bound may fail from nine devices on.
- Eq. (65) needs small steps, eta_v tau_v L_v well below 1. The theorem does not say so.
"""

import math
from dataclasses import dataclass, fields

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True)
class Constants:
    """What Assumptions 1 to 4 say of the losses, and where the run begins."""

    global_smoothness: float
    """L_u: how fast the gradient of the global part changes with it."""
    personal_smoothness: float
    """L_v."""
    global_gradient: float
    """phi_u: root of the mean squared norm of a mini-batch's gradient."""
    global_noise: float
    """sigma-hat_u: the deviation of a mini-batch's gradient from the device's."""
    personal_noise: float
    """sigma-hat_v."""
    weight_norm: float
    """D of Assumption 2: pruning a part rho takes away rho D^2 of the squared norm, at most."""
    initial_gap: float
    """F(u^0, V^0) - F^*."""

    def __post_init__(self) -> None:
        for field in fields(self):
            value = getattr(self, field.name)
            if not 0 <= value < math.inf:
                raise ValueError(f"{field.name} must be >= 0 and finite, got {value}")


@dataclass(frozen=True)
class Course:
    """What is done: how many rounds of which steps, by how many devices on how many weights."""

    rounds: int
    """G."""
    num_devices: int
    """K."""
    num_weights: int
    """N: of the global part."""
    personal_iterations: int
    """tau_v."""
    global_iterations: int
    """tau_u. The warm-up does not count: it ranks weights, and moves none."""
    personal_rate: float
    """eta_v."""
    global_rate: float
    """eta_u."""

    def __post_init__(self) -> None:
        for field in fields(self):
            value = getattr(self, field.name)
            least = 1 if field.name in ("rounds", "num_devices", "num_weights") else 0
            if not least <= value < math.inf:
                raise ValueError(f"{field.name} must be >= {least} and finite, got {value}")


@dataclass(frozen=True)
class Bound:
    """The right-hand side of Eq. (40), term by term."""

    initial: float
    """What is left of the initial gap."""
    a1: float
    """What steps and noise cost, however little is pruned."""
    a2: float
    """What a pruning ratio costs."""
    pruning: float
    """A_2 times the sum of all ratios."""

    @property
    def total(self) -> float:
        """The bound."""
        return self.initial + self.a1 + self.pruning


def convergence_bound(
    constants: Constants, course: Course, keepers: int, sum_of_ratios: float
) -> Bound:
    """Return the right-hand side of Eq. (40).

    Args:
        constants: Of the losses.
        course: Of the run.
        keepers: kappa*, see `fewest_keepers`. Zero makes the bound infinite: a weight that
            nobody keeps does not move in that round, whatever its gradient.
        sum_of_ratios: The pruning ratios of all devices in all rounds, together.

    >>> constants = Constants(1.0, 1.0, 1.0, 1.0, 1.0, weight_norm=2.0, initial_gap=3.0)
    >>> course = Course(10, 4, 1, 1, 1, personal_rate=0.1, global_rate=0.1)
    >>> convergence_bound(constants, course, 4, sum_of_ratios=0.0).initial
    0.3
    >>> convergence_bound(constants, course, 0, sum_of_ratios=20.0).total
    inf
    """
    if not 0 <= keepers <= course.num_devices:
        raise ValueError(f"keepers must be in [0, {course.num_devices}], got {keepers}")
    most = course.rounds * course.num_devices
    if not 0 <= sum_of_ratios <= most:
        raise ValueError(f"sum_of_ratios must be in [0, {most}], got {sum_of_ratios}")
    initial = constants.initial_gap / course.rounds
    if keepers == 0:
        return Bound(initial, math.inf, math.inf, math.inf if sum_of_ratios else 0.0)
    try:
        a1 = _personal_steps(constants, course) + _global_steps(constants, course, keepers)
        a2 = _cost_of_pruning(constants, course, keepers)
    except OverflowError:  # beyond all numbers is beyond use
        a1 = a2 = math.inf
    return Bound(initial, a1, a2, a2 * sum_of_ratios if sum_of_ratios else 0.0)


def fewest_keepers(by_round: NDArray[np.int64]) -> int:
    """Return kappa*: how many devices kept the weight that was kept least, in the worst round.

    Args:
        by_round: For each round, the number of devices that kept (and sent) the weight that the
            fewest of them kept.

    >>> fewest_keepers(np.array([10, 7, 9]))
    7
    """
    if not by_round.size:
        raise ValueError("by_round must have a round, got none")
    return int(by_round.min())


def _personal_steps(constants: Constants, course: Course) -> float:
    r"""Return the part of A_1, Eq. (41), that comes of the personal update.

    .. math:: \frac{\eta_v^2 \tau_v^2 \hat\sigma_v^2 L_v}{2}
        + 4 \eta_v^3 L_v^2 \hat\sigma_v^2 \tau_v^2 (\tau_v - 1)
    """
    eta, tau = course.personal_rate, course.personal_iterations
    smooth, noise = constants.personal_smoothness, constants.personal_noise
    moved = (eta * tau * noise) ** 2
    return moved * smooth / 2 + 4 * moved * eta * smooth**2 * (tau - 1)


def _global_steps(constants: Constants, course: Course, kappa: int) -> float:
    r"""Return the part of A_1, Eq. (41), that comes of the global update.

    .. math:: \frac{3 \eta_u^2 N^2 \tau_u^2 \phi_u^2 L_u}{2}
        + \frac{N \phi_u^2 K \eta_u^3 L_u^2 \tau_u^3 + 3 N^2 \eta_u^2 \tau_u^2 K \hat\sigma_u^2 L_u
        + 3 N^2 L_u^3 \tau_u^4 \eta_u^4 K \phi_u^2}{2 \kappa^*}
    """
    n, k = course.num_weights, course.num_devices
    step = course.global_rate * course.global_iterations
    smooth, gradient = constants.global_smoothness, constants.global_gradient
    moved = (n * step * gradient) ** 2 * smooth
    drift = n * k * gradient**2 * step**3 * smooth**2
    noise = 3 * k * (n * step * constants.global_noise) ** 2 * smooth
    drift_squared = 3 * k * (n * gradient) ** 2 * step**4 * smooth**3
    return 3 * moved / 2 + (drift + noise + drift_squared) / (2 * kappa)


def _cost_of_pruning(constants: Constants, course: Course, kappa: int) -> float:
    r"""Return A_2, Eq. (42).

    .. math:: \frac{N \eta_u \tau_u L_u^2 D^2 + 3 N^2 \eta_u^2 L_u^3 D^2 \tau_u^2}{G \kappa^*}
    """
    # Both terms have N eta_u tau_u L_u in common.
    scaled = course.num_weights * course.global_rate * course.global_iterations
    curved = scaled * constants.global_smoothness
    lost = constants.global_smoothness * constants.weight_norm**2
    return (curved + 3 * curved**2) * lost / (course.rounds * kappa)
