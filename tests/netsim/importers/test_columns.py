"""Tables and arrays by a map of their columns: units by independent arithmetic."""

import io
import json
import math

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from netsim.traces import Kind, read_trace, write_trace

COLUMNS = {"time_column": "t", "time_unit": "s", "value_column": "v"}
SNR = COLUMNS | {"quantity": "snr_db"}


def table(*values, times=None):
    times = range(len(values)) if times is None else times
    return "t,v\n" + "".join(f"{t},{v}\n" for t, v in zip(times, values, strict=True))


def parquet(**columns):
    buffer = io.BytesIO()
    pq.write_table(pa.table(columns), buffer)
    return buffer.getvalue()


def npz(**arrays):
    buffer = io.BytesIO()
    np.savez(buffer, **arrays)
    return buffer.getvalue()


def test_the_columns_are_found_by_name_whatever_else_there_is(importing):
    text = 'place,v,"t"\n"a, b",3,0\n"c\nd",4,1\n'
    trace, problems = importing({"a.csv": text}, "delimited", **SNR)
    assert trace.kind is Kind.SNR_DB
    assert trace.devices[0].times_s.tolist() == [0, 1]
    assert trace.devices[0].values.tolist() == [3, 4]
    assert problems == [[]]


@pytest.mark.parametrize(
    ("name", "mark", "said"),
    [
        ("a.tsv", "\t", {}),
        ("a.csv", ";", {"delimiter": "semicolon"}),
        ("a.txt", "  ", {"delimiter": "blank"}),
        ("a.txt", ",", {"delimiter": "comma"}),
    ],
)
def test_cells_are_separated_as_the_name_or_the_person_says(importing, name, mark, said):
    text = table(5, 6).replace(",", mark)
    trace, _ = importing({name: text}, "delimited", **SNR, **said)
    assert trace.devices[0].values.tolist() == [5, 6]


def test_an_unknown_separator_is_asked_for(refusal):
    message = refusal({"a.txt": table(1, 2)}, "delimited", **SNR)
    assert "needs --delimiter" in message
    assert message.endswith("one of comma, tab, semicolon, blank")


@pytest.mark.parametrize(
    ("unit", "stamps", "times_s"),
    [
        ("s", ["1700000000.5", "1700000001"], [0, 0.5]),
        ("ms", ["1722584771162", "1722584771216", "1722584771270"], [0, 0.054, 0.108]),
        ("us", ["1722584771162001", "1722584771162002"], [0, 1e-6]),
    ],
)
def test_times_begin_at_0_and_lose_no_digit(importing, unit, stamps, times_s):
    text = table(*range(len(stamps)), times=stamps)
    trace, _ = importing({"a.csv": text}, "delimited", **SNR | {"time_unit": unit})
    assert trace.devices[0].times_s.tolist() == times_s


@pytest.mark.parametrize(("unit", "stamp"), [("s", 1722584771162), ("ms", 1722584771162001)])
def test_a_time_in_too_large_a_unit_is_noticed(refusal, unit, stamp):
    text = table(1, 2, times=[stamp, stamp + 54])
    message = refusal({"a.csv": text}, "delimited", **SNR | {"time_unit": unit})
    assert message == (
        f"a.csv: line 2: time {stamp} is thousands of years away; check the unit of time"
    )


CONVERSIONS = [
    # quantity, what is stated, value in the file, kind, value in the trace
    ("gain_db", {}, "-97.25", Kind.GAIN_DB, -97.25),
    ("gain_db", {"mean_gain": 1e-10}, "-3", Kind.GAIN_DB, -103.0),
    ("gain", {}, "1e-9", Kind.GAIN_DB, -90.0),
    ("gain", {"mean_gain": 0.001}, "2", Kind.GAIN_DB, 3.010299956639812 - 30),
    ("gain", {}, "0", Kind.GAIN_DB, -math.inf),
    ("snr_db", {}, "-4.5", Kind.SNR_DB, -4.5),
    ("rsrp_dbm", {"transmit_power_w": 1.0}, "-80", Kind.GAIN_DB, -110.0),
    ("rsrp_dbm", {"transmit_power_w": 0.02}, "-80", Kind.GAIN_DB, -80 - 13.010299956639812),
    ("spectral_efficiency", {}, "2.5", Kind.SPECTRAL_EFFICIENCY, 2.5),
    ("bit/s", {"bandwidth_hz": 20e6}, "5e6", Kind.SPECTRAL_EFFICIENCY, 0.25),
    ("kbit/s", {"bandwidth_hz": 5e6}, "1250", Kind.SPECTRAL_EFFICIENCY, 0.25),
    ("Mbit/s", {"bandwidth_hz": 10e6}, "2.5", Kind.SPECTRAL_EFFICIENCY, 0.25),
    ("cqi", {"cqi_table": "64qam"}, "15", Kind.SPECTRAL_EFFICIENCY, 948 / 1024 * 6),
    ("cqi", {"cqi_table": "256qam"}, "15", Kind.SPECTRAL_EFFICIENCY, 948 / 1024 * 8),
    ("cqi", {"cqi_table": "64qam"}, "1", Kind.SPECTRAL_EFFICIENCY, 78 / 1024 * 2),
    ("cqi", {"cqi_table": "256qam"}, "4", Kind.SPECTRAL_EFFICIENCY, 378 / 1024 * 4),
    ("cqi", {"cqi_table": "64qam"}, "0", Kind.SPECTRAL_EFFICIENCY, 0.0),
]


