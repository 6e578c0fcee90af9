# SPDX-License-Identifier: Apache-2.0
"""``make docs``: the documents as a site (Sphinx). They stay Markdown that a forge shows as it is.

The source is the whole repository, so that links between documents, and to examples and tables, are the same
in the site and on a forge. What is in the table of contents, and in which order, says docs/index.md.
"""

from __future__ import annotations

import re
import shutil
from pathlib import Path
from typing import TYPE_CHECKING, Any

from linewatt import __version__

if TYPE_CHECKING:
    from sphinx.application import Sphinx

ROOT = Path(__file__).parents[1]
INDEX = "docs/index"

project = "linewatt"
author = "The linewatt authors"
copyright = author
version = release = __version__

extensions = ["myst_parser"]
root_doc = INDEX
highlight_language = "none"  # of blocks that name none: what programs print
include_patterns = ["*.md", "docs/**.md"]
exclude_patterns = [".*", "build", "dist", "src", "tests", "results"]
nitpicky = True
smartquotes = False  # `--json` in a sentence stays what one types

myst_heading_anchors = 4  # the same as on forges

html_theme = "furo"
html_title = f"linewatt {__version__}"
html_static_path = ["site"]
html_css_files = ["site.css"]
html_use_index = False
html_copy_source = False
html_show_sphinx = False
html_show_copyright = False
html_theme_options: dict[str, list[str]] = {"top_of_page_buttons": []}

_START = """<!doctype html>
<html lang="en"><meta charset="utf-8"><title>linewatt</title>
<meta http-equiv="refresh" content="0; url=docs/index.html"><a href="docs/index.html">linewatt</a></html>
"""
"""what stands at the top of the site, for whoever opens its folder"""


def sections(text: str) -> dict[str, list[tuple[str, str]]]:
    """The headings of docs/index.md, each with the links of its list: what they say, and the document."""
    found: dict[str, list[tuple[str, str]]] = {}
    for title, below in re.findall(r"^## (.+?)\n(.*?)(?=^## |\Z)", text, re.DOTALL | re.MULTILINE):
        links = re.findall(r"^- \[(.+?)\]\(([\w/.-]+)\.md\)", below, re.MULTILINE)
        found[title] = [(said, _name(link)) for said, link in links]
    return found


def _name(link: str) -> str:
    return (ROOT / "docs" / link).resolve().relative_to(ROOT).as_posix()


def contents(text: str, every: set[str]) -> str:
    """docs/index.md with a hidden table of contents for each section; what has no place comes last."""
    placed = sections(text)
    left = sorted(every - {INDEX} - {name for links in placed.values() for _, name in links})
    trees = {title: [f"{said} </{name}>" for said, name in links] for title, links in placed.items()}
    trees["More"] = [f"/{name}" for name in left]
    return text + "".join(
        f"\n```{{toctree}}\n:hidden:\n:caption: {title}\n\n{chr(10).join(entries)}\n```\n"
        for title, entries in trees.items()
        if entries
    )


def reachable(html: str) -> str:
    """A part of a page, for who uses no mouse: Tab reaches what scrolls sideways, headings have a level."""
    for before, after in (
        ("<pre>", '<pre tabindex="0">'),
        ('<div class="table-wrapper', '<div tabindex="0" class="table-wrapper'),
        ('class="caption" role="heading"', 'class="caption" role="heading" aria-level="2"'),
    ):
        html = html.replace(before, after)
    return html


def setup(app: Sphinx) -> None:
    """Called by Sphinx."""

    def read(app: Sphinx, name: str, text: list[str]) -> None:
        if name == INDEX:
            text[0] = contents(text[0], set(app.env.found_docs))

    def reach(app: Sphinx, name: str, template: str, context: dict[str, Any], tree: object) -> None:
        for part in ("body", "furo_navigation_tree"):
            if part in context:
                context[part] = reachable(context[part])

    def finish(app: Sphinx, error: Exception | None) -> None:
        if error is None:
            out = Path(app.outdir)
            (out / "index.html").write_text(_START, encoding="utf-8")
            shutil.copytree(ROOT / "docs" / "gallery", out / "docs" / "gallery", dirs_exist_ok=True)

    app.connect("source-read", read)
    app.connect("html-page-context", reach, priority=900)  # after the theme
    app.connect("build-finished", finish)
