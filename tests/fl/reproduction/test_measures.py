import numpy as np
import pytest

import fl
from fl.reproduction.measures import Curves, Measures
from fl.reproduction.plan import Arm
from fl.reproduction.runner import run_arms

SMALL = {
    "rounds": 5,
    "learning": {"dataset": "synthetic", "batch_size": 8, "evaluate_every": 2, "test_samples": 10},
}
ARMS = [
    Arm("calibrated", "personalization", "table-1.yaml", {"scheme": "personalization", "rounds": 100}, 2),
    Arm("moving", "proposed", "table-1-moving.yaml", {"rounds": 20}, 2),
    Arm("synthetic", "proposed", "figure-5.yaml", SMALL, 2),
]  # fmt: skip


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    made = tmp_path_factory.mktemp("runs")
    run_arms(ARMS, made, 2, lambda _progress: None)
    return made


@pytest.fixture(scope="module")
def measures(folder):
    return Measures(ARMS, folder)


def opened(folder, arm, seed):
    return fl.Run.open(folder / arm.folder(seed))


def test_every_draw_of_the_channel_counts_once_with_its_first_round(folder, measures):
    found = measures.latency("calibrated", "personalization")
    for seed, mean_ms in zip((1, 2), found.emergent_ms, strict=True):
        rounds = opened(folder, ARMS[0], seed).rounds.to_pylist()
        first = {}
        for row in rounds:
            first.setdefault(int(row["start_s"] / 0.5), row["latency_s"])
        assert 5 < len(first) < 20
        assert mean_ms == pytest.approx(1e3 * sum(first.values()) / len(first), rel=1e-12)


def test_on_a_moving_channel_every_round_counts(folder, measures):
    found = measures.latency("moving", "proposed")
    for index, seed in enumerate((1, 2)):
        run = opened(folder, ARMS[1], seed)
        assert found.emergent_ms[index] == pytest.approx(
            1e3 * np.mean(run.rounds["latency_s"].to_pylist()), rel=1e-12
        )
        predicted = np.array(run.devices["predicted_latency_s"].to_pylist()).reshape(20, 10)
        assert found.predicted_ms[index] == pytest.approx(1e3 * predicted.max(axis=1).mean())
        rows = run.devices.to_pylist()
        late = [row["latency_s"] > 0.025 * (1 + 1e-9) for row in rows if row["upload_bits"]]
        assert found.late[index] == np.mean(late)
        assert 0 < found.late[index] < 1
        missed = run.rounds["deadline_missed"].to_pylist()
        assert found.late_rounds[index] == np.mean(missed)


def test_curves_are_the_tests_of_each_seed(folder, measures):
    found = measures.curves("synthetic", "proposed")
    assert found.rounds.tolist() == [2, 4, 5]
    for index, seed in enumerate((1, 2)):
        rounds = opened(folder, ARMS[2], seed).rounds.to_pylist()
        tested = [row for row in rounds if row["test_accuracy"] is not None]
        for column, values in (
            ("test_accuracy", found.accuracy),
            ("test_loss", found.loss),
            ("end_s", found.time_s),
        ):
            assert values[index].tolist() == [row[column] for row in tested]
        sent = sum(row["uplink_bits"] for row in rounds) / 32 / 10 / 5
        assert found.sent_weights[index] == pytest.approx(sent)
    assert measures.largest_gap("synthetic", "proposed") < 1e-9  # within a draw nothing moves


def test_the_farthest_device_is_the_last(folder, measures):
    ratios, accuracies = measures.farthest("synthetic", "proposed")
    for index, seed in enumerate((1, 2)):
        rows = [r for r in opened(folder, ARMS[2], seed).devices.to_pylist() if r["device"] == 9]
        assert ratios[index] == pytest.approx(np.mean([row["pruning_ratio"] for row in rows]))
        assert accuracies[index] == rows[-1]["test_accuracy"]


def test_manifests_are_gathered_by_experiment(measures):
    found = measures.manifests()
    assert {name: [one["seed"] for one in made] for name, made in found.items()} == {
        "calibrated": [1, 2],
        "moving": [1, 2],
        "synthetic": [1, 2],
    }
    assert found["synthetic"][0]["rounds"] == 5
    assert "torch" in found["synthetic"][0]["versions"]


def curves(accuracy):
    accuracy = np.array(accuracy)
    rounds = np.arange(1, accuracy.shape[1] + 1) * 3
    time_s = np.tile(rounds * 0.1, (len(accuracy), 1))
    return Curves(rounds, time_s, accuracy, 1 - accuracy, [], [], [])


def test_the_end_is_the_last_quarter_of_the_tests():
    found = curves([[0.0] * 6 + [0.5, 0.7], [1.0] * 8])
    assert found.last_accuracy == pytest.approx([0.6, 1.0])
    assert found.last_loss == pytest.approx([0.4, 0.0])


def test_when_an_accuracy_was_first_reached():
    found = curves([[0.5, 0.9, 0.8, 0.95], [0.95, 0.2, 0.2, 0.2]])
    assert found.seconds_to(0.9) == pytest.approx([0.6, 0.3])
    assert curves([[0.5, 0.9], [0.1, 0.2]]).seconds_to(0.9) is None


def test_a_run_has_converged_when_it_is_near_its_own_end():
    found = curves([[0.1, 0.5, 0.6, 0.6], [0.1, 0.2, 0.89, 0.9]])
    assert found.rounds_to_converge == [9.0, 9.0]


def test_seeds_are_compared_at_the_same_time():
    found = curves([[0.0, 1.0], [0.0, 1.0]])
    late = Curves(
        found.rounds, found.time_s * [[1.0], [2.0]], found.accuracy, found.loss, [], [], []
    )
    times_s, values = late.over_time(late.accuracy)
    assert (times_s[0], times_s[-1]) == pytest.approx((0.6, 0.6))  # all that both have
    assert values[:, 0] == pytest.approx([1.0, 0.0])