@pytest.mark.parametrize(("quantity", "stated", "value", "kind", "wanted"), CONVERSIONS)
def test_values_are_converted(importing, quantity, stated, value, kind, wanted):
    contents = {"a.csv": table(value, value)}
    trace, _ = importing(contents, "delimited", **COLUMNS, quantity=quantity, **stated)
    assert trace.kind is kind
    # The tables of channel quality are rounded to four digits.
    tolerance = 6e-5 if quantity == "cqi" else 1e-12
    assert trace.devices[0].values.tolist() == pytest.approx([wanted] * 2, abs=tolerance)


@pytest.mark.parametrize(
    ("quantity", "need"),
    [
        *((unit, "--bandwidth") for unit in ("bit/s", "kbit/s", "Mbit/s")),
        ("rsrp_dbm", "--transmit-power"),
        ("cqi", "--cqi-table"),
    ],
)
def test_what_a_conversion_needs_is_asked_for(refusal, quantity, need):
    message = refusal({"a.csv": table(1, 2)}, "delimited", **COLUMNS, quantity=quantity)
    assert message.startswith(f"a.csv: {quantity} values need {need}: ")


@pytest.mark.parametrize("value", [0.0, -1.0, math.nan, math.inf])
def test_a_bandwidth_must_be_one(refusal, value):
    said = {"quantity": "Mbit/s", "bandwidth_hz": value}
    message = refusal({"a.csv": table(1, 2)}, "delimited", **COLUMNS, **said)
    assert message == f"a.csv: --bandwidth must be > 0, is {value}"


def test_what_has_no_meaning_is_not_ignored(refusal):
    message = refusal({"a.csv": table(1, 2)}, "delimited", **SNR, bandwidth_hz=1e6)
    assert message == "a.csv: --bandwidth has no meaning for snr_db values"
    message = refusal({"a.csv": table(1, 2)}, "delimited", **SNR, bin_s=0.1)
    assert message.startswith("--bin: has no meaning for delimited, which takes --time-column, ")


@pytest.mark.parametrize(
    ("quantity", "value"),
    [
        ("snr_db", "2400"),
        ("rsrp_dbm", "71"),
        ("gain", "-1e-9"),
        ("spectral_efficiency", "-1"),
        ("cqi", "16"),
        ("cqi", "7.5"),
        ("kbit/s", "5e6"),
        ("gain_db", "-301"),
    ],
)
def test_values_that_no_link_has_are_implausible(refusal, quantity, value):
    stated = {
        "rsrp_dbm": {"transmit_power_w": 1.0},
        "cqi": {"cqi_table": "64qam"},
        "kbit/s": {"bandwidth_hz": 20e6},
    }.get(quantity, {})
    text = table("-60" if quantity == "rsrp_dbm" else "1", value)
    message = refusal({"a.csv": text}, "delimited", **COLUMNS, quantity=quantity, **stated)
    assert "implausible: 1 row (line 3)" in message


@pytest.mark.parametrize(
    ("column", "quantity"),
    [
        ("rsrp (dBm)", "snr_db"),
        ("rate_kbps", "Mbit/s"),
        ("rate[Mbps]", "kbit/s"),
        ("rate_Mbps", "snr_db"),
        ("rate (MB/s)", "Mbit/s"),
        ("rate_Gbps", "Mbit/s"),
        ("snr_db", "spectral_efficiency"),
    ],
)
def test_a_column_that_names_another_unit_is_refused(refusal, column, quantity):
    said = SNR | {"quantity": quantity, "value_column": column}
    said |= {"bandwidth_hz": 1e6} if quantity.endswith("bit/s") else {}
    message = refusal({"a.csv": f"t,{column}\n0,1\n1,1\n"}, "delimited", **said)
    assert message.startswith(f"a.csv: column '{column}' says ")
    assert f"not {quantity}" in message


def test_a_time_column_that_names_another_unit_is_refused(refusal):
    said = SNR | {"time_column": "pub_time(ms)"}
    message = refusal({"a.csv": "pub_time(ms),v\n0,1\n1,1\n"}, "delimited", **said)
    assert message.startswith("a.csv: column 'pub_time(ms)' says ms, not s")


@pytest.mark.parametrize("column", ["v", "rate_min", "rate_MBPS", "rate (Mbit/s)", "Mb/s", "a_b"])
def test_other_names_of_columns_are_none_of_our_business(importing, column):
    said = COLUMNS | {"value_column": column, "quantity": "Mbit/s", "bandwidth_hz": 1e6}
    trace, _ = importing({"a.csv": f"t,{column}\n0,1\n1,2\n"}, "delimited", **said)
    assert trace.devices[0].values.tolist() == [1, 2]


