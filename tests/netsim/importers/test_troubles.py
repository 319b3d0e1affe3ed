"""Every class of trouble: found, counted, refused by default, mended when told how."""

import math

import numpy as np
import pytest

from netsim.errors import InputError
from netsim.traces.importers import ACTIONS, Policy, Trouble

MAP = {
    "format_name": "delimited",
    "time_column": "t",
    "time_unit": "s",
    "value_column": "v",
    "quantity": "snr_db",
}
CLEAN = "t,v\n0,10\n1,11\n2,12\n3,13\n4,14\n5,15\n"
DIRTY = {
    Trouble.UNREADABLE: CLEAN.replace("2,12", "2,12 dB"),
    Trouble.EXTRA: CLEAN.replace("2,12", "2,12,7"),
    Trouble.SENTINEL: CLEAN.replace("2,12", "2,-200"),
    Trouble.IMPLAUSIBLE: CLEAN.replace("2,12", "2,1200"),
    Trouble.MISSING: CLEAN.replace("2,12", "2,-"),
    Trouble.BACKWARD: CLEAN.replace("2,12", "0.5,12"),
    Trouble.REPEATED: CLEAN.replace("2,12", "1,12"),
    Trouble.GAP: CLEAN.replace("5,15", "50,15"),
}
OTHERS = [(0, 10), (1, 11), (3, 13), (4, 14), (5, 15)]
MENDED = {
    (Trouble.UNREADABLE, "skip"): OTHERS,
    (Trouble.EXTRA, "ignore"): [*OTHERS[:2], (2, 12), *OTHERS[2:]],
    (Trouble.BACKWARD, "sort"): [(0, 10), (0.5, 12), *OTHERS[1:]],
    (Trouble.BACKWARD, "drop"): OTHERS,
    (Trouble.REPEATED, "first"): OTHERS,
    (Trouble.REPEATED, "last"): [(0, 10), (1, 12), *OTHERS[2:]],
    (Trouble.MISSING, "skip"): OTHERS,
    (Trouble.MISSING, "hold"): [*OTHERS[:2], (2, 11), *OTHERS[2:]],
    (Trouble.SENTINEL, "keep"): [*OTHERS[:2], (2, -200), *OTHERS[2:]],
    (Trouble.IMPLAUSIBLE, "keep"): [*OTHERS[:2], (2, 1200), *OTHERS[2:]],
    (Trouble.GAP, "hold"): [*OTHERS[:2], (2, 12), *OTHERS[2:4], (50, 15)],
    (Trouble.GAP, "outage"): [*OTHERS[:2], (2, 12), *OTHERS[2:4], (5, -math.inf), (50, 15)],
}


def rows(trace):
    (device,) = trace.devices
    return list(zip(device.times_s.tolist(), device.values.tolist(), strict=True))


def test_a_clean_file_has_no_problems(importing):
    trace, problems = importing({"a.csv": CLEAN}, **MAP)
    assert problems == [[]]
    assert rows(trace) == [*OTHERS[:2], (2, 12), *OTHERS[2:]]


@pytest.mark.parametrize("trouble", DIRTY)
def test_trouble_is_refused_with_its_count_its_line_and_its_remedies(refusal, trouble):
    line = 7 if trouble is Trouble.GAP else 4
    first, second = refusal({"a.csv": DIRTY[trouble]}, **MAP).split("\n")
    assert first == "a.csv: is not clean:"
    assert second.startswith(f"  {trouble}: 1 row (line {line}): ")
    for action in ACTIONS[trouble]:
        assert f"--{trouble} {action}" in second


@pytest.mark.parametrize(("trouble", "action"), MENDED)
def test_trouble_is_mended_as_told_and_reported(importing, trouble, action):
    trace, [[problem]] = importing({"a.csv": DIRTY[trouble]}, **MAP, **{trouble: action})
    assert rows(trace) == MENDED[trouble, action]
    assert (problem.trouble, problem.count, problem.action) == (trouble, 1, action)
    assert problem.lines == ((7,) if trouble is Trouble.GAP else (4,))
    assert f"a.csv: {problem}: {action}" == trace.metadata["importer accepted"]


