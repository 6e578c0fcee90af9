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
from linewatt.report.table import Head, Note, Row, Table
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


def _fence(text: str, min_ticks: int) -> str:
    return "`" * max(min_ticks, 1 + max(map(len, re.findall("`+", text)), default=0))


def markdown_table(data_table: Table, level: int = 3) -> Iterator[str]:
    """A table under its title, and what is to be known of it."""
    if data_table.title:
        source = f" ({plain(data_table.provenance)})" if data_table.provenance else ""
        yield from (f"{'#' * level} {plain(data_table.title)}{source}", "")
    yield from bare_table(data_table)
    yield ""
    yield from notes(data_table.notes)


def bare_table(data_table: Table) -> Iterator[str]:
    """Its rows alone: one a line, the label of a group in each of them."""
    labelled = any(group.label for group in data_table.groups)
    heads = [*data_table.keys, *data_table.heads]
    titles = [
        *([data_table.group_title] if labelled else []),
        *map(_title, heads),
        *(["See"] if data_table.flagged else []),
    ]
    right = [
        *([False] if labelled else []),
        *(head.kind == "number" for head in heads),
        *([False] * data_table.flagged),
    ]
    yield _line(titles)
    yield _line(["---:" if is_right else "---" for is_right in right])
    for group in data_table.groups:
        for row in group.rows:
            label = [group.label] if labelled else []
            marks = [", ".join(row.marks)] if data_table.flagged else []
            yield _line([*map(plain, label), *_cells(row, data_table.heads), *map(plain, marks)])


def _title(head: Head) -> str:
    unit, interval = head.unit and f"({head.unit})", "[95 % CI]" if head.show_ci else ""
    words = (head.full_title, unit, head.plus_minus, interval)
    return plain(" ".join(filter(None, (*words, head.provenance))))


def _cells(row: Row, heads: Sequence[Head]) -> Iterator[str]:
    yield from (plain(cell_text(cell)) for cell in row.keys)
    for at, head in enumerate(heads):
        cell = row.cell(at)
        text = plain(cell_text(cell, sd=True))
        interval = f" [{cell.ci}]" if cell.ci and head.show_ci else ""
        yield f"**{text}**{plain(interval)}" if cell.strong and cell.text else f"{text}{plain(interval)}"


def _line(cells: Iterable[str]) -> str:
    return f"| {' | '.join(cells)} |"


def notes(listed_notes: Sequence[Note]) -> Iterator[str]:
    """Lines below something, as a list."""
    for note in listed_notes:
        lead = f"**{plain(note.lead)}**{': ' if note.text else ''}" if note.lead else ""
        yield f"- {_SAID_BEFORE.get(note.kind, '')}{lead}{plain(note.text)}"
    if listed_notes:
        yield ""


def markdown_lines(line_list: Lines, level: int = 3) -> Iterator[str]:
    """A list under its heading."""
    if line_list.title and line_list.notes:
        yield from (f"{'#' * level} {plain(line_list.title)}", "")
    if line_list.preformatted:
        yield from fenced("\n".join(note.text for note in line_list.notes))
    else:
        yield from notes(line_list.notes)


def markdown_section(page_section: Section) -> Iterator[str]:
    """A section: what of it is words and numbers; figures are on the page."""
    if not (page_section.tables or page_section.intro or any(note.notes for note in page_section.notes)):
        return
    yield from (f"## {plain(page_section.title)}", "")
    yield from chain.from_iterable((plain(paragraph), "") for paragraph in page_section.intro)
    yield from chain.from_iterable(map(markdown_table, page_section.tables))
    yield from chain.from_iterable(map(markdown_lines, page_section.notes))


def screen(first_screen: Screen, level: int = 2, rest_place: str = BELOW) -> Iterator[str]:
    """A first screen, as a page begins with it; ``rest_place`` is where the others of a long list are."""
    yield from (f"{'#' * level} {plain(first_screen.title)}", "")
    yield from (plain(" · ".join(first_screen.facts)), "")
    if first_screen.caveats:
        yield from (*(f"> {plain(caveat)}  " for caveat in first_screen.caveats), "")
    if first_screen.sentence:
        yield from (f"**{plain(first_screen.sentence)}**", "")
    if first_screen.trust:
        yield from (f"**{TRUST}?** {plain(first_screen.trust)}", "")
    doubts = (replace(block, title="", remark="") for block in first_screen.blocks if block.title == TRUST)
    yield from chain.from_iterable(
        markdown_lines(page_list, level + 1) for page_list in page_lists(doubts, rest_place)
    )
    yield from chain.from_iterable(
        markdown_lines(listed_lines, level + 1) for listed_lines in first_screen.listed(rest_place)
    )
    yield from chain.from_iterable(
        markdown_table(screen_table, level + 1) for screen_table in first_screen.tables
    )


def more(commands: Iterable[str]) -> Iterator[str]:
    """Commands that say more."""
    yield from (f"More: {', '.join(map(code, commands))}", "")


def findings(finding_notes: Sequence[FindingNote]) -> Iterator[str]:
    """Each kind under its letter, with what was seen of it and what to do."""
    yield from ("## Findings", "")
    if not finding_notes:
        yield from ("No findings: none of the checks that ran found a reason to doubt a number.", "")
    for note in finding_notes:
        doubtful = f"doubtful: {note.concerns}" if note.concerns else ""
        which = f"trials {number_ranges(note.trials)}" if note.trials else ""
        about = ", ".join(filter(None, (note.rank, doubtful, which)))
        yield from (f"### ({note.mark}) {plain(note.title)} {code(note.code)}", "", plain(about), "")
        seen = [
            f"- {plain(sighting.where)}: {plain(sighting.evidence)}"
            for sighting in note.sightings[:MOST_SIGHTINGS]
        ]
        omitted_count = len(note.sightings) - MOST_SIGHTINGS
        yield from (*seen, *([f"- and {omitted_count} more"] if omitted_count > 0 else []))
        yield from (*(f"- **What to do:** {plain(advice)}" for advice in note.advice), "")


def document(parts: Iterable[str]) -> str:
    """Lines as one text that ends with an end of line, never with two empty ones after another."""
    return re.sub(r"\n{3,}", "\n\n", "\n".join(parts)).strip("\n") + "\n"
