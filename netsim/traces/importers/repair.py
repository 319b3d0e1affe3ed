"""From a recording to samples: every trouble found, and mended as the policy says."""

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from netsim.errors import TraceError
from netsim.traces.importers.importer import Recording
from netsim.traces.importers.policy import REFUSE, Ledger, Trouble
from netsim.traces.trace import Kind
from netsim.units import gains_to_linear, ratios_to_db

#: In seconds: 3,000 years. A time of this century, read in too large a unit, is later.
_LATEST_S = 1e11
#: A step so many times as long as the median one is a gap.
_LONG_STEP = 10.0


def repair(file: str, recording: Recording, ledger: Ledger) -> Recording:
    """Return *recording* with the values of a trace, times increasing, nothing missing.

    What was wrong is noted in *ledger*, also what is refused.

    Raises:
        TraceError: Nothing is left, or what is left can be no trace.
    """
    timed = _timed(file, recording, ledger)
    whole = _present(timed, ledger)
    if not len(whole.values):
        raise TraceError(f"{file}: has no row with a time and a value{ledger.refusal()}")
    repaired = _bridged(_distinct(_ordered(whole, ledger), ledger), ledger)
    _check_values(f"{file}: {ledger.place}", repaired)
    return repaired


def _timed(file: str, recording: Recording, ledger: Ledger) -> Recording:
    timed = np.isfinite(recording.stamps)
    ledger.note(Trouble.UNREADABLE, recording.lines[~timed])
    recording = _rows(recording, timed)
    late = np.abs(recording.stamps) > _LATEST_S * recording.per_second
    if late.any():
        first = int(late.argmax())
        raise TraceError(
            f"{file}: {ledger.place} {recording.lines[first]}: time {recording.stamps[first]:.17g} "
            "is thousands of years away; check the unit of time"
        )
    return recording


def _present(recording: Recording, ledger: Ledger) -> Recording:
    """See to values that are missing, or should be; convert the others."""
    scale, values, lines = recording.scale, recording.values.copy(), recording.lines
    refused = np.zeros(len(values), dtype=bool)  # as something else than missing
    sentinel = np.isin(values, ledger.policy.sentinels)
    implausible = scale.implausible(values) & ~sentinel
    for trouble, found in (
        (Trouble.SENTINEL, sentinel),
        (Trouble.IMPLAUSIBLE, implausible),
    ):
        if ledger.note(trouble, lines[found]) == "missing":
            values[found] = np.nan
        if ledger.policy.action(trouble) == REFUSE:
            refused |= found
    values = scale.convert(values)
    missing = np.isnan(values)
    if ledger.note(Trouble.MISSING, lines[missing & ~refused]) == "skip":
        return _rows(replace(recording, values=values), ~missing)
    # The last row up to each that has a value; -1 before the first.
    source = np.maximum.accumulate(np.where(missing, -1, np.arange(len(values))))
    return _rows(replace(recording, values=values[source]), source >= 0)


def _ordered(recording: Recording, ledger: Ledger) -> Recording:
    backward = recording.stamps < np.maximum.accumulate(recording.stamps)
    if ledger.note(Trouble.BACKWARD, recording.lines[backward]) == "drop":
        return _rows(recording, ~backward)
    return _rows(recording, np.argsort(recording.stamps, kind="stable"))


def _distinct(recording: Recording, ledger: Ledger) -> Recording:
    again = np.diff(recording.stamps) == 0
    action = ledger.note(Trouble.REPEATED, recording.lines[1:][again])
    if action == "last":
        return _rows(recording, np.append(~again, True))
    first = np.append(True, ~again)
    if action == "mean":
        recording = replace(recording, values=_means(recording, first))
    return _rows(recording, first)


def _means(recording: Recording, first: NDArray[np.bool_]) -> NDArray[np.float64]:
    """Return the values, the first of each group replaced by the mean of the group."""
    values, starts = recording.values, np.flatnonzero(first)
    counts = np.diff(starts, append=len(values))
    logarithmic = recording.scale.kind is not Kind.SPECTRAL_EFFICIENCY
    with np.errstate(over="ignore"):
        linear = gains_to_linear(values) if logarithmic else values
        means = np.add.reduceat(linear, starts) / counts
    means = ratios_to_db(means) if logarithmic else means
    values = values.copy()
    values[starts] = np.where(counts > 1, means, values[starts])
    return values


def _bridged(recording: Recording, ledger: Ledger) -> Recording:
    steps = np.diff(recording.stamps)
    if not len(steps):
        return recording
    usual = float(np.median(steps))
    longest = _LONG_STEP * usual
    if ledger.policy.gap_s is not None:
        longest = ledger.policy.gap_s * recording.per_second
    before = np.flatnonzero(steps > longest)
    if ledger.note(Trouble.GAP, recording.lines[before + 1]) == "hold" or not len(before):
        return recording
    nothing = 0.0 if recording.scale.kind is Kind.SPECTRAL_EFFICIENCY else -np.inf
    silent = recording.stamps[before] + min(usual, longest)
    return replace(
        recording,
        stamps=np.insert(recording.stamps, before + 1, silent),
        values=np.insert(recording.values, before + 1, nothing),
        lines=np.insert(recording.lines, before + 1, recording.lines[before]),
    )


def _check_values(place: str, recording: Recording) -> None:
    """Refuse what no trace can hold, however implausible values are treated."""
    values = recording.values
    if recording.scale.kind is Kind.SPECTRAL_EFFICIENCY:
        usable = np.isfinite(values) & (values >= 0)
    else:
        usable = np.isfinite(values) | np.isneginf(values)
    if not usable.all():
        bad = int((~usable).argmax())
        raise TraceError(
            f"{place} {recording.lines[bad]}: gives a {recording.scale.kind} of "
            f"{values[bad]}, which a trace cannot hold; --implausible missing leaves it out"
        )


def _rows(recording: Recording, which: NDArray[np.bool_] | NDArray[np.int64]) -> Recording:
    return replace(
        recording,
        stamps=recording.stamps[which],
        values=recording.values[which],
        lines=recording.lines[which],
    )