@pytest.mark.parametrize("trouble", [Trouble.SENTINEL, Trouble.IMPLAUSIBLE])
def test_what_counts_as_missing_is_treated_as_such(importing, refusal, trouble):
    said = MAP | {trouble: "missing"}
    assert "missing: 1 row (line 4)" in refusal({"a.csv": DIRTY[trouble]}, **said)
    trace, [problems] = importing({"a.csv": DIRTY[trouble]}, **said, missing="hold")
    assert rows(trace) == MENDED[Trouble.MISSING, "hold"]
    assert [problem.trouble for problem in problems] == [trouble, Trouble.MISSING]


def test_all_troubles_of_all_files_are_in_one_message(refusal):
    # No row of one trouble makes, or hides, another.
    dirty = "t,v\n0,10\n1,-\n2,-200\n3,x\n4,999\n5,15,9\n4.5,3\n5,4\n6,1\n7,1\n8,1\n800,2\n"
    message = refusal({"a.csv": dirty, "b.csv": CLEAN, "c.csv": DIRTY[Trouble.GAP]}, **MAP)
    lines = message.split("\n")
    assert [line.split(":")[0].strip() for line in lines] == ["a.csv", *Trouble, "c.csv", "gap"]
    assert all(": 1 row (line " in line for line in lines if line.startswith("  "))


def test_many_lines_are_counted_and_the_first_few_shown(refusal):
    message = refusal({"a.csv": "t,v\n0,1\n" + "".join(f"{k},-\n" for k in range(1, 9))}, **MAP)
    assert "missing: 8 rows (lines 3, 4, 5, 6, 7, ...): no value" in message


def test_lines_are_counted_as_an_editor_does(refusal):
    text = "\ufefft,v\r\n\r\n0,1\r\n1,\x0b2\x85\r\n2,-\r\n"
    assert "missing: 1 row (line 5)" in refusal({"a.csv": text}, **MAP)


def test_rows_before_the_first_value_are_not_held(importing):
    trace, [[problem]] = importing({"a.csv": "t,v\n0,-\n1,-\n2,5\n3,-\n"}, **MAP, missing="hold")
    assert rows(trace) == [(0, 5), (1, 5)]
    assert problem.count == 3


def test_repeated_times_may_become_the_mean_of_their_powers(importing):
    text = "t,v\n0,0\n1,10\n1,20\n1,30\n2,7.3\n"
    trace, _ = importing({"a.csv": text}, **MAP, repeated="mean")
    mean = 10 * math.log10((10 + 100 + 1000) / 3)
    assert rows(trace)[1][1] == pytest.approx(mean, rel=1e-12)
    assert [rows(trace)[0], rows(trace)[2]] == [(0, 0), (2, 7.3)]


def test_repeated_efficiencies_become_their_arithmetic_mean(importing):
    said = MAP | {"quantity": "spectral_efficiency", "repeated": "mean"}
    trace, _ = importing({"a.csv": "t,v\n0,1\n1,2\n1,4\n2,5\n"}, **said)
    assert rows(trace) == [(0, 1), (1, 3), (2, 5)]


def test_an_outage_of_a_rate_is_zero_and_its_length_as_told(importing):
    said = MAP | {"quantity": "spectral_efficiency", "gap": "outage", "gap_s": 1.5}
    trace, [[problem]] = importing({"a.csv": "t,v\n0,1\n1,2\n2,3\n4,4\n5,4\n"}, **said)
    assert rows(trace) == [(0, 1), (1, 2), (2, 3), (3, 0), (4, 4), (5, 4)]
    assert problem.lines == (5,)


def test_a_stated_gap_may_be_longer_than_the_usual_ones(importing):
    _, problems = importing({"a.csv": DIRTY[Trouble.GAP]}, **MAP, gap_s=46.0)
    assert problems == [[]]


def test_skipped_rows_may_leave_a_gap(refusal):
    text = "t,v\n" + "".join(f"{k},{'-' if 3 < k < 15 else 1}\n" for k in range(20))
    message = refusal({"a.csv": text}, **MAP, missing="skip")
    assert "gap: 1 row (line 17)" in message
    assert "missing" not in message


