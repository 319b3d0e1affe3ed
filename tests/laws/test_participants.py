"""Where some of many devices take part in a round: who they are, and what becomes of them."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

import fl
from fl.participants import Participants
from fl.scenario import ScenarioError
from netsim.streams import Streams


@pytest.fixture
def fleet(paper_cell):
    """Forty devices, all different, of which seven take part."""
    paper_cell["devices"] |= {"count": 40, "cpu_frequency": {"uniform": ["1 GHz", "3 GHz"]}}
    paper_cell["uplink"]["channel"] = {"gain": {"uniform": ["-110 dB", "-90 dB"]}}
    return paper_cell | {"rounds": 6, "participants": 7}


def who(run):
    """Return who took part, [rounds, participants]."""
    return run.devices["device"].to_numpy().reshape(run.rounds.num_rows, -1)


@given(st.integers(1, 60), st.data(), st.integers(0, 2**32), st.integers(0, 10**6))
def test_a_round_has_so_many_different_devices_in_order(count, data, seed, round_):
    number = data.draw(st.integers(1, count))
    drawn = Participants(count, number, Streams(seed)).of(round_)
    assert len(drawn) == number
    assert (np.diff(drawn) > 0).all()
    assert drawn[0] >= 0
    assert drawn[-1] < count


def test_every_device_is_as_likely_as_any_other():
    count, number, rounds = 50, 7, 4000
    participants = Participants(count, number, Streams(3))
    times = np.bincount(
        np.concatenate([participants.of(r) for r in range(rounds)]), minlength=count
    )
    # Without replacement, counts vary less than a multinomial's by (K - N) / (K - 1).
    expected = rounds * number / count
    spread = ((times - expected) ** 2 / expected).sum() * (count - 1) / (count - number)
    assert 0.001 < stats.chi2.sf(spread, count - 1) < 0.999


def test_rounds_are_drawn_independently():
    participants = Participants(40, 20, Streams(5))
    taken = np.zeros((3000, 40), dtype=bool)
    for round_ in range(3000):
        taken[round_, participants.of(round_)] = True
    both = (taken[1:] & taken[:-1]).sum(axis=1)  # hypergeometric: mean 10, variance 40/3.9
    assert both.mean() == pytest.approx(10, abs=4 * math.sqrt(100 / 39 / 2999))


@pytest.mark.parametrize("late", ["wait", "drop"])
@pytest.mark.parametrize("scheme", ["proposed", "equal-resource-common", "fedavg"])
def test_all_of_them_are_all(fleet, scheme, late):
    fleet |= {"scheme": scheme, "deadline": "90 ms", "late": late}
    one, other = (fl.run(fleet, participants=participants) for participants in ("all", 40))
    assert one.rounds.equals(other.rounds)
    assert one.devices.equals(other.devices)
    assert one.events.equals(other.events)


def test_who_takes_part_depends_on_seed_and_round_alone(fleet):
    drawn = who(fl.run(fleet))
    others = [
        {"scheme": "proposed", "deadline": "90 ms"},
        {"scheme": "equal-resource", "deadline": "50 ms", "late": "drop"},
        {"uplink": {"release": "redistribute"}},
        {"csi_age": "10 ms"},
    ]
    for changes in others:
        assert (who(fl.run(fleet, **changes)) == drawn).all()
    assert (who(fl.run(fleet, rounds=3)) == drawn[:3]).all()
    assert (who(fl.run(fleet, seed=2)) != drawn).any()


@settings(max_examples=20, deadline=None)
@given(
    st.integers(1, 12),
    st.integers(0, 100),
    st.sampled_from(["equal-resource", "personalization", "pruning-only"]),
)
def test_on_a_frozen_channel_the_closed_form_emerges(number, seed, scheme):
    count = 12
    rng = np.random.default_rng(seed)
    ghz, gain_db = rng.uniform(0.5, 3, count), rng.uniform(-115, -85, count)
    run = fl.run(
        {
            "name": "frozen",
            "seed": seed,
            "rounds": 4,
            "participants": number,
            "scheme": scheme,
            "deadline": "120 ms",
            "devices": {
                "count": count,
                "cpu_frequency": [f"{f} GHz" for f in ghz],
                "cycles_per_weight": 20,
                "transmit_power": "28 dBm",
            },
            "uplink": {
                "bandwidth": "20 MHz",
                "noise_power": "-110 dBm",
                "channel": {"gain": [f"{g} dB" for g in gain_db]},
            },
            "model": {"personal_weights": 5_000, "global_weights": 40_000},
        }
    )
    for row in run.devices.to_pylist():
        shared = 45_000 if scheme == "pruning-only" else 40_000
        kept = round((1 - row["pruning_ratio"]) * shared)
        cycles = 20 * (45_000 - shared + kept + (shared if scheme != "personalization" else 0))
        rate = 20e6 / number * math.log2(1 + 10 ** ((28 + gain_db[row["device"]] + 110) / 10))
        expected = cycles / (ghz[row["device"]] * 1e9) + 32 * kept / rate
        assert row["bandwidth_fraction"] == 1 / number
        assert row["latency_s"] == pytest.approx(expected, rel=1e-9)
        assert row["latency_s"] == pytest.approx(row["predicted_latency_s"], rel=1e-9)
    slowest = run.devices["latency_s"].to_numpy().reshape(4, number)
    assert run.rounds["latency_s"].to_numpy() == pytest.approx(slowest.max(axis=1), rel=1e-12)
    last = who(run)[range(4), slowest.argmax(axis=1)]
    if scheme == "personalization":  # for the others, some of the slowest are equal
        assert run.rounds["straggler"].to_pylist() == last.tolist()


@pytest.mark.parametrize("release", ["hold", "redistribute"])
def test_a_device_does_in_a_seat_what_it_does_among_a_fleet_of_its_own(
    fleet, moving_trace, release
):
    """The round of some devices is the round of a fleet that has no others."""
    gains = np.random.default_rng(1).uniform(-110, -90, 40)
    ghz = np.random.default_rng(2).uniform(1, 3, 40)
    fleet["uplink"] |= {
        "release": release,
        "channel": {
            "trace": str(moving_trace),
            "at_end": "repeat",
            "devices": [k % 10 for k in range(40)],
        },
    }
    fleet["devices"] |= {
        "cpu_frequency": [f"{f} GHz" for f in ghz],
        "transmit_power": [f"{28 + g / 10} dBm" for g in gains],
    }
    fleet |= {"rounds": 1, "scheme": "proposed", "deadline": "300 ms"}
    run = fl.run(fleet)
    drawn = who(run)[0].tolist()
    alone = {**fleet, "participants": "all"}
    alone["devices"] = fleet["devices"] | {
        "count": 7,
        "cpu_frequency": [f"{ghz[k]} GHz" for k in drawn],
        "transmit_power": [f"{28 + gains[k] / 10} dBm" for k in drawn],
    }
    alone["uplink"] = fleet["uplink"] | {
        "channel": fleet["uplink"]["channel"] | {"devices": [k % 10 for k in drawn]}
    }
    own = fl.run(alone)
    for name in set(run.devices.column_names) - {"device"}:
        assert run.devices[name].equals(own.devices[name])
    numbers = dict(enumerate(drawn))
    assert run.events["device"].to_pylist() == [
        numbers[k] for k in own.events["device"].to_pylist()
    ]
    assert run.events["end_s"].equals(own.events["end_s"])


def test_a_rule_of_ones_own_is_told_who_takes_part(fleet):
    run = fl.run(fleet, allow_code=True, scheme={"bandwidth": "own_rules:ByNumber"})
    devices = who(run)
    shares = run.devices["bandwidth_fraction"].to_numpy().reshape(devices.shape)
    np.testing.assert_allclose(shares, (devices + 1) / (devices + 1).sum(axis=1, keepdims=True))


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"participants": 41}, "participants: must be at most devices.count, 40, got 41"),
        ({"participants": 0}, "participants: must be"),
        ({"participants": "some"}, "participants: must be a whole number >= 1, or all"),
        (
            {"scheme": {"bandwidth": [0.025] * 40}},
            "scheme.bandwidth: must be a rule, not a list, where participants are drawn: only 7 of",
        ),
    ],
)
def test_what_cannot_be_is_refused(fleet, changes, message):
    with pytest.raises(ScenarioError) as error:
        fl.run(fleet | changes)
    assert message in str(error.value)


def test_given_shares_are_fine_where_all_take_part(fleet):
    fl.run(fleet | {"participants": 40, "scheme": {"bandwidth": [0.025] * 40}, "rounds": 1})
