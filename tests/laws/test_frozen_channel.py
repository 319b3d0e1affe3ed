"""On a channel that does not move, what emerges from the clock is the closed form."""

import math

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import fl

SAME = 1e-9


@st.composite
def frozen_scenarios(draw):
    count = draw(st.integers(1, 6))

    def each(low, high):
        return draw(st.lists(st.floats(low, high), min_size=count, max_size=count))

    shares = [share + 1e-6 for share in each(0.0, 1.0)]
    pruning = draw(
        st.sampled_from(["none", "deadline"])
        | st.floats(0.0, 1.0).map(lambda ratio: {"fixed": ratio})
    )
    return {
        "name": "frozen",
        "rounds": draw(st.integers(1, 4)),
        "scheme": {
            "split": draw(st.sampled_from(["conv", "none"])),
            "pruning": pruning,
            "bandwidth": draw(st.sampled_from(["equal", [s / sum(shares) for s in shares]])),
        },
        "deadline": f"{draw(st.floats(1e-3, 100.0))} s",
        "count_warmup": draw(st.booleans()),
        "csi_age": f"{draw(st.floats(0.0, 1.0))} s",
        "iterations": {
            "personal": draw(st.integers(0, 3)),
            "warmup": draw(st.integers(0, 3)),
            "global": draw(st.integers(0, 3)),
        },
        "devices": {
            "count": count,
            "cpu_frequency": [f"{f} MHz" for f in each(1.0, 5000.0)],
            "cycles_per_weight": each(0.1, 1000.0),
            "pruning_cycles_per_weight": each(0.0, 10.0),
            "transmit_power": [f"{p} dBm" for p in each(-10.0, 40.0)],
        },
        "uplink": {
            "bandwidth": f"{draw(st.floats(0.1, 100.0))} MHz",
            "noise_power": "-100 dBm",
            "bits_per_weight": draw(st.integers(1, 64)),
            "spatial_layers": draw(st.integers(1, 16)),
            "channel": {"gain": [f"{g} dB" for g in each(-130.0, -60.0)]},
        },
        "model": {
            "personal_weights": draw(st.integers(0, 10**6)),
            "global_weights": draw(st.integers(1, 10**6)),
        },
    }


def number(quantity):
    return float(quantity.split()[0])


def closed_form(scenario, device, bandwidth_fraction, pruning_ratio):
    """Eq. (28), from the scenario's text and the decision alone."""
    cycles = scenario["devices"]["cycles_per_weight"][device]
    frequency = number(scenario["devices"]["cpu_frequency"][device]) * 1e6
    personal, shared = scenario["model"]["personal_weights"], scenario["model"]["global_weights"]
    if scenario["scheme"]["split"] == "none":
        personal, shared = 0, personal + shared
    tau = scenario["iterations"]
    power = 10 ** (number(scenario["devices"]["transmit_power"][device]) / 10) / 1000
    gain = 10 ** (number(scenario["uplink"]["channel"]["gain"][device]) / 10)
    band = number(scenario["uplink"]["bandwidth"]) * 1e6 * scenario["uplink"]["spatial_layers"]
    rate = bandwidth_fraction * band * math.log2(1 + gain * power / 1e-13)
    ranking = scenario["devices"]["pruning_cycles_per_weight"][device]
    warmup = (tau["warmup"] * cycles + ranking) * shared
    if scenario["scheme"]["pruning"] == "none":
        warmup = 0.0
    kept = (1 - pruning_ratio) * shared
    computing = tau["personal"] * cycles * personal + warmup + tau["global"] * cycles * kept
    sending = scenario["uplink"]["bits_per_weight"] * kept / rate if kept else 0.0
    return computing / frequency + sending


@settings(max_examples=150, deadline=None)
@given(frozen_scenarios())
def test_latency_equals_equation_28_and_the_round_equation_29(scenario):
    run = fl.run(scenario)
    rows = run.devices.to_pylist()
    for row in rows:
        expected = closed_form(
            scenario, row["device"], row["bandwidth_fraction"], row["pruning_ratio"]
        )
        assert row["latency_s"] == pytest.approx(expected, rel=SAME)
        assert row["predicted_latency_s"] == pytest.approx(row["latency_s"], rel=SAME)
    for number_, result in enumerate(run.rounds.to_pylist()):
        latencies = [row["latency_s"] for row in rows if row["round"] == number_]
        assert result["latency_s"] == max(latencies)
        assert latencies[result["straggler"]] == max(latencies)
        assert result["end_s"] - result["start_s"] == pytest.approx(
            max(latencies), rel=1e-6, abs=1e-12
        )


@settings(max_examples=100, deadline=None)
@given(frozen_scenarios())
def test_a_deadline_is_met_early_by_at_most_one_weights_work_or_is_out_of_reach(scenario):
    scenario["scheme"]["pruning"] = "deadline"
    scenario["count_warmup"] = True
    deadline = number(scenario["deadline"])
    for row in fl.run(scenario).devices.to_pylist():
        ratio, latency = row["pruning_ratio"], row["latency_s"]
        if row["status"] == "infeasible":
            assert ratio == 1
            assert latency > deadline
            continue
        assert latency <= deadline * (1 + SAME)
        if ratio > 0:
            shared = scenario["model"]["global_weights"]
            if scenario["scheme"]["split"] == "none":
                shared += scenario["model"]["personal_weights"]
            fuller = closed_form(
                scenario, row["device"], row["bandwidth_fraction"], ratio - 1 / shared
            )
            assert fuller > deadline * (1 - SAME)


def test_warmup_left_out_of_the_deadline_is_late_by_exactly_the_warmup(paper_cell):
    paper_cell |= {"scheme": "equal-resource", "deadline": "300 ms", "count_warmup": False}
    one_weight = 20 / 3e9 + 32 / (2e6 * math.log2(1 + 10**3.8))
    for row in fl.run(paper_cell).devices.to_pylist():
        assert row["warmup_s"] == pytest.approx(20 * 402_826 / 3e9)
        assert -one_weight <= row["latency_s"] - row["warmup_s"] - 0.3 <= 1e-9


def test_frozen_latencies_do_not_blur_late_in_a_long_run(paper_cell):
    # A round of a thousand seconds beside phases of a third of a millisecond: differences
    # of clock times would keep nine digits at the end.
    paper_cell["devices"] |= {"count": 2, "cpu_frequency": ["3 GHz", "10 kHz"]}
    run = fl.run(paper_cell, rounds=20)
    personal = run.devices.filter(run.devices["device"].to_numpy() == 0)["personal_s"].to_numpy()
    assert run.rounds["end_s"][-1].as_py() > 10_000
    assert (personal == 20 * 52_096 / 3e9).all()
