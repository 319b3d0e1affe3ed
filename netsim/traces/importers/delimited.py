"""Any table with a column of times and one of values: CSV, TSV, or Parquet.

What the columns are called, and their units, is told; nothing is taken from the numbers.
"""

from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import NDArray

from netsim.errors import TraceError
from netsim.traces.importers.importer import Delimiter, Recording, Settings, TimeUnit
from netsim.traces.importers.policy import Ledger
from netsim.traces.importers.quantity import Quantity, check_label, scale_of
from netsim.traces.importers.table import record, table_of

_OF_SUFFIX = {".csv": Delimiter.COMMA, ".tsv": Delimiter.TAB}


def read_delimited(path: Path, settings: Settings, ledger: Ledger) -> list[Recording]:
    """Read a table by a map of its columns.

    Raises:
        TraceError: The file holds no such table, or the map is not complete.
    """
    columns, unit, quantity = column_map(path, settings)
    scale = scale_of(str(path), quantity, settings.stated)
    if path.suffix.lower() == ".parquet":
        ledger.place = "row"
        stamps, values = _parquet_columns(path, columns)
        lines = np.arange(len(stamps))
        return [Recording(stamps, values, lines, scale, unit.per_second)]
    table = table_of(path, delimiter_of(path, settings))
    where = (table.index(columns[0]), table.index(columns[1]))
    return [record(table, where, scale, ledger, per_second=unit.per_second)]


def column_map(path: Path, settings: Settings) -> tuple[tuple[str, str], TimeUnit, Quantity]:
    """Return the columns of time and value, and the units of both.

    Raises:
        TraceError: One of them is not stated, or the name of its column contradicts it.
    """
    file = str(path)
    time, value = settings.time_column, settings.value_column
    unit, quantity = settings.time_unit, settings.quantity
    if time is None or value is None:
        raise TraceError(f"{file}: needs --time-column and --value-column: which ones to read")
    if unit is None:
        raise TraceError(f"{file}: needs --time-unit: one of {', '.join(TimeUnit)}")
    if quantity is None:
        raise TraceError(f"{file}: needs --quantity: one of {', '.join(Quantity)}")
    check_label(file, time, unit)
    check_label(file, value, quantity)
    return (time, value), unit, quantity


def delimiter_of(path: Path, settings: Settings) -> str | None:
    """Return what separates cells: as stated, else as the file's name says.

    Raises:
        TraceError: Neither says it.
    """
    delimiter = settings.delimiter or _OF_SUFFIX.get(path.suffix.lower())
    if delimiter is None:
        raise TraceError(
            f"{path}: needs --delimiter, as its name ends in neither .csv nor .tsv: "
            f"one of {', '.join(Delimiter)}"
        )
    return delimiter.mark


def _parquet_columns(
    path: Path, columns: tuple[str, str]
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    try:
        with pq.ParquetFile(path) as file:
            table = file.read()
        stamps, values = (_numbers(path, table, column) for column in columns)
    except FileNotFoundError:
        raise TraceError(f"{path}: there is no such file") from None
    except (OSError, pa.ArrowException, UnicodeDecodeError, MemoryError) as error:
        reason = (str(error).splitlines() or ["it is damaged"])[0]
        raise TraceError(f"{path}: cannot be read as a Parquet file: {reason}") from None
    return stamps, values


def _numbers(path: Path, table: pa.Table, name: str) -> NDArray[np.float64]:
    if table.column_names.count(name) != 1:
        there = ", ".join(table.column_names)
        raise TraceError(f"{path}: column {name!r} must be there once; the columns are {there}")
    column = table.column(name)
    if not (pa.types.is_integer(column.type) or pa.types.is_floating(column.type)):
        raise TraceError(f"{path}: column {name!r} must hold numbers, holds {column.type}")
    numbers: NDArray[np.float64] = column.cast(pa.float64(), safe=False).to_numpy()
    return numbers
