import hashlib
import math
import tempfile
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from netsim.errors import TraceError
from netsim.traces import Kind, Samples, Trace, read_trace, write_trace

finite = st.floats(allow_nan=False, allow_infinity=False)
values_of = {
    Kind.GAIN_DB: finite | st.just(-math.inf),
    Kind.SNR_DB: finite | st.just(-math.inf),
    Kind.SPECTRAL_EFFICIENCY: st.floats(0, allow_infinity=False),
}


@st.composite
def traces(draw):
    kind = draw(st.sampled_from(Kind))
    step_s = draw(st.none() | st.floats(0, exclude_min=True, allow_infinity=False))
    moments = st.floats(-1e12, 1e12)
    times = st.lists(moments, min_size=1 if step_s else 2, max_size=6, unique=True).map(sorted)
    devices = []
    for times_s in draw(st.lists(times, min_size=1, max_size=4)):
        length = len(times_s)
        values = draw(st.lists(values_of[kind], min_size=length, max_size=length))
        devices.append(Samples(np.array(times_s), np.array(values)))
    words = st.text("seed=:1 \nµ漢", max_size=9)
    metadata = draw(st.dictionaries(words.map("about {}".format), words, max_size=3))
    return Trace(kind, devices, step_s, metadata)


def columns(**changed):
    """The columns of a sound trace of two devices, some of them changed or left out."""
    sound = {
        "device": pa.array([0, 0, 1, 1], pa.int32()),
        "time_s": pa.array([0.0, 1.0, 0.0, 0.5]),
        "snr_db": pa.array([10.0, 20.0, 5.0, -math.inf]),
    }
    return {name: column for name, column in (sound | changed).items() if column is not None}


def read_file_of(path, names_and_columns, metadata=None):
    pq.write_table(pa.table(names_and_columns, metadata=metadata), path)
    return read_trace(path)


@pytest.fixture
def refusal(tmp_path):
    """How a file with these columns and this metadata is refused."""
    path = tmp_path / "bad.parquet"

    def refuse(names_and_columns, metadata=None):
        with pytest.raises(TraceError) as caught:
            read_file_of(path, names_and_columns, metadata)
        assert str(caught.value).startswith(f"{path}: ")
        return str(caught.value).removeprefix(f"{path}: ")

    return refuse


def assert_same(read, written):
    assert read.kind is written.kind
    assert read.step_s == written.step_s
    assert len(read.devices) == len(written.devices)
    for got, wanted in zip(read.devices, written.devices, strict=True):
        assert got.times_s.tolist() == wanted.times_s.tolist()
        assert got.values.tolist() == wanted.values.tolist()


@given(traces())
@settings(deadline=None, max_examples=50)
def test_what_is_written_is_read_without_loss(trace):
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "trace.parquet"
        write_trace(path, trace)
        read = read_trace(path)
        assert read.name == str(path)
        assert read.sha256() == hashlib.sha256(path.read_bytes()).hexdigest()
        assert pq.ParquetFile(path).num_row_groups == len(trace.devices)
    assert_same(read, trace)
    assert read.metadata.items() >= trace.metadata.items()


@given(traces())
@settings(deadline=None, max_examples=50)
def test_a_trace_read_and_written_again_is_the_same_trace(trace):
    with tempfile.TemporaryDirectory() as folder:
        first, second = Path(folder) / "first.parquet", Path(folder) / "second.parquet"
        write_trace(first, trace)
        once = read_trace(first)
        write_trace(second, once)
        twice = read_trace(second)
    assert_same(twice, once)
    assert twice.metadata == once.metadata


def test_one_device_can_be_read_alone(tmp_path):
    devices = [Samples(np.arange(n + 2.0) ** 2, np.full(n + 2, float(n))) for n in range(3)]
    write_trace(tmp_path / "t.parquet", Trace(Kind.GAIN_DB, devices))
    for number, samples in enumerate(devices):
        group = pq.ParquetFile(tmp_path / "t.parquet").read_row_group(number).to_pydict()
        assert group == {
            "device": [number] * (number + 2),
            "time_s": samples.times_s.tolist(),
            "gain_db": samples.values.tolist(),
        }


def test_a_long_device_is_one_row_group_too(tmp_path):
    rows = 2**20 + 1
    devices = [Samples(np.arange(float(rows)), np.zeros(rows))]
    write_trace(tmp_path / "t.parquet", Trace(Kind.SNR_DB, devices))
    assert pq.ParquetFile(tmp_path / "t.parquet").num_row_groups == 1


def test_a_file_is_replaced_whole_and_nothing_else_is_left(tmp_path):
    path = tmp_path / "t.parquet"
    for value in (1.0, 2.0):
        samples = Samples(np.array([0.0, 1.0]), np.array([value, value]))
        write_trace(path, Trace(Kind.SNR_DB, [samples]))
    assert read_trace(path).devices[0].values.tolist() == [2.0, 2.0]
    assert list(tmp_path.iterdir()) == [path]


