"""A run as a Chrome trace: JSON that opens in Perfetto.

One process has a track for the server and one for each device, with a slice a round, and within
it the phases. Counters say what the channel allowed during each upload; arrows lead from uploads
to their aggregation. Times are simulated ones, in microseconds of three decimals.
"""

import json
import math
import os
from bisect import bisect_left
from collections.abc import Iterator, Mapping, Sequence
from itertools import accumulate, chain, pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from fl.phases import PHASES
from fl.report.recording import Recording
from netsim.channel import Channel, snr_of_efficiency
from netsim.errors import InputError
from netsim.units import ratios_to_db

_PROCESS = 1
_SERVER = _PROCESS  # the thread that has the number of its process stands first
_FIRST_DEVICE = _SERVER + 1
#: What a slice tells of its round: columns of the tables.
_OF_ROUND = ("latency_s", "straggler", "deadline_s", "deadline_missed", "arrived", "test_accuracy")
_OF_DEVICE = (
    *("pruning_ratio", "bandwidth_fraction", "snr_db", "predicted_latency_s", "latency_s"),
    *("arrived", "upload_bits", "attempts", "slowed_s"),
)
_COLUMNS = ("round", "device", *_OF_DEVICE, *(f"{phase}_s" for phase in PHASES))
_LEAST_SNR_DB = -30.0  # silence is -inf dB, which no axis can show
_STRETCHES = 30  # in which a moving channel is shown within one upload, at most
_ENCODE = json.JSONEncoder(separators=(",", ":"), allow_nan=False).encode

_Event = dict[str, Any]
_Row = Mapping[str, Any]


def write_perfetto(recording: Recording, path: Path, most_devices: int = 200) -> int:
    """Write a run as a Chrome trace, and return of how many events.

    Args:
        recording: The run.
        path: The file, which is there whole or not at all.
        most_devices: Of a run with more devices so many are shown, and the trace says so.

    Raises:
        InputError: *path* cannot be written.
    """
    shown = recording.some_devices(most_devices)
    table = recording.devices(_COLUMNS, shown).combine_chunks()
    events = chain(_names(recording, shown), _rounds(recording, table))
    partial = path.parent / f".{path.name}.partial"
    num_events = 0
    try:
        partial.unlink(missing_ok=True)  # in a folder from a stranger, it may be a link to anywhere
        with partial.open("x", encoding="utf-8") as file:
            about = _ENCODE(_about(recording, shown))
            file.write(f'{{"displayTimeUnit":"ms","otherData":{about},"traceEvents":[\n')
            for num_events, event in enumerate(events, 1):
                file.write((",\n" if num_events > 1 else "") + _ENCODE(event))
            file.write("\n]}\n")
        partial.replace(path)
    except OSError as error:
        reason = os.strerror(error.errno) if error.errno else str(error)
        raise InputError(f"{path}: cannot be written: {reason}") from None
    finally:
        if partial.is_file():
            partial.unlink()
    return num_events


def _about(recording: Recording, shown: Sequence[int]) -> dict[str, object]:
    """Return what a reader has to know that no event says."""
    scenario, of = recording.scenario, len(recording.seen)
    about = {"scenario": scenario.name, "seed": scenario.seed, "devices": str(of)}
    if recording.num_participants < recording.num_devices:
        told = f"{recording.num_participants} of {recording.num_devices}, drawn anew each time"
        about["participants of a round"] = told
    if len(shown) < of:
        about["devices"] = f"{len(shown)} of {of}: those who straggled most often, and others"
    if recording.channels is None:
        return about | {"counters": "none: what the channels did is not known any more"}
    about["counters"] = f"means over uploads, on the own share; SNR at least {_LEAST_SNR_DB:g} dB"
    if scenario.uplink.release != "hold":
        about["rate"] = "none: with uplink.release: redistribute, shares change within a round"
    return about


def _names(recording: Recording, shown: Sequence[int]) -> Iterator[_Event]:
    """Yield the names of process and tracks, and the order of these."""
    process, of = recording.scenario.name, len(recording.seen)
    if len(shown) < of:
        process += f" ({len(shown)} of {of} devices)"
    yield _event("M", _SERVER, name="process_name", args={"name": process})
    tracks = {_SERVER: "server"} | {number + _FIRST_DEVICE: f"device {number}" for number in shown}
    for track, name in tracks.items():
        yield _event("M", track, name="thread_name", args={"name": name})
        yield _event("M", track, name="thread_sort_index", args={"sort_index": track})


def _rounds(recording: Recording, table: pa.Table) -> Iterator[_Event]:
    """Yield the events of all rounds; on each track, in the order of time."""
    numbers = recording.rounds["round"].to_numpy()
    edges = np.searchsorted(table["round"].to_numpy(), [*numbers, numbers[-1] + 1]).tolist()
    for index, (first, beyond) in enumerate(pairwise(edges)):
        (round_,) = recording.rounds.slice(index, 1).to_pylist()
        start_s, end_ns = round_["start_s"], _ns(round_["end_s"])
        about = {"name": f"round {round_['round']}", "args": _args(round_, _OF_ROUND)}
        yield _event("B", _SERVER, _ns(start_s), **about)
        for row in table.slice(first, beyond - first).to_pylist():
            yield from _device(recording, row, start_s, end_ns)
        yield _event("E", _SERVER, end_ns)


