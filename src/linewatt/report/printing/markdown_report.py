# SPDX-License-Identifier: Apache-2.0
"""A whole result as one Markdown file: all its words and numbers, without its figures."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import chain

from linewatt import __version__
from linewatt.report.campaign_text import campaign_text, campaign_title
from linewatt.report.machine.environment import environment, environment_section
from linewatt.report.printing import markdown
from linewatt.report.printing.screen import Screen
from linewatt.report.published.view import View
from linewatt.report.published.view import view as published
from linewatt.report.section import listed
from linewatt.report.soak.digest import Soak
from linewatt.report.soak.digest import digest as read_soak
from linewatt.report.soak.first_screen import first_screen as screen_of_soak
from linewatt.report.soak.flags import flags
from linewatt.report.soak.page import summary_tables
from linewatt.report.soak.table import event_line, interval_table, ledger_table, part_lines
from linewatt.report.trials.answer.first_screen import first_screen
from linewatt.report.trials.digest import Digest, digest
from linewatt.report.trials.sections import page_sections
from linewatt.report.trials.words import caveats
from linewatt.store.read import Result


def first(result: Result) -> str | None:
    """The first screen alone; None where there is none."""
    made = screen_of_soak(read_soak(result)) if result.is_soak else first_screen(digest(result))
    if made is None:
        return None
    return markdown.document([*markdown.screen(made, rest=made.full), *markdown.more(made.more)])


def render(result: Result) -> str:
    """All of it."""
    return markdown.document([*_parts(result), *_campaign(result)])


def _parts(result: Result) -> Iterator[str]:
    if result.is_soak:
        return _of_soak(read_soak(result))
    return _of_published(published(result)) if result.imported_kind else _of_trials(digest(result))


def _of_published(view: View) -> Iterator[str]:
    yield from _top(None, view.result, (view.caveat, view.answer))
    for one in view.tables:
        yield from markdown.table(one, 2)
    yield from markdown.lines(listed("Notes", view.notes), 2)


def _of_trials(view: Digest) -> Iterator[str]:
    yield from _top(first_screen(view), view.result, caveats(view))
    results, details, trials = page_sections(view)
    yield from chain.from_iterable(map(markdown.section, results))
    yield from markdown.findings(view.notes)
    yield from chain.from_iterable(map(markdown.section, details))
    if view.failed:
        why = (
            f"Trial {one.number} ({view.describe(one.case)}): {one.reason or 'no reason recorded'}"
            for one in view.failed
        )
        yield from markdown.lines(listed("Failed trials", why), 2)
    known = environment(view.hosts, view.result.idle_before, view.result.connections)
    yield from markdown.section(environment_section(known, view.hosts))
    yield from markdown.section(trials)


def _of_soak(soak: Soak) -> Iterator[str]:
    yield from _top(screen_of_soak(soak), soak.result, ())
    for one in (*summary_tables(soak), ledger_table(soak.ledger), interval_table(soak)):
        yield from markdown.table(one, 2)
    findings = (f"{one.where} [{one.code}]: {one.evidence}; do: {one.advice}" for one in flags(soak))
    yield from markdown.lines(listed("Flags", findings), 2)
    yield from markdown.lines(listed("Events", (*part_lines(soak), *map(event_line, soak.events))), 2)
    known = environment(soak.hosts, connections=soak.result.connections)
    yield from markdown.section(environment_section(known, soak.hosts))


def _top(screen: Screen | None, result: Result, said: tuple[str, ...] | list[str]) -> Iterator[str]:
    if screen is not None:
        yield from markdown.screen(screen, 1)
        return
    yield from (f"# {markdown.plain(str(result.manifest.name or result.id))}", "")
    yield from (*(f"> {markdown.plain(one)}  " for one in said), "")


def _campaign(result: Result) -> Iterator[str]:
    source = result.imported_from
    yield from (f"## {campaign_title(result)}", "")
    text = campaign_text(result.manifest)
    yield from (
        markdown.fenced(text)
        if text
        else ("There is none on record, or it is no YAML: it is not shown, for logins in it.", "")
    )
    version = result.manifest.linewatt_version or "not recorded"
    made = f"Imported from {source} with" if source else "Measured with"
    yield markdown.plain(f"{made} linewatt {version}, written by linewatt {__version__}.")
