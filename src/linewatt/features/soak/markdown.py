# SPDX-License-Identifier: Apache-2.0
"""A soak as Markdown."""

from __future__ import annotations

from collections.abc import Iterator

from linewatt.features.soak.digest import Soak
from linewatt.features.soak.first_screen import first_screen
from linewatt.features.soak.flags import flags
from linewatt.features.soak.ledger_tables import event_line, interval_table, ledger_table, part_lines
from linewatt.features.soak.page import summary_tables
from linewatt.report import text_lines
from linewatt.report.machine import environment_section
from linewatt.report.printing import markdown_lines, markdown_section, markdown_table, markdown_top


def markdown_of_soak(soak: Soak) -> Iterator[str]:
    """All of it but the campaign's text."""
    yield from markdown_top(first_screen(soak), soak.result, ())
    for table in (*summary_tables(soak), ledger_table(soak.ledger), interval_table(soak)):
        yield from markdown_table(table, 2)
    findings = (f"{flag.where} [{flag.code}]: {flag.evidence}; do: {flag.advice}" for flag in flags(soak))
    yield from markdown_lines(text_lines("Flags", findings), 2)
    yield from markdown_lines(text_lines("Events", (*part_lines(soak), *map(event_line, soak.events))), 2)
    yield from markdown_section(environment_section(soak.hosts, None, soak.result.connections))