@pytest.mark.parametrize("lacking", ["time_column", "time_unit", "value_column", "quantity"])
def test_an_incomplete_map_is_asked_for(refusal, lacking):
    message = refusal({"a.csv": table(1, 2)}, "delimited", **SNR | {lacking: None})
    assert f"--{lacking.replace('_', '-')}" in message


def test_a_column_that_is_not_there_once_is_told_those_that_are(refusal):
    message = refusal({"a.csv": "time,v\n0,1\n"}, "delimited", **SNR)
    assert message == "a.csv: column 't' is not there; the columns are time, v"
    message = refusal({"a.csv": "t,v,v\n0,1,2\n"}, "delimited", **SNR)
    assert message == "a.csv: column 'v' is there twice; the columns are t, v, v"


@pytest.mark.parametrize("content", ["", "\n\n", b"\xff\xfe", 't,v\n0,"1\n1,2\n'])
def test_what_is_no_table_is_refused(refusal, content):
    assert refusal({"a.csv": content}, "delimited", **SNR).startswith("a.csv: ")


def test_a_parquet_table_is_read_by_its_columns(importing, refusal):
    times = pa.array([5, 6, 7], pa.int64())
    good = parquet(t=times, v=pa.array([1, None, 3], pa.float32()), note=["a", "b", "c"])
    assert "missing: 1 row (row 1)" in refusal({"a.parquet": good}, None, **SNR)
    trace, _ = importing({"a.parquet": good}, None, **SNR, missing="hold")
    assert trace.devices[0].times_s.tolist() == [0, 1, 2]
    assert trace.devices[0].values.tolist() == [1, 1, 3]
    text = parquet(t=times, v=["1", "2", "3"])
    assert "column 'v' must hold numbers, holds string" in refusal({"b.parquet": text}, None, **SNR)
    other = parquet(time=times)
    assert "column 't' must be there once" in refusal({"c.parquet": other}, None, **SNR)
    damaged = refusal({"d.parquet": good[:-9]}, "delimited", **SNR)
    assert "cannot be read as a Parquet file" in damaged


def test_arrays_are_read_by_their_names(importing):
    archive = npz(t=np.array([3, 4, 6]), v=np.array([[1.0, 2, 3], [4, 5, 6]]))
    trace, _ = importing({"a.npz": archive}, None, **SNR)
    assert [device.times_s.tolist() for device in trace.devices] == [[0, 1, 3]] * 2
    assert [device.values.tolist() for device in trace.devices] == [[1, 2, 3], [4, 5, 6]]
    assert trace.step_s is None


def test_arrays_without_times_need_a_step(importing, refusal):
    said = {"value_column": "v", "quantity": "gain"}
    archive = npz(v=np.array([1.0, 0.1, 0.01], dtype=np.float32))
    assert "needs --time-column" in refusal({"a.npz": archive}, "arrays", **said)
    trace, _ = importing({"a.npz": archive}, "arrays", **said, step_s=0.25)
    assert trace.devices[0].times_s.tolist() == [0, 0.25, 0.5]
    assert trace.devices[0].values.tolist() == pytest.approx([0, -10, -20], abs=1e-6)
    assert trace.step_s == 0.25
    both = said | {"time_column": "t", "step_s": 0.25}
    assert "not both" in refusal({"a.npz": archive}, "arrays", **both)


@pytest.mark.parametrize(
    ("arrays", "message"),
    [
        ({"t": [0.0, 1.0]}, "has no array 'v'; its arrays are t"),
        ({"t": [0.0, 1.0], "v": [1j, 2j]}, "of complex coefficients save abs(h)**2, a gain"),
        ({"t": [0.0, 1.0], "v": ["a", "b"]}, "must hold numbers"),
        ({"t": [0.0, 1.0], "v": [1.0, 2.0, 3.0]}, "there must be a time for each value"),
        ({"t": [0.0, 1.0], "v": 3.0}, "must be (time) or (device, time)"),
        ({"t": [], "v": []}, "must be (time) or (device, time)"),
        ({"t": [0.0, 1.0], "v": np.array([None, 1])}, "cannot be read as an .npz archive"),
    ],
)
def test_arrays_that_do_not_fit_are_refused(refusal, arrays, message):
    assert message in refusal({"a.npz": npz(**arrays)}, None, **SNR)


def test_an_imported_trace_is_written_and_read_without_loss(importing, tmp_path):
    trace, _ = importing({"a.csv": table(1.25, -math.inf, 3)}, "delimited", **SNR)
    write_trace(tmp_path / "t.parquet", trace)
    read = read_trace(tmp_path / "t.parquet")
    assert read.devices[0].values.tolist() == trace.devices[0].values.tolist()
    assert read.metadata["origin"] == "a.csv"
    assert read.metadata["importer"] == "delimited"
    assert json.loads(read.metadata["importer settings"]) == SNR
