"""What goes wrong, on a channel that stands still: when, how often, and what it costs."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import fl

WEIGHTS, BITS_PER_WEIGHT, CYCLES = 100_000, 32, 20.0
BITS = WEIGHTS * BITS_PER_WEIGHT
PHASES = ("broadcast", "personal", "warmup", "prune", "global", "lost", "upload", "backhaul")


def cell(faults=None, count=4, rounds=40, **overrides):
    """Equal devices at 25 dB, a quarter of the band each: 20 ms of computing, 96 ms of sending."""
    return {
        "name": "faulty",
        "rounds": rounds,
        "scheme": {"split": "conv", "pruning": "none", "bandwidth": "equal"},
        "devices": {"count": count, "cpu_frequency": "100 MHz", "cycles_per_weight": CYCLES,
                    "transmit_power": "0 dBm"},
        "uplink": {"bandwidth": "16 MHz", "noise_power": "-100 dBm", "channel": {"gain": "-75 dB"}},
        "model": {"personal_weights": 0, "global_weights": WEIGHTS},
        "faults": faults,
    } | overrides  # fmt: skip


def columns(run, *names):
    shape = (run.rounds.num_rows, -1)
    return [np.asarray(run.devices[name].to_pylist()).reshape(shape) for name in names]


COMPUTING_S = CYCLES * WEIGHTS / 1e8
RATE_BPS = 16e6 * math.log2(1 + 10 ** ((0 - 30 - 75 + 100 + 30) / 10))


def sending_s(count=4):
    return BITS / (RATE_BPS / count)


def test_faults_that_never_come_change_no_bit():
    never = {
        "offline": {"probability": 0},
        "lost": {"probability": 0, "retries": 2, "pause": "1 ms"},
        "slow": {"probability": 0, "factor": 4},
        "schedule": [{"fault": "offline", "from": "1 h", "until": "2 h"}],
    }
    with_faults, without = fl.run(cell(never)), fl.run(cell())
    assert with_faults.rounds.equals(without.rounds)
    assert with_faults.devices.equals(without.devices)
    assert with_faults.events.equals(without.events)


@settings(max_examples=30, deadline=None)
@given(st.integers(0, 2**32), st.floats(0, 0.9), st.integers(0, 4), st.floats(0, 0.1))
def test_what_is_sent_again_takes_its_time_again(seed, probability, retries, pause_s):
    lost = {"probability": probability, "retries": retries, "pause": f"{pause_s} s"}
    run = fl.run(cell({"lost": lost}, rounds=10, seed=seed))
    attempts, arrived, lost_s, upload_s, bits, outcome = columns(
        run, "attempts", "arrived", "lost_s", "upload_s", "upload_bits", "outcome"
    )
    assert ((attempts >= 1) & (attempts <= retries + 1)).all()
    assert ((outcome == "lost") == ~arrived).all()
    assert (attempts[~arrived] == retries + 1).all()
    assert (bits == attempts * BITS).all()
    in_vain = np.where(arrived, attempts - 1, attempts)
    paused = attempts - 1
    expected_s = in_vain * sending_s() + paused * pause_s
    np.testing.assert_allclose(lost_s, expected_s, rtol=1e-9)
    np.testing.assert_allclose(upload_s, np.where(arrived, sending_s(), 0.0), rtol=1e-9)
    # The server waits until the last has arrived, or has given up.
    longest_s = COMPUTING_S + (expected_s + np.where(arrived, sending_s(), 0.0)).max(axis=1)
    np.testing.assert_allclose(run.rounds["latency_s"], longest_s, rtol=1e-9)


def test_losses_are_geometric():
    run = fl.run(cell({"lost": {"probability": 0.3, "retries": 50}}, count=50, rounds=100))
    (attempts,) = columns(run, "attempts")
    n = attempts.size
    for number in range(1, 5):
        expected = 0.3 ** (number - 1) * 0.7
        share = (attempts == number).mean()
        assert share == pytest.approx(expected, abs=4 * math.sqrt(expected * (1 - expected) / n))


@pytest.mark.parametrize("probability", [0.0, 1.0])
def test_what_is_certain_is_certain(probability):
    faults = {
        "lost": {"probability": probability},
        "slow": {"probability": probability, "factor": 2},
    }
    run = fl.run(cell(faults, rounds=3))
    arrived, attempts, slowed_s = columns(run, "arrived", "attempts", "slowed_s")
    assert (arrived == (probability == 0)).all()
    assert (attempts == (1 if probability == 0 else 4)).all()
    np.testing.assert_allclose(slowed_s, COMPUTING_S * probability, rtol=1e-9)


def test_a_slow_processor_takes_longer_and_only_that():
    slow = {"probability": 0.25, "factor": {"uniform": [2, 5]}}
    run = fl.run(cell({"slow": slow}, count=40, rounds=100))
    global_s, slowed_s, latency_s = columns(run, "global_s", "slowed_s", "latency_s")
    hit = slowed_s > 0
    n = hit.size
    assert hit.mean() == pytest.approx(0.25, abs=4 * math.sqrt(0.25 * 0.75 / n))
    np.testing.assert_allclose(global_s - slowed_s, COMPUTING_S, rtol=1e-9)
    np.testing.assert_allclose(latency_s, global_s + sending_s(40), rtol=1e-9)
    factors = global_s / COMPUTING_S
    assert ((factors[hit] > 2) & (factors[hit] < 5)).all()
    for device in range(40):  # its own, whenever it is slow
        assert np.ptp(factors[hit[:, device], device]) < 1e-9
    in_events = run.events.filter([phase == "global" for phase in run.events["phase"].to_pylist()])[
        "slowed_s"
    ].to_numpy()
    np.testing.assert_array_equal(in_events, slowed_s.ravel())


def test_who_goes_offline_by_chance_does_so_at_any_moment_and_is_back_in_the_next_round():
    run = fl.run(cell({"offline": {"probability": 0.2}}, count=50, rounds=100))
    outcome, offline_s, bits, upload_s = columns(
        run, "outcome", "offline_s", "upload_bits", "upload_s"
    )
    gone, n = outcome == "offline", outcome.size
    assert gone.mean() == pytest.approx(0.2, abs=4 * math.sqrt(0.2 * 0.8 / n))
    went_after_s = run.rounds["latency_s"].to_numpy()[:, None] - offline_s
    # Uniform over the round that was predicted for it (a Kolmogorov-Smirnov bound).
    moments = np.sort(went_after_s[gone]) / (COMPUTING_S + sending_s(50))
    apart = np.abs(moments - (np.arange(gone.sum()) + 0.5) / gone.sum()).max()
    assert apart < 1.95 / math.sqrt(gone.sum())
    # What it has sent by then is what the rate carries.
    np.testing.assert_allclose(bits[gone], upload_s[gone] * RATE_BPS / 50, rtol=1e-9, atol=1)
    independent = (gone[1:] & gone[:-1]).mean()
    assert independent == pytest.approx(0.04, abs=4 * math.sqrt(0.04 / n))


def test_a_device_keeps_its_faults_when_others_join():
    faults = {"lost": {"probability": 0.3}, "offline": {"probability": 0.2},
              "slow": {"probability": 0.3, "factor": 2}}  # fmt: skip
    few, many = (fl.run(cell(faults, count=count)) for count in (4, 9))
    for name in ("outcome", "slowed_s"):
        (a,), (b,) = columns(few, name), columns(many, name)
        np.testing.assert_array_equal(a > 0 if name == "slowed_s" else a, (b > 0 if name == "slowed_s" else b)[:, :4])  # fmt: skip


spans = st.tuples(st.integers(0, 30), st.integers(1, 15)).map(
    lambda pair: (pair[0] / 20, (pair[0] + pair[1]) / 20)
)


@settings(max_examples=40, deadline=None)
@given(
    st.lists(st.tuples(st.sampled_from([0, 1, 2, "all"]), spans), min_size=1, max_size=6),
    st.sampled_from(["wait", "drop"]),
    st.sampled_from(["hold", "redistribute"]),
    st.sampled_from(["0 s", "30 ms"]),
)
def test_nobody_does_anything_in_an_outage(outages, late, release, broadcast):
    schedule = [
        {"fault": "offline", "devices": who, "from": f"{a} s", "until": f"{b} s"}
        for who, (a, b) in outages
    ]
    scenario = cell({"schedule": schedule}, rounds=15, count=3, late=late, deadline="90 ms")
    scenario["uplink"]["release"] = release
    scenario["network"] = {"broadcast": broadcast}
    run = fl.run(scenario)
    rows = run.events.to_pylist()
    for who, (from_s, until_s) in outages:
        for row in rows:
            # Who has arrived before may wait until the round is over; the broadcast is the server's.
            idle = row["phase"] in ("offline", "wait", "broadcast")
            if row["device"] == who or who == "all":
                overlap_s = min(row["end_s"], until_s) - max(row["start_s"], from_s)
                assert idle or overlap_s <= 1e-9, row
    start_s, end_s, latency_s = (
        run.rounds[name].to_numpy() for name in ("start_s", "end_s", "latency_s")
    )
    np.testing.assert_array_equal(start_s[1:], end_s[:-1])
    np.testing.assert_allclose(end_s - start_s, latency_s, rtol=2e-9)
    assert (latency_s > 0).all()
    phases = np.sum(columns(run, *(f"{p}_s" for p in (*PHASES, "offline", "wait"))), axis=0)
    np.testing.assert_allclose(phases, np.broadcast_to(latency_s[:, None], phases.shape), rtol=2e-9)


def test_an_outage_of_all_is_one_round_that_lasts_until_the_first_is_back():
    schedule = [
        {"fault": "offline", "devices": 0, "from": "0 s", "until": "5 s"},
        {"fault": "offline", "devices": [1, 2, 3], "from": "0 s", "until": "4 s"},
    ]
    run = fl.run(cell({"schedule": schedule}, rounds=2))
    assert run.rounds["latency_s"][0].as_py() == 4.0
    assert run.rounds["arrived"].to_pylist() == [0, 3]


def test_scheduled_losses_are_those_of_uploads_that_end_meanwhile():
    ends_s = COMPUTING_S + sending_s()
    schedule = [{"fault": "lost", "devices": 2, "from": "0 s", "until": f"{ends_s * 1.5} s"}]
    run = fl.run(cell({"schedule": schedule}, rounds=2))
    attempts, outcome = columns(run, "attempts", "outcome")
    assert attempts.tolist() == [[1, 1, 2, 1], [1, 1, 1, 1]]
    assert (outcome == "arrived").all()
    latency_s = run.rounds["latency_s"].to_numpy()
    np.testing.assert_allclose(latency_s, [ends_s + sending_s(), ends_s], rtol=1e-9)


def test_a_scheduled_slowness_stretches_the_part_of_the_work_that_it_meets():
    schedule = [{"fault": "slow", "devices": 1, "factor": 4, "from": "5 ms", "until": "13 ms"}]
    run = fl.run(cell({"schedule": schedule}, rounds=1))
    (global_s,) = columns(run, "global_s")
    assert global_s[0].tolist() == pytest.approx([0.02, 0.026, 0.02, 0.02])


class Sharing:
    """The band of a round, worked out step by step: who sends has its share, and of what is free."""

    def __init__(self, shares, bits, begin_s, losses, gone_s):
        self.left = dict(enumerate(bits))
        self.shares, self.bits, self.begin_s = shares, bits, begin_s
        self.losses, self.gone_s = list(losses), gone_s
        self.sent = [0.0] * len(bits)
        self.finished, self.out, self.ends_s = set(), set(), {}

    def run(self, rate_bps):
        now = 0.0
        while self.left:
            senders = [d for d in self.left if self.begin_s[d] <= now]
            # The share of who went while sending stays with the senders' sum, and lies idle.
            sending = sum(self.shares[d] for d in senders) + sum(self.shares[d] for d in self.out)
            free = sum(self.shares[d] for d in self.finished)
            times = [t for d, t in enumerate(self.begin_s) if t > now and d in self.left]
            times += [t for d, t in enumerate(self.gone_s) if t > now and d in self.left]
            speed = {d: self.shares[d] * (1 + free / sending) * rate_bps for d in senders}
            times += [now + self.left[d] / speed[d] for d in senders]
            after = min(times)
            for d in senders:
                self.sent[d] += speed[d] * (after - now)
                self.left[d] -= speed[d] * (after - now)
            now = after
            self._settle(now, senders)
        return self

    def _settle(self, now, senders):
        for d in list(self.left):
            if d in senders and self.left[d] < 1e-6:
                self.ends_s[d] = now
                if self.losses[d]:
                    self.losses[d] -= 1
                    self.left[d] = self.bits[d]
                else:
                    self.finished.add(d)
                    del self.left[d]
            elif abs(self.gone_s[d] - now) < 1e-12:
                if d in senders:
                    self.out.add(d)
                del self.left[d]


@settings(max_examples=60, deadline=None)
@given(
    st.lists(
        st.tuples(
            st.floats(0.5, 3), st.integers(0, 2), st.one_of(st.none(), st.floats(0.011, 0.4))
        ),
        min_size=2,
        max_size=5,
    )
)
def test_shares_are_given_on_and_taken_back_as_an_account_of_the_band_says(devices):
    """Losses are scheduled by making them certain up to a time; here they are drawn by hand."""
    speeds, losses, gone_s = zip(*devices, strict=True)
    count = len(devices)
    begin_s = [COMPUTING_S / speed for speed in speeds]
    gone = [math.inf if moment is None else moment for moment in gone_s]
    expected = Sharing([1 / count] * count, [BITS] * count, begin_s, losses, gone).run(RATE_BPS)
    schedule = [
        {"fault": "offline", "devices": d, "from": f"{moment!r} s", "until": "1 h"}
        for d, moment in enumerate(gone_s)
        if moment is not None
    ]
    scenario = cell({"schedule": schedule, "lost": {"retries": 9}}, count=count, rounds=1)
    scenario["uplink"]["release"] = "redistribute"
    scenario["devices"]["cpu_frequency"] = [f"{speed * 100} MHz" for speed in speeds]
    run = _with_losses(scenario, losses)
    sent, arrived, offline = columns(run, "upload_bits", "arrived", "outcome")
    np.testing.assert_allclose(sent[0], expected.sent, rtol=1e-6, atol=2)
    assert set(np.flatnonzero(arrived[0])) == expected.finished
    for device in expected.finished:
        (latency_s,) = columns(run, "latency_s")
        assert latency_s[0, device] == pytest.approx(expected.ends_s[device], rel=1e-9)
    assert set(np.flatnonzero(offline[0] == "offline")) == set(range(count)) - expected.finished


def _with_losses(scenario, losses):
    """Run with so many losses of each device."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(
            "fl.faults.Misfortune._drawn_losses", lambda _self, _round, who: np.array(losses)[who]
        )
        return fl.run(scenario)
