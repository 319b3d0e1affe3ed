"""Intervals over runs: what they promise, and what the files hold."""

import numpy as np
import pyarrow.parquet as pq
import pytest

import fl
from fl.interval import unpaired_difference
from fl.study.arms import Arm, Plan
from fl.study.metrics import METRICS, measure
from fl.study.study import Study
from fl.study.tables import Row, comparisons_table, summary_table

DIFFERENCE = 0.3


def observed(seeds, rng):
    """Return a study whose runs are made up: two arms with a known difference.

    Runs of a seed share most of what they see, as on a common channel.
    """
    study = Study(name="made-up", base="cell.yaml", vary={"grid": {"late": ["wait", "drop"]}})
    arms = [
        Arm(name, name, {"late": name}, None, range(seeds), "wait") for name in ("wait", "drop")
    ]
    common = rng.normal(5, 2, seeds)
    rows = []
    for arm, shift in zip(arms, (0, DIFFERENCE), strict=True):
        own = rng.normal(0, 0.2, seeds)
        rows += [
            Row(arm, seed, dict.fromkeys(METRICS, float(common[seed] + own[seed] + shift)), 1, None)
            for seed in range(seeds)
        ]
    return Plan(study, arms), rows


def in_row(table, **wanted):
    (row,) = [
        row for row in table.to_pylist() if all(row[key] == value for key, value in wanted.items())
    ]
    return row


@pytest.mark.parametrize("seeds", [4, 10])
def test_paired_intervals_hold_the_difference_in_95_of_100_studies(seeds, monkeypatch):
    monkeypatch.setattr("fl.study.tables.METRICS", {"latency_mean_s": METRICS["latency_mean_s"]})
    monkeypatch.setattr(Arm, "si", lambda _arm, _key: None)
    rng = np.random.default_rng(5)
    hits, widths = 0, []
    for _ in range(1000):
        plan, rows = observed(seeds, rng)
        row = in_row(comparisons_table(plan, rows), arm="drop", metric="latency_mean_s")
        hits += row["difference_low"] <= DIFFERENCE <= row["difference_high"]
        widths.append(row["difference_high"] - row["difference_low"])
    # Of 1000 draws with 95 %, all but one in a thousand are within 3.3 deviations.
    assert abs(hits - 950) < 3.3 * np.sqrt(1000 * 0.95 * 0.05)
    # What runs of a seed have in common does not widen the interval: far below that of the arms.
    summary = summary_table(plan, rows)
    alone = in_row(summary, arm="drop")
    assert np.mean(widths) < 0.5 * (alone["latency_mean_s_high"] - alone["latency_mean_s_low"])


def test_unpaired_intervals_hold_the_difference_too():
    rng = np.random.default_rng(6)
    hits = 0
    for _ in range(2000):
        ours, others = rng.normal(1, 1, 8), rng.normal(0, 3, 5)
        found = unpaired_difference(ours.tolist(), others.tolist())
        hits += found.low <= 1 <= found.high
    assert abs(hits - 1900) < 60  # Welch's degrees of freedom are an approximation


def test_an_arm_with_a_failed_run_counts_the_others_and_pairs_only_those():
    plan, rows = observed(4, np.random.default_rng(1))
    failed = rows[1]
    rows[1] = Row(failed.arm, failed.seed, {}, None, "it broke")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Arm, "si", lambda _arm, _key: None)
        assert summary_table(plan, rows)["runs"].to_pylist() == [3, 4]
    row = in_row(comparisons_table(plan, rows), metric="accuracy")
    seeds = [0, 2, 3]
    expected = [rows[4 + s].numbers["accuracy"] - rows[s].numbers["accuracy"] for s in seeds]
    assert row["difference"] == pytest.approx(np.mean(expected))
    assert row["runs"] == 3


def test_metrics_are_what_the_tables_say(tmp_path):
    fl.run("scenarios/drop-late.yaml", rounds=40, out=tmp_path / "run")
    found = measure(tmp_path / "run").metrics
    rounds = pq.read_table(tmp_path / "run/rounds.parquet").to_pylist()
    devices = pq.read_table(tmp_path / "run/devices.parquet").to_pylist()
    latencies = sorted(row["latency_s"] for row in rounds)
    assert found["latency_mean_s"] == pytest.approx(sum(latencies) / 40)
    assert latencies[19] <= found["latency_p50_s"] <= latencies[20]
    assert latencies[38] <= found["latency_p99_s"] <= latencies[39]
    late = [not row["arrived"] or row["latency_s"] > 0.04 * (1 + 1e-9) for row in devices]
    assert found["uploads_missed"] == pytest.approx(sum(late) / 400)
    assert found["rounds_missed"] == pytest.approx(sum(r["deadline_missed"] for r in rounds) / 40)
    assert found["arrived"] == pytest.approx(sum(row["arrived"] for row in devices) / 400)
    assert found["sent_bits"] == pytest.approx(sum(row["upload_bits"] for row in devices) / 40)
    assert found["airtime_s"] == pytest.approx(sum(row["upload_s"] for row in devices) / 40)
    computing = [
        row[f"{p}_s"] for row in devices for p in ("personal", "warmup", "prune", "global")
    ]
    assert found["computing_s"] == pytest.approx(sum(computing) / 40)
    assert found["idle_s"] == pytest.approx(sum(row["wait_s"] for row in devices) / 40)
    gaps = [r["latency_s"] / r["predicted_latency_s"] - 1 for r in devices if r["arrived"]]
    assert found["prediction_gap"] == pytest.approx(np.median(gaps))
    assert found["simulated_s"] == rounds[-1]["end_s"]
    assert found["accuracy"] is None


def test_a_run_without_deadline_has_no_misses_and_a_still_channel_no_gap(tmp_path, paper_cell):
    fl.run(paper_cell, out=tmp_path / "run")
    found = measure(tmp_path / "run").metrics
    assert found["uploads_missed"] is None
    assert found["rounds_missed"] is None
    assert found["prediction_gap"] == 0.0


def test_times_to_an_accuracy(tmp_path, paper_cell):
    paper_cell |= {"model": {"name": "mlp", "hidden": [16]}, "rounds": 6}
    paper_cell["scheme"] = "fedavg"
    learning = {
        "dataset": "synthetic", "partition": {"by": "iid"}, "evaluate_every": 2,
        "learning_rate": {"personal": 0.1, "global": 0.1},
    }  # fmt: skip
    fl.run(paper_cell | {"learning": learning}, out=tmp_path / "run")
    measured = measure(tmp_path / "run")
    rows = [row for row in measured.rounds.to_pylist() if row["test_accuracy"] is not None]
    assert measured.metrics["accuracy"] == rows[-1]["test_accuracy"]
    best = max(row["test_accuracy"] for row in rows)
    first = next(row["end_s"] for row in rows if row["test_accuracy"] >= best)
    assert measured.seconds_to(best) == first
    assert measured.seconds_to(1.0 if best < 1 else 1.1) is None
