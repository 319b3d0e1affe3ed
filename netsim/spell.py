"""Spells: stretches of simulated time in which something is otherwise than usual.

A spell holds from its beginning until just before its end. Those of one device stand in the order
of time, and do not overlap.
"""

import math
from bisect import bisect_right
from collections.abc import Iterable, Sequence
from typing import NamedTuple


class Spell(NamedTuple):
    """A stretch of time."""

    from_s: float
    until_s: float
    factor: float = math.inf
    """So many times longer does everything take; what is infinite stands still."""


def spell_at(spells: Sequence[Spell], now_s: float) -> Spell | None:
    """Return the spell that holds at a time; None, if none does."""
    index = bisect_right(spells, now_s, key=lambda spell: spell.from_s) - 1
    return spells[index] if index >= 0 and now_s < spells[index].until_s else None


def joined(spells: Iterable[Spell]) -> list[Spell]:
    """Return spells of the same factor in order, those that touch or overlap as one.

    >>> joined([Spell(3, 5), Spell(1, 2), Spell(4, 6)])
    [Spell(from_s=1, until_s=2, factor=inf), Spell(from_s=3, until_s=6, factor=inf)]
    """
    whole: list[Spell] = []
    for spell in sorted(spells):
        if whole and spell.from_s <= whole[-1].until_s and spell.factor == whole[-1].factor:
            whole[-1] = whole[-1]._replace(until_s=max(whole[-1].until_s, spell.until_s))
        else:
            whole.append(spell)
    return whole


def stretched(seconds: float, start_s: float, spells: Sequence[Spell]) -> float:
    """Return how long work takes that would take *seconds* outside of all spells.

    The work done within a spell is its length over its factor; so the end is exact, however
    many spells it passes.

    >>> stretched(2.0, 0.0, [Spell(1.0, 4.0, 2.0)])  # a second, then half of the speed
    3.0
    """
    now_s, left_s, taken_s = start_s, seconds, 0.0
    first = bisect_right(spells, start_s, key=lambda spell: spell.until_s)
    for spell in spells[first:]:
        before_s = max(spell.from_s - now_s, 0.0)
        if left_s <= before_s:
            break
        length_s = spell.until_s - now_s - before_s
        if (left_s - before_s) * spell.factor <= length_s:
            return taken_s + before_s + (left_s - before_s) * spell.factor
        left_s -= before_s + length_s / spell.factor
        taken_s += before_s + length_s
        now_s = spell.until_s
    return taken_s + left_s
