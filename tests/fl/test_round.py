import math

import pytest

import fl
from fl.scenario import ScenarioError
from netsim.errors import StalledError, TraceError

SNR = 10**3.8
RATE_BPS = 2e6 * math.log2(1 + SNR)
UPLOAD_S = 402_826 * 32 / RATE_BPS
COMPUTE_S = 20 * (52_096 + 402_826) / 3e9


def rows(run, **wanted):
    return [r for r in run.devices.to_pylist() if all(r[k] == v for k, v in wanted.items())]


def phases(run, device, round_=0):
    return [
        e["phase"] for e in run.events.to_pylist() if e["device"] == device and e["round"] == round_
    ]


def test_a_round_is_a_chain_of_phases(paper_cell):
    paper_cell["devices"] |= {
        "pruning_cycles_per_weight": 1,
        "cpu_frequency": ["3 GHz"] * 9 + ["1 GHz"],
    }
    paper_cell["scheme"] = {"pruning": {"fixed": 0.5}}
    paper_cell["network"] = {"broadcast": "1 ms", "backhaul": [{"latency": "2 ms"}]}
    run = fl.run(paper_cell)
    chain = ["broadcast", "personal", "warmup", "prune", "global", "upload", "backhaul"]
    assert phases(run, 0) == [*chain, "wait"]
    assert phases(run, 9) == chain


def test_without_pruning_there_is_no_warmup(paper_cell):
    run = fl.run(paper_cell)
    assert phases(run, 0) == ["personal", "global", "upload"]
    assert run.devices["latency_s"][0].as_py() == pytest.approx(COMPUTE_S + UPLOAD_S)


def test_everything_pruned_sends_nothing_and_needs_no_share(paper_cell):
    paper_cell["scheme"] = {"pruning": {"fixed": 1.0}, "bandwidth": [0.0] * 10}
    run = fl.run(paper_cell)
    assert run.rounds["uplink_bits"].to_pylist() == [0, 0]
    assert phases(run, 3) == ["personal", "warmup"]


def test_an_infeasible_device_is_named_and_prunes_all(paper_cell):
    paper_cell |= {"scheme": "equal-resource", "deadline": "400 ms"}
    paper_cell["devices"]["cpu_frequency"] = ["3 GHz"] * 9 + ["1 MHz"]
    run = fl.run(paper_cell)
    assert [r["device"] for r in rows(run, round=0, status="infeasible")] == [9]
    assert rows(run, round=0, device=9)[0]["pruning_ratio"] == 1
    assert run.rounds["deadline_missed"].to_pylist() == [True, True]


def test_without_a_deadline_nothing_is_missed(paper_cell):
    run = fl.run(paper_cell)
    assert run.rounds["deadline_s"].null_count == 2
    assert run.rounds["deadline_missed"].null_count == 2


def test_learning_columns_of_a_latency_only_run_are_null(paper_cell):
    run = fl.run(paper_cell)
    for column in ("train_loss", "test_loss", "test_accuracy"):
        assert run.rounds[column].null_count == run.rounds.num_rows
    assert run.devices["test_accuracy"].null_count == run.devices.num_rows


def test_the_deadline_cuts_who_is_late(paper_cell):
    gains = ["-100 dB"] * 8 + ["-110 dB", "-115 dB"]
    paper_cell["uplink"]["channel"]["gain"] = gains
    paper_cell |= {"late": "drop", "deadline": "550 ms"}
    run = fl.run(paper_cell)
    for result in run.rounds.to_pylist():
        assert result["latency_s"] == 0.55
        assert result["end_s"] - result["start_s"] == pytest.approx(0.55)
        assert (result["arrived"], result["straggler"]) == (8, 9)
        assert result["deadline_missed"]
    for row in rows(run, arrived=False):
        assert row["device"] in (8, 9)
        assert row["latency_s"] is None
        assert row["upload_s"] == pytest.approx(0.55 - COMPUTE_S)
        snr = SNR / 10 ** ((-100 - float(gains[row["device"]].split()[0])) / 10)
        assert row["upload_bits"] == pytest.approx(row["upload_s"] * 2e6 * math.log2(1 + snr))
        assert row["wait_s"] == 0


def test_a_cut_round_leaves_no_work_behind(paper_cell):
    # Cut while computing: the next round must begin on an idle CPU, not behind old work.
    paper_cell["devices"]["cpu_frequency"] = ["3 GHz"] * 9 + ["10 MHz"]
    paper_cell |= {"late": "drop", "deadline": "550 ms", "rounds": 3}
    run = fl.run(paper_cell)
    slow = rows(run, device=9)
    assert [r["personal_s"] for r in slow] == [pytest.approx(20 * 52_096 / 1e7)] * 3
    assert [r["global_s"] for r in slow] == [pytest.approx(0.55 - 20 * 52_096 / 1e7)] * 3
    assert [r["upload_bits"] for r in slow] == [0, 0, 0]


