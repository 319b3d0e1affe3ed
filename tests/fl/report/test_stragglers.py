"""Rounds made up so that everybody can see who was last, and why."""

import numpy as np
import pytest

import fl
from fl.phases import OUTCOMES
from fl.report.recording import Recording
from fl.report.stragglers import COLUMNS, Cause, causes_of, saved_by_leaving_out, straggler_board


def columns(**changes):
    """One round of three devices that are all alike: 10 ms of computing, 20 of sending."""
    usual = {
        "broadcast_s": [0.0] * 3,
        "personal_s": [0.004] * 3,
        "warmup_s": [0.003] * 3,
        "prune_s": [0.0] * 3,
        "global_s": [0.003] * 3,
        "backhaul_s": [0.0] * 3,
        "bandwidth_fraction": [0.2] * 3,
        "upload_bits": [1e6] * 3,
        "predicted_latency_s": [0.030] * 3,
        "latency_s": [0.030] * 3,
        "lost_s": [0.0] * 3,
        "slowed_s": [0.0] * 3,
        "attempts": [1] * 3,
        "outcome": [OUTCOMES.index("arrived")] * 3,
    }
    return {name: np.array([changes.get(name, values)], float) for name, values in usual.items()}


LAST = np.array([2])


@pytest.mark.parametrize(
    ("changes", "cause"),
    [
        (
            {
                "global_s": [0.003, 0.003, 0.013],
                "predicted_latency_s": [0.03, 0.03, 0.04],
                "latency_s": [0.03, 0.03, 0.04],
            },
            Cause.CPU,
        ),
        (
            {
                "upload_bits": [1e6, 1e6, 2e6],
                "predicted_latency_s": [0.03, 0.03, 0.05],
                "latency_s": [0.03, 0.03, 0.05],
            },
            Cause.BITS,
        ),
        (
            {
                "bandwidth_fraction": [0.2, 0.2, 0.1],
                "predicted_latency_s": [0.03, 0.03, 0.05],
                "latency_s": [0.03, 0.03, 0.05],
            },
            Cause.SHARE,
        ),
        (
            {"predicted_latency_s": [0.03, 0.03, 0.05], "latency_s": [0.03, 0.03, 0.05]},
            Cause.CHANNEL,
        ),
        ({"latency_s": [0.03, 0.03, 0.05]}, Cause.FADE),
        # A weak channel that was reckoned with, by fewer bits, is no cause; what came on top is.
        (
            {"upload_bits": [1e6, 1e6, 3e5], "latency_s": [0.031, 0.030, 0.036]},
            Cause.FADE,
        ),
        ({"latency_s": [0.03, 0.03, np.nan], "outcome": [0, 0, 1]}, Cause.CUT),
        ({"latency_s": [0.03, 0.03, np.nan], "outcome": [0, 0, 2]}, Cause.OFFLINE),
        ({"latency_s": [0.03, 0.03, np.nan], "outcome": [0, 0, 3]}, Cause.LOST),
        (
            {
                "upload_bits": [1e6, 1e6, 2e6],
                "attempts": [1, 1, 2],
                "lost_s": [0.0, 0.0, 0.02],
                "latency_s": [0.03, 0.03, 0.051],
            },
            Cause.LOST,
        ),
        (
            {
                "global_s": [0.003, 0.003, 0.013],
                "slowed_s": [0.0, 0.0, 0.01],
                "latency_s": [0.03, 0.03, 0.041],
            },
            Cause.SLOWED,
        ),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_the_cause_is_what_sets_it_apart(changes, cause):
    assert causes_of(LAST, columns(**changes)) == [cause]


def test_nobody_who_sends_and_nobody_who_arrives_is_no_trouble():
    silent = columns(upload_bits=[0.0] * 3, bandwidth_fraction=[0.0] * 3)
    assert causes_of(LAST, silent) != []
    cut = columns(latency_s=[np.nan] * 3, outcome=[OUTCOMES.index("cut")] * 3)
    assert causes_of(LAST, cut) == [Cause.CUT]
    assert saved_by_leaving_out(LAST, cut["latency_s"]).tolist() == [0.0]


def test_without_it_the_round_ends_with_the_next_to_last():
    latency_s = np.array([[1.0, 2.0, 5.0], [1.0, 4.0, 4.0], [7.0, 1.0, 3.0]])
    saved_s = saved_by_leaving_out(np.array([2, 1, 0]), latency_s)
    assert saved_s.tolist() == [3.0, 0.0, 4.0]


def test_one_device_alone_cannot_be_left_out():
    assert saved_by_leaving_out(np.array([0]), np.array([[2.0]])).tolist() == [0.0]


@pytest.fixture(scope="module")
def recording(tmp_path_factory):
    folder = tmp_path_factory.mktemp("run") / "out"
    fl.run("scenarios/quickstart.yaml", rounds=40, out=folder)
    return Recording.open(folder)


def test_the_board_counts_every_round_once(recording):
    last = recording.rounds["straggler"].to_numpy()
    board = straggler_board(last, recording.in_chunks(COLUMNS))
    assert sum(one.rounds for one in board) == 40
    for one in board:
        assert one.rounds == (last == one.device).sum()
    assert [one.rounds for one in board] == sorted((one.rounds for one in board), reverse=True)
    rows = recording.devices(["round", "device", "latency_s"]).to_pylist()
    saved_s = 0.0
    for number in range(40):
        latencies = sorted(row["latency_s"] for row in rows if row["round"] == number)
        saved_s += latencies[-1] - latencies[-2]
    assert sum(one.saved_s for one in board) == pytest.approx(saved_s)


def test_on_a_channel_that_stands_still_nobody_fades(tmp_path):
    fl.run("scenarios/frozen-channel.yaml", scheme="personalization", out=tmp_path / "out")
    recording = Recording.open(tmp_path / "out")
    last = recording.rounds["straggler"].to_numpy()
    (one,) = straggler_board(last, recording.in_chunks(COLUMNS))
    assert set(one.causes) <= {Cause.CHANNEL, Cause.CPU}
