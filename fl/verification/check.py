"""Something that was looked at, and what is wrong with it."""

from collections.abc import Iterable
from dataclasses import dataclass
from itertools import islice

#: Of what is wrong with one thing.
_MOST_TOLD = 5


@dataclass(frozen=True)
class Check:
    """What was looked at, and what came of it."""

    name: str
    law: str
    """What holds, in a sentence."""
    problems: tuple[str, ...] = ()
    """Where it does not; only the first few."""
    left_out: str | None = None
    """Why it could not be looked at."""

    @classmethod
    def of(cls, name: str, law: str, problems: Iterable[str]) -> "Check":
        """Look, and stop when enough is known."""
        return cls(name, law, tuple(islice(problems, _MOST_TOLD)))
