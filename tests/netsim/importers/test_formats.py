"""The formats of others, in files written as their tools write them."""

import math

import pytest

from netsim.errors import TraceError
from netsim.traces import Kind
from netsim.traces.importers import FORMATS, Settings, import_files

BAND = {"bandwidth_hz": 12e6}


def rows(device):
    return list(zip(device.times_s.tolist(), device.values.tolist(), strict=True))


# Time and rate


def test_rates_keep_their_irregular_steps(importing):
    text = "0.0\t4.5\n0.55\t3.0\n\n1.75\t0\n"
    trace, problems = importing({"a.tsv": text}, "rate-table", bandwidth_hz=5e6)
    assert trace.kind is Kind.SPECTRAL_EFFICIENCY
    assert trace.devices[0].times_s.tolist() == [0, 0.55, 1.75]
    assert trace.devices[0].values.tolist() == pytest.approx([0.9, 0.6, 0])
    assert problems == [[]]


@pytest.mark.parametrize("text", ["0,3\n1,6\n", "0 3\n1   6", " 0, 3 \r\n1, 6\r\n", "0 3\r1 6"])
def test_rates_may_be_separated_by_blanks_or_commas(importing, text):
    trace, _ = importing({"a.txt": text}, "rate-table", **BAND)
    assert rows(trace.devices[0]) == [(0, 0.25), (1, 0.5)]


def test_rates_with_a_header_or_more_columns_are_noticed(refusal):
    message = refusal({"a.txt": "time rate\n0 3\n1 6 9\n2\n"}, "rate-table", **BAND)
    assert "unreadable: 2 rows (lines 1, 4)" in message
    assert "extra: 1 row (line 3)" in message


def test_a_rate_without_a_bandwidth_is_refused(refusal):
    assert "Mbit/s values need --bandwidth" in refusal({"a.tsv": "0 1\n1 1\n"}, "rate-table")


# Mahimahi


def deliveries(*milliseconds):
    return "".join(f"{ms}\n" for ms in milliseconds)


def test_a_packet_a_millisecond_is_12_mbit_s(importing):
    contents = {"a.up": deliveries(*range(1, 1001))}
    trace, problems = importing(contents, None, **BAND)
    assert trace.kind is Kind.SPECTRAL_EFFICIENCY
    assert trace.step_s == 0.1
    assert trace.devices[0].times_s.tolist() == [k / 10 for k in range(10)]
    assert trace.devices[0].values.tolist() == pytest.approx([1.0] * 10)
    assert problems == [[]]


def test_packets_are_counted_in_the_bin_that_ends_with_their_millisecond(importing):
    text = deliveries(0, 1, 1, 10, 11, 30, 30, 40)
    trace, _ = importing({"a.down": text}, None, **BAND, bin_s=0.01)
    # A packet a bin of 10 ms is 1.2 Mbit/s.
    assert trace.devices[0].values.tolist() == pytest.approx([0.4, 0.1, 0.2, 0.1])
    assert trace.step_s == 0.01


