# SPDX-License-Identifier: Apache-2.0
"""The documents as a site: built as `make docs` does, whole, and nothing in it comes from elsewhere."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

import pytest
from tests.browser.conftest import Open, Scheme
from tests.browser.test_accessibility import violations
from tests.doc_pages import DOCUMENTS, ROOT

pytestmark = pytest.mark.full
LOADED = {
    "script": ("src",),
    "img": ("src", "srcset"),
    "source": ("src", "srcset"),
    "iframe": ("src",),
    "audio": ("src",),
    "video": ("src", "poster"),
    "object": ("data",),
    "embed": ("src",),
    "link": ("href",),
    "image": ("href", "xlink:href"),
    "use": ("href", "xlink:href"),
}
"""what a browser fetches by itself: element → attributes"""
NOT_FETCHED = {"search", "index", "next", "prev", "author", "canonical", "license"}
"""relations of ``link`` that name a page and load nothing"""


def build(source: Path, out: Path) -> subprocess.CompletedProcess[str]:
    words = ["-W", "--keep-going", "-q", "-b", "html", "-c", str(ROOT / "docs"), "-d", str(out / "doctrees")]
    return subprocess.run(
        [sys.executable, "-m", "sphinx", *words, str(source), str(out / "site")],
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("site")
    done = build(ROOT, out)
    assert (done.returncode, done.stderr) == (0, "")
    return out / "site"


class Page(HTMLParser):
    """What a page loads, where it leads, and the places in it."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.loads: list[str] = []
        self.leads: list[str] = []
        self.places: set[str] = {"", "top"}
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = {name: value or "" for name, value in attrs}
        if "id" in given:
            self.places.add(given["id"])
        if tag == "a" and "href" in given:
            self.leads.append(given["href"])
        if tag == "link" and set(given.get("rel", "").split()) & NOT_FETCHED:
            return
        self.loads += [given[name] for name in LOADED.get(tag, ()) if name in given]


@pytest.fixture(scope="module")
def pages(site: Path) -> dict[Path, Page]:
    return {path: Page(path.read_text(encoding="utf-8")) for path in site.rglob("*.html")}


def is_from_elsewhere(url: str) -> bool:
    return bool(urlsplit(url).netloc) or urlsplit(url).scheme in {"http", "https"}


def test_every_document_is_a_page(site: Path) -> None:
    assert [name for name in DOCUMENTS if not (site / name).with_suffix(".html").is_file()] == []


def test_no_page_loads_anything_from_elsewhere(site: Path, pages: dict[Path, Page]) -> None:
    loaded = {url for page in pages.values() for url in page.loads}
    assert len(loaded) > 20
    assert sorted(filter(is_from_elsewhere, loaded)) == []
    styles = [path.read_text(encoding="utf-8") for path in site.rglob("*.css")]
    named = [url for text in styles for url in re.findall(r"(?:url\(|@import )\s*[\"']?([^\"')\s]+)", text)]
    assert [url for url in named if is_from_elsewhere(url)] == []
    assert not list(site.rglob("*.woff*")), "fonts are those of the reader's system"


def test_every_link_leads_to_a_page_and_a_place_that_are_there(site: Path, pages: dict[Path, Page]) -> None:
    broken = []
    for path, page in pages.items():
        for link in (*page.leads, *page.loads):
            parts = urlsplit(link)
            if parts.scheme or parts.netloc:
                continue
            target = (path.parent / unquote(parts.path)).resolve() if parts.path else path
            if not target.is_file() or (
                target in pages and unquote(parts.fragment) not in pages[target].places
            ):
                broken.append(f"{path.relative_to(site)}: {link}")
    assert broken == []
    assert sum(len(page.leads) for page in pages.values()) > 2000


@pytest.fixture
def small(tmp_path: Path) -> Path:
    """A source of three pages, one of which docs/index.md does not name."""
    shutil.copytree(ROOT / "docs" / "gallery", tmp_path / "docs" / "gallery")
    for name, text in {
        "index": "# All\n\n## Begin\n- [One](one.md): the first.\n",
        "one": "# One\n\n## Here\n\nSee [here](#here).\n",
        "two": "# Two\n",
    }.items():
        (tmp_path / "docs" / f"{name}.md").write_text(text)
    return tmp_path


def test_a_page_without_a_place_is_in_the_contents_and_no_error(small: Path, tmp_path: Path) -> None:
    done = build(small, tmp_path / "out")
    assert (done.returncode, done.stderr) == (0, "")
    text = (tmp_path / "out" / "site" / "docs" / "index.html").read_text()
    for caption, page in (("Begin", "one.html"), ("More", "two.html")):
        assert re.search(rf'caption-text">{caption}<.*?href="{page}"', text, re.DOTALL)


def test_a_link_that_leads_nowhere_fails_the_build(small: Path, tmp_path: Path) -> None:
    links = {"three.md": 3, "one.md#there": 5, "#there": 7}
    lines = "\n\n".join(f"[x]({link})" for link in links)
    (small / "docs" / "two.md").write_text(f"# Two\n\n{lines}\n")
    done = build(small, tmp_path / "out")
    assert done.returncode != 0
    assert [line for line in links.values() if f"two.md:{line}: WARNING" not in done.stderr] == []


@pytest.mark.browser
@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [1400, 390])
def test_pages_open_as_files_and_never_scroll_sideways(
    site: Path, open_file: Open, scheme: Scheme, width: int
) -> None:
    for name in ("index.html", "docs/first-hour.html", "docs/gallery.html", "docs/reference/commands.html"):
        opened = open_file(site / name, scheme, width)
        opened.page.wait_for_selector("article h1")
        wider = opened.page.evaluate("document.documentElement.scrollWidth - window.innerWidth")
        assert wider <= 0, name
        assert [url for url in opened.requests if not url.startswith(("file:", "data:", "about:"))] == []
        assert opened.console == []


@pytest.mark.browser
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_pages_can_be_read_without_a_mouse_and_by_all(site: Path, open_file: Open, scheme: Scheme) -> None:
    for name in ("docs/index.html", "docs/first-hour.html"):
        assert violations(open_file(site / name, scheme).page) == [], name


@pytest.mark.browser
def test_the_search_finds_a_page_without_a_network(site: Path, open_file: Open) -> None:
    opened = open_file(site / "docs" / "index.html")
    opened.page.fill("input[name=q]", "coalescing")
    opened.page.press("input[name=q]", "Enter")
    opened.page.wait_for_selector("ul.search li a[href*='knobs']")
    assert [url for url in opened.requests if not url.startswith("file:")] == []
