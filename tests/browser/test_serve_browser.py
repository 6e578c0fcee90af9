# SPDX-License-Identifier: Apache-2.0
"""The pages of ``linewatt serve`` in a real browser, from a real server process on loopback."""

from __future__ import annotations

import http.client
import json
import os
import re
import signal
import socket
import ssl
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, expect
from tests import forked
from tests.browser.conftest import LIMIT_MS, Scheme, credentials
from tests.browser.test_accessibility import violations_in_both_looks
from tests.live_server import Served
from tests.served import DEMO, LAB, WATTS, certificate_in, results_in
from tests.soak_result import Shape
from tests.soak_result import write as write_soak

from linewatt.features.serve.settings import USER

pytestmark = pytest.mark.browser
_NOISE = "The compiled spec uses Vega v5"
"""what Vega-Embed says of a specification that the report draws with the same library"""


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = results_in(tmp_path_factory.mktemp("served") / "results")
    write_soak(root, Shape(duration_s=120))
    return root


@pytest.fixture(scope="module")
def served(root: Path) -> Iterator[Served]:
    """A server as users start it."""
    argv = [sys.executable, "-m", "linewatt", "serve", "--port", "0", "--results", str(root)]
    environment = {**os.environ, "XDG_CACHE_HOME": str(root.parent / "cache")}
    with subprocess.Popen(
        argv, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment
    ) as server:
        assert server.stdout is not None
        assert server.stderr is not None
        made = Served.at(server.stdout.readline().strip())
        assert made is not None
        yield made
        server.send_signal(signal.SIGINT)
        assert server.wait(60) == 0
        assert server.stderr.read() == ""


@pytest.fixture(scope="module")
def url(served: Served) -> str:
    return served.url


Visit = Callable[..., Page]


@pytest.fixture(scope="module")
def said() -> list[str]:
    """What the browser says of pages."""
    return []


@pytest.fixture(scope="module")
def visit(browser: Browser, served: Served, url: str, said: list[str]) -> Iterator[Visit]:
    """Opens a path of the server in one tab, after the printed URL."""
    context = browser.new_context(accept_downloads=True)
    context.set_default_timeout(LIMIT_MS)
    page = context.new_page()
    page.on("console", lambda message: said.append(message.text))
    page.on("pageerror", lambda error: said.append(str(error)))

    def visited(path: str, scheme: Scheme = "light", width: int = 1280) -> Page:
        page.emulate_media(color_scheme=scheme)
        page.set_viewport_size({"width": width, "height": 900})
        page.goto(url + path, wait_until="load")
        return page

    page.goto(f"http://{USER}:{served.token}@127.0.0.1:{served.port}/login", wait_until="load")
    assert page.url == f"{url}/"
    assert page.evaluate("document.URL") == f"{url}/", "else the page could fetch nothing"
    assert context.cookies() == []
    visited("/list.json")  # all are read then
    yield visited
    context.close()


@pytest.fixture(autouse=True)
def nothing_is_wrong(said: list[str]) -> Iterator[None]:
    said.clear()
    yield
    assert [one for one in said if _NOISE not in one] == []


@pytest.mark.full
@pytest.mark.parametrize(
    "path",
    [
        *("/", "/?state=damaged", "/history", "/compare", "/nothing", f"/compare?a={WATTS}&b={LAB}"),
        *(f"/results/{LAB}", f"/results/{DEMO}/trials/1", f"/results/{DEMO}/files"),
        f"/compare?id={DEMO}&id={WATTS}&id={LAB}",
    ],
)
def test_axe_finds_nothing_serious(visit: Visit, said: list[str], path: str) -> None:
    page = visit(path)
    assert violations_in_both_looks(page) == []
    if path == "/nothing":
        said[:] = [one for one in said if "404" not in one]


@pytest.mark.full
def test_results_are_browsed_from_the_list_to_a_raw_file(visit: Visit) -> None:
    page = visit("/")
    page.get_by_role("link", name=DEMO, exact=True).click()
    expect(page.get_by_role("heading", level=1)).to_have_text("demo")
    page.locator("#trials summary").first.click()
    page.locator("#trials").get_by_role("link", name="3", exact=True).click()
    expect(page.get_by_role("heading", level=1)).to_have_text("Trial 3")
    page.get_by_role("link", name="trials/00003/raw.tar.gz/h2/iperf3.json").click()
    assert page.url.endswith("/file/trials/00003/raw.tar.gz/h2/iperf3.json")
    assert '"end": 1' in page.content()