def test_bits_are_conserved_up_to_the_last_whole_bin(importing):
    text = deliveries(*(7 * k for k in range(1, 300)))  # ends at 2093 ms
    trace, _ = importing({"a.up": text}, None, **BAND)
    assert len(trace.devices[0].values) == 20
    carried = trace.devices[0].values.sum() * 12e6 * 0.1
    assert carried == pytest.approx(12_000 * (2000 // 7))


def test_silence_is_no_gap(importing):
    _, problems = importing({"a.up": deliveries(100, 200, 90_000)}, None, **BAND)
    assert problems == [[]]


def test_deliveries_out_of_order_and_other_lines_are_noticed(importing, refusal):
    text = "100\n50\nx\n1.5\n-3\n200\n"
    message = refusal({"a.up": text}, None, **BAND)
    assert "unreadable: 3 rows (lines 3, 4, 5)" in message
    assert "backward: 1 row (line 2)" in message
    for action, counts in (("sort", [0.2, 0.1]), ("drop", [0.1, 0.1])):
        said = BAND | {"unreadable": "skip", "backward": action}
        trace, _ = importing({"a.up": text}, None, **said)
        assert trace.devices[0].values.tolist() == pytest.approx([count / 10 for count in counts])


@pytest.mark.parametrize(
    ("text", "said", "message"),
    [
        ("50\n", {}, "is shorter than one bin of 100 ms"),
        ("100000000000000\n", {}, "more than 10000000 bins of 100 ms; give a longer --bin"),
        ("100\n", {"bin_s": 0.0005}, "--bin must be whole milliseconds"),
        ("100\n", {"bin_s": 0.0}, "--bin must be whole milliseconds"),
        ("100\n", {"bin_s": math.nan}, "--bin must be whole milliseconds"),
        ("", {}, "has no line that is a millisecond"),
    ],
)
def test_bins_must_fit_the_deliveries(refusal, text, said, message):
    assert message in refusal({"a.up": text}, "mahimahi", **BAND, **said)


# G-NetTrack

LOG = "Timestamp,Longitude,CellID,RSRP,SNR,CQI,DL_bitrate,UL_bitrate,State\n"


def log_line(second, rsrp="-90", snr="12.0", cqi="9", down="2400"):
    stamp = f"2019.11.28_07.{27 + second // 60}.{second % 60:02d}"
    return f"{stamp},-8.39,12,{rsrp},{snr},{cqi},{down},7,D\n"


@pytest.mark.parametrize(
    ("column", "stated", "kind", "value"),
    [
        ("SNR", {}, Kind.SNR_DB, 12.0),
        ("RSRP", {"transmit_power_w": 0.001}, Kind.GAIN_DB, -90.0),
        ("CQI", {"cqi_table": "64qam"}, Kind.SPECTRAL_EFFICIENCY, 2.4063),
        ("DL_bitrate", {"bandwidth_hz": 12e6}, Kind.SPECTRAL_EFFICIENCY, 0.2),
    ],
)
def test_a_column_of_a_log_is_read(importing, column, stated, kind, value):
    text = LOG + "".join(map(log_line, (58, 59, 60)))
    trace, problems = importing({"a.csv": text}, None, value_column=column, **stated)
    assert trace.kind is kind
    assert trace.metadata["importer"] == "g-nettrack"
    assert trace.devices[0].times_s.tolist() == [0, 1, 2]
    assert trace.devices[0].values.tolist() == pytest.approx([value] * 3)
    assert problems == [[]]


def test_the_troubles_of_a_log_are_told_apart(importing, refusal):
    text = LOG + log_line(0) + log_line(1, snr="-") + log_line(2, snr="-200") + log_line(2)
    text += log_line(3) + log_line(3, snr="14.0") + "2019.13.28_07.27.58,,,,,,,,\n" + log_line(4)
    message = refusal({"a.csv": text}, None, value_column="SNR")
    for trouble in (
        "missing: 1 row (line 3)",
        "sentinel: 1 row (line 4)",
        "repeated: 2 rows (lines 5, 7)",
        "unreadable: 1 row (line 8)",
    ):
        assert trouble in message
    assert len(message.split("\n")) == 5
    said = {"missing": "skip", "sentinel": "missing", "repeated": "last", "unreadable": "skip"}
    trace, _ = importing({"a.csv": text}, None, value_column="SNR", **said)
    assert rows(trace.devices[0]) == [(0, 12), (2, 12), (3, 14), (4, 12)]


def test_the_column_of_a_log_is_asked_for(refusal):
    for said in ({}, {"value_column": "snr"}):
        message = refusal({"a.csv": LOG + log_line(0)}, None, **said)
        assert message.endswith(
            "needs --value-column: one of SNR, RSRP, CQI, DL_bitrate, UL_bitrate"
        )


# CICV5G

RUN = "pub_time(ms) sub_time(ms) delay(ms) velocity(m/s) cellid(db) sinr(db) rsrp(db)\n"


def run_line(ms, sinr=16, rsrp=-88, more=""):
    return f"{1722416865917 + ms} {1722416865940 + ms} 23 1.62 5C422503D {sinr} {rsrp} {more}\n"


def test_a_run_is_read_by_the_millisecond(importing):
    text = RUN + run_line(0) + run_line(55, 14) + run_line(109, -3)
    trace, problems = importing({"a.txt": text}, None, value_column="sinr(db)")
    assert trace.kind is Kind.SNR_DB
    assert rows(trace.devices[0]) == [(0, 16), (0.055, 14), (0.109, -3)]
    assert problems == [[]]
    trace, _ = importing({"a.txt": text}, None, value_column="rsrp", transmit_power_w=0.001)
    assert trace.kind is Kind.GAIN_DB
    assert trace.devices[0].values.tolist() == [-88, -88, -88]


def test_rows_of_a_run_that_go_on_beyond_the_header_are_noticed(importing, refusal):
    text = RUN + run_line(0) + run_line(55, more="328941.77 3463475.65") + run_line(109)
    message = refusal({"a.txt": text}, "cicv5g", value_column="sinr")
    assert "extra: 1 row (line 3): more columns than there should be" in message
    trace, _ = importing({"a.txt": text}, "cicv5g", value_column="sinr", extra="ignore")
    assert trace.devices[0].values.tolist() == [16, 16, 16]


def test_a_row_of_a_run_that_was_cut_is_noticed(refusal):
    text = RUN + run_line(0) + run_line(55) + "1722416866027 1722416866047 21 1.64 5C42 -8"
    assert "unreadable: 1 row (line 4)" in refusal({"a.txt": text}, None, value_column="sinr")


def test_the_column_of_a_run_is_asked_for(refusal):
    message = refusal({"a.txt": RUN + run_line(0)}, None)
    assert message == "a.txt: needs --value-column: one of sinr(db), rsrp(db)"


# ns-3

MATRIX = "0 -10 3\n-20 -10 -inf \n"
FADING = {"step_s": 0.5, "mean_gain": 1e-10}


def test_each_resource_block_may_be_a_device(importing):
    trace, _ = importing({"a.fad": MATRIX}, None, **FADING, blocks="devices")
    assert trace.kind is Kind.GAIN_DB
    assert trace.step_s == 0.5
    assert [device.times_s.tolist() for device in trace.devices] == [[0, 0.5, 1]] * 2
    values = [device.values.tolist() for device in trace.devices]
    assert values == [[-100, -110, -97], [-120, -110, -math.inf]]


def test_resource_blocks_may_become_the_mean_of_their_powers(importing):
    trace, _ = importing({"a.fad": MATRIX}, None, **FADING, blocks="mean")
    means = [(1 + 0.01) / 2, 0.1, 10**0.3 / 2]
    (device,) = trace.devices
    wanted = [10 * math.log10(mean) - 100 for mean in means]
    assert device.values.tolist() == pytest.approx(wanted, rel=1e-12)


@pytest.mark.parametrize("lacking", ["step_s", "mean_gain", "blocks"])
def test_what_a_matrix_does_not_say_is_asked_for(refusal, lacking):
    said = FADING | {"blocks": "mean"}
    del said[lacking]
    option = lacking.removesuffix("_s").replace("_", "-")
    assert refusal({"a.fad": MATRIX}, None, **said).startswith(f"a.fad: needs --{option}: ")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("0 1\n2\n", "line 2: has 1 values, line 1 2"),
        ("0 1\n2 x\n", "line 2: 'x' is no number"),
        (" \n", "is empty"),
        ("0 -\n1 1\n", "missing: 1 row (line 1)"),
    ],
)
def test_what_is_no_matrix_is_refused(refusal, text, message):
    assert message in refusal({"a.fad": text}, None, **FADING, blocks="devices")


