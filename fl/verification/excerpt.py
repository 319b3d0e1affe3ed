"""Some rounds of a run's tables, as arrays."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from numpy.typing import NDArray

from fl.phases import OUTCOMES, PHASES
from fl.tables import STATUSES

Columns = Mapping[str, NDArray[np.float64]]
#: The columns that hold words, and which.
_WORDS = {"outcome": OUTCOMES, "status": STATUSES, "phase": PHASES}
_ROWS_AT_ONCE = 1 << 17


@dataclass(frozen=True)
class Excerpt:
    """Consecutive rounds: columns of the table of rounds, [R], and of devices, [R, K].

    All are numbers: what is not known is NaN, and a word is its place among those there are.
    """

    rounds: Columns
    devices: Columns

    def whose(self, wrong: NDArray[np.bool_]) -> Iterator[tuple[str, tuple[int, int]]]:
        """Yield the round and device of each entry that is wrong, and its place."""
        for row, column in np.argwhere(wrong).tolist():
            round_, device = self.rounds["round"][row], self.devices["device"][row, column]
            yield f"round {round_:g}, device {device:g}", (row, column)


def excerpts(folder: Path, rounds: pa.Table, num_participants: int) -> Iterator[Excerpt]:
    """Yield all rounds, some at a time; the table of devices has so many rows for each."""
    at_once = max(_ROWS_AT_ONCE // num_participants, 1)
    columns = as_numbers(rounds)
    tables = in_steps(folder / "devices.parquet", at_once * num_participants)
    for first, table in zip(range(0, rounds.num_rows, at_once), tables, strict=True):
        yield Excerpt(
            {name: values[first : first + at_once] for name, values in columns.items()},
            {name: v.reshape(-1, num_participants) for name, v in as_numbers(table).items()},
        )


def in_steps(path: Path, rows: int) -> Iterator[pa.Table]:
    """Yield a Parquet file so many rows at a time; the rest comes last."""
    waiting: pa.Table | None = None
    for batch in pq.ParquetFile(path).iter_batches(_ROWS_AT_ONCE):
        table = pa.Table.from_batches([batch])
        waiting = table if waiting is None else pa.concat_tables([waiting, table])
        while waiting.num_rows >= rows:
            yield waiting.slice(0, rows)
            waiting = waiting.slice(rows)
    if waiting is not None and waiting.num_rows:
        yield waiting


def as_numbers(table: pa.Table) -> dict[str, NDArray[np.float64]]:
    """Return the columns of a table as numbers."""
    numbers = {}
    for name in table.column_names:
        column = table[name]
        if name in _WORDS:
            column = pc.index_in(column.cast(pa.string()), value_set=pa.array(_WORDS[name]))
        numbers[name] = column.cast(pa.float64()).to_numpy()
    return numbers
