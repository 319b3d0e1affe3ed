"""Traces in Parquet files: one row group a device, so that one is read without the others.

Columns ``device`` (int32, from 0), ``time_s`` (float64) and one of the kinds, rows sorted
by device, then time. Metadata: ``kind``, ``step`` in seconds, and whatever else the trace
says of itself. A file laid out otherwise, as by another program, is read whole.
"""

import itertools
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import NDArray

from netsim.errors import TraceError
from netsim.traces.checks import check_devices, check_samples
from netsim.traces.trace import Kind, OnDemand, Samples, Trace

#: What Arrow raises over a damaged file.
_FAILURES = (OSError, UnicodeError, pa.ArrowException)


def write_trace(path: Path, trace: Trace) -> None:
    """Write *trace*, a device at a time; the file appears when it is whole."""
    metadata = {key: value for key, value in trace.metadata.items() if key != "step"}
    metadata["kind"] = str(trace.kind)
    if trace.step_s is not None:
        metadata["step"] = repr(float(trace.step_s))
    schema = pa.schema(
        [("device", pa.int32()), ("time_s", pa.float64()), (str(trace.kind), pa.float64())],
        metadata=metadata,
    )
    partial = path.with_name(f".{path.name}.partial")
    try:
        with pq.ParquetWriter(
            partial, schema, compression="zstd", use_dictionary=["device"]
        ) as writer:
            # Not a loop over the sequence: devices that are made when asked for are let go.
            for number in range(len(trace.devices)):
                samples = trace.devices[number]
                device = np.full(len(samples.times_s), number, dtype=np.int32)
                columns = [pa.array(device), pa.array(samples.times_s), pa.array(samples.values)]
                table = pa.Table.from_arrays(columns, schema=schema)
                writer.write_table(table, row_group_size=len(device))
        partial.replace(path)
    finally:
        partial.unlink(missing_ok=True)


def read_trace(path: Path) -> Trace:
    """Open a trace and check it, as far as can be told without reading every device.

    Raises:
        TraceError: The file cannot be read, or is not a trace; the message says where. The
            same is raised when a device is asked for whose samples are not in order.
    """
    try:
        if path.exists() and not path.is_file():
            raise TraceError(f"{path}: is not a file")
        file = pq.ParquetFile(path)
        columns = file.schema_arrow.names
    except FileNotFoundError:
        raise TraceError(f"{path}: there is no such trace file") from None
    except _FAILURES as error:
        raise _unreadable(path, error) from None
    metadata = {
        key.decode(errors="replace"): value.decode(errors="replace")
        for key, value in (file.schema_arrow.metadata or {}).items()
        if not key.startswith(b"ARROW:")
    }
    kind = _kind(path, columns)
    for name in ("device", "time_s", str(kind)):
        _check_column(path, file.schema_arrow, name)
    step_s = _stated_step(path, metadata)
    devices = _open_devices(path, file, kind, needs_two=step_s is None)
    return Trace(kind, devices, step_s, metadata, str(path), path)


#: At once: a few bytes of Parquet can stand for any number of equal rows.
_MOST_ROWS = 2 * 10**8


class _RowGroups(OnDemand):
    """The devices of a file whose every row group is one device, read when asked for."""

    def __init__(
        self,
        path: Path,
        file: pq.ParquetFile,
        kind: Kind,
        sizes: Sequence[int],
        *,
        needs_two: bool,
    ) -> None:
        self._path = path
        self._file = file
        self._kind = kind
        self._needs_two = needs_two
        self._first_row = [0, *itertools.accumulate(sizes)]

    def __len__(self) -> int:
        return self._file.num_row_groups

    def samples(self, device: int) -> Samples:
        """Read and check the trace of one device."""
        columns = ["time_s", str(self._kind)]
        try:
            table = self._file.read_row_group(device, columns=columns)
        except _FAILURES as error:
            raise _unreadable(self._path, error) from None
        samples = Samples(*(_numbers(self._path, table, name) for name in columns))
        first_row = self._first_row[device]
        check_samples(self._path, device, samples, self._kind, first_row, needs_two=self._needs_two)
        return samples


