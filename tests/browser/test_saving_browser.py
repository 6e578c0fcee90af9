# SPDX-License-Identifier: Apache-2.0
"""Figures and tables are saved from a report in a real browser, offline, and read back."""

from __future__ import annotations

import csv
import io
import xml.etree.ElementTree as ET  # of a file that the test itself made
from pathlib import Path

import pytest
from playwright.sync_api import Page
from tests.browser.conftest import Open
from tests.browser.test_report_browser import demo_page

from linewatt.report.printing import html

pytestmark = [pytest.mark.browser, pytest.mark.full]


def kept(page: Page, label: str, into: Path) -> tuple[str, str]:
    """Name and text of the file that a click on a link saves."""
    with page.expect_download(timeout=20_000) as waited:
        page.get_by_label(label, exact=True).first.click()
    path = into / "saved"
    waited.value.save_as(path)
    return waited.value.suggested_filename, path.read_text(encoding="utf-8")


def test_a_table_and_a_figure_are_saved_from_the_file_alone(open_file: Open, tmp_path: Path) -> None:
    path = tmp_path / "report.html"
    html.write_page(path, demo_page())
    seen = open_file(path)
    page = seen.page
    page.context.set_offline(True)
    try:
        name, text = kept(page, "Save TCP, h1 → h2 as CSV", tmp_path)
        assert name == "tcp-h1-h2.csv"
        rows = list(csv.DictReader(io.StringIO(text)))
        assert [row["Instances"] for row in rows] == ["1", "2", "4"]
        assert rows[2]["Throughput (Gbps)"] == "79.96"
        assert rows[2]["Throughput (Gbps): SD"] == "0.30"

        name, text = kept(page, "Save TCP, h1 → h2 as Markdown", tmp_path)
        assert name == "tcp-h1-h2.md"
        assert "| 4 | 79.96 ± 0.30 " in text

        label = page.locator("a[download$='.svg']").first.get_attribute("aria-label")
        assert label is not None
        name, text = kept(page, label, tmp_path)
        assert name.endswith(".svg")
        root = ET.fromstring(text)  # noqa: S314
        assert root.tag == "{http://www.w3.org/2000/svg}svg"
        shown = page.locator("figure svg").first.text_content() or ""
        assert "".join(root.itertext()).split() == shown.split()
    finally:
        page.context.set_offline(False)
    assert seen.console == []
    assert {url.partition(":")[0] for url in seen.requests} <= {"file", "data"}

    (tmp_path / "figure.svg").write_text(text)
    alone = open_file(tmp_path / "figure.svg").page
    assert alone.locator("svg").first.bounding_box()["width"] > 200  # type: ignore[index]


def test_links_to_files_are_not_on_paper(open_file: Open, tmp_path: Path) -> None:
    path = tmp_path / "report.html"
    html.write_page(path, demo_page())
    page = open_file(path).page
    assert page.locator(".save").first.is_visible()
    page.emulate_media(media="print")
    assert not page.locator(".save").first.is_visible()
