"""What the paper claims, each with a verdict computed from the runs.

A claim has checks. A check is a number with its interval, and what the claim says of it; the
interval decides whether the runs say so, say the contrary, or cannot tell.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from itertools import pairwise

from fl.reproduction.interval import Interval, difference, interval, slope
from fl.reproduction.measures import Curves, Latency, Measures
from fl.reproduction.plan import COMPARED, DATASETS, READINGS, Size, deadline_name, ratio_name
from fl.reproduction.published import DEADLINES_MS, FRACTION_SENT, TABLE_1

#: The accuracy at which a run counts as converged.
CONVERGED = 0.9
#: "Close to" in accuracy: within so many percentage points.
CLOSE = 1.0
#: "About half": within so many percent of the whole.
ABOUT = 10.0
#: A row of Table I is met if it is no further off than this.
ROW = 0.05


class Finding(StrEnum):
    """What the runs say of a check."""

    YES = "yes"
    UNDECIDED = "undecided"
    NO = "no"


class Verdict(StrEnum):
    """What the runs say of a claim."""

    HOLDS = "holds"
    PARTLY = "holds partly"
    NOT = "does not hold"
    UNDECIDED = "undecided"


@dataclass(frozen=True)
class Check:
    """A number that a claim says something of."""

    what: str
    found: Interval
    low: float
    """The claim says that the number is above this,"""
    high: float
    """and below this."""
    unit: str = ""

    @property
    def finding(self) -> Finding:
        """Whether all of the interval is where the claim says, none of it, or some."""
        if self.low < self.found.low and self.found.high < self.high:
            return Finding.YES
        if self.found.high <= self.low or self.high <= self.found.low:
            return Finding.NO
        return Finding.UNDECIDED


@dataclass(frozen=True)
class Claim:
    """A sentence of the paper, and what it comes to in numbers."""

    where: str
    says: str
    why: str
    """What decides it."""
    checks: tuple[Check, ...]

    @property
    def verdict(self) -> Verdict:
        """It holds if every check does, partly if some do; else it does not, or nobody can tell."""
        found = {check.finding for check in self.checks}
        if Finding.YES in found:
            return Verdict.HOLDS if len(found) == 1 else Verdict.PARTLY
        return Verdict.NOT if Finding.NO in found else Verdict.UNDECIDED


def rises(what: str, found: Interval, unit: str = "") -> Check:
    """Return a check that says: more than nothing."""
    return Check(what, found, 0.0, float("inf"), unit)


def falls(what: str, found: Interval, unit: str = "") -> Check:
    """Return a check that says: less than nothing."""
    return Check(what, found, -float("inf"), 0.0, unit)


def about(what: str, found: Interval, value: float, off: float, unit: str = "") -> Check:
    """Return a check that says: near *value*."""
    return Check(what, found, value - off, value + off, unit)


def claims(measures: Measures, size: Size) -> list[Claim]:
    """Return what the paper claims of its experiments, as far as runs can tell."""
    calibrated, stated = (
        {name: measures.latency(experiment, name) for name in READINGS}
        for experiment in ("calibrated", "stated")
    )
    schemes = {name: measures.curves("fashion-mnist", name) for name in COMPARED}
    return [
        *table_1_claims(calibrated, stated),
        pruning_claim(measures, size),
        alternating_claim(schemes["proposed"], measures.curves("fashion-mnist", "simultaneous")),
        *scheme_claims(schemes),
        deadline_claim([measures.curves("fashion-mnist", deadline_name(t)) for t in DEADLINES_MS]),
    ]


def table_1_claims(
    calibrated: Mapping[str, Latency], stated: Mapping[str, Latency]
) -> Iterator[Claim]:
    """Yield what Table I says: its order, its rows, and the half in the abstract."""
    order = list(TABLE_1)
    latency_ms = {name: calibrated[name].emergent_ms for name in order}
    yield Claim(
        "Table I",
        "Rounds are shortest with the proposed scheme, then equal resources, pruning only, "
        "personalization only",
        "Each scheme computes and sends more than the one before it, or lets its slowest device do so.",
        tuple(
            rises(
                f"{slower} less {faster}", difference(latency_ms[slower], latency_ms[faster]), "ms"
            )
            for faster, slower in pairwise(order)
        ),
    )
    for cell, latencies, why in (
        ("calibrated cell", calibrated, "By construction: the cell is fitted to these numbers."),
        (
            "stated numbers",
            stated,
            "A tenth of 20 MHz carries 25 Mb/s, and 12.9 Mbit are to be sent.",
        ),
    ):
        yield Claim(
            f"Table I, {cell}",
            "A round takes " + ", ".join(f"{row.latency_ms:g}" for row in TABLE_1.values()) + " ms",
            why,
            tuple(_row(name, latencies[name]) for name in order),
        )
    saved = difference([1.0] * len(latency_ms["proposed"]), _ratios(latency_ms))
    yield Claim(
        "Abstract",
        "About half of the latency of personalization alone is saved",
        "25 of 55 ms; on the same channel, in the calibrated cell.",
        (about("latency saved", saved.in_percent, 50.0, ABOUT, "%"),),
    )


def _ratios(latency_ms: Mapping[str, Sequence[float]]) -> list[float]:
    pairs = zip(latency_ms["proposed"], latency_ms["personalization"], strict=True)
    return [ours / theirs for ours, theirs in pairs]


def _row(name: str, latency: Latency) -> Check:
    row, found = TABLE_1[name], interval(latency.emergent_ms)
    if len(latency.emergent_ms) == 1:  # nothing is drawn in that cell: there is nothing to doubt
        found = Interval(found.mean, 0.0)
    return about(name, found, row.latency_ms, ROW * row.latency_ms, "ms")


def pruning_claim(measures: Measures, size: Size) -> Claim:
    """Return what Fig. 3 says of the pruning ratio."""
    checks = []
    for dataset in DATASETS:
        arms = [measures.curves(dataset, ratio_name(ratio)) for ratio in size.ratios]
        checks += [
            rises(f"loss, {dataset}", slope(size.ratios, [arm.last_loss for arm in arms])),
            falls(
                f"accuracy, {dataset}",
                slope(size.ratios, [arm.last_accuracy for arm in arms]).in_percent,
                "points",
            ),
            rises(
                f"rounds to {CONVERGED:.0%}, {dataset}",
                slope(size.ratios, [arm.rounds_to(CONVERGED) for arm in arms]),
                "rounds",
            ),
        ]
    says = "With the pruning ratio the loss rises, accuracy falls, convergence slows down"
    why = (
        "A pruned weight is averaged over the few who kept it, so it takes larger steps: early rounds "
        "gain by it, and a device's own labels suffer when most weights come from others."
    )
    return Claim("Fig. 3", f"{says} (slopes, from ratio 0 to 1)", why, tuple(checks))


def alternating_claim(alternate: Curves, simultaneous: Curves) -> Claim:
    """Return what Fig. 4 says."""
    gained = difference(alternate.last_accuracy, simultaneous.last_accuracy)
    check = rises("accuracy, FedAlt less FedSim", gained.in_percent, "points")
    why = "Both take as many steps; FedAlt computes the global one with the newer personal part."
    return Claim("Fig. 4", "FedAlt ends a little more accurate than FedSim", why, (check,))


def scheme_claims(schemes: Mapping[str, Curves]) -> Iterator[Claim]:
    """Yield what Fig. 5 says."""
    proposed, alone = schemes["proposed"], schemes["personalization"]
    for name, title, why in (
        ("equal-resource", "equal resource pruning, one ratio for all", "WHY"),
        ("equal-resource-each", "equal resource pruning, a ratio for each device", "WHY"),
        ("pruning-only", "pruning only", "WHY"),
    ):
        other = schemes[name]
        yield Claim(
            "Fig. 5 (a), (b)",
            f"The proposed scheme learns better than {title}",
            why,
            (
                falls("loss, difference", difference(proposed.last_loss, other.last_loss)),
                rises(
                    "accuracy, difference",
                    difference(proposed.last_accuracy, other.last_accuracy).in_percent,
                    "points",
                ),
            ),
        )
    lost = difference(proposed.last_accuracy, alone.last_accuracy)
    yield Claim(
        "Fig. 5 (b)",
        "The proposed scheme is about as accurate as personalization only",
        "WHY",
        (about("accuracy, difference", lost.in_percent, 0.0, CLOSE, "points"),),
    )
    pairs = zip(proposed.sent_weights, alone.sent_weights, strict=True)
    sent = interval([ours / theirs for ours, theirs in pairs])
    yield Claim(
        "Fig. 5 (c)",
        "The proposed scheme sends about half of the weights that personalization only sends",
        "The cell is fitted to it.",
        (about("sent", sent.in_percent, FRACTION_SENT * 100, ABOUT, "%"),),
    )


def deadline_claim(arms: Sequence[Curves]) -> Claim:
    """Return what Fig. 6 says of deadlines."""

    def per_ms(values: Sequence[Sequence[float]]) -> Interval:
        return slope(DEADLINES_MS, values)

    return Claim(
        "Fig. 6",
        "With a later deadline the loss falls, accuracy rises, convergence comes sooner, less is "
        "pruned (slopes, per ms)",
        "WHY",
        (
            falls("loss", per_ms([arm.last_loss for arm in arms])),
            rises("accuracy", per_ms([arm.last_accuracy for arm in arms]).in_percent, "points"),
            falls(
                f"rounds to {CONVERGED:.0%}",
                per_ms([arm.rounds_to(CONVERGED) for arm in arms]),
                "rounds",
            ),
            falls("pruning ratio", per_ms([arm.pruning_ratio for arm in arms])),
        ),
    )
