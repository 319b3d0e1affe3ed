import pytest

import fl
from fl.scenario import ScenarioError, load_scenario

ALWAYS = {"from": "0 s", "until": "1 h"}


def refused(faults):
    with pytest.raises(ScenarioError) as refusal:
        load_scenario("scenarios/quickstart.yaml", overrides={"faults": faults})
    return str(refusal.value)


def scheduled(**entry):
    return {"schedule": [{"fault": "lost", "from": "1 s", "until": "2 s"} | entry]}


@pytest.mark.parametrize(
    ("faults", "message"),
    [
        ({"offline": {"probability": 2}}, "faults.offline.probability: must be <= 1, got 2"),
        ({"offline": {"probability": -0.1}}, "faults.offline.probability: must be >= 0"),
        ({"offline": {"probability": [0.1, 0.2]}}, "must have one value for each of 10 devices, has 2"),
        ({"offline": {}}, "faults.offline.probability: is missing"),
        ({"lost": {"probability": "often"}}, "faults.lost.probability: must be a number"),
        ({"lost": {"retries": -1}}, "faults.lost.retries: must be >= 0, got -1"),
        ({"lost": {"pause": 5}}, "faults.lost.pause: must carry its unit"),
        ({"slow": {"probability": 0.1}}, "faults.slow.factor: is missing"),
        ({"slow": {"probability": 0.1, "factor": 0.5}}, "faults.slow.factor: must be >= 1, got 0.5"),
        ({"offlin": {}}, "faults.offlin: unknown key; did you mean offline?"),
        (scheduled(fault="off"), "faults.schedule.0.fault: must be 'offline', 'lost' or 'slow'"),
        (scheduled(until="1 s"), "faults.schedule.0.until: must be after from, 1 s"),
        (scheduled(fault="slow"), "faults.schedule.0.factor: is missing; fault: slow needs it"),
        (scheduled(factor=2), "faults.schedule.0.factor: belongs to fault: slow, not to lost"),
        (scheduled(devices=10), "faults.schedule.0.devices: must be below devices.count, 10, got 10"),
        (scheduled(devices=-1), "faults.schedule.0.devices: must be >= 0, got -1"),
        (scheduled(devices="some"), "must be the number of a device, a list of them, or all"),
        (scheduled(devices=[]), "faults.schedule.0.devices: must not be an empty list"),
    ],
)  # fmt: skip
def test_what_is_wrong_with_faults_is_told(faults, message):
    assert message in refused(faults)


@pytest.mark.parametrize("who", [1, [3, 1], "all"])
@pytest.mark.parametrize("other", [1, [0, 1], "all"])
def test_two_slownesses_at_a_time_are_refused(who, other):
    entries = [
        {"fault": "slow", "factor": 2, "devices": who, "from": "1 s", "until": "2 s"},
        {"fault": "slow", "factor": 3, "devices": other, "from": "1.5 s", "until": "3 s"},
    ]
    assert "schedule.1: a device must not be slow twice" in refused({"schedule": entries})
    entries[1]["from"] = "2 s"
    load_scenario("scenarios/quickstart.yaml", overrides={"faults": {"schedule": entries}})


@pytest.fixture
def fedavg(learning_cell):
    """Nothing is pruned or personal, and everybody has the time it needs."""
    return learning_cell | {
        "scheme": "fedavg",
        "model": {"name": "mlp", "hidden": [8]},
        "late": "wait",
        "rounds": 3,
    }


def learnt(run, device, name="test_loss"):
    return [row[name] for row in run.devices.to_pylist() if row["device"] == device]


def test_an_upload_that_is_lost_and_a_device_that_is_offline_count_alike_for_the_mean(fedavg):
    offline, lost = (
        fl.run(fedavg, faults={"schedule": [{"fault": fault, "devices": 2} | ALWAYS]})
        for fault in ("offline", "lost")
    )
    unharmed = fl.run(fedavg)
    assert learnt(offline, 0) == learnt(lost, 0)
    assert learnt(offline, 0) != learnt(unharmed, 0)
    assert offline.rounds["arrived"].to_pylist() == [4, 4, 4]
    # Who is offline learns nothing; who has lost its upload has trained.
    assert learnt(offline, 2, "train_loss") == [None] * 3
    assert None not in learnt(lost, 2, "train_loss")


def test_who_drops_out_before_the_end_of_its_personal_update_keeps_its_old_one(learning_cell):
    always = {"schedule": [{"fault": "offline", "devices": 1} | ALWAYS]}
    cell = learning_cell | {"late": "wait", "scheme": {"split": "conv", "pruning": "none"}}
    alone = {"schedule": [{"fault": "offline", "devices": [0, 2, 3, 4]} | ALWAYS]}
    without = fl.run(cell, allow_code=True, faults=always, rounds=2)
    assert [row["outcome"] for row in without.devices.to_pylist()[:2]] == ["arrived", "offline"]
    # With the same global part, what its personal part gives does not depend on the others.
    nobody = fl.run(
        cell, allow_code=True, rounds=2, faults={"schedule": [{"fault": "lost"} | ALWAYS]}
    )
    only_it = fl.run(
        cell,
        allow_code=True,
        rounds=2,
        faults={"schedule": [*alone["schedule"], {"fault": "lost"} | ALWAYS]},
    )
    assert learnt(nobody, 1) == learnt(only_it, 1)
    assert learnt(without, 1) != learnt(nobody, 1)


def test_who_is_through_to_the_base_station_stays_through(paper_cell):
    upload_ends_s = fl.run(paper_cell).devices["latency_s"][0].as_py()
    paper_cell["network"] = {"backhaul": [{"latency": "50 ms"}]}
    outage = {"fault": "offline", "devices": 0, "until": "1 h", "from": f"{upload_ends_s + 0.01} s"}
    run = fl.run(paper_cell, faults={"schedule": [outage]})
    outcomes = [row["outcome"] for row in run.devices.to_pylist() if row["device"] == 0]
    assert outcomes == ["arrived", "offline"]


def test_a_device_that_never_gets_through_ends_when_it_goes_offline(paper_cell):
    paper_cell["scheme"] = {"pruning": "none", "bandwidth": [0.0] + [0.1] * 9}
    outage = {"fault": "offline", "devices": 0, "from": "2 s", "until": "1 h"}
    run = fl.run(paper_cell, faults={"schedule": [outage]}, rounds=2)
    assert run.rounds["latency_s"][0].as_py() == pytest.approx(2.0)
    assert run.rounds["arrived"].to_pylist() == [9, 9]


def test_participants_have_the_faults_of_their_own_number(paper_cell):
    paper_cell["devices"]["count"] = 20
    schedule = [{"fault": "offline", "devices": [3, 7]} | ALWAYS]
    run = fl.run(paper_cell, participants=8, rounds=30, faults={"schedule": schedule})
    for row in run.devices.to_pylist():
        assert (row["outcome"] == "offline") == (row["device"] in (3, 7))
