"""Verdicts follow from the numbers: with numbers made up to hold, not to hold, or to tell nothing."""

import numpy as np
import pytest

from fl.interval import Interval
from fl.reproduction.claims import (
    Check,
    Claim,
    Finding,
    Verdict,
    about,
    alternating_claim,
    deadline_claim,
    falls,
    pruning_claims,
    rises,
    scheme_claims,
    table_1_claims,
)
from fl.reproduction.measures import Curves, Latency
from fl.reproduction.plan import EACH, QUICK
from fl.reproduction.published import TABLE_1

YES, NO, OPEN = Finding.YES, Finding.NO, Finding.UNDECIDED


@pytest.mark.parametrize(
    ("check", "finding"),
    [
        (rises("x", Interval(2.0, 1.0)), YES),
        (rises("x", Interval(2.0, 2.5)), OPEN),
        (rises("x", Interval(-2.0, 1.0)), NO),
        (rises("x", Interval(0.0, 0.0)), OPEN),  # a tie tells nothing
        (rises("x", Interval(2.0, np.inf)), OPEN),
        (falls("x", Interval(-2.0, 1.0)), YES),
        (falls("x", Interval(2.0, 1.0)), NO),
        (about("x", Interval(50.0, 3.0), 50.0, 10.0), YES),
        (about("x", Interval(55.0, 6.0), 50.0, 10.0), OPEN),
        (about("x", Interval(70.0, 3.0), 50.0, 10.0), NO),
    ],
)
def test_the_whole_interval_has_to_be_where_the_claim_says(check, finding):
    assert check.finding is finding


@pytest.mark.parametrize(
    ("findings", "verdict"),
    [
        ([YES, YES], Verdict.HOLDS),
        ([YES, OPEN], Verdict.PARTLY),
        ([YES, NO], Verdict.PARTLY),
        ([OPEN, NO], Verdict.NOT),
        ([NO], Verdict.NOT),
        ([OPEN, OPEN], Verdict.UNDECIDED),
    ],
)
def test_a_claim_holds_as_far_as_its_parts_do(findings, verdict):
    made = {YES: Interval(1.0, 0.5), OPEN: Interval(1.0, 2.0), NO: Interval(-1.0, 0.5)}
    checks = tuple(Check("x", made[finding], 0.0, float("inf")) for finding in findings)
    assert Claim("Fig. 0", "something", "", checks).verdict is verdict


def latency(*means_ms):
    ms, fractions = list(means_ms), [0.5] * len(means_ms)
    return Latency(ms, ms, ms, ms, fractions, fractions, fractions)


def rows(latencies_ms, spread=0.001):
    """All readings, those with a ratio each at the deadline."""
    found = {
        name: latency(ms, ms * (1 + spread), ms * (1 - spread)) for name, ms in latencies_ms.items()
    }
    each = {name + EACH: latency(25.0, 25.0, 25.0) for name in ("equal-resource", "pruning-only")}
    return found | each


PAPER = {name: row.latency_ms for name, row in TABLE_1.items()}


def test_table_1_itself_makes_its_claims_hold():
    stated = {name: latency(ms * 3) for name, ms in PAPER.items()}
    order, order_each, calibrated, as_stated, saved = table_1_claims(rows(PAPER), stated)
    assert order.verdict is calibrated.verdict is saved.verdict is Verdict.HOLDS
    assert [check.finding for check in order_each.checks] == [OPEN, OPEN, YES]  # 25, 25, 25, 55
    assert as_stated.verdict is Verdict.NOT  # though it is one run only: nothing is drawn in it


def test_rows_in_another_order_are_noticed():
    swapped = dict(zip(TABLE_1, (25.0, 45.0, 38.0, 55.0), strict=True))
    order, _, calibrated, *_ = table_1_claims(rows(swapped), {n: latency(25.0) for n in TABLE_1})
    assert [check.finding for check in order.checks] == [YES, NO, YES]
    assert calibrated.verdict is Verdict.PARTLY


def curves(accuracy, loss, *, sent=200.0, ratio=0.5, converged=10):
    """Three seeds that differ a little, tested in rounds 1 to 20."""
    rounds = np.arange(1, 21)
    seeds = np.array([[-0.001], [0.0], [0.001]])
    return Curves(
        rounds=rounds,
        time_s=np.tile(rounds * 0.025, (3, 1)),
        accuracy=np.where(rounds >= converged, accuracy, accuracy - 0.2) + seeds,
        loss=np.full((3, 20), loss) + seeds,
        sent_weights=[sent] * 3,
        pruning_ratio=[ratio] * 3,
        latency_ms=[25.0] * 3,
    )


def schemes(**changes):
    usual = {
        "proposed": curves(0.95, 0.2, sent=200.0),
        "equal-resource": curves(0.93, 0.3),
        "equal-resource-each": curves(0.93, 0.3),
        "pruning-only": curves(0.80, 0.6),
        "personalization": curves(0.953, 0.19, sent=400.0),
    }
    return {claim.says: claim for claim in scheme_claims(usual | changes)}


def test_figure_5_as_the_paper_draws_it_holds():
    assert {claim.verdict for claim in schemes().values()} == {Verdict.HOLDS}


def test_figure_5_otherwise_does_not():
    found = schemes(proposed=curves(0.90, 0.25, sent=330.0))
    verdicts = [claim.verdict for claim in found.values()]
    # Better in loss and worse in accuracy; better than pruning only; neither close nor half.
    assert verdicts == [Verdict.PARTLY] * 2 + [Verdict.HOLDS] + [Verdict.NOT] * 2


def test_alternating_has_to_end_higher():
    better, worse = curves(0.95, 0.2), curves(0.94, 0.2)
    assert alternating_claim(better, worse).verdict is Verdict.HOLDS
    assert alternating_claim(worse, better).verdict is Verdict.NOT


def test_later_deadlines_have_to_help():
    arms = [
        curves(0.91 + 0.01 * i, 0.3 - 0.02 * i, ratio=0.8 - 0.15 * i, converged=12 - 2 * i)
        for i in range(4)
    ]
    assert deadline_claim(arms).verdict is Verdict.HOLDS
    assert deadline_claim(arms[::-1]).verdict is Verdict.NOT


class MadeUp:
    """What `pruning_claims` asks for, from a rule."""

    def __init__(self, harm):
        self._harm = harm

    def curves(self, _dataset, name):
        ratio = 0.0 if name == "personalization" else float(name.removeprefix("ratio-"))
        harm = self._harm(ratio)
        return curves(0.95 - 0.03 * harm, 0.2 * (1 + harm), converged=5 + round(10 * harm))


@pytest.mark.parametrize(
    ("harm", "verdict"),
    [
        (lambda ratio: ratio, Verdict.HOLDS),
        (lambda _ratio: 0.0, Verdict.UNDECIDED),
        (lambda ratio: -ratio / 5, Verdict.NOT),
        (lambda ratio: 10 * (ratio - 0.4) ** 2, Verdict.PARTLY),  # a little of it helps
    ],
)
def test_pruning_has_to_harm_all_the_way(harm, verdict):
    for claim in pruning_claims(MadeUp(harm), QUICK):
        assert len(claim.checks) == 5
        assert claim.verdict is verdict
