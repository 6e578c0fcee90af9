# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import math
from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from linewatt import units
from linewatt.errors import InvalidInput
from linewatt.units import format_rate, format_seconds, parse_rate, rate_unit_bps

usable = st.floats(min_value=1e-30, max_value=1e30)
anything = st.one_of(st.none(), st.floats())


@pytest.mark.parametrize(
    ("there", "back"),
    [
        (units.mbps_from_bps, units.bps_from_mbps),
        (units.gbps_from_bps, units.bps_from_gbps),
        (units.percent_from_ratio, units.ratio_from_percent),
        (units.percent_from_cores, units.cores_from_percent),
        (units.ghz_from_hz, units.hz_from_ghz),
    ],
)
@given(value=usable)
def test_a_conversion_there_and_back_gives_the_same_value(
    there: Callable[[float], float], back: Callable[[float], float], value: float
) -> None:
    assert back(there(value)) == pytest.approx(value, rel=1e-15)


@given(value=usable)
def test_watt_per_gbps_times_1000_is_picojoule_per_bit(value: float) -> None:
    assert units.w_per_gbps(value) * 1000 == pytest.approx(units.pj_from_j(value))
    assert units.w_per_mbps(value) * 1000 == pytest.approx(units.w_per_gbps(value))


@given(value=usable)
def test_percent_per_gbps_is_a_thousand_times_percent_per_mbps(value: float) -> None:
    assert units.percent_per_gbps(value) == pytest.approx(1000 * units.percent_per_mbps(value))


def test_one_core_at_one_gbps_is_100_percent_per_gbps() -> None:
    assert units.percent_per_gbps(1 / 1e9) == pytest.approx(100)


@pytest.mark.parametrize(
    ("text", "rate_bps"),
    [
        ("3.5G", 3.5e9),
        ("100M", 100e6),
        ("10k", 10e3),
        ("1T", 1e12),
        ("5", 5.0),
        (" 94.2 Gbps ", 94.2e9),
        ("940 Mbit/s", 940e6),
        ("940 Mbits/sec", 940e6),
        ("1 GBit/s", 1e9),
        ("1e9", 1e9),
        ("1.5e3 M", 1.5e9),
        (".5g", 0.5e9),
    ],
)
def test_a_rate_is_read_as_people_write_it(text: str, rate_bps: float) -> None:
    assert parse_rate(text) == rate_bps


def test_equal_rates_written_differently_are_the_same_float() -> None:
    assert parse_rate("94.2G") == parse_rate("94200M") == parse_rate("94200000000") == parse_rate("0.0942T")


@pytest.mark.parametrize(
    "text",
    [
        "",
        "G",
        "fast",
        "-3G",
        "+-3",
        "3.5 GB",
        "10MB/s",
        "10 MBPS",
        "1,5G",
        "1_000",
        "0x10",
        "nan",
        "inf",
        "3G4",
        "٣G",
    ],
)
def test_what_is_no_rate_in_bits_is_refused_by_name(text: str) -> None:
    with pytest.raises(InvalidInput, match="is not a rate") as caught:
        parse_rate(text)
    assert repr(text) in str(caught.value)


@pytest.mark.parametrize("text", ["0", "0G", "0e5", "1e400", "9e999T", "1e-400"])
def test_a_rate_that_is_zero_or_beyond_a_float_is_refused(text: str) -> None:
    with pytest.raises(InvalidInput, match="greater than 0 and finite"):
        parse_rate(text)


@given(st.text())
def test_any_text_is_a_positive_finite_rate_or_invalid_input(text: str) -> None:
    try:
        rate_bps = parse_rate(text)
    except InvalidInput:
        return
    assert 0 < rate_bps < math.inf


