"""Files of traces: one device read without the others, whoever laid the file out."""

from contextlib import suppress

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from netsim.errors import TraceError
from netsim.traces import Kind, Samples, Trace, read_trace, write_trace

LENGTHS = (400, 300, 500, 200, 350)


def devices(lengths=LENGTHS):
    rng = np.random.default_rng(5)
    return [
        Samples(np.cumsum(rng.uniform(0.001, 0.1, length)), rng.uniform(-120, -80, length))
        for length in lengths
    ]


@pytest.fixture
def written(tmp_path):
    path = tmp_path / "t.parquet"
    write_trace(path, Trace(Kind.GAIN_DB, devices(), 0.01, {"origin": "here"}))
    return path


def bytes_of(path, number):
    """Where the column chunks of one row group stand in the file."""
    group = pq.ParquetFile(path).metadata.row_group(number)
    columns = [group.column(index) for index in range(group.num_columns)]
    begin = min(c.dictionary_page_offset or c.data_page_offset for c in columns)
    return begin, begin + sum(c.total_compressed_size for c in columns)


def damage(path, number):
    begin, end = bytes_of(path, number)
    content = bytearray(path.read_bytes())
    content[begin:end] = b"\xa5" * (end - begin)
    path.write_bytes(content)


def same(one, other):
    return (
        one.times_s.tolist() == other.times_s.tolist()
        and one.values.tolist() == other.values.tolist()
    )


@pytest.mark.parametrize("broken", range(5))
def test_one_device_is_read_without_touching_the_others(written, broken):
    damage(written, broken)
    trace = read_trace(written)
    assert len(trace.devices) == 5
    for number, expected in enumerate(devices()):
        if number != broken:
            assert same(trace.devices[number], expected)
    with pytest.raises(TraceError, match=r"t\.parquet: cannot be read as a Parquet file: \S"):
        trace.devices[broken]


def test_all_damaged_but_one_still_gives_that_one(written):
    for number in (0, 1, 2, 4):
        damage(written, number)
    assert same(read_trace(written).devices[3], devices()[3])


def test_a_device_with_bad_samples_is_named_when_it_is_asked_for_and_not_before(tmp_path):
    sound = devices()
    bad = Samples(sound[2].times_s, np.where(np.arange(500) == 7, np.nan, sound[2].values))
    path = tmp_path / "t.parquet"
    write_trace(path, Trace(Kind.GAIN_DB, [*sound[:2], bad, *sound[3:]], 0.01))
    trace = read_trace(path)
    assert same(trace.devices[3], sound[3])
    # Rows are counted through the whole file: 400 + 300 + 7.
    with pytest.raises(TraceError, match=r"row 707 \(device 2\): gain_db must be a number"):
        trace.devices[2]


def test_a_device_whose_time_stands_still_is_named_when_it_is_asked_for(tmp_path):
    path = tmp_path / "t.parquet"
    times_s = np.array([0.0, 1.0, 1.0])
    sound = Samples(np.arange(3.0), np.zeros(3))
    write_trace(path, Trace(Kind.SNR_DB, [sound, Samples(times_s, np.zeros(3))], 0.01))
    trace = read_trace(path)
    with pytest.raises(TraceError, match=r"row 5 \(device 1\): time_s must increase"):
        trace.devices[1]


def test_devices_of_a_file_are_indexed_and_sliced_like_a_list(written):
    read, expected = read_trace(written).devices, devices()
    assert same(read[-1], expected[-1])
    for part in (slice(1, 4), slice(None, None, -2), slice(3, 99), slice(2, 2)):
        found = read[part]
        assert len(found) == len(expected[part])
        assert all(map(same, found, expected[part]))
    for beyond in (5, -6):
        with pytest.raises(IndexError):
            read[beyond]
    assert all(map(same, read, expected))  # and looped over


def table_of(samples):
    return pa.table(
        {
            "device": pa.array(
                np.repeat(np.arange(len(samples)), [len(s.values) for s in samples])
            ),
            "time_s": np.concatenate([s.times_s for s in samples]),
            "gain_db": np.concatenate([s.values for s in samples]),
        },
        metadata={"step": "0.01"},
    )


