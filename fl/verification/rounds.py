"""What holds from round to round."""

from collections.abc import Iterator

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from fl.scenario import Scenario
from fl.verification.excerpt import as_numbers

#: Relative: a deadline is stretched by 1e-9, so that rounding makes nobody late.
CLOSE = 2e-9


def round_problems(rounds: pa.Table, scenario: Scenario, *, is_finished: bool) -> Iterator[str]:
    """Yield where rounds are not numbered, contiguous, or as long as they say."""
    columns = as_numbers(rounds)
    number, start_s, end_s = columns["round"], columns["start_s"], columns["end_s"]
    wanted = np.arange(len(number))
    if is_finished and len(number) != scenario.rounds:
        yield f"there are {len(number)}, and the scenario has {scenario.rounds}"
    if len(number) > scenario.rounds:
        yield f"there are {len(number)}, more than the {scenario.rounds} of the scenario"
    for row in np.flatnonzero(number != wanted):
        yield f"row {row} is of round {number[row]:g}"
    before_s = np.concatenate([[0.0], end_s[:-1]])
    for row in np.flatnonzero(start_s != before_s):
        yield f"round {row} begins at {start_s[row]} s, and the one before ends at {before_s[row]} s"
    for row in np.flatnonzero(~as_long(end_s - start_s, columns["latency_s"], end_s)):
        yield (
            f"round {row} lasts from {start_s[row]} s to {end_s[row]} s, and its latency_s is "
            f"{columns['latency_s'][row]}"
        )
    deadline_s = np.nan if scenario.deadline is None else float(scenario.deadline)
    for row in np.flatnonzero(~same(columns["deadline_s"], deadline_s)):
        yield f"round {row}: deadline_s is {columns['deadline_s'][row]}, and must be {deadline_s}"


def as_long(
    one_s: NDArray[np.float64], other_s: NDArray[np.float64], clock_s: NDArray[np.float64]
) -> NDArray[np.bool_]:
    """Return where two lengths are the same, but for the rounding of the clock they ended at."""
    rounding_s = 16 * np.spacing(np.abs(clock_s))
    with np.errstate(invalid="ignore"):
        return np.abs(one_s - other_s) <= CLOSE * np.abs(other_s) + rounding_s


def same(one: NDArray[np.float64], other: NDArray[np.float64] | float) -> NDArray[np.bool_]:
    """Return where two numbers are the same, or both not known."""
    equal: NDArray[np.bool_] = (one == other) | (np.isnan(one) & np.isnan(other))
    return equal