@pytest.mark.parametrize(
    ("unit", "scale"),
    [
        ("Gbps", 1e9),
        ("Gbits/sec", 1e9),
        ("Gbit/s", 1e9),
        ("Gb/s", 1e9),
        ("Mbits/sec", 1e6),
        ("mbps", 1e6),
        ("Kbits/sec", 1e3),
        ("bits/sec", 1.0),
        (" bps ", 1.0),
    ],
)
def test_a_unit_of_rate_is_known_by_its_usual_names(unit: str, scale: float) -> None:
    assert rate_unit_bps(unit) == scale


@pytest.mark.parametrize("unit", ["", "G", "M", "MB/s", "MBytes/sec", "MBPS", "GBps", "furlong", "bps/core"])
def test_bytes_and_ambiguous_units_are_not_units_of_bit_rate(unit: str) -> None:
    assert rate_unit_bps(unit) is None


@pytest.mark.parametrize(
    ("rate_bps", "text"),
    [
        (94.237e9, "94.2 Gbps"),
        (110.8e9, "111 Gbps"),
        (169e6, "169 Mbps"),
        (999.96e6, "1.00 Gbps"),
        (1234, "1.23 kbps"),
        (2.5e12, "2500 Gbps"),
        (0, "0 bit/s"),
        (12, "12.0 bit/s"),
        (None, "–"),
        (math.nan, "–"),
        (math.inf, "–"),
    ],
)
def test_a_rate_is_shown_in_the_unit_that_fits(rate_bps: float | None, text: str) -> None:
    assert format_rate(rate_bps) == text


def test_a_rate_can_be_shown_with_more_digits() -> None:
    assert format_rate(94.23726e9, digits=5) == "94.237 Gbps"


@given(st.floats(min_value=1, max_value=1e15), st.integers(min_value=3, max_value=9))
def test_a_shown_rate_reads_back_as_the_rate(rate_bps: float, digits: int) -> None:
    assert parse_rate(format_rate(rate_bps, digits)) == pytest.approx(rate_bps, rel=10.0 ** (1 - digits))


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (0, "0 s"),
        (1e-5, "10.0 µs"),
        (0.012, "12 ms"),
        (0.9999, "1.00 s"),
        (1.5, "1.50 s"),
        (9.999, "10 s"),
        (42.4, "42 s"),
        (59.7, "1 min 00 s"),
        (200, "3 min 20 s"),
        (3599.9, "1 h 00 min"),
        (7500, "2 h 05 min"),
        (86399, "1 d 00 h"),
        (183600, "2 d 03 h"),
        (-1.5, "-1.50 s"),
        (None, "–"),
    ],
)
def test_a_duration_is_shown_in_units_that_fit(seconds: float | None, text: str) -> None:
    assert format_seconds(seconds) == text


@given(st.floats(min_value=0, max_value=1e9))
def test_a_duration_never_shows_60_seconds_60_minutes_or_24_hours(seconds: float) -> None:
    words = format_seconds(seconds).split()
    limits = {"s": 60, "min": 60, "h": 24}
    for figure, unit in zip(words[::2], words[1::2], strict=True):
        assert float(figure) < limits.get(unit, math.inf)


@pytest.mark.parametrize(("ratio", "text"), [(0.125, "12.5 %"), (1, "100.0 %"), (None, "–"), (math.nan, "–")])
def test_a_ratio_is_shown_as_percent(ratio: float | None, text: str) -> None:
    assert units.format_percent(ratio) == text


@pytest.mark.parametrize(
    ("value", "text"),
    [(0.088757, "0.0888"), (14400.19, "14400"), (9.996, "10.0"), (0, "0"), (-2.5, "-2.50"), (None, "–")],
)
def test_a_figure_keeps_its_significant_digits(value: float | None, text: str) -> None:
    assert units.format_significant(value) == text


@given(anything)
def test_no_formatter_ever_shows_nan_or_infinity(value: float | None) -> None:
    for shown in (format_rate(value), format_seconds(value), units.format_percent(value)):
        assert "nan" not in shown
        assert "inf" not in shown