@pytest.mark.parametrize("release", ["hold", "redistribute"])
def test_an_upload_that_ends_at_the_deadline_is_in_time(paper_cell, release):
    # Equation (47) makes every device end at the deadline, give or take the rounding.
    paper_cell |= {"scheme": "equal-resource", "deadline": "137 ms", "late": "drop"}
    paper_cell["uplink"]["release"] = release
    run = fl.run(paper_cell, rounds=50)
    assert run.rounds["arrived"].to_pylist() == [10] * 50


def test_when_all_arrive_early_the_round_does_not_wait_for_the_deadline(paper_cell):
    paper_cell |= {"late": "drop", "deadline": "10 s"}
    assert fl.run(paper_cell).rounds["latency_s"][0].as_py() == pytest.approx(COMPUTE_S + UPLOAD_S)


def test_nobody_arriving_is_a_round_all_the_same(paper_cell):
    paper_cell |= {"late": "drop", "deadline": "1 ms"}
    run = fl.run(paper_cell)
    assert run.rounds["arrived"].to_pylist() == [0, 0]
    assert run.rounds["latency_s"].to_pylist() == [0.001, 0.001]


def test_cut_uploads_under_redistribution_keep_their_bits(paper_cell):
    gains = ["-90 dB"] * 5 + ["-118 dB"] * 5
    paper_cell["uplink"] |= {"channel": {"gain": gains}, "release": "redistribute"}
    paper_cell |= {"late": "drop", "deadline": "500 ms"}
    run = fl.run(paper_cell)
    fast_s = rows(run, device=0, round=0)[0]["upload_s"]
    slow = rows(run, device=9, round=0)[0]
    rate_bps = 2e6 * math.log2(1 + SNR / 10**1.8)
    # Ten equal shares; when five have finished, the other five have twice theirs.
    expected = rate_bps * fast_s + 2 * rate_bps * (slow["upload_s"] - fast_s)
    assert not slow["arrived"]
    assert slow["upload_bits"] == pytest.approx(expected)


def test_broadcast_backhaul_and_aggregation_take_their_time(paper_cell):
    bits = 402_826 * 32
    paper_cell["devices"]["count"] = 1
    paper_cell["uplink"]["latency"] = "3 ms"
    paper_cell["network"] = {
        "broadcast": "5 ms",
        "aggregation": "7 ms",
        "backhaul": [{"capacity": "1 Gbit/s", "latency": "2 ms"}, {"capacity": "100 Mbit/s"}],
    }
    run = fl.run(paper_cell)
    backhaul_s = 0.003 + bits / 1e9 + 0.002 + bits / 1e8
    latency_s = 0.005 + COMPUTE_S + UPLOAD_S / 10 + backhaul_s
    row = rows(run, round=1)[0]
    assert row["backhaul_s"] == pytest.approx(backhaul_s)
    assert row["latency_s"] == pytest.approx(latency_s)
    assert row["predicted_latency_s"] == pytest.approx(latency_s)
    assert row["wait_s"] == pytest.approx(0.007)
    assert run.rounds["latency_s"][1].as_py() == pytest.approx(latency_s + 0.007)


def test_uploads_queue_for_a_shared_wire(paper_cell):
    # Ten uploads reach the wire at once; the last one waits for nine others.
    paper_cell["network"] = {"backhaul": [{"capacity": "100 Mbit/s"}]}
    run = fl.run(paper_cell, rounds=1)
    one_s = 402_826 * 32 / 1e8
    waits = sorted(r["backhaul_s"] for r in rows(run, round=0))
    assert waits == pytest.approx([one_s * n for n in range(1, 11)])


def test_the_deadline_ratio_leaves_room_for_broadcast_and_backhaul(paper_cell):
    paper_cell |= {"scheme": "equal-resource", "deadline": "300 ms"}
    paper_cell["devices"]["count"] = 1
    paper_cell["network"] = {
        "broadcast": "20 ms",
        "backhaul": [{"capacity": "200 Mbit/s", "latency": "10 ms"}],
    }
    paper_cell["uplink"]["bandwidth"] = "2 MHz"
    latency_s = fl.run(paper_cell).devices["latency_s"][0].as_py()
    assert 0.2999 < latency_s <= 0.3 * (1 + 1e-9)


@pytest.mark.parametrize("release", ["hold", "redistribute"])
def test_an_upload_without_a_share_is_an_error_that_says_so(paper_cell, release):
    paper_cell["scheme"] = {"bandwidth": [0.1] * 9 + [0.0]}
    paper_cell["uplink"]["release"] = release
    with pytest.raises(StalledError, match=r"round 0 can never end.*device 9.*no share"):
        fl.run(paper_cell)
    run = fl.run(paper_cell, late="drop", deadline="1 s")
    assert [r["device"] for r in rows(run, round=0, arrived=False)] == [9]


