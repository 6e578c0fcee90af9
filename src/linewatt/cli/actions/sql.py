# SPDX-License-Identifier: Apache-2.0
"""Answers to SQL over stored results."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

from linewatt.cli.output import print_csv, print_json, print_rich, results_near, say
from linewatt.cli.waiting import how_far
from linewatt.errors import InvalidInput
from linewatt.foreign import one_line
from linewatt.report import Cell, Head, Row, RowGroup, Table, plural
from linewatt.report.data import VIEWS_SCHEMA_VERSION, Answer, run_query
from linewatt.report.printing import render_table
from linewatt.units import MISSING

_MOST_CHARACTERS = 1 << 20
"""of a query from standard input"""


def ask_results(
    *, query: str, results: Path, as_json: bool, as_csv: bool, limit: int, timeout: float
) -> None:
    """Query results with SQL."""
    if as_json and as_csv:
        raise InvalidInput("--json and --csv: choose one")

    text = _typed() if query == "-" else query
    with how_far("reading results") as tell:
        answer = run_query(
            lambda samples: results_near(results, samples=samples),
            text,
            limit=limit,
            timeout_s=timeout,
            tell=tell,
        )
    if as_json:
        print_json(_document(answer, limit))
    elif as_csv:
        print_csv(
            answer.columns, [dict(zip(answer.columns, map(_plain, row), strict=True)) for row in answer.rows]
        )
    else:
        print_rich(lambda width: render_table(_table(answer), width))
    _say_what_is_not_there(answer, limit)


def _typed() -> str:
    """What stands on standard input. Raises InvalidInput."""
    text = sys.stdin.read(_MOST_CHARACTERS + 1)
    if len(text) > _MOST_CHARACTERS:
        raise InvalidInput(f"sql: the query is longer than {_MOST_CHARACTERS:,} characters")
    return text


def _say_what_is_not_there(answer: Answer, limit: int) -> None:
    if answer.cut:
        say(f"cut after {plural(limit, 'row')}: there are more; --limit asks for them")
    for omitted in answer.left_out:
        say(one_line(f"left out: {omitted.id}: {omitted.reason}"))
    if answer.soaks:
        say(f"{plural(answer.soaks, 'soak')} in results and findings only: a soak has no cases and trials")


def _document(answer: Answer, limit: int) -> dict[str, Any]:
    return {
        "schema_version": VIEWS_SCHEMA_VERSION,
        "columns": [
            {"name": name, "type": kind} for name, kind in zip(answer.columns, answer.types, strict=True)
        ],
        "rows": [dict(zip(answer.columns, map(_plain, row), strict=True)) for row in answer.rows],
        "rows_count": len(answer.rows),
        "limit": limit,
        "cut": answer.cut,
        "left_out": [{"id": omitted.id, "reason": omitted.reason} for omitted in answer.left_out],
        "soaks_left_out": answer.soaks,
    }


def _plain(value: Any) -> Any:
    """A value of DuckDB as JSON has it; a number that is none is null."""
    import math
    from decimal import Decimal

    if value is None or isinstance(value, bool | int | str):
        return value
    if isinstance(value, float | Decimal):
        return float(value) if math.isfinite(value) else None
    if isinstance(value, dict):
        return {str(name): _plain(member) for name, member in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(member) for member in value]
    if isinstance(value, bytes):
        return value.hex()
    return value.isoformat() if hasattr(value, "isoformat") else str(value)


_NUMBERS = ("INT", "DOUBLE", "FLOAT", "DECIMAL", "HUGEINT")


def _table(answer: Answer) -> Table:
    heads = [
        Head(name, kind="number" if any(word in kind for word in _NUMBERS) and "[" not in kind else "text")
        for name, kind in zip(answer.columns, answer.types, strict=True)
    ]
    cells = (tuple(map(_cell, row)) for row in answer.rows)
    rows = tuple(Row(cell[:1], cell[1:]) for cell in cells)
    return Table("", (heads[0],), tuple(heads[1:]), (RowGroup("", rows),))


def _cell(value: Any) -> Cell:
    import json

    plain = _plain(value)
    if plain is None:
        return Cell(MISSING)
    return Cell(one_line(plain if isinstance(plain, str) else json.dumps(plain, ensure_ascii=False)))
