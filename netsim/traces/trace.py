"""Channel traces: what the channel of each device did, in a Parquet file.

Columns ``device`` (int32, from 0), ``time_s`` (float64) and one of the kinds below, rows
sorted by device, then time. A value holds from its time until the next sample; the last
one holds for a step.
"""

import hashlib
import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import NDArray

from netsim.errors import TraceError


class Kind(StrEnum):
    """What the values of a trace are; also the name of their column."""

    GAIN_DB = "gain_db"
    """Power gain, path loss included."""
    SNR_DB = "snr_db"
    """Signal-to-noise ratio at the receiver."""
    SPECTRAL_EFFICIENCY = "spectral_efficiency"
    """Bits a second and hertz."""


@dataclass(frozen=True)
class Samples:
    """The trace of one device."""

    times_s: NDArray[np.float64]
    values: NDArray[np.float64]


@dataclass(frozen=True)
class Trace:
    """The traces of all devices of one file."""

    kind: Kind
    devices: Sequence[Samples]
    step_s: float | None = None
    """How long the last sample of every device holds; None: as long as the one before it."""
    metadata: Mapping[str, str] = field(default_factory=dict)
    """Whatever the file says of itself: origin, seed, generator settings."""
    name: str = "trace"
    """How errors call it; the path, if it was read."""
    sha256: str = ""
    """Of the file it was read from."""

    def span_s(self, device: int) -> float:
        """Return how long the trace of *device* is, from its first sample on."""
        times_s = self.devices[device].times_s
        last_s = times_s[-1] - times_s[-2] if self.step_s is None else self.step_s
        return float(times_s[-1] - times_s[0] + last_s)


def write_trace(path: Path, trace: Trace) -> None:
    """Write *trace*, one row group a device, so that one can be read alone."""
    metadata = {key: value for key, value in trace.metadata.items() if key != "step"}
    metadata["kind"] = str(trace.kind)
    if trace.step_s is not None:
        metadata["step"] = repr(float(trace.step_s))
    schema = pa.schema(
        [("device", pa.int32()), ("time_s", pa.float64()), (str(trace.kind), pa.float64())],
        metadata=metadata,
    )
    partial = path.with_name(f".{path.name}.partial")
    with pq.ParquetWriter(partial, schema, compression="zstd", use_dictionary=False) as writer:
        for number, samples in enumerate(trace.devices):
            device = np.full(len(samples.times_s), number, dtype=np.int32)
            columns = [pa.array(device), pa.array(samples.times_s), pa.array(samples.values)]
            table = pa.Table.from_arrays(columns, schema=schema)
            writer.write_table(table, row_group_size=len(device))
    partial.replace(path)


def read_trace(path: Path) -> Trace:
    """Read and check a trace.

    Raises:
        TraceError: The file cannot be read, or is not a trace; the message says where.
    """
    try:
        table = pq.read_table(path)
        columns = table.column_names
        sha256 = hashlib.sha256(path.read_bytes()).hexdigest()
    except FileNotFoundError:
        raise TraceError(f"{path}: there is no such trace file") from None
    except (OSError, pa.ArrowException, UnicodeDecodeError) as error:
        reason = str(error).splitlines()[0]
        raise TraceError(f"{path}: cannot be read as a Parquet file: {reason}") from None
    metadata = {
        key.decode(errors="replace"): value.decode(errors="replace")
        for key, value in (table.schema.metadata or {}).items()
        if not key.startswith(b"ARROW:")
    }
    kind = _kind(path, columns)
    device = _column(path, table, "device").astype(np.int64)
    times_s = _column(path, table, "time_s")
    values = _column(path, table, str(kind))
    _check_rows(path, device, times_s, values, kind)
    bounds = np.searchsorted(device, np.arange(device[-1] + 2))
    step_s = _stated_step(path, metadata)
    if step_s is None and (np.diff(bounds) == 1).any():
        raise TraceError(
            f"{path}: device {int((np.diff(bounds) == 1).argmax())} has one sample, and the "
            "metadata has no step: how long it holds is not known"
        )
    devices = [
        Samples(times_s[start:stop], values[start:stop])
        for start, stop in itertools.pairwise(bounds)
    ]
    return Trace(kind, devices, step_s, metadata, str(path), sha256)


def _kind(path: Path, columns: Sequence[str]) -> Kind:
    kinds = [kind for kind in Kind if kind in columns]
    if len(kinds) != 1:
        found = ", ".join(columns) or "none"
        raise TraceError(
            f"{path}: must have one of the columns {', '.join(Kind)}; its columns are {found}"
        )
    return kinds[0]


def _column(path: Path, table: pa.Table, name: str) -> NDArray[np.float64]:
    if name not in table.column_names:
        raise TraceError(
            f"{path}: column {name} is missing; a trace has device, time_s and one of "
            f"{', '.join(Kind)}"
        )
    column = table.column(name)
    if column.null_count:
        raise TraceError(f"{path}: column {name} has {column.null_count} empty values")
    wanted = pa.types.is_integer if name == "device" else pa.types.is_floating
    if not wanted(column.type):
        raise TraceError(
            f"{path}: column {name} must be {'int32' if name == 'device' else 'float64'}, "
            f"is {column.type}"
        )
    array: NDArray[np.float64] = column.to_numpy()
    return array if name == "device" else array.astype(np.float64, copy=False)


def _check_rows(
    path: Path,
    device: NDArray[np.int64],
    times_s: NDArray[np.float64],
    values: NDArray[np.float64],
    kind: Kind,
) -> None:
    if not len(device):
        raise TraceError(f"{path}: has no rows")
    steps = np.diff(device)
    if device[0] != 0 or ((steps != 0) & (steps != 1)).any():
        raise TraceError(
            f"{path}: devices must be numbered from 0 without a gap, and rows sorted by "
            "device, then time"
        )
    usable = np.isfinite(values)
    if kind is not Kind.SPECTRAL_EFFICIENCY:
        usable |= np.isneginf(values)  # no power at all
    _refuse(path, ~np.isfinite(times_s), "time_s must be a number", times_s, device)
    _refuse(path, ~usable, f"{kind} must be a number", values, device)
    if kind is Kind.SPECTRAL_EFFICIENCY:
        _refuse(path, values < 0, f"{kind} must be >= 0", values, device)
    backward = np.concatenate(([False], (steps == 0) & (np.diff(times_s) <= 0)))
    _refuse(path, backward, "time_s must increase", times_s, device)


def _refuse(
    path: Path,
    bad: NDArray[np.bool_],
    condition: str,
    values: NDArray[np.float64],
    device: NDArray[np.int64],
) -> None:
    if bad.any():
        row = int(bad.argmax())
        more = f" ({bad.sum() - 1} more such rows)" if bad.sum() > 1 else ""
        raise TraceError(
            f"{path}: row {row} (device {device[row]}): {condition}, is {values[row]}{more}"
        )


def _stated_step(path: Path, metadata: Mapping[str, str]) -> float | None:
    if "step" not in metadata:
        return None
    try:
        step_s = float(metadata["step"])
    except ValueError:
        step_s = np.nan
    if not 0 < step_s < np.inf:
        raise TraceError(f"{path}: metadata step must be seconds > 0, is {metadata['step']!r}")
    return step_s
