"""The formats there are, how one is told from another, and files becoming a trace."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from netsim.errors import TraceError
from netsim.traces.importers import cicv5g, gnettrack
from netsim.traces.importers.arrays import read_arrays
from netsim.traces.importers.cicv5g import read_cicv5g
from netsim.traces.importers.delimited import read_delimited
from netsim.traces.importers.gnettrack import read_gnettrack
from netsim.traces.importers.importer import Importer, Recording, Settings, option
from netsim.traces.importers.mahimahi import read_mahimahi
from netsim.traces.importers.ns3_fading import read_ns3_fading
from netsim.traces.importers.policy import Ledger, Problem
from netsim.traces.importers.rate_table import read_rate_table
from netsim.traces.importers.repair import repair
from netsim.traces.trace import Samples, Trace


@dataclass(frozen=True)
class Format:
    """One format: who reads it, and which settings have a meaning for it."""

    read: Importer
    settings: tuple[str, ...]
    summary: str


_CONVERSION = ("bandwidth_hz", "transmit_power_w", "mean_gain", "cqi_table")
_COLUMNS = ("time_column", "time_unit", "value_column", "quantity")
FORMATS: Mapping[str, Format] = {
    "delimited": Format(
        read_delimited,
        (*_COLUMNS, *_CONVERSION, "delimiter"),
        "CSV, TSV or Parquet by a column map",
    ),
    "rate-table": Format(read_rate_table, ("bandwidth_hz",), "two columns: seconds, Mbit/s"),
    "mahimahi": Format(read_mahimahi, ("bandwidth_hz", "bin_s"), "packet deliveries, .up or .down"),
    "g-nettrack": Format(
        read_gnettrack, ("value_column", *_CONVERSION, "delimiter"), "CSV log of G-NetTrack"
    ),
    "cicv5g": Format(read_cicv5g, ("value_column", *_CONVERSION), "text of the CICV5G data set"),
    "ns3-fading": Format(
        read_ns3_fading, ("step_s", "mean_gain", "blocks"), "fading matrix of ns-3, .fad"
    ),
    "arrays": Format(read_arrays, (*_COLUMNS, *_CONVERSION, "step_s"), "arrays in an .npz"),
}
_FOR_ALL = ("align",)


def import_files(
    paths: Sequence[Path], format_name: str | None, settings: Settings
) -> tuple[Trace, list[list[Problem]]]:
    """Make one trace of files of one format: a device a file, or those of each in turn.

    Time 0 is the first sample of the earliest file, or of each file if they are aligned.

    Args:
        paths: The files.
        format_name: One of ``FORMATS``; None: guessed from the first file, where safe.
        settings: What the files do not say themselves, and what to do about trouble.

    Returns:
        The trace, and the problems of each file that the policy accepted.

    Raises:
        TraceError: A file cannot be read, or has trouble that the policy does not accept;
            the message lists all of it, of all files.
    """
    if not paths:
        raise TraceError("import: needs at least one file")
    name = guess_format(paths[0]) if format_name is None else format_name
    chosen = _format(name, settings)
    recordings: list[list[Recording]] = []
    ledgers = [Ledger(settings.policy) for _ in paths]
    for path, ledger in zip(paths, ledgers, strict=True):
        read = chosen.read(path, settings, ledger)
        recordings.append([repair(str(path), recording, ledger) for recording in read])
    refusals = [
        f"{path}: is not clean:{ledger.refusal()}"
        for path, ledger in zip(paths, ledgers, strict=True)
        if ledger.refusal()
    ]
    if refusals:
        raise TraceError("\n".join(refusals))
    devices = _rebased(paths, recordings, settings.align)
    problems = [ledger.problems() for ledger in ledgers]
    metadata = _metadata(paths, name, settings, problems)
    first = recordings[0][0]
    return Trace(first.scale.kind, devices, first.step_s, metadata), problems


def guess_format(path: Path) -> str:
    """Return the format of a file, if its name and its first lines leave no doubt.

    Raises:
        TraceError: They leave some; the message lists the formats.
    """
    try:
        with path.open("rb") as file:
            head = file.read(65536)
    except OSError as error:
        raise TraceError(f"{path}: cannot be read: {error.strerror}") from None
    guess = _guess(path.suffix.lower(), head)
    if guess is None:
        raise TraceError(f"{path}: could be of more than one format; needs --format: {_listed()}")
    return guess


def _guess(suffix: str, head: bytes) -> str | None:
    lines = [line.strip() for line in head.decode("utf-8-sig", "replace").splitlines()[:2]]
    first, second = (*lines, "", "")[:2]
    signs = {
        "delimited": suffix == ".parquet" and head.startswith(b"PAR1"),
        "arrays": suffix == ".npz" and head.startswith(b"PK"),
        "mahimahi": suffix in (".up", ".down") and first.isdecimal(),
        "cicv5g": first.split()[:1] == [cicv5g.TIME_COLUMN],
        "g-nettrack": first.startswith(gnettrack.TIME_COLUMN) and gnettrack.STAMP.match(second),
        "ns3-fading": suffix == ".fad",
    }
    shown = [name for name, sign in signs.items() if sign]
    # Bare numbers, in a .csv or elsewhere, say nothing of their units.
    if not shown and suffix in (".csv", ".tsv") and first[:1].isalpha():
        return "delimited"
    return shown[0] if len(shown) == 1 else None


def _format(name: str, settings: Settings) -> Format:
    if name not in FORMATS:
        raise TraceError(f"--format: must be one of {_listed()}; is {name!r}")
    chosen = FORMATS[name]
    for setting in settings.given():
        if setting not in (*chosen.settings, *_FOR_ALL):
            takes = ", ".join(map(option, chosen.settings))
            raise TraceError(f"{option(setting)}: has no meaning for {name}, which takes {takes}")
    if settings.step_s is not None and not 0 < settings.step_s < np.inf:
        raise TraceError(f"--step: must be seconds > 0, is {settings.step_s}")
    return chosen


def _rebased(
    paths: Sequence[Path], recordings: Sequence[Sequence[Recording]], align: bool
) -> list[Samples]:
    earliest = min(float(one.stamps[0]) for of_file in recordings for one in of_file)
    devices = []
    for path, of_file in zip(paths, recordings, strict=True):
        origin = min(float(one.stamps[0]) for one in of_file) if align else earliest
        devices += [_samples(path, one, origin) for one in of_file]
    return devices


def _samples(path: Path, recording: Recording, origin: float) -> Samples:
    # In the file's unit: of whole milliseconds since 1970 the difference is exact.
    times_s = (recording.stamps - origin) / recording.per_second
    if len(times_s) == 1 and recording.step_s is None:
        raise TraceError(f"{path}: has one sample; how long it holds takes a second one to tell")
    if not (np.diff(times_s) > 0).all():
        raise TraceError(f"{path}: has times too close to tell apart {times_s[-1]:g} s from 0")
    return Samples(times_s, recording.values)


def _metadata(
    paths: Sequence[Path], name: str, settings: Settings, problems: Sequence[Sequence[Problem]]
) -> dict[str, str]:
    # Names of files may hold bytes that are no text.
    names = [path.name.encode(errors="backslashreplace").decode() for path in paths]
    accepted = [
        f"{file}: {problem}: {problem.action}"
        for file, of_file in zip(names, problems, strict=True)
        for problem in of_file
    ]
    metadata = {
        "origin": ", ".join(names),
        "importer": name,
        "importer settings": json.dumps(settings.given() | settings.policy.chosen()),
    }
    return metadata | ({"importer accepted": "\n".join(accepted)} if accepted else {})


def _listed() -> str:
    return "; ".join(f"{name} ({known.summary})" for name, known in FORMATS.items())
