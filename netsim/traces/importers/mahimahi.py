"""Mahimahi's packet-delivery traces (``.up``, ``.down``).

A line is the millisecond at which one packet of 1500 bytes could be delivered; more
packets in it are more lines. Packets are counted in bins: bin k takes the milliseconds
after k bins and up to k + 1, so that a trace that ends at millisecond 1000 fills ten
bins of 100 ms; millisecond 0 belongs to the first bin. Silence is a rate of zero, not a
gap. The trace ends where its last whole bin does: what comes after is less than a bin,
and is left out, since nobody knows how much silence would have followed.
"""

import re
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from netsim.errors import TraceError
from netsim.traces.importers.importer import Recording, Settings
from netsim.traces.importers.policy import Ledger, Trouble
from netsim.traces.importers.quantity import Quantity, scale_of
from netsim.traces.importers.table import lines_of

PACKET_BITS = 1500 * 8
DEFAULT_BIN_S = 0.1
_MOST_BINS = 10_000_000
_MILLISECOND = re.compile(r"\d{1,15}", re.ASCII)


def read_mahimahi(path: Path, settings: Settings, ledger: Ledger) -> list[Recording]:
    """Read a packet-delivery trace; a line that is no whole number is unreadable.

    Raises:
        TraceError: The file is no text, no bandwidth is stated, or the bin does not fit.
    """
    scale = scale_of(str(path), Quantity.BIT_S, settings.stated)
    bin_ms = _bin_ms(path, settings.bin_s)
    stamps_ms, lines = _opportunities(path, ledger)
    bins = int(stamps_ms[-1]) // bin_ms
    if bins > _MOST_BINS:
        raise TraceError(
            f"{path}: lasts {stamps_ms[-1]} ms, more than {_MOST_BINS} bins of {bin_ms} ms; "
            "give a longer --bin"
        )
    if not bins:
        raise TraceError(f"{path}: is shorter than one bin of {bin_ms} ms; give a shorter --bin")
    bin_of = np.maximum(stamps_ms - 1, 0) // bin_ms
    counts = np.bincount(bin_of, minlength=bins)[:bins]
    rates_bps = counts.astype(np.float64) * (PACKET_BITS * 1e3 / bin_ms)
    starts_ms = np.arange(bins, dtype=np.float64) * bin_ms
    first = lines[np.searchsorted(bin_of, np.arange(bins))]
    return [Recording(starts_ms, rates_bps, first, scale, 1e3, bin_ms / 1e3)]


def _bin_ms(path: Path, bin_s: float | None) -> int:
    bin_ms = (DEFAULT_BIN_S if bin_s is None else bin_s) * 1e3
    if not 1 <= bin_ms < 1e9 or abs(bin_ms - round(bin_ms)) > 1e-6:
        raise TraceError(f"{path}: --bin must be whole milliseconds, at least 1, is {bin_ms:g} ms")
    return round(bin_ms)


def _opportunities(path: Path, ledger: Ledger) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the milliseconds, in order, and their lines."""
    found, unreadable = [], []
    for line, text in enumerate(lines_of(path), 1):
        cell = text.strip()
        if _MILLISECOND.fullmatch(cell):
            found.append((int(cell), line))
        elif cell:
            unreadable.append(line)
    ledger.note(Trouble.UNREADABLE, unreadable)
    if not found:
        raise TraceError(f"{path}: has no line that is a millisecond{ledger.refusal()}")
    stamps_ms, lines = np.array(found, dtype=np.int64).T
    backward = stamps_ms < np.maximum.accumulate(stamps_ms)
    if ledger.note(Trouble.BACKWARD, lines[backward]) == "drop":
        return stamps_ms[~backward], lines[~backward]
    order = np.argsort(stamps_ms, kind="stable")
    return stamps_ms[order], lines[order]