def _open_devices(
    path: Path, file: pq.ParquetFile, kind: Kind, *, needs_two: bool
) -> Sequence[Samples]:
    sizes = [file.metadata.row_group(i).num_rows for i in range(file.num_row_groups)]
    _check_rows(path, max(sizes, default=0))
    devices = _devices_of_groups(file, sizes)
    if devices and devices == list(range(len(devices))):
        return _RowGroups(path, file, kind, sizes, needs_two=needs_two)
    _check_rows(path, file.metadata.num_rows)
    try:
        table = file.read(columns=["device", "time_s", str(kind)])
    except _FAILURES as error:
        raise _unreadable(path, error) from None
    device = _numbers(path, table, "device")
    check_devices(path, device)
    bounds = np.searchsorted(device, np.arange(device[-1] + 2)).tolist()
    columns = [_numbers(path, table, name) for name in ("time_s", str(kind))]
    read = []
    for number, (start, stop) in enumerate(itertools.pairwise(bounds)):
        samples = Samples(*(column[start:stop] for column in columns))
        check_samples(path, number, samples, kind, start, needs_two=needs_two)
        read.append(samples)
    return read


def _check_rows(path: Path, count: int) -> None:
    if count > _MOST_ROWS:
        raise TraceError(f"{path}: has {count} rows to be read at once, more than {_MOST_ROWS}")


#: Of the device column, at once; a row group each time would take ten times as long.
_ROWS_AT_ONCE = 10**6


def _devices_of_groups(file: pq.ParquetFile, sizes: Sequence[int]) -> list[int | None]:
    """Return the one device that each row group holds; None, if there are several.

    Statistics of the groups would say so sooner, but over damaged ones Arrow ends the process.
    """
    window = [row // _ROWS_AT_ONCE for row in itertools.accumulate(sizes)]
    found: list[int | None] = []
    for _, run in itertools.groupby(range(len(sizes)), window.__getitem__):
        found += _devices_of(file, list(run), sizes)
    return found


def _devices_of(
    file: pq.ParquetFile, groups: Sequence[int], sizes: Sequence[int]
) -> Sequence[int | None]:
    try:
        column = file.read_row_groups(groups, columns=["device"], use_threads=False).column(0)
    except _FAILURES:
        if len(groups) == 1:
            return groups  # that it is damaged is told when it is asked for, and not before
        return [_devices_of(file, [group], sizes)[0] for group in groups]
    rows = [sizes[group] for group in groups]
    if column.null_count or len(column) != sum(rows):
        return [None] * len(groups)
    pieces = np.split(column.to_numpy(), np.cumsum(rows)[:-1])
    return [int(p[0]) if len(p) and (p == p[0]).all() else None for p in pieces]


def _kind(path: Path, columns: Sequence[str]) -> Kind:
    kinds = [kind for kind in Kind if kind in columns]
    if len(kinds) != 1:
        found = ", ".join(columns) or "none"
        raise TraceError(
            f"{path}: must have one of the columns {', '.join(Kind)}; its columns are {found}"
        )
    return kinds[0]


def _check_column(path: Path, schema: pa.Schema, name: str) -> None:
    if schema.names.count(name) != 1:
        problem = "is missing" if name not in schema.names else "stands more than once"
        raise TraceError(
            f"{path}: column {name} {problem}; a trace has device, time_s and one of "
            f"{', '.join(Kind)}"
        )
    wanted = pa.types.is_integer if name == "device" else pa.types.is_floating
    type_ = schema.field(name).type
    if not wanted(type_):
        right = "int32" if name == "device" else "float64"
        raise TraceError(f"{path}: column {name} must be {right}, is {type_}")


def _numbers(path: Path, table: pa.Table, name: str) -> NDArray[np.float64]:
    column = table.column(name)
    if column.null_count:
        raise TraceError(f"{path}: column {name} has {column.null_count} empty values")
    return column.to_numpy().astype(np.int64 if name == "device" else np.float64, copy=False)


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


def _unreadable(path: Path, error: Exception) -> TraceError:
    reason = str(error).splitlines()[0] if str(error) else type(error).__name__
    return TraceError(f"{path}: cannot be read as a Parquet file: {reason}")
