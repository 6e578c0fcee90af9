# SPDX-License-Identifier: Apache-2.0
"""Two soaks side by side as a table, sentences, JSON, CSV and a page."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import asdict
from typing import Any

from rich.console import Group, RenderableType
from rich.text import Text

from linewatt.analysis.comparison.finding import Finding
from linewatt.analysis.comparison.soaks import ADVICE, Quantity, SoakComparison, SoakRow, SoakSide
from linewatt.analysis.power.totals import SCOPE_WORDS
from linewatt.analysis.soak.job import DRIFT
from linewatt.foreign import one_line
from linewatt.report.comparison.page import comparison_page
from linewatt.report.comparison.trials import apart_words
from linewatt.report.provenance import legend, mark
from linewatt.report.section import Section, listed
from linewatt.report.series import plural
from linewatt.report.soak.summary import count_text
from linewatt.report.table import Cell, Head, Row, RowGroup, Table, legend_notes, texts
from linewatt.report.text_table import render as render_table
from linewatt.report.text_table import titled
from linewatt.report.trials.words import when
from linewatt.units import MISSING, format_percent, format_rate, format_seconds, format_significant

SCHEMA_VERSION = 1
_MOST_SHOWN = 40
_UNITS: dict[str, Callable[[float], str]] = {
    "_bps": lambda value: format_rate(value, 4),
    "_hz": lambda value: f"{format_significant(value, 4)}/s",
    "_cores": lambda value: f"{format_significant(value)} cores",
    "_j_per_gb": lambda value: f"{format_significant(value)} J/GB",
    "_s_per_gbit": lambda value: f"{format_significant(value)} CPU-s/Gbit",
    "_count": count_text,
    "_s": lambda value: format_seconds(value) if value >= 1 else f"{format_significant(1e3 * value)} ms",
    "failed_ratio": lambda value: f"{format_significant(100 * value)} %",
    "_ratio": format_percent,
    DRIFT: lambda value: f"{100 * value:+.2f} %".replace("-", "−"),
}
"""end of a quantity's name → its text"""


def table(found: SoakComparison) -> Table:
    """A row a quantity, and below them whether each ledger balances."""
    base, other = found.base.side.name, found.other.side.name
    ledger = Row(texts("Ledger"), texts(found.base.balance, found.other.balance, "", ""))
    return Table(
        title="Quantities",
        keys=(Head("Quantity", kind="text"),),
        heads=(Head(base), Head(other), Head(f"{other} ÷ {base}"), Head("Verdict", kind="prose")),
        groups=(RowGroup("", (*map(_row, found.rows), ledger)),),
        notes=legend_notes(legend(one.provenance for row in found.rows for one in (row.base, row.other))),
        style="numbers verdicts",
    )


def _row(row: SoakRow) -> Row:
    watts = [one for one in (row.base, row.other) if one.provenance is not None]
    scopes = dict.fromkeys(SCOPE_WORDS.get(one.scope or "", one.scope) for one in watts)
    sure = next((mark(one.provenance) for one in watts if mark(one.provenance)), None)
    title = row.response.title + (f" ({', '.join(map(str, scopes))})" if scopes else "")
    ratio = Cell(MISSING) if row.ratio is None else Cell(f"{row.ratio:.3f}", mark=sure)
    return Row((Cell(title),), (_cell(row, row.base), _cell(row, row.other), ratio, Cell(row.own_words)))


def _cell(row: SoakRow, one: Quantity) -> Cell:
    if one.value is None:
        return Cell(MISSING, reason=one.reason)
    shown = next(text for end, text in _UNITS.items() if row.response.name.endswith(end))
    return Cell(shown(one.value), mark=mark(one.provenance))


def heading(found: SoakComparison) -> list[str]:
    """What is compared with what, and what a reader must know first."""
    return [
        *(_side_text(one) for one in (found.base, found.other)),
        *found.words,
        *apart_words(found.base.side, found.other.side),
    ]


def _side_text(one: SoakSide) -> str:
    left = "" if one.complete else "; not complete"
    ran = f"ran {format_seconds(one.ran_s)}{left}"
    return f"{one.side.name}: {one.side.id}, {when(one.side.created_s)}, a soak, {ran} [{one.job.key}]"


def asked_otherwise(found: SoakComparison) -> list[tuple[str, list[str]]]:
    """What refuses ratios, with its name in brackets, and what would if it were not allowed."""
    titles = ("Not comparable (--allow NAME compares all the same)", "Differs, and was allowed")
    return [
        (title, [f"{one.words} [{one.code}]" for one in each])
        for title, each in zip(titles, (found.obstacles, found.allowed), strict=True)
    ]


