"""The proposed scheme on a channel that stands still ends where its theorems say."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import fl

WEIGHT_S = 20 / 3e9  # to update one weight once
GAINS = st.lists(st.floats(-115, -85), min_size=2, max_size=12)


def cell(gains_db, **changes):
    return {
        "name": "cell",
        "rounds": 2,
        "scheme": "proposed",
        "deadline": "25 ms",
        "devices": {
            "count": len(gains_db),
            "cpu_frequency": "3 GHz",
            "cycles_per_weight": 20,
            "transmit_power": "28 dBm",
        },
        "uplink": {
            "bandwidth": "20 MHz",
            "spatial_layers": 10,
            "noise_power": "-110 dBm",
            "channel": {"gain": [f"{gain!r} dB" for gain in gains_db]},
        },
        "model": {"personal_weights": 52_096, "global_weights": 402_826},
    } | changes


@settings(max_examples=40, deadline=None)
@given(GAINS)
def test_every_device_ends_at_the_deadline_early_by_at_most_one_weight(gains_db):
    run = fl.run(cell(gains_db))
    latency_s = run.devices["latency_s"].to_numpy()
    ratio = run.devices["pruning_ratio"].to_numpy()
    shares = run.devices["bandwidth_fraction"].to_numpy()
    snr = 10 ** ((np.tile(gains_db, 2) + 28 + 110) / 10)
    rate_bps = shares * 200e6 * np.log2(1 + snr)
    with np.errstate(divide="ignore"):
        one_weight_s = WEIGHT_S + 32 / rate_bps
    assert (latency_s <= 0.025 * (1 + 1e-9)).all()
    partly = (ratio > 0) & (ratio < 1)
    assert (latency_s[partly] >= 0.025 - one_weight_s[partly] - 1e-12).all()
    assert shares.reshape(2, -1).sum(axis=1) == pytest.approx(1.0, abs=1e-12)
    # No other allocation prunes less: equal shares do not.
    equal = fl.run(cell(gains_db, scheme="equal-resource")).devices["pruning_ratio"].to_numpy()
    assert ratio.sum() <= equal.sum() + len(ratio) / 402_826


@settings(max_examples=25, deadline=None)
@given(GAINS)
def test_it_does_so_in_noise_of_a_density_too(gains_db):
    noise = {"noise_power": None, "noise_density": "-174 dBm/Hz", "noise_figure": "7 dB"}
    run = fl.run(cell(gains_db), uplink=noise)
    latency_s = run.devices["latency_s"].to_numpy()
    predicted_s = run.devices["predicted_latency_s"].to_numpy()
    np.testing.assert_allclose(latency_s, predicted_s, rtol=1e-9)
    shares = run.devices["bandwidth_fraction"].to_numpy()
    kept = 402_826 * (1 - run.devices["pruning_ratio"].to_numpy())
    power_w, density_w = 10 ** (-0.2), 10 ** (-17.4 - 3 + 0.7)
    snr = power_w * 10 ** (np.tile(gains_db, 2) / 10) / (density_w * 200e6 * shares)
    sending_s = kept * 32 / (shares * 200e6 * np.log2(1 + snr))
    computing_s = WEIGHT_S * (52_096 + 402_826 + kept)
    np.testing.assert_allclose(latency_s, computing_s + sending_s, rtol=1e-9)
    assert (latency_s <= 0.025 * (1 + 1e-9)).all()


def test_a_warm_up_that_is_not_counted_comes_on_top_exactly():
    gains_db = [-100.0, -97.0, -103.0, -105.0]
    run = fl.run(cell(gains_db, count_warmup=False, deadline="15 ms"))
    partly = (run.devices["pruning_ratio"].to_numpy() > 0) & run.devices["arrived"].to_numpy()
    late_s = run.devices["latency_s"].to_numpy()[partly] - 0.015
    assert partly.any()
    np.testing.assert_allclose(late_s, WEIGHT_S * 402_826, atol=1e-6)


def test_with_band_to_spare_nobody_prunes_and_all_are_early():
    run = fl.run(cell([-90.0, -95.0], deadline="200 ms"))
    assert set(run.devices["pruning_ratio"].to_pylist()) == {0.0}
    assert set(run.devices["status"].to_pylist()) == {"solved"}
    assert run.rounds["latency_s"].to_numpy().max() < 0.1


def test_a_floor_keeps_weak_devices_in_and_one_that_cannot_be_met_is_named():
    gains_db = [-90.0, -95.0, -100.0, -112.0]
    starved = fl.run(cell(gains_db, deadline="15 ms")).devices["pruning_ratio"].to_numpy()
    floor = {"max_pruning_ratio": 0.9}
    kept = fl.run(cell(gains_db, deadline="15 ms"), scheme=floor)
    assert starved.max() == 1.0
    assert kept.devices["pruning_ratio"].to_numpy().max() <= 0.9 + 1 / 402_826
    assert set(kept.devices["status"].to_pylist()) == {"solved"}
    crowded = fl.run(cell(gains_db, deadline="15 ms"), scheme={"max_pruning_ratio": 0.2})
    assert "floors_crowded" in crowded.devices["status"].to_pylist()
    hopeless = fl.run(cell([-90.0, -150.0], deadline="15 ms"), scheme={"max_pruning_ratio": 0.5})
    assert hopeless.devices["status"].to_pylist()[:2] == ["solved", "floor_missed"]


def test_a_device_without_time_is_infeasible_and_gets_no_band():
    frequencies = {"cpu_frequency": ["3 GHz", "10 MHz"]}
    run = fl.run(cell([-100.0, -100.0]), devices=frequencies)
    assert run.devices["status"].to_pylist()[:2] == ["solved", "infeasible"]
    assert run.devices["bandwidth_fraction"].to_pylist()[:2] == [1.0, 0.0]
    assert run.devices["pruning_ratio"].to_pylist()[1] == 1.0


def test_in_time_by_sending_nothing_is_no_excuse_where_something_must_be_sent():
    def statuses(**changes):
        latency = {"latency": changes.pop("latency", "24 ms")}
        return (
            fl.run(cell([-95.0, -100.0], **changes), uplink=latency).devices["status"].to_pylist()
        )

    assert set(statuses()) == {"solved"}  # it prunes all, and is in time
    assert set(statuses(scheme="pruning-only")) == {"infeasible"}
    assert set(statuses(scheme={"pruning": "deadline", "max_pruning_ratio": 0.9})) == {
        "floor_missed"
    }


def test_channel_inversion_knows_what_is_never_pruned():
    scheme = {
        "split": "unpruned-conv",
        "pruning": {"fixed": 0.5},
        "bandwidth": "channel-inversion",
    }
    run = fl.run(cell([-95.0, -100.0, -105.0], scheme=scheme))
    latency_s = run.devices["latency_s"].to_numpy()
    assert np.ptp(latency_s) <= 1e-6 * latency_s[0]


def test_max_min_prunes_all_alike_and_channel_inversion_ends_all_at_once():
    gains_db = [-95.0, -100.0, -105.0]
    fair = fl.run(cell(gains_db), scheme={"bandwidth": "max-min"})
    assert np.ptp(fair.devices["pruning_ratio"].to_numpy()) <= 1 / 402_826
    together = fl.run(cell(gains_db, scheme={"pruning": "none", "bandwidth": "channel-inversion"}))
    latency_s = together.devices["latency_s"].to_numpy()
    assert np.ptp(latency_s) <= 1e-9 * latency_s[0]


def test_one_ratio_for_all_meets_the_deadline_only_in_the_mean():
    run = fl.run(cell([-95.0, -100.0, -105.0], scheme="equal-resource-common", deadline="15 ms"))
    ratio = run.devices["pruning_ratio"].to_numpy()
    assert np.ptp(ratio) == 0
    rate_bps = 200e6 / 3 * np.log2(1 + 10 ** ((np.array([-95, -100, -105]) + 138) / 10))
    left_s = 0.015 - WEIGHT_S * (52_096 + 402_826)
    expected = 1 - left_s / (WEIGHT_S * 402_826 + 402_826 * 32 / rate_bps.mean())
    assert ratio[0] == pytest.approx(expected, abs=1 / 402_826)
    latency_s = run.devices["latency_s"].to_numpy()[:3]
    assert (latency_s > 0.015).tolist() == [False, True, True]


def test_pruning_only_sends_the_convolutional_layers_whole():
    run = fl.run(cell([-95.0, -100.0, -105.0], scheme="pruning-only", deadline="5 ms"))
    bits = run.devices["upload_bits"].to_numpy()
    assert (bits >= 52_096 * 32).all()
    assert bits.min() == 52_096 * 32
    assert run.devices["personal_s"].to_pylist() == [0.0] * 6
    assert set(run.devices["status"].to_pylist()) == {"floor_missed"}


def test_a_deadline_that_does_not_count_what_is_never_pruned_is_missed_by_it():
    gains_db = np.array([-95.0, -100.0, -105.0])
    scenario = cell(gains_db.tolist(), scheme="pruning-only", deadline="15 ms")
    run = fl.run(scenario | {"count_unpruned": False})
    rate_bps = 200e6 / 3 * np.log2(1 + 10 ** ((gains_db + 138) / 10))
    left_s = 0.015 - WEIGHT_S * (52_096 + 402_826)  # less the warm-up of all of it
    kept = left_s / (402_826 * (WEIGHT_S + 32 / rate_bps))
    pruned = np.ceil((1 - kept) * 402_826)
    assert run.devices["pruning_ratio"].to_numpy()[:3] == pytest.approx(pruned / 454_922, rel=1e-12)
    late_s = run.devices["latency_s"].to_numpy()[:3] - 0.015
    on_top_s = 52_096 * (WEIGHT_S + 32 / rate_bps)
    one_weight_s = WEIGHT_S + 32 / rate_bps
    assert ((late_s <= on_top_s * (1 + 1e-9)) & (late_s >= on_top_s - one_weight_s)).all()


def test_where_nothing_is_unpruned_it_makes_no_difference_whether_that_counts():
    scenario = cell([-95.0, -100.0, -105.0], deadline="15 ms")
    counted, uncounted = (fl.run(scenario | {"count_unpruned": said}) for said in (True, False))
    assert counted.devices.equals(uncounted.devices)
