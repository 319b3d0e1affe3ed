"""Tables in text: rows of cells, with the lines they stand on."""

import csv
import re
from array import array
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from netsim.errors import TraceError
from netsim.traces.importers.importer import Recording
from netsim.traces.importers.policy import Ledger, Trouble
from netsim.traces.importers.quantity import Scale

_NUMBER = re.compile(r"[+-]?(?:(?:\d+\.?\d*|\.\d+)(?:e[+-]?\d+)?|inf)", re.ASCII | re.IGNORECASE)
_NO_VALUE = frozenset(("", "-", "nan", "na", "n/a", "null", "none"))


@dataclass(frozen=True)
class Table:
    """A header, and the rows below it."""

    file: str
    header: Sequence[str]
    rows: Sequence[Sequence[str]]
    lines: Sequence[int]

    def index(self, column: str) -> int:
        """Return where *column* stands in a row.

        Raises:
            TraceError: It is not there, or twice.
        """
        found = [index for index, name in enumerate(self.header) if name == column]
        if len(found) != 1:
            times = "is there twice" if found else "is not there"
            raise TraceError(
                f"{self.file}: column {column!r} {times}; the columns are {_listed(self.header)}"
            )
        return found[0]


def number(cell: str) -> float:
    """Return the number in a cell, NaN if it says that there is none.

    >>> number("-12.5"), number(" - ")
    (-12.5, nan)

    Raises:
        ValueError: It is neither; a number with a unit behind it is none.
    """
    text = cell.strip()
    if _NUMBER.fullmatch(text):
        return float(text)
    if text.lower() in _NO_VALUE:
        return np.nan
    raise ValueError(text)


def text_of(path: Path) -> str:
    """Return the text in a file.

    Raises:
        TraceError: It cannot be read, or is no UTF-8.
    """
    try:
        return path.read_bytes().decode("utf-8-sig")
    except OSError as error:
        raise TraceError(f"{path}: cannot be read: {error.strerror}") from None
    except UnicodeDecodeError as error:
        raise TraceError(f"{path}: is no UTF-8 text: byte {error.start} is wrong") from None


def lines_of(path: Path) -> list[str]:
    """Return the lines of a file, as editors count them.

    Raises:
        TraceError: It cannot be read, or is no UTF-8.
    """
    # str.splitlines would also end lines at characters that no editor does.
    return text_of(path).replace("\r\n", "\n").replace("\r", "\n").split("\n")


def table_of(path: Path, delimiter: str | None) -> Table:
    """Read a table with a header; blank lines do not count.

    Args:
        path: The file.
        delimiter: What stands between cells; None: blanks, any number of them.

    Raises:
        TraceError: There is no text, or no header.
    """
    numbered = list(_rows(path, delimiter))
    if not numbered:
        raise TraceError(f"{path}: is empty; the first line must name the columns")
    header = [cell.strip() for cell in numbered[0][1]]
    return Table(
        str(path), header, [row for _, row in numbered[1:]], [line for line, _ in numbered[1:]]
    )


def _rows(path: Path, delimiter: str | None) -> Iterator[tuple[int, list[str]]]:
    lines = lines_of(path)
    if delimiter is None:
        yield from ((line, row.split()) for line, row in enumerate(lines, 1) if row.strip())
        return
    reader = csv.reader((f"{line}\n" for line in lines), delimiter=delimiter, strict=True)
    try:
        yield from ((reader.line_num, row) for row in reader if any(map(str.strip, row)))
    except csv.Error as error:
        raise TraceError(f"{path}: line {reader.line_num}: {error}") from None


def record(
    table: Table,
    columns: tuple[int, int],
    scale: Scale,
    ledger: Ledger,
    *,
    stamp: Callable[[str], float] = number,
    per_second: float = 1.0,
) -> Recording:
    """Return what the columns of time and value say.

    A row shorter than the header is unreadable: nobody can tell which cells it lacks.

    Args:
        table: The table.
        columns: Where time and value stand in a row.
        scale: What the values are.
        ledger: Where unreadable rows, and rows with extra columns, are noted.
        stamp: Reads a time; a ValueError says that it is none.
        per_second: How many units of time a second has.
    """
    time, value = columns
    width = len(table.header)
    stamps, values, lines = array("d"), array("d"), array("q")
    unreadable, extra = [], []
    for line, row in zip(table.lines, table.rows, strict=True):
        if any(map(str.strip, row[width:])):
            extra.append(line)
        try:
            moment, measured, _ = stamp(row[time]), number(row[value]), row[width - 1]
        except (IndexError, ValueError):
            unreadable.append(line)
            continue
        stamps.append(moment)
        values.append(measured)
        lines.append(line)
    ledger.note(Trouble.EXTRA, extra)
    ledger.note(Trouble.UNREADABLE, unreadable)
    return Recording(
        np.array(stamps, dtype=np.float64),
        np.array(values, dtype=np.float64),
        np.array(lines, dtype=np.int64),
        scale,
        per_second,
    )


def _listed(names: Sequence[str], most: int = 30) -> str:
    shown = ", ".join(name[:40] for name in names[:most])
    return f"{shown}, ..." if len(names) > most else shown