@pytest.mark.full
def test_a_tool_s_output_with_a_script_in_it_is_text(visit: Visit, said: list[str]) -> None:
    page = visit(f"/results/{DEMO}/file/trials/00001/raw.tar.gz/h1/mpstat.txt")
    assert page.locator("script").count() == 0
    assert "<script>alert(1)</script>" in (page.locator("body").text_content() or "")
    assert said == []


def test_what_is_typed_filters_the_list_and_the_url_keeps_it(visit: Visit, url: str) -> None:
    page = visit("/")
    rows = page.locator("table.results tbody tr:not(.said)")
    every = rows.count()
    page.get_by_role("searchbox", name="Search").fill("lab")
    expect(rows).to_have_count(1)
    expect(page.get_by_role("status").first).to_contain_text(f"1 of {every} results")
    assert page.url == f"{url}/?q=lab"
    page.reload()
    expect(rows).to_have_count(1)


@pytest.mark.full
def test_results_are_compared_by_keys_alone(visit: Visit) -> None:
    page = visit("/?q=2026&sort=id&order=asc")
    box = page.get_by_label(f"Compare {WATTS}", exact=True)
    for _ in range(60):
        page.keyboard.press("Tab")
        if box.evaluate("one => one === document.activeElement"):
            break
    else:
        pytest.fail("the box is not reached by Tab")
    page.keyboard.press("Space")
    page.keyboard.press("Tab")  # the result's own link
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.value") == LAB
    page.keyboard.press("Space")
    expect(page.locator("#ticked")).to_contain_text("2 are ticked.")
    page.keyboard.press("Enter")
    page.wait_for_url("**/compare?*")
    expect(page.get_by_role("heading", level=1)).to_have_text(f"{LAB} against {WATTS}")


@pytest.mark.full
def test_ticks_stay_over_pages_of_the_list(visit: Visit) -> None:
    page = visit("/?q=watts")
    page.evaluate("sessionStorage.clear()")
    page = visit("/?q=watts")
    page.get_by_label(f"Compare {WATTS}", exact=True).check()
    page.get_by_role("searchbox").fill("demo")
    page.get_by_label(f"Compare {DEMO}", exact=True).check()
    expect(page.locator("#ticked")).to_contain_text("2 are ticked.")
    page.get_by_role("button", name="Compare ticked results").click()
    page.wait_for_url("**/compare?*")
    assert f"a={DEMO}&b={WATTS}" in page.url
    page = visit("/")
    page.get_by_role("button", name="Untick all").click()
    assert page.locator("table.results input:checked").count() == 0


@pytest.mark.full
def test_the_skip_link_leads_to_the_content_and_focus_is_seen(visit: Visit) -> None:
    page = visit("/")
    page.keyboard.press("Tab")
    link = page.get_by_role("link", name="Skip to the content")
    expect(link).to_be_focused()
    assert (link.bounding_box() or {"x": -1.0})["x"] >= 0
    page.keyboard.press("Enter")
    assert page.evaluate("document.activeElement.id") == "main"


@pytest.mark.full
def test_files_are_exported(visit: Visit, tmp_path: Path) -> None:
    page = visit(f"/results/{DEMO}")
    for name, suffix in (("JSON", ".json"), ("HTML", ".html"), ("bundle", ".tar.zst")):
        with page.expect_download(timeout=LIMIT_MS) as waited:
            page.get_by_role("navigation", name="This result").get_by_role(
                "link", name=name, exact=True
            ).click()
        assert waited.value.suggested_filename == f"{DEMO}{suffix}"
        waited.value.save_as(tmp_path / f"saved{suffix}")
    assert json.loads((tmp_path / "saved.json").read_text())["id"] == DEMO
    assert "This file is complete" in (tmp_path / "saved.html").read_text()


# Charts ----------------------------------------------------------------------------------------------------