def remarks(found: SoakComparison) -> list[str]:
    """Ledgers that do not balance, and flags of either side."""
    said = []
    for one in (found.base, found.other):
        if one.balance in ("off", "not known"):
            what = "the ledger" if one.balance == "off" else "whether the ledger balances"
            said.append(f"{one.side.name}: {what} {one.balance_words}")
        codes = Counter(flag.code for flag in one.flags)
        if codes:
            named = ", ".join(f"{code} ×{count}" if count > 1 else code for code, count in codes.items())
            said.append(f"{one.side.name}: flags: {named} (linewatt show {one.side.id} says why)")
    return said


def difference_lines(found: SoakComparison) -> list[str]:
    """What matters of what differs, the same of many hosts in one line, and how much more there is."""
    groups: dict[tuple[str, str | None, str | None], list[str]] = {}
    for one in found.differences:
        if one.rank is not None:
            groups.setdefault((one.fact, one.base, one.other), []).append(one.where)
    shown = [
        f"{where[0] if len(where) == 1 else plural(len(where), 'host')}: {fact} {base} → {other}"
        for (fact, base, other), where in groups.items()
    ]
    left = len(shown) - _MOST_SHOWN
    more = [f"and {left} more of these, which --json has"] if left > 0 else []
    others = sum(one.rank is None for one in found.differences)
    if others:
        more.append(f"and {plural(others, 'other difference')}, which --json has")
    return shown[:_MOST_SHOWN] + more


def show(found: SoakComparison, verdict: Finding, width: int | None = None) -> RenderableType:
    """The whole of ``linewatt compare`` of two soaks; ``width`` is the terminal's, ``None`` for no limit."""
    parts: list[RenderableType] = [titled("Comparison of two soaks", heading(found))]
    parts += [titled(title, said, "yellow") for title, said in asked_otherwise(found) if said]
    parts += [render_table(table(found), width), Text(ADVICE)]
    differ = difference_lines(found)
    nothing = Text("Nothing else that is on record of the hosts differs.")
    parts.append(titled("What else differs", differ) if differ else nothing)
    if remarks(found):
        parts.append(titled("Notes", remarks(found), "yellow"))
    if verdict.words:
        parts.append(Text(one_line(f"Not enough evidence: {verdict.words}."), style="yellow"))
    return Group(*(part for each in parts for part in (each, Text())))


def render(found: SoakComparison, verdict: Finding) -> str:
    """The whole page: tables and lists, no script, nothing loaded from anywhere."""
    title = f"{found.other.side.id} against {found.base.side.id}"
    asked = tuple(listed(title, said) for title, said in asked_otherwise(found))
    differ = listed("What else differs", difference_lines(found))
    sections = [
        Section("Quantities", "results", (table(found),), notes=asked, intro=(ADVICE,)),
        Section("What differs", "differs", notes=(differ, listed("Notes", remarks(found)))),
    ]
    return comparison_page(title, heading(found), verdict, sections)


def as_document(found: SoakComparison, verdict: Finding) -> dict[str, Any]:
    """The document of ``compare --json``; a value is in the unit that its quantity's name ends with."""
    return {
        "schema_version": SCHEMA_VERSION,
        "kind": "soaks",
        "base": _side(found.base),
        "other": _side(found.other),
        "matched": list(found.words),
        "comparisons": rows(found),
        "not_comparable": [asdict(one) for one in found.obstacles],
        "allowed": [asdict(one) for one in found.allowed],
        "differences": [asdict(one) for one in found.differences],
        "advice": ADVICE,
        "exit_code": verdict.exit_code,
        "finding": verdict.words or None,
    }


def _side(one: SoakSide) -> dict[str, Any]:
    return {
        "name": one.side.name,
        "id": one.side.id,
        "created_s": one.side.created_s,
        "job_key": one.job.key,
        "job": dict(one.job.parameters),
        "duration_s": one.ran_s,
        "complete": one.complete,
        "balance": one.balance,
        "balance_words": one.balance_words,
        "flags": [asdict(flag) for flag in one.flags],
    }


def rows(found: SoakComparison) -> list[dict[str, Any]]:
    """A row a quantity, for JSON and CSV."""
    return [
        {
            "quantity": row.response.name,
            "title": row.response.title,
            **_quantity("base", row.base),
            **_quantity("other", row.other),
            "ratio": row.ratio,
            "kind": row.outcome,
            "verdict": row.words,
        }
        for row in found.rows
    ]


def _quantity(name: str, one: Quantity) -> dict[str, Any]:
    return {
        f"{name}_value": one.value,
        f"{name}_n": 0 if one.value is None else 1,
        f"{name}_reason": one.reason,
        f"{name}_scope": one.scope,
        f"{name}_provenance": one.provenance,
    }


CSV_COLUMNS = (
    *("quantity", "title", "base_value", "base_n", "base_reason", "base_scope", "base_provenance"),
    *(
        "other_value",
        "other_n",
        "other_reason",
        "other_scope",
        "other_provenance",
        "ratio",
        "kind",
        "verdict",
    ),
)
"""Column names of ``compare --csv`` of two soaks."""