def _device(recording: Recording, row: _Row, start_s: float, round_end_ns: int) -> Iterator[_Event]:
    """Yield what one device did in a round."""
    track, about = row["device"] + _FIRST_DEVICE, _args(row, _OF_DEVICE)
    # Begin and end are two events: Perfetto would round a duration once more, and phases that
    # touch might overlap.
    yield _event("B", track, _ns(start_s), name=f"round {row['round']}", args=about)
    edges_s = accumulate((row[f"{phase}_s"] for phase in PHASES), initial=start_s)
    for phase, (from_s, to_s) in zip(PHASES, pairwise(edges_s), strict=True):
        # Summed up, the phases may differ from the round in their last digit.
        begin_ns, end_ns = (min(_ns(edge_s), round_end_ns) for edge_s in (from_s, to_s))
        if begin_ns == end_ns:
            continue
        yield _event("B", track, begin_ns, name=phase)
        if phase == "upload":
            yield from _counters(recording, row, from_s, to_s)
        if phase == "upload" and row["arrived"]:
            number = row["round"] * recording.num_devices + row["device"]
            arrow = {"name": "upload", "cat": "arrow", "id": number}
            # The end of a slice is not part of it; an arrow that is needs a time within.
            yield _event("s", track, end_ns - 1, **arrow)
            yield _event("f", _SERVER, round_end_ns - 1, bp="e", **arrow)
        yield _event("E", track, end_ns)
    yield _event("E", track, round_end_ns)


def _counters(recording: Recording, row: _Row, from_s: float, to_s: float) -> Iterator[_Event]:
    """Yield what the channel allowed during an upload, and the rate that came of it."""
    if recording.channels is None:
        return
    uplink, share = recording.scenario.uplink, row["bandwidth_fraction"]
    channel = recording.channels[row["device"]].at_share(share)
    edges_s = _stretches(channel, from_s, to_s)
    # A difference of sums may come out below nothing.
    carried = [max(channel.carried(*stretch), 0.0) for stretch in pairwise(edges_s)]
    efficiency = np.array(carried) / np.diff(edges_s)
    snr_db = np.maximum(ratios_to_db(snr_of_efficiency(efficiency)), _LEAST_SNR_DB)
    values = [{"SNR dB": value} for value in snr_db.round(3).tolist()]
    if uplink.release == "hold":
        rates_bps = share * uplink.bandwidth * uplink.spatial_layers * efficiency
        rates = [{"rate Mb/s": rate} for rate in [*(rates_bps / 1e6).tolist(), 0.0]]
        values = [value | rate for value, rate in zip([*values, {}], rates, strict=True)]
    for edge_s, value in zip(edges_s, values, strict=False):
        yield _event("C", _SERVER, _ns(edge_s), name=f"device {row['device']}", args=value)


def _stretches(channel: Channel, from_s: float, to_s: float) -> list[float]:
    """Return the edges of the stretches in which a channel is shown, each as its mean.

    The channel changes at these edges, where it seldom does; else they are evenly spread. Of
    several changes within one even stretch, one is found.
    """
    if channel.is_constant:
        return [from_s, to_s]
    even_s = np.unique(np.linspace(from_s, to_s, _STRETCHES + 1)).tolist()
    levels = [channel.efficiency(at_s) for at_s in even_s]
    moving = [index for index, (old, new) in enumerate(pairwise(levels)) if old != new]
    if len(moving) > _STRETCHES // 2:
        return even_s
    changes_s = {_change(channel, levels[i], even_s[i], even_s[i + 1]) for i in moving}
    return [from_s, *sorted(at_s for at_s in changes_s if from_s < at_s < to_s), to_s]


def _change(channel: Channel, old: float, from_s: float, to_s: float) -> float:
    """Return the first whole nanosecond at which the efficiency is not the *old* one any more."""
    times_ns = range(math.ceil(from_s * 1e9), math.ceil(to_s * 1e9))
    moved = bisect_left(times_ns, True, key=lambda at_ns: channel.efficiency(at_ns / 1e9) != old)
    return (times_ns.start + moved) / 1e9


def _args(row: _Row, columns: Sequence[str]) -> _Row:
    """Return what is known of a row: seconds as milliseconds, and as text what is infinite."""
    known = {name: row[name] for name in columns if row[name] is not None}
    told = [
        (f"{name[:-2]}_ms", value * 1e3) if name.endswith("_s") else (name, value)
        for name, value in known.items()
    ]
    return {name: value if math.isfinite(value) else str(value) for name, value in told}


def _event(phase: str, track: int, at_ns: int | None = None, **fields: object) -> _Event:
    time = {} if at_ns is None else {"ts": at_ns / 1e3}
    return {"ph": phase, "pid": _PROCESS, "tid": track} | time | fields


def _ns(seconds: float) -> int:
    return round(seconds * 1e9)
