# SPDX-License-Identifier: Apache-2.0
"""The page and its pictures: ``make gallery``."""

from __future__ import annotations

import re
import tempfile
from collections.abc import Mapping
from pathlib import Path

from markupsafe import escape
from scripts.gallery.rows import page as rows_page
from scripts.gallery.studies import STUDIES, Study

from linewatt.report.charts.figure import Figure, render_svg

PAGE = Path(__file__).resolve().parents[2] / "docs" / "gallery.md"
PICTURES = PAGE.with_suffix("")
_VARIABLE = re.compile(r"var\(--[\w-]+, (#[0-9a-fA-F]+)\)")
_INK, _GROUND = "#24292f", "#ffffff"
_HEAD = """\
# Gallery: charts of published tables

Written by `make gallery` from the tables in [published/](published/README.md): charts that `linewatt report`
draws of them. [Rows of the studies](studies/rows.md) has each published value beside the one that a command
prints, with the misprints of the sources.
"""
Figures = Mapping[str, Figure]
"""of a study, by name"""


def figures_of_studies() -> dict[Study, Figures]:
    """Of all of them, from results that are thrown away."""
    with tempfile.TemporaryDirectory() as root:
        return {study: study.figures(Path(root)) for study in STUDIES}


def page(figures: Mapping[Study, Figures]) -> str:
    """The whole document."""
    return "\n".join([_HEAD, *(_section(study, figures[study]) for study in figures)])


def _section(study: Study, figures: Figures) -> str:
    commands = f"`{study.command}`, then `linewatt report last`:\n"
    images = "\n".join(_image(study, name, figure) for name, figure in figures.items())
    return "\n".join([f"## {study.title}\n", f"{study.words}\n", commands, images, ""])


def _image(study: Study, name: str, figure: Figure) -> str:
    file = f"{PICTURES.name}/{_file(study, name)}"
    return f'<a href="{file}"><img src="{file}" width="300" alt="{escape(figure.title)}"></a>'


def _file(study: Study, name: str) -> str:
    """Its own for each table."""
    return re.sub(r"[^a-z0-9]+", "-", f"{study.table}-{name}".lower()) + ".svg"


def pictures(figures: Mapping[Study, Figures]) -> dict[str, Figure]:
    """File name → figure, of all that the page shows."""
    return {_file(study, name): figure for study in figures for name, figure in figures[study].items()}


def in_words(figure: Figure) -> str:
    """What a picture is of: by this a test knows whether it shows today's figures."""
    return f"<title>{escape(figure.title)}</title><desc>{escape(figure.description)}</desc>"


def svg(figure: Figure) -> str:
    """A figure as a file of its own, on a light ground."""
    drawn = _VARIABLE.sub(r"\1", render_svg(figure.spec)).replace("currentColor", _INK)
    opening, _, rest = drawn.partition(">")
    ground = f'<rect width="100%" height="100%" fill="{_GROUND}"/>'
    return f"{opening}>{in_words(figure)}{ground}{rest}\n"


def main() -> None:
    """Write both pages and the pictures, and take away pictures that no page has any more."""
    figures = figures_of_studies()
    drawn = {name: svg(figure) for name, figure in pictures(figures).items()}
    PICTURES.mkdir(exist_ok=True)
    for file in PICTURES.glob("*.svg"):
        if file.name not in drawn:
            file.unlink()
    for name, text in drawn.items():
        (PICTURES / name).write_text(text, encoding="utf-8")
    PAGE.write_text(page(figures), encoding="utf-8")
    rows_page.PAGE.write_text(rows_page.page(rows_page.rows()), encoding="utf-8")


if __name__ == "__main__":
    main()
