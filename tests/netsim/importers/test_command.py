"""``straggler trace import``, as a person uses it."""

import pytest
import typer
from typer.testing import CliRunner

from fl.trace_import import import_command
from netsim.errors import InputError
from netsim.traces import Kind, read_trace

APP = typer.Typer(add_completion=False)
APP.command()(import_command)
RATES = ["--format", "rate-table", "--bandwidth", "5 MHz"]


@pytest.fixture
def command(tmp_path, monkeypatch):
    """Run the command beside two files of rates, one of them dirty."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "a.tsv").write_text("0\t5\n1\t10\n")
    (tmp_path / "b.tsv").write_text("0\t5\n1\t-\n2\t2.5\n2\t7\n")

    def run(*arguments):
        return CliRunner().invoke(APP, [*arguments, "--out", "out.parquet"])

    return run


def refused(result, tmp_path):
    """How the command was refused; it must leave nothing behind."""
    assert isinstance(result.exception, InputError)
    assert result.output == ""
    assert {path.name for path in tmp_path.iterdir()} <= {"a.tsv", "b.tsv"}
    return str(result.exception)


def test_files_become_a_trace_and_what_was_accepted_is_told(command, tmp_path):
    accepted = ["--missing", "hold", "--repeated", "last"]
    result = command("a.tsv", "b.tsv", *RATES, *accepted)
    assert result.exit_code == 0, result.exception
    assert result.output.splitlines() == [
        "b.tsv: missing: 1 row (line 2): no value: hold",
        "b.tsv: repeated: 1 row (line 4): the time of an earlier row again: last",
        "out.parquet: 2 devices, 5 samples of spectral_efficiency",
    ]
    trace = read_trace(tmp_path / "out.parquet")
    assert trace.kind is Kind.SPECTRAL_EFFICIENCY
    assert [device.values.tolist() for device in trace.devices] == [[1, 2], [1, 1, 1.4]]
    assert trace.metadata["origin"] == "a.tsv, b.tsv"
    assert {path.name for path in tmp_path.iterdir()} == {"a.tsv", "b.tsv", "out.parquet"}


def test_a_dirty_file_is_refused_and_nothing_is_left(command, tmp_path):
    message = refused(command("a.tsv", "b.tsv", *RATES), tmp_path)
    first, missing, repeated = message.splitlines()
    assert first == "b.tsv: is not clean:"
    assert missing == (
        "  missing: 1 row (line 2): no value; accepted with --missing skip or --missing hold"
    )
    assert repeated.startswith("  repeated: 1 row (line 4): the time of an earlier row again; ")


def test_a_trace_is_not_overwritten(command, tmp_path):
    (tmp_path / "out.parquet").write_text("mine")
    result = command("a.tsv", *RATES)
    assert isinstance(result.exception, InputError)
    assert str(result.exception).startswith("out.parquet: ")
    assert (tmp_path / "out.parquet").read_text() == "mine"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--bandwidth", "5"], "--bandwidth: must carry its unit"),
        (["--bandwidth", "5 dB"], "--bandwidth: is not a frequency"),
        ([], "a.tsv: Mbit/s values need --bandwidth"),
        (["--bandwidth", "5 MHz", "--missing", "guess"], "--missing: must be one of refuse, skip"),
        (["--bandwidth", "5 MHz", "--step", "1 s"], "--step: has no meaning for rate-table"),
        (
            ["--bandwidth", "5 MHz", "--gap-longer-than", "0 s"],
            "--gap-longer-than: must be seconds > 0",
        ),
    ],
)
def test_a_bad_option_is_named(command, tmp_path, arguments, message):
    result = command("a.tsv", "--format", "rate-table", *arguments)
    assert refused(result, tmp_path).startswith(message)


def test_every_option_arrives(command, tmp_path):
    (tmp_path / "c.csv").write_text("t;v\n4000;-80\n5000;-32\n5000;-90,9\n6000;-85\n")
    result = command(
        *("c.csv", "--format", "delimited", "--time-column", "t", "--time-unit", "ms"),
        *("--value-column", "v", "--quantity", "rsrp_dbm", "--delimiter", "semicolon"),
        *("--transmit-power", "15 dBm", "--align", "--unreadable", "skip"),
        *("--sentinel", "missing", "--sentinel-value", "-32", "--missing", "skip"),
        *("--gap", "outage", "--gap-longer-than", "1500 ms", "--extra", "ignore"),
        *("--implausible", "missing", "--backward", "sort", "--repeated", "mean"),
    )
    assert result.exit_code == 0, result.exception
    trace = read_trace(tmp_path / "out.parquet")
    assert trace.kind is Kind.GAIN_DB
    times_s, values = trace.devices[0].times_s, trace.devices[0].values
    assert times_s.tolist() == [0, 1.5, 2]
    assert values.tolist() == pytest.approx([-95, -float("inf"), -100])


def test_a_matrix_arrives_with_its_step_and_its_mean_gain(command, tmp_path):
    (tmp_path / "c.fad").write_text("0 -3\n-1 2\n")
    said = ["--step", "2 ms", "--mean-gain", "-90 dB", "--blocks", "devices"]
    result = command("c.fad", *said)
    assert result.exit_code == 0, result.exception
    trace = read_trace(tmp_path / "out.parquet")
    assert trace.step_s == 0.002
    assert [d.values.tolist() for d in trace.devices] == [[-90, -93], [-91, -88]]


def test_files_that_begin_far_apart_are_pointed_out(command, tmp_path):
    (tmp_path / "c.tsv").write_text("7\t5\n8\t10\n")
    result = command("a.tsv", "c.tsv", *RATES)
    assert "the last device begins at 7 s; --align begins each at 0" in result.output


def test_help_tells_every_action():
    result = CliRunner().invoke(APP, ["--help"], env={"COLUMNS": "200", "TERM": "dumb"})
    assert result.exit_code == 0
    for word in ("--missing", "--gap-longer-than", "hold", "outage", "--bin", "mahimahi"):
        assert word in result.output
