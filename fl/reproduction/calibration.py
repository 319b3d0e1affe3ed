"""The cell in which the paper's numbers come true together, fitted.

The paper states neither path loss nor fading, distances, spatial layers or the cycles of a weight.
This looks for the four that bring the closed forms nearest to Table I and to the half of the weights
that Fig. 5 (c) says are sent. With four numbers to set and four to meet it shows that they
can be met at once, and in what kind of cell; not that the paper's was such a cell.

``python -m fl.reproduction.calibration`` prints the fit; `scenarios/paper/calibrated.yaml` holds it.
"""

import sys
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from itertools import product

import numpy as np
from numpy.typing import NDArray

from fl.allocation import FixedNoise, Problem, common_kept, deadline_problem, optimum
from fl.experiment import Experiment
from fl.models import Cost
from fl.reproduction.plan import SCENARIOS
from fl.reproduction.published import DEADLINE_MS, FRACTION_SENT, NUM_DEVICES, TABLE_1
from fl.scenario import load_scenario
from netsim.channel import shannon_efficiency
from netsim.streams import Streams
from netsim.units import db_to_linear, gains_to_linear

LAYERS = (10, 20, 30, 40)
"""One to four for each device, as devices of 5G have at most."""
CYCLES = tuple(range(10, 90, 10))
SPREADS_DB = tuple(range(0, 32, 4))
"""From the nearest to the farthest device; those between are spaced evenly, in decibels."""
LOSSES_DB = tuple(range(85, 125))
RICIAN_K_DB = 9.0
_DRAWS = 1000
_DRAWS_SENT = 200


@dataclass(frozen=True)
class Cell:
    """What is fitted."""

    layers: int
    loss_db: float
    """The mean over devices."""
    spread_db: float
    cycles: int
    """C_k."""

    @property
    def losses_db(self) -> NDArray[np.float64]:
        """The path loss of each device."""
        half_db = self.spread_db / 2
        return self.loss_db + np.linspace(-half_db, half_db, NUM_DEVICES)


@dataclass(frozen=True)
class Fit:
    """A cell, and what the closed forms give in it."""

    cell: Cell
    latency_ms: dict[str, float]
    """Of the schemes of Table I: the mean of Eq. (29) over draws of the channel."""
    fraction_sent: float

    @property
    def residuals(self) -> dict[str, float]:
        """What it gives over what the paper gives, less one."""
        return _residuals(self.latency_ms) | {"sent": self.fraction_sent / FRACTION_SENT - 1}

    @property
    def distance(self) -> float:
        """Root of the mean squared residual."""
        return float(np.sqrt(np.mean(np.square(list(self.residuals.values())))))


def _residuals(latency_ms: dict[str, float]) -> dict[str, float]:
    return {name: ms / TABLE_1[name].latency_ms - 1 for name, ms in latency_ms.items()}


@cache
def fit() -> tuple[Fit, ...]:
    """Return the nearest cell for each number of layers, the nearest of all first.

    The proposed scheme meets its deadline in every cell, so the other rows decide.
    """
    return tuple(sorted(map(_nearest, LAYERS), key=lambda one: one.distance))


def _nearest(layers: int) -> Fit:
    """Return the cell of so many layers that is nearest to the paper."""
    cells = [Cell(layers, *rest) for rest in product(LOSSES_DB, SPREADS_DB, CYCLES)]
    rows = {cell: _latency_ms(cell) for cell in cells}
    # How much is sent takes long to find out. It can only add to the distance of the rows, so
    # once these alone are further off than the nearest cell, the rest need not be asked.
    squares = {cell: sum(off**2 for off in _residuals(rows[cell]).values()) for cell in cells}
    best: Fit | None = None
    for cell in sorted(cells, key=squares.__getitem__):
        if best is not None and squares[cell] > len(best.residuals) * best.distance**2:
            break
        one = Fit(cell, rows[cell], _fraction_sent(cell))
        if best is None or one.distance < best.distance:
            best = one
    assert best is not None  # there are cells
    return best


