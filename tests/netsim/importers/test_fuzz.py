"""Whatever a file holds, it becomes a sound trace or is refused in words: nothing else."""

import io
import tempfile
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from netsim.errors import TraceError
from netsim.traces import read_trace, write_trace
from netsim.traces.importers import ACTIONS, Policy, Settings, guess_format, import_files

COLUMNS = {"time_column": "t", "time_unit": "ms", "value_column": "v"}


def parquet():
    buffer = io.BytesIO()
    pq.write_table(pa.table({"t": [0, 1, 2], "v": [1.0, 2.0, 3.0]}), buffer)
    return buffer.getvalue()


def npz():
    buffer = io.BytesIO()
    np.savez_compressed(buffer, t=np.arange(3), v=np.ones((2, 3)))
    return buffer.getvalue()


# Name of the file, format, settings, and a sound content.
SUBJECTS = {
    "csv": ("a.csv", "delimited", COLUMNS | {"quantity": "snr_db"}, b't,v\n0,1\n"1",2\n2,-\n'),
    "rates": (
        *("a.tsv", "delimited", COLUMNS | {"quantity": "Mbit/s", "bandwidth_hz": 1e6}),
        b"t\tv\n0\t1\n5\t2.5\n7\t0\n",
    ),
    "parquet": ("a.parquet", "delimited", COLUMNS | {"quantity": "gain"}, parquet()),
    "rate-table": ("a.txt", "rate-table", {"bandwidth_hz": 5e6}, b"0.0\t4.5\n0.5\t3\n1.25\t2\n"),
    "mahimahi": ("a.up", "mahimahi", {"bandwidth_hz": 5e6, "bin_s": 0.01}, b"1\n9\n9\n14\n20\n"),
    "g-nettrack": (
        *("a.csv", "g-nettrack", {"value_column": "CQI", "cqi_table": "256qam"}),
        b"Timestamp,CQI\n2019.11.28_07.27.58,9\n2019.11.28_07.27.59,-\n2019.11.28_07.28.00,12\n",
    ),
    "cicv5g": (
        *("a.txt", "cicv5g", {"value_column": "rsrp", "transmit_power_w": 1.0}),
        b"pub_time(ms) sinr(db) rsrp(db)\n1722416865917 12 -88\n1722416865972 12 -87 3\n",
    ),
    "ns3-fading": (
        *("a.fad", "ns3-fading", {"step_s": 0.001, "mean_gain": 1e-9, "blocks": "mean"}),
        b"0.5 -1 -3e0\n-20 .1 -inf\n",
    ),
    "arrays": ("a.npz", "arrays", COLUMNS | {"quantity": "gain_db"}, npz()),
}
# Cells that look like something, for text that is nearly right.
WORDS = [
    *("t", "v", "-", "", "nan", "inf", "-inf", "1e999", "-200", "0", "1", "99999999999999999999"),
    *(
        "1e-320",
        "2019.11.28_07.27.58",
        "0000.00.00_99.99.99",
        "12 dB",
        "\ufeff",
        "\0",
        '"',
        "\u0661",
    ),
    *(",", "\t", " ", "\n", "\r", "\r\n", "\n\n", "\x85", "pub_time(ms) sinr(db) rsrp(db)\n"),
]


@st.composite
def mutations(draw, sound):
    """A sound file with some stretches of it cut out, or replaced."""
    content = bytearray(sound)
    for _ in range(draw(st.integers(1, 4))):
        start = draw(st.integers(0, len(content)))
        stop = min(len(content), start + draw(st.integers(0, 8)))
        words = st.sampled_from(WORDS).map(str.encode)
        content[start:stop] = draw(st.binary(max_size=6) | words)
    return bytes(content)


contents = {
    "bytes": lambda _sound: st.binary(max_size=200),
    "words": lambda _sound: st.lists(st.sampled_from(WORDS)).map(lambda w: "".join(w).encode()),
    "mutation": mutations,
}
policies = st.builds(
    Policy,
    **{trouble: st.sampled_from(["refuse", *actions]) for trouble, actions in ACTIONS.items()},
    gap_s=st.none() | st.floats(1e-300, 1e300),
) | st.just(Policy(**{trouble: next(iter(actions)) for trouble, actions in ACTIONS.items()}))


def imported_or_refused(path, format_name, chosen):
    try:
        return import_files([path], format_name, chosen)
    except TraceError as error:
        return str(error)


def guessed_or_refused(path):
    try:
        return guess_format(path)
    except TraceError:
        return ""


@pytest.mark.parametrize("subject", SUBJECTS)
def test_the_sound_contents_are_sound_but_for_what_is_accepted(tmp_path, subject):
    name, format_name, said, sound = SUBJECTS[subject]
    (tmp_path / name).write_bytes(sound)
    policy = Policy(missing="hold", extra="ignore")
    trace, _ = import_files([tmp_path / name], format_name, Settings(**said, policy=policy))
    assert len(trace.devices[0].values) >= 2


@pytest.mark.parametrize("how", contents)
@pytest.mark.parametrize("subject", SUBJECTS)
def test_any_content_becomes_a_sound_trace_or_is_refused(subject, how):
    name, format_name, said, sound = SUBJECTS[subject]

    @given(contents[how](sound), policies, st.booleans())
    @settings(deadline=None, max_examples=100)
    def check(content, policy, align):
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / name
            path.write_bytes(content)
            chosen = Settings(**said, policy=policy, align=align)
            result = imported_or_refused(path, format_name, chosen)
            if isinstance(result, str):
                assert result.startswith(str(path))
                return
            trace, problems = result
            assert all(problem.action != "refuse" for problem in problems[0])
            write_trace(path.with_suffix(".out"), trace)
            read = read_trace(path.with_suffix(".out"))  # which checks every row
            assert [len(device.values) for device in read.devices]
            assert min(float(device.times_s[0]) for device in read.devices) == 0

    check()


@given(st.sampled_from(sorted(SUBJECTS)), st.binary(max_size=60) | st.text().map(str.encode))
@settings(deadline=None, max_examples=100)
def test_any_content_has_a_format_or_is_asked_for_one(subject, content):
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / SUBJECTS[subject][0]
        path.write_bytes(content)
        assert guessed_or_refused(path) in {subject[1] for subject in SUBJECTS.values()} | {""}
