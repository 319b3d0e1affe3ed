import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fl.allocation import FixedNoise, Policy, Status
from fl.models import Cost
from fl.schemes import Scheme

TIMES = st.floats(1e-4, 1.0)


def cost(personal_s, warmup_s, global_s, bits=1000, weights=1000):
    """One device whose cycles are seconds."""
    return Cost(
        frequency_hz=np.array([1.0]),
        personal_cycles=np.array([personal_s]),
        warmup_cycles=np.array([warmup_s]),
        prune_cycles=np.array([0.0]),
        global_cycles_per_weight=np.array([global_s / weights]),
        bits_per_weight=bits // weights,
        global_weights=weights,
    )


def decide(cost_, deadline_s, rate_bps, *, count_warmup=True):
    scheme = Scheme(pruning="deadline")
    policy = Policy(scheme, cost_, FixedNoise, deadline_s, count_warmup=count_warmup)
    return policy.decide(0, np.array([rate_bps]))


@given(TIMES, TIMES, TIMES, st.floats(1.0, 1e6), st.floats(0.01, 5.0))
def test_theorem_2(personal_s, warmup_s, global_s, rate_bps, deadline_s):
    decision = decide(
        cost(personal_s, warmup_s, global_s), deadline_s, rate_bps, count_warmup=False
    )
    ratio = 1 - (deadline_s - personal_s) / (global_s + 1000 / rate_bps)
    expected = min(max(ratio, 0.0), 1.0)
    assert 1 - decision.kept[0] / 1000 == pytest.approx(expected, abs=1.01e-3)
    assert (decision.status[0] == Status.INFEASIBLE) == (personal_s > deadline_s)


@given(TIMES, TIMES, st.floats(1.0, 1e6), st.floats(1.0, 2.0), st.floats(0.01, 5.0))
def test_remark_2_better_devices_prune_less(personal_s, global_s, rate_bps, better, deadline_s):
    usual = decide(cost(personal_s, 0.0, global_s), deadline_s, rate_bps)
    faster = decide(cost(personal_s, 0.0, global_s), deadline_s, rate_bps * better)
    stronger = decide(cost(personal_s / better, 0.0, global_s / better), deadline_s, rate_bps)
    assert faster.kept[0] >= usual.kept[0]
    assert stronger.kept[0] >= usual.kept[0]


def test_a_device_without_a_rate_prunes_all_and_nothing_is_divided_by_zero():
    decision = decide(cost(0.01, 0.01, 0.01), 1.0, 0.0)
    assert decision.kept.tolist() == [0]
    assert decision.status.tolist() == [Status.SOLVED]


def test_shares_are_equal_or_as_given():
    for bandwidth, share in (("equal", 1.0), ((0.25,), 0.25)):
        scheme = Scheme(bandwidth=bandwidth)
        policy = Policy(scheme, cost(1, 1, 1), FixedNoise, None, count_warmup=True)
        assert policy.decide(0, np.array([1.0])).shares.tolist() == [share]