def _latency_ms(cell: Cell) -> dict[str, float]:
    """Return the mean latency of a round, Eq. (29), for each scheme that can be off."""
    rate_bps = _rates_bps(cell) / NUM_DEVICES  # of equal shares, [draws, devices]
    latencies_s = {}
    for scheme in ("equal-resource", "pruning-only", "personalization"):
        cost = _cost(scheme, cell.cycles)
        kept = np.full(NUM_DEVICES, cost.global_weights)
        if scheme != "personalization":  # one ratio for all
            part = common_kept(_problem(cost), rate_bps)
            kept = cost.unpruned_weights + part * cost.prunable_weights
        latencies_s[scheme] = cost.latency_s(kept, rate_bps).max(axis=1).mean()
    return {scheme: float(latency_s) * 1e3 for scheme, latency_s in latencies_s.items()}


def _fraction_sent(cell: Cell) -> float:
    """Return which part of the global part the proposed scheme sends."""
    problem = _problem(_cost("proposed", cell.cycles))
    rates_bps = _rates_bps(cell)[:_DRAWS_SENT]
    kept = [1 - optimum(problem, FixedNoise(one)).pruning_ratio for one in rates_bps]
    return float(np.mean(kept))


def _rates_bps(cell: Cell) -> NDArray[np.float64]:
    """Return the rate of each device, had it the whole band, for each draw of the channel."""
    scenario = _stated("proposed", CYCLES[0]).scenario
    power_w, noise_w = scenario.devices.transmit_power, scenario.uplink.noise_power
    assert power_w is not None  # it is stated,
    assert noise_w is not None  # and so is this
    received_w = power_w.values(NUM_DEVICES, _stream) * gains_to_linear(-cell.losses_db) * _fades()
    efficiency = shannon_efficiency(received_w / noise_w)
    return scenario.uplink.bandwidth * cell.layers * efficiency


@cache
def _fades() -> NDArray[np.float64]:
    """Draw the powers of Rician fading around a mean of one, [draws, devices]."""
    parts = _stream().normal(scale=np.sqrt(0.5), size=(2, _DRAWS, NUM_DEVICES))
    k = db_to_linear(RICIAN_K_DB)
    steady, scattered = np.sqrt(k / (k + 1)), np.sqrt(1 / (k + 1))
    return (steady + scattered * parts[0]) ** 2 + (scattered * parts[1]) ** 2


def _stream() -> np.random.Generator:
    return Streams(1)("calibration")


def _problem(cost: Cost) -> Problem:
    return deadline_problem(cost, DEADLINE_MS * 1e-3, count_warmup=True, count_unpruned=False)


def _cost(scheme: str, cycles: int) -> Cost:
    return _stated(scheme, cycles).cost


@cache
def _stated(scheme: str, cycles: int) -> Experiment:
    """Return what the paper states, with a scheme and the cycles of a weight."""
    laid_over = {"scheme": scheme, "devices": {"cycles_per_weight": cycles}}
    return Experiment(load_scenario(SCENARIOS / "base.yaml", overrides=laid_over))


def table(fits: Sequence[Fit]) -> list[list[str]]:
    """Return the fits as rows of text, the titles first."""
    titles = ["layers", "mean loss", "spread", "cycles a weight"]
    schemes = [f"{name}, {TABLE_1[name].latency_ms:g} ms" for name in fits[0].latency_ms]
    rows = [[*titles, *schemes, f"sent, {FRACTION_SENT:.0%}", "distance"]]
    for one in fits:
        cell, off = one.cell, one.residuals
        fitted = [
            str(cell.layers),
            f"{cell.loss_db:g} dB",
            f"{cell.spread_db:g} dB",
            str(cell.cycles),
        ]
        given = [f"{ms:.1f} ms ({off[name]:+.1%})" for name, ms in one.latency_ms.items()]
        sent = f"{one.fraction_sent:.1%} ({off['sent']:+.1%})"
        rows.append([*fitted, *given, sent, f"{one.distance:.1%}"])
    return rows


if __name__ == "__main__":
    sys.stdout.writelines(" | ".join(row) + "\n" for row in table(fit()))