_POINTS = """figure => [...figure.querySelectorAll('path')]
  .filter(one => Number.isInteger(one.__data__?.datum?.trial))
  .map(one => { const box = one.getBoundingClientRect();
                return [box.x + box.width / 2, box.y + box.height / 2, one.__data__.datum.trial]; })"""


def test_a_point_tells_its_trial_and_findings_and_leads_to_its_files(visit: Visit) -> None:
    page = visit(f"/results/{DEMO}")
    figure = page.locator("figure:has(script.spec)").first
    figure.scroll_into_view_if_needed()
    before = figure.locator("svg").bounding_box()
    figure.locator(".scroll").hover()
    page.wait_for_selector("figure[data-live]")
    after = figure.locator("svg").bounding_box()
    assert before is not None
    assert after is not None
    assert abs(before["width"] - after["width"]) < 3
    assert abs(before["height"] - after["height"]) < 6, "the chart stays where it is"
    points = page.locator("figure[data-live]").evaluate(_POINTS)
    trials = {trial for _, _, trial in points}
    about = json.loads(page.locator(".about-trials").text_content() or "")
    told = next(point for point in points if str(point[2]) in about["findings"])
    page.mouse.move(told[0], told[1])
    tip = page.locator(".tip")
    expect(tip).to_contain_text(re.compile(r"Trial \d+"))
    expect(tip).to_contain_text(re.compile("Findings( there)?: "))
    number = int(re.findall(r"Trial (\d+)", tip.inner_text())[0])
    expect(tip).to_contain_text(re.compile(rf"\b{told[2]}\b"))
    assert number in trials
    page.mouse.click(told[0], told[1])
    page.wait_for_url(f"**/trials/{number}")


@pytest.mark.full
def test_trials_of_a_chart_are_walked_by_keys(visit: Visit) -> None:
    page = visit(f"/results/{DEMO}")
    page.locator("figure:has(script.spec) .scroll").first.focus()
    page.wait_for_selector("figure[data-live]")
    page.keyboard.press("ArrowRight")
    expect(page.locator(".tip")).to_contain_text("Trial ")
    first = page.locator(".tip").inner_text()
    page.keyboard.press("ArrowRight")
    expect(page.locator(".tip")).not_to_have_text(first)
    page.keyboard.press("Escape")
    expect(page.locator(".tip")).to_be_hidden()
    page.keyboard.press("ArrowRight")
    page.keyboard.press("Enter")
    page.wait_for_url("**/trials/*")


def soak_of(root: Path) -> str:
    return next(path.name for path in root.iterdir() if path.name.endswith("soak"))


@pytest.mark.full
def test_a_part_of_the_time_is_brushed_or_said_in_numbers(visit: Visit, root: Path) -> None:
    page = visit(f"/results/{soak_of(root)}")
    figure = page.locator("figure[data-figure=rate]")
    ends = figure.locator("form.span input")
    whole = ends.evaluate_all("every => every.map(one => Number(one.value))")
    figure.scroll_into_view_if_needed()
    figure.locator(".scroll").hover()
    page.wait_for_selector("figure[data-figure=rate][data-live]")
    box = figure.locator("svg").bounding_box()
    assert box is not None
    page.mouse.move(box["x"] + 300, box["y"] + 100)
    page.mouse.down()
    page.mouse.move(box["x"] + 500, box["y"] + 100, steps=4)
    page.mouse.up()
    expect(ends.first).not_to_have_value(f"{whole[0]:g}")
    low, high = ends.evaluate_all("every => every.map(one => Number(one.value))")
    assert whole[0] < low < high < whole[1]
    figure.get_by_role("button", name="All of it").click()
    expect(ends.first).to_have_value(f"{whole[0]:g}")
    ends.first.fill("100")
    page.keyboard.press("Enter")
    expect(figure.locator("svg")).to_contain_text("102")


