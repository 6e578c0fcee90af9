# SPDX-License-Identifier: Apache-2.0
"""docs/gallery.md shows the charts that the shipped tables give today."""

from __future__ import annotations

import re
from pathlib import Path
from xml.etree import ElementTree as ET

import pytest
from scripts.gallery.page import PAGE, PICTURES, Figures, figures_of_studies, in_words, page, pictures
from scripts.gallery.studies import STUDIES, Study

MOST_BYTES = 64_000
"""of one picture"""


@pytest.fixture(scope="module")
def figures() -> dict[Study, Figures]:
    return figures_of_studies()


def test_the_page_is_made_of_the_shipped_tables(figures: dict[Study, Figures]) -> None:
    assert PAGE.read_text() == page(figures), "run `make gallery`"


def test_each_picture_is_there_small_alone_and_of_todays_figures(figures: dict[Study, Figures]) -> None:
    wanted = pictures(figures)
    assert len(wanted) == sum(len(study.charts) for study in STUDIES)
    assert {file.name for file in PICTURES.glob("*")} == set(wanted)
    for name, figure in wanted.items():
        text = (PICTURES / name).read_text()
        assert in_words(figure) in text, f"{name}: run `make gallery`"
        assert len(text) < MOST_BYTES, name
        ET.fromstring(text)  # noqa: S314 - our own
        assert not re.search(r"var\(|currentColor|href=.http", text), name
    assert {f"gallery/{name}" for name in wanted} == set(re.findall(r'src="([^"]+)"', PAGE.read_text()))


def test_a_chart_that_is_not_drawn_is_an_error_and_not_left_out(tmp_path: Path) -> None:
    with pytest.raises(KeyError, match="no-such-chart"):
        Study("a title", "opteron_soak", "words", ("diagram", "no-such-chart")).figures(tmp_path)
