# SPDX-License-Identifier: Apache-2.0
"""A soak for a terminal: the summary as published, the ledger and whether it balances, what went wrong.

The table of the ledger is made in ``ledger_tables.py``, its figures in ``ledger.py``.
"""

from __future__ import annotations

from collections.abc import Iterator

from rich.console import Group, RenderableType
from rich.padding import Padding
from rich.text import Text

from linewatt.features.soak.digest import Soak
from linewatt.features.soak.flags import findings
from linewatt.features.soak.ledger_tables import (
    event_line,
    facts_table,
    groups_table,
    ledger_table,
    part_lines,
)
from linewatt.features.soak.summary import details, summary
from linewatt.foreign import one_line
from linewatt.report import plural
from linewatt.report.machine import connection_lines
from linewatt.report.printing import render_table, titled
from linewatt.units import format_seconds, format_time_utc

_MOST_EVENTS = 20


def show(soak: Soak, width: int | None = None) -> RenderableType:
    """The whole of ``linewatt show`` for a soak; ``width`` is the terminal's, ``None`` for no limit."""
    parts = [
        _heading(soak),
        render_table(facts_table("Summary", [*summary(soak), *details(soak)]), width),
        *_groups(soak, width),
        _printed_ledger(soak, width),
        *_failures(soak),
        *_events(soak),
        *_findings(soak),
    ]
    return Group(*(part for block in parts for part in (block, Text())))


def state(soak: Soak) -> str:
    """How long it ran of how long it should, in how many parts."""
    ran = f"{format_seconds(soak.ran_s)} of {format_seconds(soak.plan.duration_s)}"
    parts = "" if len(soak.parts) == 1 else f" in {plural(len(soak.parts), 'part')}"
    return f"{ran}{parts}" + ("" if soak.complete else "; not complete")


def _heading(soak: Soak) -> RenderableType:
    manifest = soak.result.manifest
    name = f"{manifest.name or soak.result.id} [{soak.result.id}]"
    lines = [
        Text(one_line(name), style="bold"),
        Text(f"{format_time_utc(manifest.created_s)}, a soak: {state(soak)}"),
    ]
    if soak.is_lab:
        lines.append(Text("Lab result: simulated hosts on one machine; not how fast hardware is."))
    if len(soak.parts) > 1:
        lines += [Text(line) for line in part_lines(soak)]
    lines += [Text(one_line(line)) for line in connection_lines(soak.result.connections)]
    return Group(*lines)


def _groups(soak: Soak, width: int | None) -> Iterator[RenderableType]:
    if len(soak.groups) > 1:
        yield render_table(groups_table(soak), width)


def _printed_ledger(soak: Soak, width: int | None) -> RenderableType:
    ledger_balance = soak.balance
    balance = (
        f"The ledger {ledger_balance.words}"
        if ledger_balance.verdict
        else f"Whether the ledger balances {ledger_balance.words}"
    )
    return Group(
        render_table(ledger_table(soak.ledger, zeros=False), width),
        Text(one_line(balance), style="bold red" if ledger_balance.verdict == "off" else "bold"),
        Text(one_line(ledger_balance.unexplained_words)),
    )


def _failures(soak: Soak) -> Iterator[RenderableType]:
    if soak.users is not None and soak.users.first_lines:
        lines = [f"{kind}: {line}" for kind, line in soak.users.first_lines.items()]
        yield titled("First of each failure", lines)


def _events(soak: Soak) -> Iterator[RenderableType]:
    events = [event for event in soak.events if event.kind != "first-failure"]
    if events:
        more = len(events) - _MOST_EVENTS
        lines = [event_line(event) for event in events[:_MOST_EVENTS]]
        omitted_lines = [f"and {more} more, which --json has"] if more > 0 else []
        yield titled("Events", lines + omitted_lines)


def _findings(soak: Soak) -> Iterator[RenderableType]:
    soak_findings = findings(soak)
    if soak_findings.every:
        yield Text(f"Findings: {soak_findings.counted()}", style="bold")
    for finding in soak_findings.every:
        lines = [*(f"{seen.where}: {seen.evidence}" for seen in finding.sightings), *finding.advice]
        yield Group(
            Text(one_line(f"{finding.kind.title} [{finding.code}]"), style="yellow"),
            *(Padding(Text(one_line(line)), (0, 0, 0, 2)) for line in lines),
        )
