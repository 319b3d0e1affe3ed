"""The tables of a run under way: files that only grow, and of which so many bytes count.

Each time some rounds are appended, each file gets one Arrow IPC stream more, whole. How far a
file counts is kept apart from it, so what a process has left behind that when it died is passed
over. When the run is over, the files become Parquet.
"""

import os
import struct
from collections.abc import Iterator, Mapping, Sequence
from io import FileIO
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from fl.columns import ROUNDS, TABLES
from fl.files import appearing
from fl.tables import Position
from netsim.errors import InputError

#: Of a row group. However the rounds came, in few pieces or many, files are the same.
_ROWS_AT_ONCE = 1 << 17


class JournalError(InputError):
    """Tables of a run under way that cannot be read."""


class End(NamedTuple):
    """How far a journal goes."""

    position: Position
    """Of the first round that is not in it."""
    lengths: Mapping[str, int]
    """Bytes of each file that count."""


BEGINNING = End(Position(), dict.fromkeys(TABLES, 0))


class Journal:
    """The tables of the rounds so far."""

    def __init__(self, folder: Path, end: End = BEGINNING) -> None:
        """Open the files, or make them.

        Raises:
            JournalError: They are somewhere else.
        """
        self.end = end
        self._paths = {name: folder / f"{name}.arrows" for name in TABLES}
        self._files: dict[str, FileIO] = {}
        for name, path in self._paths.items():
            if folder.is_symlink() or path.is_symlink():
                raise JournalError(f"{path}: is a link; what is written there would go elsewhere")
            path.touch()
            self._files[name] = FileIO(path, "r+")

    def append(self, tables: Sequence[pa.Table]) -> None:
        """Take the next rounds; if that fails, the journal ends where it did."""
        lengths = {}
        for (name, file), table in zip(self._files.items(), tables, strict=True):
            file.seek(self.end.lengths[name])
            _write(file, _stream(table))
            lengths[name] = file.tell()
        last = tables[0].slice(tables[0].num_rows - 1).to_pylist()[0]
        # All at once: whatever interrupts this, position and lengths belong together.
        self.end = End(Position(last["round"] + 1, last["end_s"]), lengths)

    def sync(self) -> None:
        """Wait until everything is on the disk."""
        for file in self._files.values():
            os.fsync(file.fileno())

    def close(self) -> None:
        """Let go of the files."""
        for file in self._files.values():
            file.close()

    def check(self) -> None:
        """Look whether all rounds are there, and can be read.

        Raises:
            JournalError: They are not.
        """
        for name in TABLES:
            try:
                self._check(name)
            except (OSError, ValueError, MemoryError, struct.error, pa.ArrowException) as error:
                reason = (str(error) or "no reason given").splitlines()[0]
                raise JournalError(f"{self._paths[name]}: cannot be used: {reason}") from None

    def write_parquet(self, folder: Path) -> None:
        """Write the tables as Parquet files; each appears when it is whole."""
        for name, schema in TABLES.items():
            # Floats hardly repeat: looking for repetitions took longer than the rest.
            repeating = [f.name for f in schema if not pa.types.is_floating(f.type)]
            with (
                appearing(folder / f"{name}.parquet") as path,
                pq.ParquetWriter(
                    path, schema, compression="zstd", use_dictionary=repeating
                ) as writer,
            ):
                for group in _row_groups(self._batches(name)):
                    writer.write_table(group)

    def _check(self, name: str) -> None:
        self._refuse_compressed(name)
        last = Position()
        for batch in self._batches(name):
            _check(batch, TABLES[name], last.round)
            if batch.num_rows:
                row = batch.slice(batch.num_rows - 1).to_pylist()[0]
                last = Position(row["round"] + 1, row.get("end_s", 0.0))
        if last.round > self.end.position.round:
            raise ValueError(f"round {last.round - 1} is not over")
        if name == "rounds" and last != self.end.position:
            raise ValueError(f"does not end with round {self.end.position.round - 1}")

    def _refuse_compressed(self, name: str) -> None:
        """Refuse a file that is more than it seems: a few bytes can stand for a billion rows."""
        with pa.OSFile(str(self._paths[name])) as file:
            while file.tell() < self.end.lengths[name]:
                if any(map(_is_compressed, pa.ipc.MessageReader.open_stream(file))):
                    raise ValueError("it is compressed")

    def _batches(self, name: str) -> Iterator[pa.RecordBatch]:
        length = self.end.lengths[name]
        with pa.OSFile(str(self._paths[name])) as file:
            while file.tell() < length:
                yield from pa.ipc.open_stream(file)
            if file.tell() != length:
                raise ValueError(f"{length} bytes are no whole number of rounds")


def _stream(table: pa.Table) -> pa.Buffer:
    sink = pa.BufferOutputStream()
    # Not compressed: a run's floats hardly shrink, and it is read once.
    with pa.ipc.new_stream(sink, table.schema) as writer:
        writer.write_table(table)
    return sink.getvalue()


def _write(file: FileIO, buffer: pa.Buffer) -> None:
    left = memoryview(buffer)
    while left:  # a disk that is nearly full takes a part
        left = left[file.write(left) :]


#: The way to a record batch in a message: of Message the header, of DictionaryBatch the data.
_TO_BATCH = {"record batch": (2,), "dictionary": (2, 1)}
_COMPRESSION = 3


def _is_compressed(message: pa.Message) -> bool:
    """Return whether what belongs to a message would have to be unpacked.

    Arrow tells only when it has done so. It is looked up in the message itself, a FlatBuffer:
    offsets of members in a table before each table, and where there is none, no such member.
    """
    content = memoryview(message.metadata)
    table = _target(content, 0)
    for index in _TO_BATCH.get(message.type, ()):
        table = _target(content, _member(content, table, index))
    return message.type in _TO_BATCH and _member(content, table, _COMPRESSION) != table


def _target(content: memoryview, place: int) -> int:
    offset: int = struct.unpack_from("<I", content, place)[0]
    return place + offset


def _member(content: memoryview, table: int, index: int) -> int:
    """Return where a member of a table is; the table itself, if it has none such."""
    members = table - struct.unpack_from("<i", content, table)[0]
    size, slot = struct.unpack_from("<H", content, members)[0], 4 + 2 * index
    offset: int = struct.unpack_from("<H", content, members + slot)[0] if slot < size else 0
    return table + offset


def _check(batch: pa.RecordBatch, schema: pa.Schema, next_round: int) -> None:
    """Look whether a batch can follow the rounds before *next_round*."""
    if not batch.schema.equals(schema):
        raise ValueError("its columns are not those of this version")
    batch.validate(full=True)
    if batch["round"].null_count:
        raise ValueError("a row has no round")
    # Some rounds may leave no row in other tables, and most leave several.
    steps = np.diff(batch["round"].to_numpy(), prepend=np.int32(next_round - 1))
    if (steps != 1 if schema is ROUNDS else steps < 0).any():
        raise ValueError(f"rounds are not in order after round {next_round - 1}")


def _row_groups(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.Table]:
    """Yield the rows of *batches* so many at a time, each time in one piece."""
    waiting: list[pa.RecordBatch] = []
    rows = 0
    for batch in batches:
        waiting.append(batch)
        rows += batch.num_rows
        while rows >= _ROWS_AT_ONCE:
            table = pa.Table.from_batches(waiting)
            yield table.slice(0, _ROWS_AT_ONCE).combine_chunks()
            waiting = table.slice(_ROWS_AT_ONCE).to_batches()
            rows -= _ROWS_AT_ONCE
    if rows:
        yield pa.Table.from_batches(waiting).combine_chunks()