@given(st.integers(1, 2000), st.booleans(), st.lists(st.integers(1, 60), min_size=1, max_size=8))
@settings(deadline=None, max_examples=40)
def test_any_division_into_row_groups_reads_the_same(tmp_path_factory, rows, statistics, lengths):
    path = tmp_path_factory.mktemp("layout") / "t.parquet"
    expected = devices(lengths)
    pq.write_table(table_of(expected), path, row_group_size=rows, write_statistics=statistics)
    trace = read_trace(path)
    assert len(trace.devices) == len(expected)
    assert all(map(same, trace.devices, expected))
    assert trace.step_s == 0.01


@pytest.mark.parametrize("groups", [(400, 700, 650), (200, 200, 300, 1050), (1750,)])
def test_foreign_layouts_read_the_same(tmp_path, groups):
    """Several devices a group, a device over several groups, and all in one."""
    path = tmp_path / "t.parquet"
    table = table_of(devices())
    with pq.ParquetWriter(path, table.schema) as writer:
        start = 0
        for rows in groups:
            writer.write_table(table.slice(start, rows), row_group_size=rows)
            start += rows
    assert pq.ParquetFile(path).num_row_groups == len(groups)
    trace = read_trace(path)
    assert len(trace.devices) == 5
    assert all(map(same, trace.devices, devices()))


def test_row_groups_in_the_wrong_order_are_refused(tmp_path):
    path = tmp_path / "t.parquet"
    table = table_of(devices((10, 10)))
    with pq.ParquetWriter(path, table.schema) as writer:
        writer.write_table(table.slice(10, 10))
        writer.write_table(table.slice(0, 10))
    with pytest.raises(TraceError, match="numbered from 0 without a gap"):
        read_trace(path)


class Failing(list):
    """Devices of which one cannot be made."""

    def __getitem__(self, number):
        if number == 2:
            raise TraceError("device 2 cannot be made")
        return super().__getitem__(number)


def test_a_file_that_could_not_be_written_whole_leaves_nothing(tmp_path):
    with pytest.raises(TraceError, match="device 2 cannot be made"):
        write_trace(tmp_path / "t.parquet", Trace(Kind.GAIN_DB, Failing(devices()), 0.01))
    assert list(tmp_path.iterdir()) == []


def test_a_file_that_could_not_be_replaced_stays_as_it_was(written):
    before = written.read_bytes()
    with pytest.raises(TraceError, match="device 2 cannot be made"):
        write_trace(written, Trace(Kind.GAIN_DB, Failing(devices()), 0.01))
    assert written.read_bytes() == before
    assert list(written.parent.iterdir()) == [written]


def test_a_folder_that_is_not_there_is_not_made(tmp_path):
    with pytest.raises(FileNotFoundError):
        write_trace(tmp_path / "none" / "t.parquet", Trace(Kind.GAIN_DB, devices(), 0.01))
    assert list(tmp_path.iterdir()) == []


def test_a_read_trace_is_whole_even_if_its_file_is_removed(written):
    """The file stays open while the trace is in use."""
    trace = read_trace(written)
    written.unlink()
    assert all(map(same, trace.devices, devices()))


def test_the_same_trace_is_the_same_bytes(tmp_path):
    for name in ("one", "two"):
        write_trace(tmp_path / name, Trace(Kind.GAIN_DB, devices(), 0.01, {"a": "b", "c": "d"}))
    assert (tmp_path / "one").read_bytes() == (tmp_path / "two").read_bytes()
    assert read_trace(tmp_path / "one").sha256() == read_trace(tmp_path / "two").sha256()


@pytest.mark.parametrize("name", ["x" * 300, "\ud800"])
def test_an_impossible_name_is_told(tmp_path, name):
    with pytest.raises(TraceError, match="cannot be read as a Parquet file"):
        read_trace(tmp_path / name)


def test_no_damage_to_what_a_file_says_of_itself_ends_the_process(tmp_path):
    """Every bit of it in turn: the file is read, or refused in words."""
    path = tmp_path / "t.parquet"
    write_trace(path, Trace(Kind.GAIN_DB, devices((3, 2)), 0.01))
    content = path.read_bytes()
    length = int.from_bytes(content[-8:-4], "little") + 8
    said = set()
    for place in range(len(content) - length, len(content)):
        damaged = bytearray(content)
        damaged[place] ^= 1 << place % 8
        path.write_bytes(damaged)
        with suppress(TraceError):
            trace = read_trace(path)
            said.add(sum(len(trace.devices[number].values) for number in range(len(trace.devices))))
    assert 5 in said
