# SPDX-License-Identifier: Apache-2.0
"""docs/gallery.md says of each published figure what the shipped tables give today."""

from __future__ import annotations

import re
from xml.etree import ElementTree as ET

import pytest
from scripts.gallery.page import PAGE, PICTURES, in_words, page, pictures, studies
from scripts.gallery.values import Study, Value, compared, shown

MOST_BYTES = 64_000
"""of one picture"""


@pytest.fixture(scope="module")
def every() -> tuple[Study, ...]:
    return studies()


def test_the_page_is_made_of_the_shipped_tables(every: tuple[Study, ...]) -> None:
    assert PAGE.read_text() == page(every), "run `make gallery`"


def test_each_picture_is_there_small_alone_and_of_todays_figures(every: tuple[Study, ...]) -> None:
    wanted = pictures(every)
    assert {file.name for file in PICTURES.glob("*")} == set(wanted)
    for name, figure in wanted.items():
        text = (PICTURES / name).read_text()
        assert in_words(figure) in text, f"{name}: run `make gallery`"
        assert len(text) < MOST_BYTES, name
        ET.fromstring(text)  # noqa: S314 - our own
        assert not re.search(r"var\(|currentColor|href=.http", text), name
    assert {f"gallery/{name}" for name in wanted} == set(re.findall(r'src="([^"]+)"', PAGE.read_text()))


def test_no_more_is_off_than_the_misprints_the_regime_of_8_instances_and_the_rate_of_the_soak(
    every: tuple[Study, ...],
) -> None:
    off = {line.what: line for one in every for line in one.lines if line.status == "**not met**"}
    assert off.pop("Mbps per core against instances").difference == "16 instances: -0.05; the other 4 are met"
    assert "942.52" in off["CPU Mbps/W against instances, same picture"].printed
    assert off.pop("CPU Mbps/W against instances, same picture").difference.startswith("8 instances: +0.04;")
    assert off.pop("Regime").difference.startswith("8 instances: limited by the line rate")
    (parts,) = [line for one in every for line in one.lines if line.what.startswith("Components with 16")]
    assert parts.printed == parts.derived == "136, 48, 20, 2, 32, 11"
    assert "6.12" in off.pop("Rate over 48 hours, Gbit/s").derived
    assert not off
    for misprint in ("942.56", "8243.01", "6.5 Gbit/s: the peak"):
        assert misprint in PAGE.read_text().partition("## Misprints")[2]


@pytest.mark.parametrize(
    ("value", "met"),
    [
        (Value("a", "942.52", 942.56), False),
        (Value("a", "942.52", 942.5249), True),
        (Value("a", "13500.17", 13500.1789), True),
        (Value("a", "7.351", 7.3518, cut=True), True),
        (Value("a", "7.352", 7.3518, cut=True), False),
        (Value("a", "1234.5", 1234.56, cut=True), True),
        (Value("a", ".261", 0.2611, cut=True), True),
        (Value("a", "2.5", 2.79, read_off=True), True),
        (Value("a", "2.5", 2.81, read_off=True), False),
        (Value("a", "1", None), False),
    ],
)
def test_met_is_as_printed_but_for_less_than_the_last_digit(value: Value, met: bool) -> None:
    assert value.met is met
    line = compared("x", "c", [value])
    assert line.status == ("met" if met else "**not met**")
    assert line.difference.startswith("none") or value.difference in line.difference


def test_a_figure_that_is_not_drawn_is_said_not_to_be() -> None:
    line = shown("CPU against instances", "c", "1, 2 %", "no-such-figure", {})
    assert (line.status, line.difference, line.pictures) == ("**not met**", "no chart of it is drawn", ())
