import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from netsim.units import (
    DATA_RATE,
    FREQUENCY,
    GAIN,
    POWER,
    POWER_DENSITY,
    TIME,
    db_to_linear,
    gains_to_linear,
    ratios_to_db,
)

SI = [
    (TIME, "s", Fraction(1)),
    (TIME, "ms", Fraction(1, 10**3)),
    (TIME, "us", Fraction(1, 10**6)),
    (TIME, "µs", Fraction(1, 10**6)),
    (TIME, "ns", Fraction(1, 10**9)),
    (TIME, "min", Fraction(60)),
    (TIME, "h", Fraction(3600)),
    (FREQUENCY, "Hz", Fraction(1)),
    (FREQUENCY, "kHz", Fraction(10**3)),
    (FREQUENCY, "MHz", Fraction(10**6)),
    (FREQUENCY, "GHz", Fraction(10**9)),
    (POWER, "W", Fraction(1)),
    (POWER, "mW", Fraction(1, 10**3)),
    (POWER_DENSITY, "W/Hz", Fraction(1)),
    (POWER_DENSITY, "mW/Hz", Fraction(1, 10**3)),
    (DATA_RATE, "bit/s", Fraction(1)),
    (DATA_RATE, "kbit/s", Fraction(10**3)),
    (DATA_RATE, "Mbit/s", Fraction(10**6)),
    (DATA_RATE, "Gbit/s", Fraction(10**9)),
]


def refusal(dimension, text):
    with pytest.raises(ValueError, match=r"\S") as caught:
        dimension.parse(text)
    return str(caught.value)


def test_every_linear_unit_is_tried_here():
    dimensions = (TIME, FREQUENCY, POWER, POWER_DENSITY, GAIN, DATA_RATE)
    known = {(d.name, unit) for d in dimensions for unit in d.linear}
    assert {(d.name, unit) for d, unit, _ in SI} == known


@given(st.sampled_from(SI), st.decimals(-(10**9), 10**9, places=6))
def test_a_quantity_is_the_double_nearest_to_what_is_written(unit_of, number):
    dimension, unit, factor = unit_of
    assert dimension.parse(f"{number} {unit}") == float(Fraction(number) * factor)


@given(st.sampled_from(SI), st.floats(-1e200, 1e200))
def test_numbers_may_be_written_with_an_exponent(unit_of, number):
    dimension, unit, factor = unit_of
    expected = float(Fraction(repr(number)) * factor)
    assert dimension.parse(f"{number!r} {unit}") == expected


@given(st.floats(-300, 300))
def test_decibels_there_and_back_are_the_same(db):
    assert ratios_to_db(np.array([db_to_linear(db)]))[0] == pytest.approx(db, abs=1e-12)
    assert ratios_to_db(gains_to_linear(np.array([db])))[0] == pytest.approx(db, abs=1e-12)


@given(st.floats(-150, 150), st.floats(-150, 150))
def test_decibels_add_where_ratios_multiply(a, b):
    product = db_to_linear(a) * db_to_linear(b)
    assert db_to_linear(a + b) == pytest.approx(product, rel=1e-12, abs=0)


@given(st.floats(-300, 100))
def test_each_logarithmic_unit_counts_from_its_own_zero(number):
    ratio = math.exp(number * math.log(10) / 10)
    parsed = [
        GAIN.parse(f"{number!r} dB"),
        POWER.parse(f"{number!r} dBW"),
        POWER.parse(f"{number!r} dBm"),
        POWER_DENSITY.parse(f"{number!r} dBm/Hz"),
    ]
    expected = [ratio, ratio, ratio / 1000, ratio / 1000]
    assert parsed == pytest.approx(expected, rel=1e-9, abs=0)


def test_a_microsecond_is_exact_where_multiplying_doubles_is_not():
    assert 100 * 1e-6 != 0.0001
    assert TIME.parse("100 us") == TIME.parse("100 µs") == 0.0001