@pytest.mark.full
def test_without_scripts_everything_is_there(browser: Browser, served: Served, url: str) -> None:
    context = browser.new_context(java_script_enabled=False, http_credentials=credentials(served))
    context.set_default_timeout(LIMIT_MS)
    try:
        page = context.new_page()
        page.goto(f"{url}/")
        page.get_by_label("Search").fill("watts")
        page.get_by_role("button", name="Show", exact=True).click()
        assert page.url == f"{url}/?q=watts&kind=&state=&findings="
        assert page.locator("table.results tbody tr").count() == 1
        page.get_by_role("link", name=WATTS).click()
        assert page.locator("figure svg").count() > 2
        page.goto(f"{url}/")
        for name in (WATTS, LAB):
            page.get_by_label(f"Compare {name}", exact=True).check()
        page.get_by_role("button", name="Compare ticked results").click()
        assert f"a={WATTS}&b={LAB}" in page.url
    finally:
        context.close()


@pytest.mark.full
def test_a_page_elsewhere_reads_nothing(browser: Browser, served: Served, url: str, tmp_path: Path) -> None:
    """A page of another origin tries what browsers let it try."""
    (tmp_path / "evil.html").write_text(
        f"<!DOCTYPE html><body><img id=i src='{url}/static/icon.svg'>"
        f"<iframe src='{url}/'></iframe><script src='{url}/static/list.js'></script></body>"
    )
    context = browser.new_context(http_credentials=credentials(served))
    context.set_default_timeout(LIMIT_MS)
    try:
        page = context.new_page()
        answers: dict[str, int] = {}
        page.on("response", lambda answer: answers.update({answer.url: answer.status}))
        page.goto((tmp_path / "evil.html").as_uri(), wait_until="load")
        for path in ("/static/icon.svg", "/", "/static/list.js"):
            assert answers.get(url + path, 403) == 403, path
        read = page.evaluate(
            "async url => { try { return (await fetch(url)).status } catch (error) { return 'refused' } }",
            f"{url}/list.json",
        )
        assert read == "refused"
    finally:
        context.close()


@pytest.mark.full
def test_an_ended_server_leaves_its_port(root: Path, tmp_path: Path) -> None:
    argv = [sys.executable, "-m", "linewatt", "serve", "--port", "0", "--results", str(root)]
    with subprocess.Popen(argv, stdout=subprocess.PIPE, text=True) as server:
        line = server.stdout.readline() if server.stdout else ""
        made = Served.at(line.strip())
        assert made is not None
        with socket.create_connection(("127.0.0.1", made.port), timeout=30) as held:
            lines = [f"GET /results/{WATTS} HTTP/1.1", "Host: localhost"]
            lines += [f"{name}: {text}" for name, text in made.authorization.items()]
            held.sendall("\r\n".join([*lines, "", ""]).encode())
            server.send_signal(signal.SIGTERM)
            assert server.wait(60) == 0
    with socket.create_server(("127.0.0.1", made.port)):
        pass


def test_https_with_a_token_beyond_this_machine(root: Path, tmp_path: Path) -> None:
    """On every address, asked through loopback: no other machine is needed to see what is asked for."""
    cert, key = certificate_in(tmp_path)
    (tmp_path / "token").write_text("a-token-of-more-than-sixteen\n")
    words = ["serve", "--port", "0", "--results", str(root)]
    words += ["--listen", "0.0.0.0", "--token-file", str(tmp_path / "token")]  # noqa: S104
    words += ["--tls-cert", str(cert), "--tls-key", str(key)]
    with forked.Forked(words, stdout=subprocess.PIPE, text=True) as server:
        line = server.stdout.readline() if server.stdout else ""
        match = re.fullmatch(rf"https://{re.escape(socket.gethostname())}:(\d+)/\n", line)
        assert match is not None
        context = ssl.create_default_context(cafile=str(cert))
        try:
            for said, status in (("", 401), ("Bearer a-token-of-more-than-sixteen", 200)):
                asked = http.client.HTTPSConnection("localhost", int(match[1]), timeout=60, context=context)
                asked.request("GET", "/", headers={"authorization": said} if said else {})
                answer = asked.getresponse()
                assert answer.status == status
                asked.close()
            plain = http.client.HTTPConnection("localhost", int(match[1]), timeout=60)
            plain.request("GET", "/")
            with pytest.raises(OSError):  # noqa: PT011  closed, reset or no HTTP: nothing is answered
                plain.getresponse()
        finally:
            server.send_signal(signal.SIGINT)
        assert server.wait(60) == 0