# Several files, and which format


def test_files_share_the_clock_of_the_earliest_unless_aligned(importing):
    contents = {
        "b.txt": RUN + run_line(2000) + run_line(2050),
        "a.txt": RUN + run_line(0) + run_line(55),
    }
    trace, problems = importing(contents, None, value_column="sinr")
    assert [device.times_s.tolist() for device in trace.devices] == [[2, 2.05], [0, 0.055]]
    assert problems == [[], []]
    assert trace.metadata["origin"] == "b.txt, a.txt"
    trace, _ = importing(contents, None, value_column="sinr", align=True)
    assert [device.times_s.tolist() for device in trace.devices] == [[0, 0.05], [0, 0.055]]


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("a.tsv", "0.0\t4.5\n0.5\t3\n"),
        ("a.csv", "0,4.5\n"),
        ("a.txt", "time,value\n"),
        ("a", "1\n2\n"),
        ("a.up", "x\n"),
        ("a.npz", "x\n"),
        ("a.parquet", "x\n"),
        ("a.txt", ""),
        ("a.txt", b"\xff\x00"),
    ],
)
def test_a_format_that_cannot_be_told_is_asked_for(refusal, name, content):
    message = refusal({name: content})
    assert message.startswith(f"{name}: could be of more than one format; needs --format: ")
    assert all(format_name in message for format_name in FORMATS)


def test_an_unknown_format_is_told_those_there_are(refusal):
    message = refusal({"a.txt": ""}, "pcap")
    assert message.startswith("--format: must be one of delimited (CSV")
    assert message.endswith("; is 'pcap'")


COMPLETE = {
    "delimited": {
        "time_column": "t",
        "time_unit": "s",
        "value_column": "v",
        "quantity": "snr_db",
        "delimiter": "comma",
    },
    "rate-table": BAND,
    "mahimahi": BAND,
    "g-nettrack": {"value_column": "SNR", "delimiter": "comma"},
    "cicv5g": {"value_column": "sinr"},
    "ns3-fading": FADING | {"blocks": "mean"},
    "arrays": {"step_s": 1.0, "value_column": "v", "quantity": "snr_db"},
}


@pytest.mark.parametrize("name", ["none", "folder", "none.parquet", "folder.parquet"])
@pytest.mark.parametrize("format_name", [None, *FORMATS])
def test_a_file_that_is_not_there_is_named(tmp_path, format_name, name):
    for folder in ("folder", "folder.parquet"):
        (tmp_path / folder).mkdir()
    settings = Settings(**COMPLETE.get(format_name, {}))
    with pytest.raises(TraceError, match=f"{name}: (cannot be read|there is no such file)"):
        import_files([tmp_path / name], format_name, settings)


def test_no_files_are_no_trace():
    with pytest.raises(TraceError, match="at least one file"):
        import_files([], None, Settings())


def test_a_setting_must_be_one_of_its_words():
    with pytest.raises(TraceError, match="--time-unit: must be one of s, ms, us; is 'min'"):
        Settings(time_unit="min")
