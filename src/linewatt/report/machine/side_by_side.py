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
    said = "No known fact differs between the hosts."
    if differing:
        verb = "differs" if differing == 1 else "differ"
        said = f"{plural(differing, 'fact')} {verb} between the hosts, marked ≠."
    tables = [
        Table(title, (Head("Fact", kind="text"),), heads, tuple(parts), style="facts")
        for title, parts in (("Differences", [RowGroup("", tuple(rows))]), ("Hosts side by side", every))
        if any(part.rows for part in parts)
    ]
    return Section(
        "Environment",
        "environment",
        tuple(tables) if len(hosts) > 1 else tuple(tables[-1:]),
        intro=(
            "Nothing is on record of the hosts."
            if not tables
            else f"{said} {MISSING} is not known."
            if len(hosts) > 1
            else f"{MISSING} is not known.",
        ),
    )


def _fact_row(row: FactRow, group: str) -> Row:
    return Row((Cell(f"{group}{row.name}"),), texts(*row.values), style="differs" if row.differs else "")


def _unread(group: FactGroup) -> tuple[Row, ...]:
    known = Row(texts("known of no host"), texts(", ".join(group.unread)), style="unread")
    return (known,) if group.unread else ()
