# SPDX-License-Identifier: Apache-2.0
"""The page of tested knobs is written and read back; what differs from it fails."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.vm.knobs_table import PAGE, Cell, Table, hold, stated_outcomes, stated_series

EMPTY = "# Page\n\n<!-- nics -->\n<!-- end of nics -->\n\n<!-- hosts -->\nkept\n<!-- end of hosts -->\n"
CELLS = {
    ("rings", "e1000"): Cell("works"),
    ("rings", "e100"): Cell("rounds", "rings is 64 | not 60"),
    ("pause", "e1000"): Cell("not there", "no pause"),
    ("pause", "e100"): Cell("not there", "no pause"),
}
TABLE = Table("nics", "driver", "2026-11-23", {"Linux": "6.1.0-56-amd64", "QEMU": "7.2.22"}, CELLS)


@pytest.fixture
def page(tmp_path: Path) -> Path:
    path = tmp_path / "page.md"
    path.write_text(EMPTY)
    hold(TABLE, write=True, page=path)
    return path


def test_a_section_is_written_and_read_back_and_the_rest_kept(page: Path) -> None:
    text = page.read_text()
    assert stated_outcomes(text, "nics") == {key: cell.outcome for key, cell in CELLS.items()}
    assert stated_series(text, "nics") == {"Linux": "6.1", "QEMU": "7.2"}
    assert "| `pause` | `e1000`, `e100` | not there | no pause |\n" in text
    assert "<!-- hosts -->\nkept\n" in text
    hold(TABLE, write=True, page=page)
    assert page.read_text() == text


def test_what_was_seen_has_to_be_what_the_page_says(page: Path) -> None:
    hold(TABLE, write=False, page=page)
    other = Table("nics", "driver", "", TABLE.versions, CELLS | {("rings", "e1000"): Cell("refused", "no")})
    with pytest.raises(AssertionError, match="make knobs-tested"):
        hold(other, write=False, page=page)


def test_another_kernel_series_is_not_held_to_the_page(page: Path) -> None:
    other = Table("nics", "driver", "", {"Linux": "6.12.1", "QEMU": "7.2.22"}, CELLS)
    with pytest.raises(pytest.skip.Exception, match=r"6\.12"):
        hold(other, write=False, page=page)


def test_the_page_has_both_sections() -> None:
    text = PAGE.read_text()
    assert text.count("<!-- nics -->") == text.count("<!-- hosts -->") == 1
