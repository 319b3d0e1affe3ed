"""The calibrated cell is the outcome of its fit, and the fit does what the paper's formulas say."""

from pathlib import Path

import numpy as np
import pytest

import fl
from fl.reproduction.calibration import Cell, fit
from fl.scenario import load_scenario

CALIBRATED = Path("scenarios/paper/calibrated.yaml")


@pytest.fixture(scope="module")
def fits():
    return fit()


def test_the_scenario_is_the_nearest_cell(fits):
    scenario = load_scenario(CALIBRATED)
    cell = fits[0].cell
    assert scenario.uplink.spatial_layers == cell.layers
    assert [float(value) for value in scenario.devices.cycles_per_weight.numbers] == [cell.cycles]
    losses_db = [float(x) for x in scenario.uplink.channel.generate.path_loss.loss.numbers]
    assert losses_db == pytest.approx(cell.losses_db, abs=5e-4)


def test_it_meets_every_number_of_the_paper_within_three_percent(fits):
    assert max(map(abs, fits[0].residuals.values())) < 0.03
    assert [one.distance for one in fits] == sorted(one.distance for one in fits)


def test_with_one_layer_a_device_no_cell_comes_near(fits):
    (single,) = (one for one in fits if one.cell.layers == 10)
    assert single.distance > 5 * fits[0].distance


def by_hand(cell, draws=20_000):
    """The closed forms (9), (28), (29), (47), written out for the three rows."""
    rng = np.random.default_rng(3)
    k = 10**0.9
    field = (rng.normal(size=(draws, 10)) + 1j * rng.normal(size=(draws, 10))) / np.sqrt(2)
    power = np.abs(np.sqrt(k / (k + 1)) + field / np.sqrt(k + 1)) ** 2
    loss_db = cell.loss_db + np.linspace(-cell.spread_db / 2, cell.spread_db / 2, 10)
    snr = 10 ** ((28 - loss_db + 110) / 10) * power
    rate = cell.layers * 20e6 / 10 * np.log2(1 + snr)
    weight_s = cell.cycles / 3e9
    head_s = (52_096 + 402_826) * weight_s  # personal part and warm-up
    kept = (0.025 - head_s) / (402_826 * (weight_s + 32 / rate.mean(axis=1)))
    slowest = rate.min(axis=1)
    equal_s = head_s + kept * 402_826 * (weight_s + 32 / slowest)
    return {
        "equal-resource": equal_s.mean() * 1e3,
        "pruning-only": (equal_s + 52_096 * (weight_s + 32 / slowest)).mean() * 1e3,
        "personalization": (head_s + 402_826 * 32 / slowest).mean() * 1e3,
        "sent": kept.mean(),
    }


def test_the_closed_forms_are_the_papers(fits):
    for one in fits:
        expected = by_hand(one.cell)
        for name, latency_ms in one.latency_ms.items():
            assert latency_ms == pytest.approx(expected[name], rel=0.015)  # 1,000 draws
        # The optimum sends more than one ratio for all, but not much.
        assert expected["sent"] - 0.02 < one.fraction_sent < expected["sent"] + 0.08


def test_the_clock_comes_to_what_the_fit_says(fits):
    """One run with many draws of the channel, each of which counts once."""
    run = fl.run("scenarios/paper/table-1.yaml", scheme="personalization", rounds=2000)
    start_s = run.rounds["start_s"].to_numpy()
    _, first = np.unique(np.floor(start_s / 0.5 + 1e-9), return_index=True)
    latency_ms = run.rounds["latency_s"].to_numpy()[first] * 1e3
    spread_ms = latency_ms.std() / np.sqrt(len(first))
    assert abs(latency_ms.mean() - by_hand(fits[0].cell)["personalization"]) < 4 * spread_ms


def test_losses_are_evenly_spaced_around_their_mean():
    cell = Cell(layers=10, loss_db=100.0, spread_db=18.0, cycles=10)
    assert cell.losses_db == pytest.approx(np.arange(91.0, 110.0, 2.0))
