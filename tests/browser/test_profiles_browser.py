# SPDX-License-Identifier: Apache-2.0
"""Flame graphs on a page: drawn without a script, each box with its name and share."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.browser.conftest import Open
from tests.browser.test_accessibility import violations
from tests.unit.features.profiles.test_profiles import AWKS, SCRIPTED, fold, stored, whole

from linewatt.report.printing.html import render_html
from linewatt.report.trials.digest import digest_of
from linewatt.store.read import load_result

pytestmark = [pytest.mark.browser, pytest.mark.full]


def test_a_flame_graph_is_seen_and_needs_neither_script_nor_network(open_file: Open, tmp_path: Path) -> None:
    capture = Path(__file__).parents[1] / "captures" / "perf" / "6.1-udp-receiver" / SCRIPTED
    result = stored(tmp_path, whole(fold(capture.read_text(), AWKS[0])))
    page = tmp_path / "report.html"
    page.write_text(render_html(digest_of(load_result(result))))
    opened = open_file(page)
    assert opened.page.locator("#profiles svg.flame").count() == 2
    boxes = opened.page.locator("#profiles svg.flame >> nth=1").locator("g")
    titles = [str(one) for one in boxes.locator("title").all_text_contents()]
    assert any(one.startswith("udp_queue_rcv_one_skb (kernel): ") for one in titles)
    rect = boxes.first.locator("rect").bounding_box()
    assert rect is not None
    assert rect["width"] > 1
    assert opened.page.locator("script").count() == 0
    assert opened.console == []
    assert [url for url in opened.requests if not url.startswith(("file:", "data:"))] == []
    assert violations(opened.page) == []
    assert violations(open_file(page, "dark").page) == []
