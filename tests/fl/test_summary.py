import numpy as np
import pytest

import fl
from fl.summary import summarise


def summary_of(scenario, **overrides):
    run = fl.run(scenario, **overrides)
    return summarise(run.rounds, run.devices)


def test_the_summary_counts_what_the_tables_hold(paper_cell, moving_trace):
    paper_cell["uplink"]["channel"] = {"trace": str(moving_trace), "at_end": "repeat"}
    paper_cell |= {"scheme": "equal-resource", "deadline": "200 ms"}
    run = fl.run(paper_cell, rounds=30)
    summary = summarise(run.rounds, run.devices)
    latencies = sorted(run.rounds["latency_s"].to_pylist())
    assert summary.latency_s[50] == pytest.approx((latencies[14] + latencies[15]) / 2)
    assert summary.missed == sum(latency > 0.2 for latency in latencies)
    assert summary.late == sum(row["latency_s"] > 0.2 for row in run.devices.to_pylist())
    assert sum(straggler.rounds for straggler in summary.stragglers) == 30
    counts = [straggler.rounds for straggler in summary.stragglers]
    assert counts == sorted(counts, reverse=True)


def test_a_slow_cpu_and_a_weak_channel_are_told_apart(paper_cell):
    frequencies = ["3 GHz"] * 9 + ["10 MHz"]
    slow = summary_of(paper_cell, devices={"cpu_frequency": frequencies})
    assert [(s.device, s.rounds, s.computing) for s in slow.stragglers] == [(9, 2, 2)]
    gains = ["-100 dB"] * 8 + ["-115 dB"] + ["-100 dB"]
    weak = summary_of(paper_cell, uplink={"channel": {"gain": gains}})
    assert [(s.device, s.rounds, s.computing) for s in weak.stragglers] == [(8, 2, 0)]


def test_dropped_uploads_count_as_late(paper_cell):
    gains = ["-100 dB"] * 9 + ["-118 dB"]
    paper_cell |= {"late": "drop", "deadline": "600 ms"}
    summary = summary_of(paper_cell, uplink={"channel": {"gain": gains}})
    assert (summary.missed, summary.late) == (2, 2)
    assert [s.device for s in summary.stragglers] == [9]


def test_a_round_in_which_nobody_arrives_has_no_gap(paper_cell):
    paper_cell |= {"late": "drop", "deadline": "1 ms"}
    assert np.isnan(summary_of(paper_cell).median_gap)


def test_the_only_device_straggles_by_the_larger_part_of_its_time(paper_cell):
    paper_cell["devices"] |= {"count": 1, "cpu_frequency": "1 MHz"}
    assert [s.computing for s in summary_of(paper_cell).stragglers] == [2]
    paper_cell["devices"]["cpu_frequency"] = "3 GHz"
    assert [s.computing for s in summary_of(paper_cell).stragglers] == [0]


def test_who_is_cut_while_computing_straggles_by_that_and_the_slowest_is_named(paper_cell):
    paper_cell["devices"] |= {"count": 3, "cpu_frequency": ["3 GHz", "1 MHz", "2 GHz"]}
    paper_cell |= {"late": "drop", "deadline": "0.1 ms"}
    assert [(s.device, s.computing) for s in summary_of(paper_cell).stragglers] == [(1, 2)]


def test_a_gap_may_lie_below_zero(paper_cell):
    gains = ["-90 dB"] * 6 + ["-118 dB"] * 4
    uplink = {"channel": {"gain": gains}, "release": "redistribute"}
    assert summary_of(paper_cell, uplink=uplink).lowest_gap < -0.3
