# SPDX-License-Identifier: Apache-2.0
"""Pages of results over HTTP: the report's own sections, trials, comparisons and history."""

from __future__ import annotations

import asyncio
import json
import os
import re
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest
from fastapi import HTTPException
from starlette.testclient import TestClient
from tests.compare_factories import made, runs, with_rates
from tests.report_factories import HOSTILE, powered, scaling_trials
from tests.served import BROKEN, DEMO, FAILED, HOSTILE_ID, LAB, RAW, WATTS, client, results_in
from tests.soak_result import Shape
from tests.soak_result import write as write_soak
from tests.stored_samples import with_samples
from tests.unit.conftest import Run

from linewatt.errors import StoreError
from linewatt.features.history import baselines
from linewatt.features.serve.interactive_chart import interactive
from linewatt.features.serve.page_pool import PagePool
from linewatt.features.serve.report_frame import data
from linewatt.features.serve.responses import Body
from linewatt.report.charts.figure import Figure
from linewatt.store import cache


@pytest.fixture(scope="module", autouse=True)
def own_cache(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_CACHE_HOME", str(tmp_path_factory.mktemp("cache")))
        patch.setattr(cache, "SETTLED_S", -1.0)
        yield


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = results_in(tmp_path_factory.mktemp("pages") / "results")
    baselines.put(root, "good", root / WATTS, 1.0)
    return root


@pytest.fixture(scope="module")
def site(root: Path) -> TestClient:
    return client(root)


def headings(text: str) -> list[str]:
    """The sections of a page, without their links."""
    return [re.sub("<[^>]+>", "", one).removesuffix(" #") for one in re.findall(r"<h2[^>]*>(.*?)</h2>", text)]


class Scripts(HTMLParser):
    """What a page would run: scripts without a type of data, and handlers in attributes."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.inline: list[Any] = []
        self.loaded: list[str] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = dict(attrs)
        self.inline += [(tag, name) for name in given if name.startswith("on")]
        if tag == "script" and given.get("type") != "application/json":
            self.loaded.append(given.get("src") or "")
        if tag == "style":
            self.inline.append(tag)


def test_a_result_has_the_sections_of_its_report(site: TestClient, root: Path, run: Run) -> None:
    for name in (WATTS, FAILED):
        run("report", name, "-o", "report.html", "--results", str(root))
        served = site.get(f"/results/{name}").text
        assert headings(served) == headings(Path("report.html").read_text())
        assert len(headings(served)) > 3


@pytest.mark.parametrize(
    "path",
    [
        *("/", "/history", "/compare", "/nothing", f"/compare?a={WATTS}&b={LAB}"),
        *(
            f"/results/{WATTS}",
            f"/results/{HOSTILE_ID}",
            f"/results/{WATTS}/trials/1",
            f"/results/{DEMO}/files",
        ),
    ],
)
def test_no_page_has_a_script_or_a_style_in_it(site: TestClient, path: str) -> None:
    found = Scripts(site.get(path).text)
    assert found.inline == []
    assert all(url.startswith("/static/") for url in found.loaded)


def test_what_results_say_is_escaped_in_pages_and_in_their_data(site: TestClient) -> None:
    for path in (f"/results/{HOSTILE_ID}", f"/results/{HOSTILE_ID}/trials/1"):
        text = site.get(path).text
        assert HOSTILE not in text
        assert "&lt;script&gt;alert(1)" in text
    made = str(data({"a": f"{HOSTILE}<!--&\u2028"}, "spec"))
    inside = made.removeprefix('<script type="application/json" class="spec">').removesuffix("</script>")
    assert not set("<>&\u2028") & set(inside)
    assert json.loads(inside) == {"a": f"{HOSTILE}<!--&\u2028"}


def test_trials_lead_to_pages_of_their_own_with_raw_files(site: TestClient) -> None:
    assert f'<a href="/results/{DEMO}/trials/3">3</a>' in site.get(f"/results/{DEMO}").text
    text = site.get(f"/results/{DEMO}/trials/3").text
    assert "<h1>Trial 3</h1>" in text
    assert "What it measured" in headings(text)
    for name in RAW:
        assert f'href="/results/{DEMO}/file/trials/00003/raw.tar.gz/{name}"' in text
    assert f'rel="prev" href="/results/{DEMO}/trials/2"' in text
    assert site.get(f"/results/{DEMO}/trials/999").status_code == 404
    assert site.get(f"/results/{DEMO}/trials/x").status_code == 422


def test_a_trial_with_samples_is_shown_over_time(tmp_path: Path) -> None:
    with_samples(tmp_path, powered(scaling_trials((1,), 2)), id="sampled")
    text = client(tmp_path).get("/results/sampled/trials/2").text
    assert "Over time" in headings(text)
    (spec,) = [json.loads(one) for one in re.findall(r'class="spec">([^<]+)<', text)]
    assert spec["usermeta"]["span"] == [-5.0, 65.0]


def test_a_failed_trial_says_so(site: TestClient) -> None:
    assert "<b>Failed</b>: gone" in site.get(f"/results/{FAILED}/trials/1").text


def test_findings_of_trials_are_told_to_charts(site: TestClient) -> None:
    text = site.get(f"/results/{DEMO}").text
    found = re.search(r'class="about-trials">([^<]+)</script>', text)
    assert found is not None
    about = json.loads(found[1])
    assert about["trials"] == f"/results/{DEMO}/trials/"
    assert about["findings"], "the demo has trials with findings"
    assert all(isinstance(code, str) for codes in about["findings"].values() for code in codes)


@pytest.mark.parametrize("name", ["last", "baseline:good"])
def test_a_name_leads_to_a_url_that_stays(site: TestClient, name: str) -> None:
    answer = site.get(f"/results/{name}")
    assert answer.status_code == 302
    assert answer.headers["location"] in (f"/results/{HOSTILE_ID}", f"/results/{WATTS}")


def test_a_damaged_result_is_one_line(site: TestClient, root: Path) -> None:
    answer = site.get(f"/results/{BROKEN}")
    assert answer.status_code == 404
    assert "manifest.json: damaged" in answer.text
    assert str(root) not in answer.text


def test_a_page_that_a_browser_has_is_not_sent_again(site: TestClient) -> None:
    first = site.get(f"/results/{WATTS}")
    again = site.get(f"/results/{WATTS}", headers={"if-none-match": first.headers["etag"]})
    assert (again.status_code, again.content) == (304, b"")
    assert first.headers["cache-control"] == "private, no-cache"


def test_a_style_sheet_is_kept_under_its_checksum_alone(site: TestClient) -> None:
    (url,) = re.findall(r'href="(/static/web.css[^"]+)"', site.get("/").text)
    assert "immutable" in site.get(url).headers["cache-control"]
    assert "immutable" not in site.get("/static/web.css?v=old").headers["cache-control"]


# Comparison and history ------------------------------------------------------------------------------------


def test_two_that_are_ticked_are_compared_the_older_is_the_base(site: TestClient) -> None:
    answer = site.get(f"/compare?id={LAB}&id={WATTS}")
    assert answer.headers["location"] == f"/compare?a={WATTS}&b={LAB}"
    text = site.get(f"/compare?a={WATTS}&b={LAB}").text
    assert f"<h1>{LAB} against {WATTS}</h1>" in text
    assert f"/compare?a={LAB}&amp;b={WATTS}" in text
    assert "Throughput, TCP" in headings(text)
    assert "Throughput of every trial" in headings(text)


def test_a_comparison_has_the_courses_of_both_with_what_a_reader_points_at(tmp_path: Path) -> None:
    base, slower = (
        made(name, runs(ratio=ratio, n=4, seed=day), day=day)
        for name, ratio, day in (("a", 1.0, 1), ("b", 0.9, 2))
    )
    for each in (base, slower):
        with_rates(tmp_path, each)
    text = client(tmp_path).get(f"/compare?a={base.id}&b={slower.id}").text
    assert "Throughput over time" in headings(text)
    assert "4 trials of A and 4 trials of B." in text
    _, courses = text.split('data-figure="courses-1"', 1)
    assert "s since the load began" in courses.split('type="application/json"', 1)[1]


def test_several_are_each_held_against_the_oldest(site: TestClient) -> None:
    text = site.get(f"/compare?id={LAB}&id={WATTS}&id={DEMO}").text
    assert f'2 results against <a href="/results/{DEMO}">' in text
    assert f"/compare?a={DEMO}&amp;b={LAB}" in text
    assert site.get("/compare?" + "&".join(f"id=x{at}" for at in range(13))).status_code == 400


def test_one_can_be_compared_with_any_other_or_within(site: TestClient) -> None:
    site.get("/list.json")
    text = site.get(f"/compare?id={WATTS}").text
    assert f"<option>{LAB}</option>" in text
    assert f"/compare?a={WATTS}&amp;by=instances" in text
    assert site.get(f"/compare?a={WATTS}&by=instances").status_code == 200


@pytest.mark.parametrize(
    ("query", "words"),
    [
        (f"a={WATTS}&b=none", "none: no such result"),
        (f"a={WATTS}&by=kernel", "has nothing to compare"),
        (f"a={WATTS}&b={LAB}&factor=x", "--factor x: write a part such as 3%"),
        (f"a={WATTS}&b=../x", "no result is called so"),
    ],
)
def test_what_cannot_be_compared_says_why(site: TestClient, query: str, words: str) -> None:
    answer = site.get(f"/compare?{query}")
    assert answer.status_code in (400, 404)
    assert words in answer.text


def test_history_follows_all_or_some(site: TestClient) -> None:
    site.app.state.site.cases.now(60.0)  # type: ignore[attr-defined]
    whole = site.get("/history").text
    assert "kernel.release" in whole or "over 4 results" in whole
    some = site.get(f"/history?id={WATTS}&id={LAB}").text
    assert "<h1>2 results</h1>" in some
    assert site.get("/history?metric=speed").status_code == 400
    assert site.get("/history?since=none").status_code == 404
    assert site.get("/history?test=tcp&metric=efficiency").status_code == 200


def test_a_soak_has_its_page_and_its_time_can_be_looked_at_in_part(tmp_path: Path) -> None:
    write_soak(tmp_path, Shape(duration_s=60))
    (path,) = tmp_path.iterdir()
    text = client(tmp_path).get(f"/results/{path.name}").text
    assert "Ledger" in headings(text)
    spans = [json.loads(one).get("usermeta") for one in re.findall(r'class="spec">([^<]+)<', text)]
    assert any(spans)
    saved = client(tmp_path).get(f"/results/{path.name}/save/cases.csv")
    assert (saved.status_code, "is a soak, without cases" in saved.text) == (400, True)


# Charts that answer ----------------------------------------------------------------------------------------


def chart(layers: list[dict[str, Any]], *, over_time: bool = False) -> dict[str, Any]:
    x = {"field": "time_s", "type": "quantitative", "title": None, "scale": {"domain": [0, 9]}}
    y = {"field": "value", "type": "quantitative", "title": ["Rate", "(Gbps)"]}
    spec = {"data": {"values": []}, "layer": layers, "encoding": {"x": x, "y": y}}
    return interactive(Figure("n", "t", "c", "d", spec, over_time=over_time))


def test_marks_tell_their_values_under_the_titles_of_axes() -> None:
    made = chart([{"mark": {"type": "point"}, "encoding": {"color": {"field": "end", "type": "nominal"}}}])
    assert [one["title"] for one in made["layer"][0]["encoding"]["tooltip"]] == [
        "Time (s)",
        "Rate (Gbps)",
        "End",
    ]
    assert "usermeta" not in made


def test_rules_and_texts_tell_nothing_more() -> None:
    made = chart([{"mark": "rule"}, {"mark": {"type": "text"}}])
    assert all("tooltip" not in one.get("encoding", {}) for one in made["layer"])


def test_a_ground_that_is_only_in_a_panel_tells_nothing() -> None:
    ground = {"mark": {"type": "rect"}, "encoding": {"x": {"field": "a"}, "x2": {"field": "b"}}}
    facet = {"column": {"field": "trial", "type": "nominal"}}
    made = interactive(Figure("n", "t", "c", "d", {"facet": facet, "spec": {"layer": [ground]}}))
    assert "tooltip" not in made["spec"]["layer"][0]["encoding"]


def test_a_line_over_time_has_points_that_cannot_be_seen() -> None:
    line = {"mark": {"type": "line"}, "transform": [{"filter": "x"}], "encoding": {}}
    made = chart([line], over_time=True)
    assert len(made["layer"]) == 2
    assert made["layer"][1]["mark"]["opacity"] == 0
    assert made["layer"][1]["transform"] == line["transform"]
    assert made["usermeta"] == {"span": [0, 9]}


def test_the_drawn_specification_stays_as_it_is() -> None:
    spec = {"mark": {"type": "bar"}, "encoding": {"x": {"field": "a", "type": "quantitative", "title": "A"}}}
    before = json.dumps(spec)
    interactive(Figure("n", "t", "c", "d", spec))
    assert json.dumps(spec) == before


# Pages that take long --------------------------------------------------------------------------------------


def test_a_page_is_made_once_however_many_ask() -> None:
    making, go, made = PagePool(ThreadPoolExecutor(2)), threading.Event(), list[int]()

    def make() -> Body:
        made.append(1)
        assert go.wait(60)
        return Body(b"x", "text/plain")

    async def ask() -> list[Body]:
        asked = [asyncio.ensure_future(making.page("key", make)) for _ in range(5)]
        await asyncio.sleep(0)
        go.set()
        return await asyncio.gather(*asked)

    pages = asyncio.run(ask())
    assert len({id(page) for page in pages}) == 1
    assert made == [1]
    assert asyncio.run(making.page("key", make)) is pages[0], "it is kept"
    assert made == [1]


def test_too_many_large_pages_at_once_are_refused_and_say_when_to_ask_again() -> None:
    making, go = PagePool(ThreadPoolExecutor(1), at_once=1, waiting=1), threading.Event()

    def make() -> Body:
        assert go.wait(60)
        return Body(b"x", "text/plain")

    async def ask() -> None:
        asked = [asyncio.ensure_future(making.page(at, make)) for at in range(2)]
        await asyncio.sleep(0)
        with pytest.raises(HTTPException) as refused:
            await making.page("third", make)
        go.set()
        await asyncio.gather(*asked)
        assert refused.value.status_code == 503
        assert refused.value.headers == {"retry-after": "5"}

    asyncio.run(ask())


def test_what_is_kept_has_a_bound_and_a_failure_is_not_kept() -> None:
    making = PagePool(ThreadPoolExecutor(1), most_bytes=1000)

    async def ask() -> None:
        for at in range(5):
            await making.page(at, lambda: Body(b"x" * 300, "text/plain"))
        with pytest.raises(ZeroDivisionError):
            await making.page("bad", lambda: Body(b"x" * (1 // 0), "text/plain"))
        again: list[int] = []

        def make() -> Body:
            again.append(1)
            return Body(b"x" * 300, "text/plain")

        await making.page(4, make)
        assert again == []
        await making.page(0, make)
        assert again == [1]

    asyncio.run(ask())


def test_a_page_that_takes_long_holds_up_no_other(site: TestClient, monkeypatch: pytest.MonkeyPatch) -> None:
    from linewatt.features.serve import result_page as module

    begun, go, answers = threading.Event(), threading.Event(), list[int]()

    def slow(*_: object) -> Body:
        begun.set()
        assert go.wait(60)
        return Body(b"at last", "text/plain")

    monkeypatch.setattr(module, "result_page", slow)
    asking = threading.Thread(target=lambda: answers.append(site.get(f"/results/{LAB}?slow").status_code))
    site.app.state.site.page_pool._kept.clear()  # type: ignore[attr-defined]
    asking.start()
    assert begun.wait(60)
    assert site.get("/").status_code == 200
    assert site.get(f"/results/{DEMO}/files").status_code == 200
    assert answers == []
    go.set()
    asking.join(60)
    assert answers == [200]


def test_a_process_that_ends_over_a_page_is_replaced() -> None:
    making = PagePool()

    async def ask() -> None:
        with pytest.raises(StoreError, match="needed more memory than there is"):
            await making.once(os._exit, 1)
        page = await making.page("key", Body, b"x", "text/plain")
        assert page.data == b"x"

    try:
        asyncio.run(ask())
    finally:
        making.stop()