def test_other_sentinels_may_be_told(importing, refusal):
    text = DIRTY[Trouble.SENTINEL].replace("3,13", "3,-32")
    assert "sentinel: 1 row (line 5)" in refusal({"a.csv": text}, **MAP, sentinels=(-32.0,))
    _, [[problem]] = importing({"a.csv": text}, **MAP, sentinel="keep")
    assert problem.lines == (4,)


def test_no_power_at_all_is_a_value_but_all_power_is_none(importing, refusal):
    trace, _ = importing({"a.csv": CLEAN.replace("12", "-inf")}, **MAP)
    assert rows(trace)[2][1] == -math.inf
    text = CLEAN.replace("12", "inf")
    assert "implausible: 1 row (line 4)" in refusal({"a.csv": text}, **MAP)
    message = refusal({"a.csv": text}, **MAP, implausible="keep")
    assert message.startswith("a.csv: line 4: gives a snr_db of inf, which a trace cannot hold")


def test_a_negative_efficiency_cannot_be_kept(refusal):
    said = MAP | {"quantity": "spectral_efficiency", "implausible": "keep"}
    message = refusal({"a.csv": CLEAN.replace("12", "-12")}, **said)
    assert message.startswith("a.csv: line 4: gives a spectral_efficiency of -12.0")


@pytest.mark.parametrize("cell", ["1_000", "12 dB", "0x1p3", "1,5", "٣", "--3", "1e", "infinity"])
def test_what_is_no_number_is_not_taken_for_one(refusal, cell):
    text = CLEAN.replace("2,12", f'2,"{cell}"')
    assert "unreadable: 1 row (line 4)" in refusal({"a.csv": text}, **MAP)


@pytest.mark.parametrize("cell", ["", "-", "NaN", "NA", "n/a", "null", "None"])
def test_the_ways_to_say_nothing_are_known(refusal, cell):
    assert "missing: 1 row (line 4)" in refusal({"a.csv": CLEAN.replace("12", cell)}, **MAP)


@pytest.mark.parametrize("time", ["", "-", "nan", "inf", "noon"])
def test_a_row_without_a_time_is_unreadable(importing, time):
    text = CLEAN.replace("2,12", f"{time},12")
    trace, [[problem]] = importing({"a.csv": text}, **MAP, unreadable="skip")
    assert rows(trace) == OTHERS
    assert problem.lines == (4,)


def test_a_row_cut_short_is_unreadable(refusal):
    assert "unreadable: 1 row (line 7)" in refusal({"a.csv": CLEAN.replace("5,15", "5")}, **MAP)


def test_a_file_without_values_is_refused_with_the_reasons(refusal):
    message = refusal({"a.csv": "t,v\n0,x\n"}, **MAP)
    assert message.startswith("a.csv: has no row with a time and a value\n  unreadable: 1 row")
    message = refusal({"a.csv": "t,v\n"}, **MAP)
    assert message == "a.csv: has no row with a time and a value"


def test_one_sample_is_no_trace(refusal):
    assert "has one sample" in refusal({"a.csv": "t,v\n0,1\n"}, **MAP)


def test_a_policy_is_checked():
    with pytest.raises(
        InputError, match="--missing: must be one of refuse, skip, hold; is 'guess'"
    ):
        Policy(missing="guess")
    for gap_s in (0.0, -1.0, math.nan, math.inf):
        with pytest.raises(InputError, match="--gap-longer-than: must be seconds > 0"):
            Policy(gap_s=gap_s)


def test_every_trouble_can_be_refused_and_accepted():
    assert set(ACTIONS) == set(Trouble)
    for trouble, actions in ACTIONS.items():
        assert actions
        assert Policy().action(trouble) == "refuse"
        assert all(Policy(**{trouble: action}).chosen() == {trouble: action} for action in actions)


def test_a_shuffled_file_sorted_is_the_file(importing):
    order = np.random.default_rng(3).permutation(200)
    text = "t,v\n" + "".join(f"{k},{k % 50}\n" for k in order)
    trace, _ = importing({"a.csv": text}, **MAP, backward="sort")
    assert rows(trace) == [(k, k % 50) for k in range(200)]