def test_powers_and_gains_of_the_usual_sizes():
    assert POWER.parse("0 dBm") == POWER.parse("1 mW") == 0.001
    assert POWER.parse("30 dBm") == POWER.parse("0 dBW") == POWER.parse("1 W") == 1.0
    assert POWER.parse("3 dBm") == pytest.approx(0.001995, rel=1e-3)
    assert GAIN.parse("-100 dB") == pytest.approx(1e-10, rel=1e-12, abs=0)
    assert POWER_DENSITY.parse("-174 dBm/Hz") == pytest.approx(3.981e-21, rel=1e-4, abs=0)


@pytest.mark.parametrize("text", ["25ms", "25 ms", "  25\tms\n", "+25 ms", ".25e2 ms", "25. ms"])
def test_blanks_and_forms_of_the_number_do_not_matter(text):
    assert TIME.parse(text) == 0.025


def test_no_power_at_all_is_minus_infinity_decibels():
    assert ratios_to_db(np.array([0.0, 10.0])).tolist() == [-math.inf, 10.0]
    assert gains_to_linear(np.array([-np.inf, 10.0])).tolist() == [0.0, 10.0]


@pytest.mark.parametrize("text", ["", " ", "ms", "nan ms", "inf s", "1,5 ms", "1 s s", "0x10 s"])
def test_text_that_is_no_number_with_a_unit_is_answered_with_an_example(text):
    message = refusal(TIME, text)
    assert "25 ms" in message or "s, ms, us" in message


@pytest.mark.parametrize(
    ("dimension", "units", "example"),
    [
        (TIME, "(s, ms, us, µs, ns, min, h)", "25 ms"),
        (FREQUENCY, "(Hz, kHz, MHz, GHz)", "20 MHz"),
        (POWER, "(W, mW, dBm, dBW)", "28 dBm"),
        (POWER_DENSITY, "(W/Hz, mW/Hz, dBm/Hz)", "-174 dBm/Hz"),
        (GAIN, "(dB)", "-100 dB"),
        (DATA_RATE, "(bit/s, kbit/s, Mbit/s, Gbit/s)", "10 Gbit/s"),
    ],
)
def test_a_bare_number_is_told_the_units_and_an_example_that_parses(dimension, units, example):
    message = refusal(dimension, "25")
    assert units in message
    assert example in message
    assert math.isfinite(dimension.parse(example))


@pytest.mark.parametrize(
    ("dimension", "text", "name", "unit"),
    [
        (TIME, "25 Ms", "a time", "'Ms'"),
        (TIME, "20 MHz", "a time", "'MHz'"),
        (FREQUENCY, "20 mhz", "a frequency", "'mhz'"),
        (POWER, "3 dB", "a power", "'dB'"),
        (POWER, "-174 dBm/Hz", "a power", "'dBm/Hz'"),
        (POWER_DENSITY, "-174 dBm", "a power density", "'dBm'"),
        (GAIN, "3 dBm", "a gain", "'dBm'"),
        (DATA_RATE, "10 Gbps", "a data rate", "'Gbps'"),
    ],
)
def test_a_unit_of_something_else_is_named_with_those_accepted(dimension, text, name, unit):
    message = refusal(dimension, text)
    assert f"is not {name}: {unit}" in message
    assert dimension.units in message


@pytest.mark.parametrize(
    ("dimension", "text"),
    [
        (TIME, "1e309 s"),
        (TIME, "1e308 h"),
        (FREQUENCY, "1e9999999 Hz"),
        (DATA_RATE, "1e99999999999999999999999 bit/s"),
        (GAIN, "3090 dB"),
        (POWER, "1e400 dBm"),
    ],
)
def test_a_number_beyond_all_doubles_is_too_large(dimension, text):
    assert "too large" in refusal(dimension, text)


@pytest.mark.parametrize("text", ["1e-400 s", "1e-9999999 s", "1e-99999999999999999999999 s"])
def test_a_number_below_all_doubles_is_zero(text):
    assert TIME.parse(text) == 0.0
