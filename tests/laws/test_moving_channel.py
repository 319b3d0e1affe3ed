"""On a moving channel, an upload ends when the integral of its rate reaches its bits."""

import numpy as np
import pyarrow.parquet as pq
import pytest

import fl

SHARE_OF_BAND_HZ = 2e6


def efficiency_at(trace, device, at_s, at_end):
    """Bit/s/Hz at times *at_s*, straight from the file."""
    table = pq.read_table(trace)
    rows = table["device"].to_numpy() == device
    times_s, gain_db = table["time_s"].to_numpy()[rows], table["gain_db"].to_numpy()[rows]
    span_s = 2 * times_s[-1] - times_s[-2]
    position = at_s % span_s if at_end == "repeat" else at_s
    gain = 10 ** (gain_db[np.searchsorted(times_s, position, side="right") - 1] / 10)
    return np.log2(1 + gain * 10**-0.2 / 1e-14)  # 28 dBm is 10^-0.2 W


def events_of(run, phase, device):
    return [
        (row["round"], row["start_s"], row["end_s"])
        for row in run.events.to_pylist()
        if row["phase"] == phase and row["device"] == device
    ]


@pytest.mark.parametrize("at_end", ["repeat", "hold"])
def test_finish_times_equal_a_fine_grained_integration(paper_cell, moving_trace, at_end):
    paper_cell["uplink"]["channel"] = {"trace": str(moving_trace), "at_end": at_end}
    run = fl.run(paper_cell, rounds=12)
    assert run.rounds["end_s"][-1].as_py() > 6  # well past the end of the trace
    for device in range(10):
        for _round, start_s, end_s in events_of(run, "upload", device):
            midpoints, step_s = np.linspace(start_s, end_s, 200_001, retstep=True)
            midpoints = midpoints[:-1] + step_s / 2
            rate_bps = SHARE_OF_BAND_HZ * efficiency_at(moving_trace, device, midpoints, at_end)
            # Each segment boundary blurs the sum by at most one step of the integration.
            assert (rate_bps * step_s).sum() == pytest.approx(402_826 * 32, rel=2e-4)


def test_the_upload_that_starts_in_a_silence_waits_for_its_end(paper_cell, moving_trace):
    paper_cell["uplink"]["channel"] = {"trace": str(moving_trace), "at_end": "repeat"}
    run = fl.run(paper_cell, rounds=12)
    began_silent = [
        (device, start_s, end_s)
        for device in range(10)
        for _round, start_s, end_s in events_of(run, "upload", device)
        if efficiency_at(moving_trace, device, np.array([start_s]), "repeat")[0] == 0
    ]
    assert began_silent
    for device, _start_s, end_s in began_silent:
        before = np.array([end_s - 1e-9])
        assert efficiency_at(moving_trace, device, before, "repeat")[0] > 0


def test_every_bit_due_is_sent_and_phases_add_up(paper_cell, moving_trace):
    paper_cell["uplink"]["channel"] = {"trace": str(moving_trace), "at_end": "repeat"}
    paper_cell |= {"scheme": "equal-resource", "deadline": "300 ms"}
    run = fl.run(paper_cell, rounds=5)
    for row in run.devices.to_pylist():
        kept = round((1 - row["pruning_ratio"]) * 402_826)
        assert row["upload_bits"] == kept * 32
        phases = ("broadcast", "personal", "warmup", "prune", "global", "upload", "backhaul")
        assert row["latency_s"] == pytest.approx(sum(row[f"{p}_s"] for p in phases), rel=1e-12)
        round_latency = run.rounds["latency_s"][row["round"]].as_py()
        assert row["latency_s"] + row["wait_s"] == pytest.approx(round_latency, rel=1e-9)
    for result in run.rounds.to_pylist():
        sent = [r["upload_bits"] for r in run.devices.to_pylist() if r["round"] == result["round"]]
        assert result["uplink_bits"] == sum(sent)


def test_events_are_contiguous_and_rounds_follow_each_other(paper_cell, moving_trace):
    paper_cell["uplink"]["channel"] = {"trace": str(moving_trace), "at_end": "repeat"}
    run = fl.run(paper_cell, rounds=4)
    starts, ends = run.rounds["start_s"].to_pylist(), run.rounds["end_s"].to_pylist()
    assert starts == [0.0, *ends[:-1]]
    events = run.events.to_pylist()
    for device in range(10):
        for number in range(4):
            own = [e for e in events if e["device"] == device and e["round"] == number]
            assert own[0]["start_s"] == starts[number]
            assert own[-1]["end_s"] == ends[number]
            assert [e["start_s"] for e in own[1:]] == [e["end_s"] for e in own[:-1]]


def test_the_decision_rests_on_the_channel_of_a_while_ago(paper_cell, moving_trace):
    paper_cell["uplink"]["channel"] = {"trace": str(moving_trace), "at_end": "repeat"}
    run = fl.run(paper_cell, rounds=6, csi_age="70 ms")
    starts_s = run.rounds["start_s"].to_numpy()
    for row in run.devices.to_pylist():
        known_at = np.array([max(starts_s[row["round"]] - 0.07, 0.0)])
        efficiency = efficiency_at(moving_trace, row["device"], known_at, "repeat")[0]
        expected = 10 * np.log10(2**efficiency - 1) if efficiency else -np.inf
        assert row["snr_db"] == pytest.approx(expected)
