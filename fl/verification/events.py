"""What the table of events has to say, given what the others do."""

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from fl.phases import OFFLINE, PHASES
from fl.verification.excerpt import Excerpt, as_numbers, in_steps


class Events:
    """Reads the table of events beside the others."""

    def __init__(self, path: Path) -> None:
        self._tables = in_steps(path, 1 << 17)
        self._waiting: pa.Table | None = None

    def problems(self, excerpt: Excerpt) -> Iterator[str]:
        """Yield where the next events are not the phases of these rounds that took time."""
        expected = _expected(excerpt)
        size = len(expected["round"])
        found = as_numbers(self._take(size)) if size else expected
        if len(found["round"]) < size:
            yield f"events end within round {excerpt.rounds['round'][-1]:g}, or before"
            return
        for name, wanted in expected.items():
            for row in np.flatnonzero(found[name] != wanted):
                phase = PHASES[int(expected["phase"][row])]
                yield (
                    f"round {expected['round'][row]:g}, device {expected['device'][row]:g}, {phase}: "
                    f"{name} is {found[name][row]}, and must be {wanted[row]}"
                )

    def rest(self) -> Iterator[str]:
        """Yield that there are more, if there are."""
        if self._take(1).num_rows:
            yield "there are events of no round"

    def _take(self, rows: int) -> pa.Table:
        while self._waiting is None or self._waiting.num_rows < rows:
            more = next(self._tables, None)
            if more is None:
                break
            self._waiting = (
                more if self._waiting is None else pa.concat_tables([self._waiting, more])
            )
        if self._waiting is None:
            return pa.table({"round": pa.array([], pa.int32())})
        taken, self._waiting = self._waiting.slice(0, rows), self._waiting.slice(rows)
        return taken


def _expected(excerpt: Excerpt) -> dict[str, NDArray[np.float64]]:
    """Return the events of some rounds, out of the seconds of each phase.

    The seconds are summed up in the order of the phases, as the clock has done it; who waits, or is
    offline, does so until the round ends.
    """
    seconds = np.stack([excerpt.devices[f"{phase}_s"] for phase in PHASES], axis=-1)
    start_s = np.broadcast_to(excerpt.rounds["start_s"][:, None], seconds.shape[:2])
    edges_s = np.add.accumulate(np.concatenate([start_s[..., None], seconds], axis=-1), axis=-1)
    row, place, phase = np.nonzero(seconds > 0)
    end_s = edges_s[row, place, phase + 1]
    ends_with_round = phase >= OFFLINE
    end_s[ends_with_round] = excerpt.rounds["end_s"][row[ends_with_round]]
    return {
        "round": excerpt.rounds["round"][row],
        "device": excerpt.devices["device"][row, place],
        "phase": phase.astype(np.float64),
        "start_s": edges_s[row, place, phase],
        "end_s": end_s,
    }
