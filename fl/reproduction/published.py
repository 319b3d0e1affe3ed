"""What the paper reports: the numbers to compare with, and nothing of ours."""

from dataclasses import dataclass

NUM_DEVICES = 10
DEADLINE_MS = 25.0
DEADLINES_MS = (15.0, 20.0, 25.0, 30.0)
"""Of Fig. 6."""
FRACTION_SENT = 0.5
"""Fig. 5 (c): weights that the proposed scheme sends, of those that personalization alone does."""


@dataclass(frozen=True)
class Row:
    """A column of Table I: one scheme."""

    latency_ms: float
    spread_ms: float | None
    """What stands behind its +-; the paper does not say what it is."""


TABLE_1 = {
    "proposed": Row(25.0, None),
    "equal-resource": Row(38.0, 0.45),
    "pruning-only": Row(45.0, None),
    "personalization": Row(55.0, 0.55),
}
"""Fastest first."""
