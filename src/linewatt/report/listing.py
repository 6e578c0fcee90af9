# SPDX-License-Identifier: Apache-2.0
"""Stored results in a line each: ``linewatt list``."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from rich.console import Group, RenderableType
from rich.text import Text

from linewatt.errors import StoreError
from linewatt.foreign import one_line
from linewatt.report.series import first_of
from linewatt.store import sums
from linewatt.store.read import Damaged, Result
from linewatt.store.soak import FOLDER
from linewatt.units import MISSING

MOST_BYTES = 64 << 20
"""of a soak's samples that are read for a list; days of many hosts take tens of seconds"""
MOST_NAMED = 4
SCHEMA_VERSION = 1


@dataclass(frozen=True, slots=True)
class Listed:
    """A result, and how many findings it has, as ``show`` counts them; ``None`` with the reason.

    ``lacks`` says what of a soak's files cannot be read or is not there.
    """

    heading: Mapping[str, Any]
    findings: int | None
    reason: str | None = None
    lacks: str | None = None


def listed(result: Result) -> Listed:
    """One line of the list. Raises StoreError."""
    from linewatt.report.trials.digest import digest, heading

    view = digest(result)
    about = heading(view)
    if not result.is_soak:
        return Listed(about, len(view.findings.every))
    size = sum(path.stat().st_size for path in result.path.glob("soak/part-*/chunk-*.parquet"))
    if size > MOST_BYTES:
        why = f"{size / 1e6:,.0f} MB of samples are not read for a list; see its show"
        return Listed(about, None, why, _lacks_of_names(result))
    from linewatt.report.soak.digest import digest as read_soak
    from linewatt.report.soak.flags import findings, flags

    try:
        soak = read_soak(result)
        lacks = [one.evidence for one in flags(soak) if one.code in ("chunk-damaged", "chunk-missing")]
        return Listed(about, len(findings(soak).every), lacks="; ".join(lacks) or None)
    except StoreError as error:
        return Listed(about, None, str(error))


def _lacks_of_names(result: Result) -> str | None:
    """What can be told of a soak that is not read."""
    gone = [name for name in sums.gone(result.path) if name.startswith(f"{FOLDER}/")]
    return f"not there: {first_of(gone, MOST_NAMED, between=', ')}" if gone else None


def as_document(every: Sequence[Listed | Damaged]) -> list[dict[str, Any]]:
    """The rows of ``list --json``; of a damaged result there is its id and why."""
    return [
        {"id": one.id, "damaged": one.reason}
        if isinstance(one, Damaged)
        else {
            **one.heading,
            "flags_count": one.findings,
            "flags_reason": one.reason,
            "damaged": None,
            "lacks": one.lacks,
        }
        for one in every
    ]


def show(every: Sequence[Listed | Damaged], *, width: int | None = None) -> RenderableType:
    """The table of ``linewatt list``, and why a count is missing or a result is damaged."""
    from linewatt.report.table import Head, Row, RowGroup, Table, texts
    from linewatt.report.text_table import render

    heads = (Head("Name", kind="text"), Head("When", kind="text"), *map(Head, ("Done", "Failed", "Findings")))
    rows = tuple(Row(texts(id_of(one)), texts(*_cells(one))) for one in every)
    table = Table("", (Head("Id", kind="text"),), heads, (RowGroup("", rows),))
    why = [Text(one_line(f"{id_of(one)}: {said}")) for one in every for said in _said(one)]
    return Group(render(table, width), *why)


def _said(one: Listed | Damaged) -> list[str]:
    every = [one.reason] if isinstance(one, Damaged) else [one.reason, one.lacks]
    return [said for said in every if said]


def id_of(one: Listed | Damaged) -> str:
    """The id of a row."""
    return one.id if isinstance(one, Damaged) else str(one.heading["id"])


def _cells(one: Listed | Damaged) -> tuple[str, ...]:
    """A row of the table behind its id."""
    if isinstance(one, Damaged):
        return (MISSING, MISSING, "damaged", MISSING, MISSING)
    from linewatt.report.export import when

    return (
        _name(one.heading),
        when(one.heading["created_s"]),
        _done(one.heading),
        str(one.heading["trials_failed"]),
        MISSING if one.findings is None else str(one.findings),
    )


def _done(about: Mapping[str, Any]) -> str:
    if about["soak"]:
        return "soak" if about["complete"] else "soak, not all"
    return f"{about['trials_done']}/{about['trials_planned']}"


def _name(about: Mapping[str, Any]) -> str:
    name = str(about["name"] or MISSING)
    imported = about["imported_from"]
    return f"{name} (imported from {imported})" if imported else name
