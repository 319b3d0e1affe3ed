"""The tables of a run under way: what comes from somewhere else is refused."""

from contextlib import closing, contextmanager

import numpy as np
import pyarrow as pa
import pytest

from fl.columns import TABLES
from fl.journal import End, Journal, JournalError
from fl.tables import Position


def rows(schema, count):
    """Rows of round 0, all else empty."""
    columns = [
        pa.array(np.zeros(count, np.int32))
        if field.name == "round"
        else pa.nulls(count, field.type)
        for field in schema
    ]
    return pa.Table.from_arrays(columns, schema=schema)


@contextmanager
def journal(folder, codec, count):
    """A journal of one round, as somebody else may have written it."""
    lengths = {}
    for name, schema in TABLES.items():
        path = folder / f"{name}.arrows"
        options = pa.ipc.IpcWriteOptions(compression=codec if name == "events" else None)
        table = rows(schema, count if name == "events" else 1)
        if name == "rounds":
            place = schema.get_field_index("end_s")
            table = table.set_column(place, schema.field(place), pa.array([1.0]))
        with pa.OSFile(str(path), "wb") as file:
            with pa.ipc.new_stream(file, schema, options=options) as writer:
                writer.write_table(table)
            lengths[name] = file.tell()
    with closing(Journal(folder, End(Position(1, 1.0), lengths))) as opened:
        yield opened


def test_a_journal_as_we_write_it_is_sound(tmp_path):
    with journal(tmp_path, None, 5) as opened:
        opened.check()


@pytest.mark.parametrize("codec", ["zstd", "lz4"])
def test_a_compressed_file_is_refused_before_it_is_unpacked(tmp_path, codec):
    """Of equal rows, thirty kilobytes can hold a gigabyte."""
    said = r"events\.arrows: cannot be used: it is compressed"
    with journal(tmp_path, codec, 1000) as opened, pytest.raises(JournalError, match=said):
        opened.check()