def test_a_trace_that_ends_stops_the_run_when_it_is_asked_to(paper_cell, moving_trace):
    paper_cell["uplink"]["channel"] = {"trace": str(moving_trace), "at_end": "error"}
    with pytest.raises(TraceError, match=r"moving.parquet: device \d+ ends at .* at_end"):
        fl.run(paper_cell, rounds=1000)


def exact_tie(release, aggregation):
    """Every upload ends exactly at the deadline: 0.05 s of computing, 0.05 s of sending."""
    return {
        "name": "tie",
        "rounds": 30,
        "late": "drop",
        "deadline": "100 ms",
        "scheme": {"pruning": "none"},
        "iterations": {"personal": 1, "global": 0},
        "devices": {
            "count": 2,
            "cpu_frequency": "1 GHz",
            "cycles_per_weight": 1000,
            "transmit_power": "0 dBm",
        },
        "uplink": {
            "bandwidth": "20 MHz",
            "noise_power": "0 dBm",
            "bits_per_weight": 10,
            "release": release,
            "channel": {"gain": "0 dB"},
        },
        "network": {"aggregation": aggregation},
        "model": {"personal_weights": 50_000, "global_weights": 50_000},
    }


@pytest.mark.parametrize("aggregation", ["0 s", "10 h", "100 h"])
@pytest.mark.parametrize("release", ["hold", "redistribute"])
def test_a_tie_with_the_deadline_is_in_time_however_late_the_clock(release, aggregation):
    run = fl.run(exact_tie(release, aggregation))
    assert run.rounds["arrived"].to_pylist() == [2] * 30
    assert set(run.devices["upload_bits"].to_pylist()) == {500_000}


def test_who_has_pruned_all_leaves_its_share_to_the_others(paper_cell):
    paper_cell |= {"scheme": "equal-resource", "deadline": "400 ms"}
    paper_cell["devices"]["count"] = 3
    paper_cell["uplink"]["channel"] = {"gain": ["-100 dB", "-100 dB", "-9000 dB"]}
    held = fl.run(paper_cell).devices["upload_s"].to_pylist()
    given_on = fl.run(paper_cell, uplink={"release": "redistribute"}).devices["upload_s"]
    # The third begins and ends its round computing as long as the others.
    assert held[2] == 0
    assert given_on[0].as_py() == pytest.approx(held[0] * 2 / 3, rel=0.02)


def test_uploads_that_were_cut_do_not_clog_the_wire(paper_cell):
    paper_cell |= {"late": "drop", "deadline": "600 ms"}
    paper_cell["devices"]["count"] = 3
    paper_cell["network"] = {"backhaul": [{"capacity": "50 Mbit/s"}]}
    arrived = fl.run(paper_cell, rounds=6).rounds["arrived"].to_pylist()
    assert arrived[0] > 0
    assert arrived == [arrived[0]] * 6


def test_what_prunes_all_to_skip_a_slow_backhaul_is_feasible(paper_cell):
    paper_cell |= {"scheme": "equal-resource", "deadline": "40 ms"}
    paper_cell["network"] = {"backhaul": [{"latency": "50 ms"}]}
    run = fl.run(paper_cell)
    assert set(run.devices["status"].to_pylist()) == {"solved"}
    assert set(run.devices["pruning_ratio"].to_pylist()) == {1.0}
    assert run.rounds["deadline_missed"].to_pylist() == [False, False]


def test_redistribution_does_not_blur_late_on_the_clock(paper_cell):
    paper_cell["devices"]["count"] = 1
    paper_cell["uplink"]["release"] = "redistribute"
    run = fl.run(paper_cell, rounds=5, network={"aggregation": "1000 h"})
    expected = COMPUTE_S + UPLOAD_S / 10
    assert run.devices["latency_s"].to_pylist() == pytest.approx([expected] * 5, rel=1e-12)


@pytest.mark.parametrize("share", [1e-12, 1e-20, 1e-300])
def test_a_tiny_share_is_exact_too(paper_cell, share):
    paper_cell["scheme"] = {"bandwidth": [share]}
    paper_cell["devices"]["count"] = 1
    paper_cell["uplink"]["release"] = "redistribute"
    seconds = fl.run(paper_cell, rounds=1).devices["upload_s"][0].as_py()
    assert seconds == pytest.approx(UPLOAD_S * 0.1 / share, rel=1e-9)


@pytest.mark.parametrize(
    "changes",
    [
        {"devices": {"cpu_frequency": "1e-290 Hz", "cycles_per_weight": 1e17}},
        {"uplink": {"channel": {"gain": "3000 dB"}}},
        {"uplink": {"noise_power": "1e-300 W"}, "devices": {"transmit_power": "1e300 W"}},
        {"uplink": {"bandwidth": "1e305 Hz", "spatial_layers": 10_000}},
    ],
)
def test_numbers_too_large_together_are_refused(paper_cell, changes):
    with pytest.raises(ScenarioError, match="too large a number"):
        fl.run(paper_cell, **changes)