def test_the_last_sample_holds_for_the_stated_step_or_as_long_as_the_one_before():
    samples = Samples(np.array([3.0, 4.0, 6.5]), np.zeros(3))
    assert Trace(Kind.SNR_DB, [samples]).span_s(samples) == 3.5 + 2.5
    assert Trace(Kind.SNR_DB, [samples], step_s=0.25).span_s(samples) == 3.5 + 0.25


def test_a_step_measured_with_numpy_is_read_back(tmp_path):
    times_s = np.array([0.0, 0.5])
    samples = Samples(times_s, np.zeros(2))
    write_trace(tmp_path / "t.parquet", Trace(Kind.SNR_DB, [samples], times_s[1] - times_s[0]))
    assert read_trace(tmp_path / "t.parquet").step_s == 0.5


def test_a_file_of_others_may_hold_more_columns_in_any_order_and_narrower_types(tmp_path):
    trace = read_file_of(
        tmp_path / "t.parquet",
        {
            "note": ["a", "b", "c"],
            "spectral_efficiency": pa.array([1.5, 0.0, 2.0], pa.float32()),
            "time_s": pa.array([0.0, 0.5, 0.25], pa.float32()),
            "device": pa.array([0, 0, 1], pa.uint8()),
        },
        {"step": "0.125", "origin": "elsewhere"},
    )
    assert trace.kind is Kind.SPECTRAL_EFFICIENCY
    assert [samples.times_s.tolist() for samples in trace.devices] == [[0.0, 0.5], [0.25]]
    assert [samples.values.tolist() for samples in trace.devices] == [[1.5, 0.0], [2.0]]
    assert trace.devices[0].values.dtype == np.float64
    assert (trace.step_s, trace.metadata["origin"]) == (0.125, "elsewhere")


def test_a_fleet_of_many_devices_is_kept_apart(tmp_path):
    devices = [Samples(np.array([0.0, 1.0]), np.full(2, float(n))) for n in range(300)]
    write_trace(tmp_path / "t.parquet", Trace(Kind.SNR_DB, devices))
    read = read_trace(tmp_path / "t.parquet").devices
    assert [samples.values.tolist() for samples in read] == [[n, n] for n in range(300)]


def test_the_sound_columns_are_sound(tmp_path):
    trace = read_file_of(tmp_path / "t.parquet", columns())
    assert [samples.values.tolist() for samples in trace.devices] == [[10, 20], [5, -math.inf]]


def test_a_missing_file_is_named(tmp_path):
    with pytest.raises(TraceError, match=r"none\.parquet: there is no such trace file"):
        read_trace(tmp_path / "none.parquet")


@pytest.mark.parametrize("content", [b"", b"time_s,snr_db\n0,1\n", b"PAR1" + bytes(99) + b"PAR1"])
def test_a_file_that_is_not_parquet_is_named(tmp_path, content):
    path = tmp_path / "t.parquet"
    path.write_bytes(content)
    with pytest.raises(TraceError, match=r"t\.parquet: cannot be read as a Parquet file: \S+"):
        read_trace(path)


def test_a_folder_is_not_a_trace(tmp_path):
    with pytest.raises(TraceError, match="is not a file"):
        read_trace(tmp_path)


@pytest.mark.parametrize("kept", [0.1, 0.5, 0.9, 0.999])
def test_a_truncated_file_is_named(tmp_path, kept):
    path = tmp_path / "t.parquet"
    samples = Samples(np.arange(1000.0), np.sin(np.arange(1000.0)))
    write_trace(path, Trace(Kind.SNR_DB, [samples, samples]))
    content = path.read_bytes()
    path.write_bytes(content[: int(len(content) * kept)])
    with pytest.raises(TraceError, match=r"t\.parquet: cannot be read as a Parquet file"):
        read_trace(path)


def test_a_file_whose_column_names_are_not_text_is_named(tmp_path):
    path = tmp_path / "t.parquet"
    pq.write_table(pa.table(columns()), path)
    path.write_bytes(path.read_bytes().replace(b"time_s", b"time\xffs"))
    with pytest.raises(TraceError, match=r"t\.parquet: "):
        read_trace(path)


@pytest.mark.parametrize("name", ["device", "time_s"])
def test_a_missing_column_is_named_with_those_of_a_trace(refusal, name):
    message = refusal(columns(**{name: None}))
    assert message.startswith(f"column {name} is missing")
    assert "device, time_s and one of gain_db, snr_db, spectral_efficiency" in message


def test_a_file_without_a_kind_is_told_the_kinds_and_its_own_columns(refusal):
    message = refusal(columns(snr_db=None, rssi=[1.0] * 4))
    assert "one of the columns gain_db, snr_db, spectral_efficiency" in message
    assert message.endswith("its columns are device, time_s, rssi")


