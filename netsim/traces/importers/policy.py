"""What can be wrong with a recording, and what is to be done about it: a choice, never a guess.

Whatever is not chosen is refused, with every trouble of the file counted in one message.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, fields
from enum import StrEnum

import numpy as np
from numpy.typing import NDArray

from netsim.errors import InputError

REFUSE = "refuse"
_LINES_SHOWN = 5


class Trouble(StrEnum):
    """What can be wrong; also the name of the option that accepts it."""

    UNREADABLE = "unreadable"
    EXTRA = "extra"
    SENTINEL = "sentinel"
    IMPLAUSIBLE = "implausible"
    MISSING = "missing"
    BACKWARD = "backward"
    REPEATED = "repeated"
    GAP = "gap"


MEANINGS: Mapping[Trouble, str] = {
    Trouble.UNREADABLE: "cut short, text for a number, or no time",
    Trouble.EXTRA: "more columns than there should be",
    Trouble.SENTINEL: "a value that stands for no measurement",
    Trouble.IMPLAUSIBLE: "a value out of the range of what is measured",
    Trouble.MISSING: "no value",
    Trouble.BACKWARD: "a time before that of an earlier row",
    Trouble.REPEATED: "the time of an earlier row again",
    Trouble.GAP: "a time long after that of the row before",
}

#: What may be done about each trouble.
ACTIONS: Mapping[Trouble, Mapping[str, str]] = {
    Trouble.UNREADABLE: {"skip": "leave the row out"},
    Trouble.EXTRA: {"ignore": "read the row by the known columns"},
    Trouble.SENTINEL: {"missing": "treat it as a missing value", "keep": "take it as a value"},
    Trouble.IMPLAUSIBLE: {"missing": "treat it as a missing value", "keep": "take it as a value"},
    Trouble.MISSING: {
        "skip": "leave the row out, which may leave a gap",
        "hold": "let the value before go on; rows before the first value are left out",
    },
    Trouble.BACKWARD: {"sort": "sort rows by time", "drop": "leave the row out"},
    Trouble.REPEATED: {
        "first": "take the first row of that time",
        "last": "take the last row of that time",
        "mean": "take the mean over the rows of that time: of power, if the values are decibels",
    },
    Trouble.GAP: {
        "hold": "let the value before go on through it",
        "outage": "let the value before go on for a usual step, then nothing be received",
    },
}

# What is done about a refused trouble, to find the others of the file. Each is the action
# that makes no trouble by itself.
_MEANWHILE = {
    Trouble.UNREADABLE: "skip",
    Trouble.EXTRA: "ignore",
    Trouble.SENTINEL: "missing",
    Trouble.IMPLAUSIBLE: "missing",
    Trouble.MISSING: "hold",
    Trouble.BACKWARD: "sort",
    Trouble.REPEATED: "first",
    Trouble.GAP: "hold",
}


@dataclass(frozen=True)
class Policy:
    """What to do about each trouble: ``refuse``, or one of its ``ACTIONS``."""

    unreadable: str = REFUSE
    extra: str = REFUSE
    sentinel: str = REFUSE
    implausible: str = REFUSE
    missing: str = REFUSE
    backward: str = REFUSE
    repeated: str = REFUSE
    gap: str = REFUSE
    sentinels: tuple[float, ...] = (-200.0, -999.0, -9999.0, 2147483647.0)
    """The values that stand for no measurement; some loggers write the largest int32."""
    gap_s: float | None = None
    """Rows further apart have a gap between them; None: ten times the median step."""

    def __post_init__(self) -> None:
        for trouble in Trouble:
            accepted = (REFUSE, *ACTIONS[trouble])
            if self.action(trouble) not in accepted:
                raise InputError(
                    f"--{trouble}: must be one of {', '.join(accepted)}; is {self.action(trouble)!r}"
                )
        if self.gap_s is not None and not 0 < self.gap_s < np.inf:
            raise InputError(f"--gap-longer-than: must be seconds > 0, is {self.gap_s}")

    def action(self, trouble: Trouble) -> str:
        """Return what is to be done about *trouble*."""
        return str(getattr(self, trouble))

    def chosen(self) -> dict[str, str]:
        """Return what differs from refusing everything, for a trace's metadata."""
        return {
            field.name: str(getattr(self, field.name))
            for field in fields(self)
            if getattr(self, field.name) != field.default
        }


@dataclass(frozen=True)
class Problem:
    """One trouble of one file: how often, where, and what was done about it."""

    trouble: Trouble
    count: int
    lines: tuple[int, ...]
    """The first few, as the file counts them."""
    place: str
    """What is counted: ``line`` from 1 in text, ``row`` from 0 in arrays."""
    action: str

    @property
    def meaning(self) -> str:
        """What is wrong, in words."""
        return MEANINGS[self.trouble]

    def __str__(self) -> str:
        plural = "s" if self.count > 1 else ""
        more = ", ..." if self.count > len(self.lines) else ""
        where = f"{self.place}{plural} {', '.join(map(str, self.lines))}{more}"
        return f"{self.trouble}: {self.count} row{plural} ({where}): {self.meaning}"


class Ledger:
    """Keeps account of the troubles of one file, and says what to do about each."""

    def __init__(self, policy: Policy, place: str = "line") -> None:
        self.policy = policy
        self.place = place
        self._lines: dict[Trouble, list[int]] = {trouble: [] for trouble in Trouble}

    def note(self, trouble: Trouble, lines: Iterable[int] | NDArray[np.int64]) -> str:
        """Note *trouble* on *lines*, if any, and return what to do about it.

        For a refused trouble that is whatever lets the search for others go on; the file
        is refused once they are all found.
        """
        self._lines[trouble].extend(int(line) for line in lines)
        action = self.policy.action(trouble)
        return _MEANWHILE[trouble] if action == REFUSE else action

    def problems(self) -> list[Problem]:
        """Return what was noted so far."""
        return [
            Problem(
                trouble,
                len(lines),
                tuple(sorted(lines)[:_LINES_SHOWN]),
                self.place,
                self.policy.action(trouble),
            )
            for trouble, lines in self._lines.items()
            if lines
        ]

    def refusal(self) -> str:
        """Return what is wrong that nobody accepted, and how it would be; empty: nothing."""
        return "".join(
            f"\n  {problem}; {_remedy(problem.trouble)}"
            for problem in self.problems()
            if problem.action == REFUSE
        )


def _remedy(trouble: Trouble) -> str:
    return "accepted with " + " or ".join(f"--{trouble} {action}" for action in ACTIONS[trouble])
