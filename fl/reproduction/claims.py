"""What the paper claims, each with a verdict computed from the runs.

A claim has checks. A check is a number with its interval, and what the claim says of it; the
interval decides whether the runs say so, say the contrary, or cannot tell.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from itertools import pairwise

from fl.interval import Interval, difference, interval, slope
from fl.reproduction.measures import Curves, Latency, Measures
from fl.reproduction.plan import (
    COMPARED,
    DATASETS,
    EACH,
    READINGS,
    Size,
    deadline_name,
    ratio_name,
)
from fl.reproduction.published import DEADLINES_MS, FRACTION_SENT, TABLE_1

#: "Close to" in accuracy: within so many percentage points.
CLOSE = 1.0
#: "About half": within so many percent of the whole.
ABOUT = 10.0
#: A row of Table I is met if it is no further off than this.
ROW = 0.05


_FITTED = "The cell, and the reading of two rows, are chosen so that Table I comes out."
WHY_PRUNING = (
    "A weight is averaged over those who kept it only, so it takes larger steps the fewer they are: early rounds gain by it, "
    "and where most of a model comes from a few others, a device's own labels suffer."
)
WHY_ALTERNATING = (
    "Both take as many steps; FedAlt takes the global one with the newer personal part."
)
WHY_EQUAL = (
    "The optimum keeps the most weights in all by giving the band to strong channels. The farthest devices prune nearly all of "
    "theirs, round after round, and it is they who learn less; see the table of accuracy over simulated time."
)
WHY_PRUNING_ONLY = "Devices with two labels each gain most by layers of their own; one model for all is far from done after so few rounds."
WHY_CLOSE = "What the warm-up ranks last hardly moves in a round, so little is lost with it."
WHY_DEADLINE = "The ratio follows from Eq. (47), and what is learnt from the ratio as in Fig. 3: pruning much costs accuracy."


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
        if self.found.high < self.low or self.high < self.found.low:
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
        *pruning_claims(measures, size),
        alternating_claim(schemes["proposed"], measures.curves("fashion-mnist", "simultaneous")),
        *scheme_claims(schemes),
        deadline_claim([measures.curves("fashion-mnist", deadline_name(t)) for t in DEADLINES_MS]),
    ]


def table_1_claims(
    calibrated: Mapping[str, Latency], stated: Mapping[str, Latency]
) -> Iterator[Claim]:
    """Yield what Table I says: its order, its rows, and the half in the abstract."""
    latency_ms = {name: latency.emergent_ms for name, latency in calibrated.items()}
    for reading, why in (
        ("", f"Read with one ratio for all where a scheme shares equally. {_FITTED}"),
        (
            EACH,
            "Read with a ratio for each device: all that prune meet the deadline, and are equal.",
        ),
    ):
        order = [name + reading if name + reading in latency_ms else name for name in TABLE_1]
        yield Claim(
            f"Table I, order{', a ratio each' if reading else ''}",
            "Rounds are shortest with the proposed scheme, then equal resources, pruning only, "
            "personalization only",
            why,
            tuple(
                rises(f"{slow} less {fast}", difference(latency_ms[slow], latency_ms[fast]), "ms")
                for fast, slow in pairwise(order)
            ),
        )
    says = "A round takes " + ", ".join(f"{row.latency_ms:g}" for row in TABLE_1.values()) + " ms"
    rows = tuple(_row(name, interval(calibrated[name].emergent_ms)) for name in TABLE_1)
    yield Claim("Table I, calibrated cell", says, _FITTED, rows)
    # Nothing is drawn in the stated cell: there is nothing to doubt.
    rows = tuple(_row(name, Interval(stated[name].emergent_ms[0], 0.0)) for name in TABLE_1)
    why = (
        "25 ms are missed by the warm-up, which Eqs. (46) and (58) forget. The others are out of reach: 12.9 "
        "Mbit in 55 ms over a tenth of 20 MHz are more than 100 bit/s/Hz, at any gain."
    )
    yield Claim("Table I, stated numbers", says, why, rows)
    pairs = zip(latency_ms["proposed"], latency_ms["personalization"], strict=True)
    saved = interval([1 - ours / theirs for ours, theirs in pairs])
    yield Claim(
        "Abstract",
        "About half of the latency of personalization alone is saved",
        f"25 of 55 ms, in the calibrated cell. {_FITTED}",
        (about("latency saved", saved.in_percent, 50.0, ABOUT, "%"),),
    )


def _row(name: str, found: Interval) -> Check:
    latency_ms = TABLE_1[name].latency_ms
    return about(name, found, latency_ms, ROW * latency_ms, "ms")


def pruning_claims(measures: Measures, size: Size) -> Iterator[Claim]:
    """Yield what Fig. 3 says of the pruning ratio, for each data set."""
    for dataset in DATASETS:
        arms = {r: measures.curves(dataset, ratio_name(r)) for r in size.ratios}
        checks = []
        for low, high in pairwise(size.ratios):
            more, less, step = arms[high], arms[low], f"ratio {low:g} to {high:g}"
            loss = difference(more.last_loss, less.last_loss)
            accuracy = difference(more.last_accuracy, less.last_accuracy).in_percent
            checks += [rises(f"loss, {step}", loss), falls(f"accuracy, {step}", accuracy, "points")]
        slowed = slope(size.ratios, [arm.rounds_to_converge for arm in arms.values()])
        yield Claim(
            f"Fig. 3, {dataset}",
            "With the pruning ratio the loss rises, accuracy falls, convergence slows down",
            WHY_PRUNING,
            (*checks, rises("rounds to converge, slope over the ratio", slowed, "rounds")),
        )


def alternating_claim(alternate: Curves, simultaneous: Curves) -> Claim:
    """Return what Fig. 4 says."""
    gained = difference(alternate.last_accuracy, simultaneous.last_accuracy)
    check = rises("accuracy, FedAlt less FedSim", gained.in_percent, "points")
    return Claim(
        "Fig. 4", "FedAlt ends a little more accurate than FedSim", WHY_ALTERNATING, (check,)
    )


def scheme_claims(schemes: Mapping[str, Curves]) -> Iterator[Claim]:
    """Yield what Fig. 5 says."""
    proposed, alone = schemes["proposed"], schemes["personalization"]
    for name, title, why in (
        ("equal-resource", "equal resource pruning, one ratio for all", WHY_EQUAL),
        ("equal-resource" + EACH, "equal resource pruning, a ratio each", WHY_EQUAL),
        ("pruning-only", "pruning only", WHY_PRUNING_ONLY),
    ):
        other = schemes[name]
        accuracy = difference(proposed.last_accuracy, other.last_accuracy)
        yield Claim(
            "Fig. 5 (a), (b)",
            f"The proposed scheme learns better than {title}",
            why,
            (
                falls("loss, difference", difference(proposed.last_loss, other.last_loss)),
                rises("accuracy, difference", accuracy.in_percent, "points"),
            ),
        )
    lost = difference(proposed.last_accuracy, alone.last_accuracy)
    yield Claim(
        "Fig. 5 (b)",
        "The proposed scheme is about as accurate as personalization only",
        WHY_CLOSE,
        (about("accuracy, difference", lost.in_percent, 0.0, CLOSE, "points"),),
    )
    pairs = zip(proposed.sent_weights, alone.sent_weights, strict=True)
    sent = interval([ours / theirs for ours, theirs in pairs])
    yield Claim(
        "Fig. 5 (c)",
        "The proposed scheme sends about half of the weights that personalization only sends",
        "The calibrated cell is fitted to it, though with larger kernels than are trained here.",
        (about("sent", sent.in_percent, FRACTION_SENT * 100, ABOUT, "%"),),
    )


def deadline_claim(arms: Sequence[Curves]) -> Claim:
    """Return what Fig. 6 says of deadlines."""
    checks = []
    for (early, less), (late, more) in pairwise(zip(DEADLINES_MS, arms, strict=True)):
        step = f"{early:g} to {late:g} ms"
        accuracy = difference(more.last_accuracy, less.last_accuracy).in_percent
        checks += [
            falls(f"pruning ratio, {step}", difference(more.pruning_ratio, less.pruning_ratio)),
            falls(f"loss, {step}", difference(more.last_loss, less.last_loss)),
            rises(f"accuracy, {step}", accuracy, "points"),
        ]
    sooner = slope(DEADLINES_MS, [arm.rounds_to_converge for arm in arms])
    return Claim(
        "Fig. 6",
        "With a later deadline less is pruned, the loss falls, accuracy rises, convergence comes sooner",
        WHY_DEADLINE,
        (*checks, falls("rounds to converge, slope over ms", sooner, "rounds")),
    )