def test_a_file_of_two_kinds_is_told_that_it_must_have_one(refusal):
    message = refusal(columns(gain_db=[1.0] * 4))
    assert "one of the columns gain_db, snr_db, spectral_efficiency" in message
    assert message.endswith("its columns are device, time_s, snr_db, gain_db")


def test_a_kind_that_is_there_twice_is_refused(tmp_path):
    arrays = [*columns().values(), columns()["snr_db"]]
    table = pa.Table.from_arrays(arrays, names=["device", "time_s", "snr_db", "snr_db"])
    pq.write_table(table, tmp_path / "t.parquet")
    with pytest.raises(TraceError, match=r"t\.parquet: .*snr_db"):
        read_trace(tmp_path / "t.parquet")


@pytest.mark.parametrize(
    ("name", "column"),
    [
        ("device", pa.array([0, 0, None, None], pa.int32())),
        ("time_s", [0.0, None, 0.0, None]),
        ("snr_db", [None, 1.0, 2.0, None]),
    ],
)
def test_empty_values_are_counted(refusal, name, column):
    assert refusal(columns(**{name: column})) == f"column {name} has 2 empty values"


@pytest.mark.parametrize(
    ("name", "column", "message"),
    [
        ("device", [0.0, 0.0, 1.0, 1.0], "column device must be int32, is double"),
        ("device", ["0", "0", "1", "1"], "column device must be int32, is string"),
        ("time_s", [0, 1, 0, 1], "column time_s must be float64, is int64"),
        ("snr_db", ["1", "2", "3", "4"], "column snr_db must be float64, is string"),
        ("snr_db", [1, 2, 3, 4], "column snr_db must be float64, is int64"),
    ],
)
def test_a_column_of_the_wrong_type_is_told_the_right_one(refusal, name, column, message):
    assert refusal(columns(**{name: column})) == message


@pytest.mark.parametrize(
    "device", [[1, 1, 2, 2], [0, 0, 2, 2], [1, 1, 0, 0], [0, 1, 0, 1], [-1] * 4]
)
def test_devices_must_count_from_0_and_be_sorted(refusal, device):
    message = refusal(columns(device=pa.array(device, pa.int32())))
    assert "numbered from 0 without a gap" in message
    assert "sorted by device, then time" in message


@pytest.mark.parametrize("time_s", [[0.0, 1.0, 2.0, 1.5], [0.0, 1.0, 1.5, 1.5]])
def test_time_that_does_not_increase_is_shown_with_its_row(refusal, time_s):
    assert refusal(columns(time_s=time_s)) == ("row 3 (device 1): time_s must increase, is 1.5")


@pytest.mark.parametrize("time", [math.nan, math.inf, -math.inf])
def test_a_time_that_is_no_number_is_shown_with_its_row(refusal, time):
    message = refusal(columns(time_s=[0.0, time, 0.0, 1.0]))
    assert message == f"row 1 (device 0): time_s must be a number, is {time}"


@pytest.mark.parametrize("value", [math.nan, math.inf])
def test_a_value_that_is_no_number_is_shown_with_its_row(refusal, value):
    message = refusal(columns(snr_db=[1.0, 2.0, value, value]))
    assert message == (f"row 2 (device 1): snr_db must be a number, is {value} (1 more such rows)")


@pytest.mark.parametrize(
    ("value", "condition"), [(-0.5, ">= 0"), (-math.inf, "a number"), (math.nan, "a number")]
)
def test_an_efficiency_below_zero_is_shown_with_its_row(refusal, value, condition):
    message = refusal(columns(snr_db=None, spectral_efficiency=[1.0, value, 0.0, 2.0]))
    assert message == f"row 1 (device 0): spectral_efficiency must be {condition}, is {value}"


def test_a_trace_without_rows_is_refused(refusal):
    empty = {name: column[:0] for name, column in columns().items()}
    assert refusal(empty) == "has no rows"


@pytest.mark.parametrize("step", ["0", "-1", "nan", "inf", "25 ms", ""])
def test_a_step_that_is_no_length_of_time_is_shown(refusal, step):
    assert refusal(columns(), {"step": step}) == f"metadata step must be seconds > 0, is {step!r}"


def test_a_single_sample_needs_a_stated_step(tmp_path, refusal):
    single = columns(device=pa.array([0, 0, 1, 2], pa.int32()))
    message = refusal(single)
    assert message.startswith("device 1 has one sample")
    assert "metadata has no step" in message
    trace = read_file_of(tmp_path / "t.parquet", single, {"step": "0.5"})
    assert [trace.span_s(samples) for samples in trace.devices] == [1.5, 0.5, 0.5]


@pytest.mark.parametrize("metadata", [{b"about": b"\xff"}, {b"\xff": b"about"}])
def test_metadata_that_is_not_text_does_no_harm(tmp_path, metadata):
    assert len(read_file_of(tmp_path / "t.parquet", columns(), metadata).devices) == 2
