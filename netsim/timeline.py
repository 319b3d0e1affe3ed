"""Append-only record of who did what from when to when."""

import struct
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray


class Timeline:
    """What has happened so far: chains of phases that follow one another without a gap.

    A chain is one device in one round. It holds when it began and how long each phase took,
    and so when each began and ended; a phase that took no time did not happen. Lengths are
    kept, not differences of clock times, which lose digits late in a long run.

    Chains are packed into one buffer: a city of devices leaves millions of phases, and a
    Python object for each would cost more than simulating it.
    """

    def __init__(self, phases: Sequence[str]) -> None:
        self.phases = tuple(phases)
        """The names of the phases, in the order of every chain."""
        self._chain = np.dtype(
            [
                ("round", "<i4"),
                ("device", "<i4"),
                ("start_s", "<f8"),
                ("seconds", "<f8", (len(phases),)),
            ]
        )
        self._pack = struct.Struct(f"<iid{len(phases)}d").pack
        self._rows = bytearray()

    def record(self, round_: int, device: int, start_s: float, seconds: Sequence[float]) -> None:
        """Note that *device*, from *start_s* on, spent these *seconds* in each phase."""
        self._rows += self._pack(round_, device, start_s, *seconds)

    def take(self) -> NDArray[np.void]:
        """Return the chains recorded since the last call, and forget them.

        They have the fields ``round``, ``device``, ``start_s`` and ``seconds`` (one a phase),
        and stand in the order in which they ended.
        """
        rows = np.frombuffer(self._rows, dtype=self._chain)
        self._rows = bytearray()
        return rows


def clock_times(chains: NDArray[np.void]) -> NDArray[np.float64]:
    """Return when the phases of each chain begin and end, [chains, phases + 1].

    Phase p lasts from column p to column p + 1. The lengths are summed up as the clock has
    done it, so these are the clock's own times.
    """
    times = np.column_stack([chains["start_s"], chains["seconds"]])
    np.add.accumulate(times, axis=1, out=times)
    return times
