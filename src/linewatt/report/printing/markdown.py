# SPDX-License-Identifier: Apache-2.0
"""Tables, lists, sections and first screens as Markdown, as GitHub and GitLab show it."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import chain

from linewatt.foreign import one_line
from linewatt.report.findings import FindingNote
from linewatt.report.printing.screen import BELOW, TRUST, Screen, page_lists
from linewatt.report.printing.text_table import cell_text
from linewatt.report.section import Lines, Section
from linewatt.report.table import Cell, Head, Note, Row, Table
from linewatt.units import MISSING, NO_BREAK, number_ranges

_SIGNS = re.compile(r"([\\`*_<>|~#@&]|\](?=[(\[:]))")
_SAID_BEFORE = {"doubt": "! ", "absence": f"{MISSING} "}
MOST_SIGHTINGS = 4


def plain(text: str) -> str:
    """Text that Markdown shows as it is: one line, no sign of it acts."""
    return _SIGNS.sub(r"\\\1", one_line(text.replace(NO_BREAK, " ")))


def code(text: str) -> str:
    """Text as code in a line, whatever backticks it has."""
    fence = _fence(text, 1)
    blank = " " if "`" in text else ""
    return f"{fence}{blank}{one_line(text)}{blank}{fence}"


def fenced(text: str) -> Iterator[str]:
    """Lines of a file as they are."""
    fence = _fence(text, 3)
    yield from (fence, *map(one_line, text.rstrip("\n").split("\n")), fence, "")


def _fence(text: str, least: int) -> str:
    return "`" * max(least, 1 + max(map(len, re.findall("`+", text)), default=0))


def table(made: Table, level: int = 3) -> Iterator[str]:
    """A table under its title, and what is to be known of it."""
    if made.title:
        source = f" ({plain(made.provenance)})" if made.provenance else ""
        yield from (f"{'#' * level} {plain(made.title)}{source}", "")
    yield from bare_table(made)
    yield ""
    yield from notes(made.notes)


def bare_table(made: Table) -> Iterator[str]:
    """Its rows alone: one a line, the label of a group in each of them."""
    labelled = any(group.label for group in made.groups)
    heads = [*made.keys, *made.heads]
    titles = [
        *([made.group_title] if labelled else []),
        *map(_title, heads),
        *(["See"] if made.flagged else []),
    ]
    right = [
        *([False] if labelled else []),
        *(one.kind == "number" for one in heads),
        *([False] * made.flagged),
    ]
    yield _line(titles)
    yield _line(["---:" if one else "---" for one in right])
    for group in made.groups:
        for row in group.rows:
            label = [group.label] if labelled else []
            marks = [", ".join(row.marks)] if made.flagged else []
            yield _line([*map(plain, label), *_cells(row, made.heads), *map(plain, marks)])


def _title(head: Head) -> str:
    title = f"{head.group}: {head.title}" if head.group else head.title
    words = (title, head.unit and f"({head.unit})", "[95 % CI]" if head.show_ci else "")
    return plain(" ".join(filter(None, (*words, head.provenance))))


def _cells(row: Row, heads: Sequence[Head]) -> Iterator[str]:
    yield from (plain(cell_text(cell)) for cell in row.keys)
    cells = (*row.cells, *[Cell("")] * (len(heads) - len(row.cells)))
    for head, cell in zip(heads, cells, strict=True):
        text = plain(cell_text(cell, sd=True))
        interval = f" [{cell.ci}]" if cell.ci and head.show_ci else ""
        yield f"**{text}**{plain(interval)}" if cell.strong and cell.text else f"{text}{plain(interval)}"


def _line(cells: Iterable[str]) -> str:
    return f"| {' | '.join(cells)} |"


def notes(every: Sequence[Note]) -> Iterator[str]:
    """Lines below something, as a list."""
    for note in every:
        lead = f"**{plain(note.lead)}**{': ' if note.text else ''}" if note.lead else ""
        yield f"- {_SAID_BEFORE.get(note.kind, '')}{lead}{plain(note.text)}"
    if every:
        yield ""


def lines(made: Lines, level: int = 3) -> Iterator[str]:
    """A list under its heading."""
    if made.title and made.notes:
        yield from (f"{'#' * level} {plain(made.title)}", "")
    if made.preformatted:
        yield from fenced("\n".join(note.text for note in made.notes))
    else:
        yield from notes(made.notes)


def section(made: Section, level: int = 2) -> Iterator[str]:
    """A section: what of it is words and numbers; figures are on the page."""
    if not (made.tables or made.intro or any(each.notes for each in made.notes)):
        return
    yield from (f"{'#' * level} {plain(made.title)}", "")
    yield from chain.from_iterable((plain(one), "") for one in made.intro)
    yield from chain.from_iterable(table(one, level + 1) for one in made.tables)
    yield from chain.from_iterable(lines(one, level + 1) for one in made.notes)


def screen(made: Screen, level: int = 2, rest: str = BELOW) -> Iterator[str]:
    """A first screen, as a page begins with it; ``rest`` is where the others of a long list are."""
    yield from (f"{'#' * level} {plain(made.title)}", "")
    yield from (plain(" · ".join(made.facts)), "")
    if made.caveats:
        yield from (*(f"> {plain(one)}  " for one in made.caveats), "")
    if made.sentence:
        yield from (f"**{plain(made.sentence)}**", "")
    if made.trust:
        yield from (f"**{TRUST}?** {plain(made.trust)}", "")
    doubts = (replace(one, title="", remark="") for one in made.blocks if one.title == TRUST)
    yield from chain.from_iterable(lines(one, level + 1) for one in page_lists(doubts, rest))
    yield from chain.from_iterable(lines(one, level + 1) for one in made.listed(rest))
    yield from chain.from_iterable(table(one, level + 1) for one in made.tables)


def more(commands: Iterable[str]) -> Iterator[str]:
    """Commands that say more."""
    yield from (f"More: {', '.join(map(code, commands))}", "")


def findings(every: Sequence[FindingNote]) -> Iterator[str]:
    """Each kind under its letter, with what was seen of it and what to do."""
    yield from ("## Findings", "")
    if not every:
        yield from ("No findings: none of the checks that ran found a reason to doubt a number.", "")
    for note in every:
        doubtful = f"doubtful: {note.concerns}" if note.concerns else ""
        which = f"trials {number_ranges(note.trials)}" if note.trials else ""
        about = ", ".join(filter(None, (note.rank, doubtful, which)))
        yield from (f"### ({note.mark}) {plain(note.title)} {code(note.code)}", "", plain(about), "")
        seen = [f"- {plain(one.where)}: {plain(one.evidence)}" for one in note.sightings[:MOST_SIGHTINGS]]
        left = len(note.sightings) - MOST_SIGHTINGS
        yield from (*seen, *([f"- and {left} more"] if left > 0 else []))
        yield from (*(f"- **What to do:** {plain(one)}" for one in note.advice), "")


def document(parts: Iterable[str]) -> str:
    """Lines as one text that ends with an end of line, never with two empty ones after another."""
    return re.sub(r"\n{3,}", "\n\n", "\n".join(parts)).strip("\n") + "\n"
