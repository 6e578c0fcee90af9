# SPDX-License-Identifier: Apache-2.0
"""The page and its pictures: ``make gallery``."""

from __future__ import annotations

import re
import tempfile
from collections.abc import Sequence
from pathlib import Path

from markupsafe import escape
from scripts.gallery.rows import page as rows_page
from scripts.gallery.studies import STUDIES
from scripts.gallery.values import STATUSES, Line, Study

from linewatt.report.charts.figure import Figure, render_svg

PAGE = Path(__file__).resolve().parents[2] / "docs" / "gallery.md"
PICTURES = PAGE.with_suffix("")
_VARIABLE = re.compile(r"var\(--[\w-]+, (#[0-9a-fA-F]+)\)")
_INK, _GROUND = "#24292f", "#ffffff"
_HEAD = """\
# Gallery: published figures, and what linewatt makes of the same tables

Written by `make gallery` from the tables in [published/](published/README.md); a test fails when the two
differ. The pictures come from `linewatt report`. *Met*: the value derived from the raw columns differs from
the printed value by less than one of its last digit; for truncated decimals all digits agree; for values
read from a chart the difference is at most 12 %. *As printed*: a raw figure, shown unchanged. *Not met* and
*cannot be* are given with the reason.
"""
_MISPRINTS = """\
## Misprints of the sources

| where | printed | what the raw figures beside it give |
| --- | --- | --- |
| 000, CPU Mbps/W at 8 instances | 942.52, which is the CPU % of that row | 94237.26 Mbps / 99.98 W = 942.56 |
| 000, Mbps per core at 16 instances | 8243.06 | 110831.41 Mbps / 13.4455 cores = 8243.01 |
| 004, rate over 48 hours | 6.5 Gbit/s: the peak | 1.058 Pbit / 172,800 s = 6.12 Gbit/s |
"""
_COLUMNS = "| published | made by | printed | derived | difference | | picture |\n" + "| --- " * 7 + "|"


def studies() -> tuple[Study, ...]:
    """All of them, from results that are thrown away."""
    with tempfile.TemporaryDirectory() as root:
        return tuple(study(Path(root)) for study in STUDIES)


def page(every: Sequence[Study]) -> str:
    """The whole document."""
    found = [line.status for one in every for line in one.lines]
    counts = ", ".join(f"{found.count(status)} {status.strip('*')}" for status in STATUSES)
    said = f"{len(found)} published figures and tables: {counts}.\n"
    return "\n".join([_HEAD, said, *map(_section, every), _MISPRINTS])


def _section(one: Study) -> str:
    components = f" --components docs/published/{one.components}.csv" if one.components else ""
    imported = f"`linewatt import docs/published/{one.table}.csv{components}`, then:\n"
    rows = (_row(one, line) for line in one.lines)
    return "\n".join([f"## {one.title}\n", f"{one.words}\n", imported, _COLUMNS, *rows, ""])


def _row(one: Study, line: Line) -> str:
    shown = " ".join(_image(one, name) for name in line.pictures)
    cells = (line.what, line.command, line.printed, line.derived, line.difference, line.status, shown)
    return f"| {' | '.join(cells)} |"


def _image(one: Study, name: str) -> str:
    file = f"{PICTURES.name}/{_file(one, name)}"
    return f'<a href="{file}"><img src="{file}" width="300" alt="{escape(one.figures[name].title)}"></a>'


def _file(one: Study, name: str) -> str:
    """Its own for each table."""
    return re.sub(r"[^a-z0-9]+", "-", f"{one.table}-{name}".lower()) + ".svg"


def pictures(every: Sequence[Study]) -> dict[str, Figure]:
    """File name → figure, of all that the page shows."""
    return {
        _file(one, name): one.figures[name] for one in every for line in one.lines for name in line.pictures
    }


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
    every = studies()
    drawn = {name: svg(figure) for name, figure in pictures(every).items()}
    PICTURES.mkdir(exist_ok=True)
    for file in PICTURES.glob("*.svg"):
        if file.name not in drawn:
            file.unlink()
    for name, text in drawn.items():
        (PICTURES / name).write_text(text, encoding="utf-8")
    PAGE.write_text(page(every), encoding="utf-8")
    rows_page.PAGE.write_text(rows_page.page(rows_page.rows()), encoding="utf-8")


if __name__ == "__main__":
    main()
