# SPDX-License-Identifier: Apache-2.0
"""What is on record of the hosts as a section of a page: facts in rows, hosts in columns."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from linewatt.report.machine.environment import FactGroup, FactRow
from linewatt.report.section import Section
from linewatt.report.series import plural
from linewatt.report.table import Cell, Head, Row, RowGroup, Table, texts
from linewatt.units import MISSING

_MOST_OPEN = 8
"""hosts whose facts stand open on a page"""


def environment_section(groups: Sequence[FactGroup], hosts: Mapping[str, Mapping[str, Any]]) -> Section:
    """What is on record of the hosts: what differs between them, then everything."""
    heads = tuple(
        Head(name, kind="text", provenance="lab" if one.get("lab") else "") for name, one in hosts.items()
    )
    differing = sum(group.differing for group in groups)
    rows = [_fact_row(row, f"{group.name}: ") for group in groups for row in group.rows if row.differs]
    every = [
        RowGroup(group.name, (*(_fact_row(row, "") for row in group.rows), *_unread(group)))
        for group in groups
    ]
    folded = f"{plural(len(hosts), 'host')} side by side" if len(hosts) > _MOST_OPEN else ""
    tables = {"Differences": ((RowGroup("", tuple(rows)),), ""), "Hosts side by side": (tuple(every), folded)}
    return Section(
        "Environment",
        "environment",
        tuple(
            Table(title, (Head("Fact", kind="text"),), heads, parts, style="facts", folded=until_opened)
            for title, (parts, until_opened) in tables.items()
            if any(part.rows for part in parts)
        ),
        intro=(_intro(differing, len(hosts)) if every else "Nothing is on record of the hosts.",),
    )


def _intro(differing: int, hosts: int) -> str:
    said = f"{MISSING} is not known."
    if hosts < 2:
        return said
    if not differing:
        return f"No known fact differs between the hosts. {said}"
    verb = "differs" if differing == 1 else "differ"
    return f"{plural(differing, 'fact')} {verb} between the hosts, marked ≠. {said}"


def _fact_row(row: FactRow, group: str) -> Row:
    return Row((Cell(f"{group}{row.name}"),), texts(*row.values), style="differs" if row.differs else "")


def _unread(group: FactGroup) -> tuple[Row, ...]:
    known = Row(texts("known of no host"), texts(", ".join(group.unread)), style="unread")
    return (known,) if group.unread else ()
