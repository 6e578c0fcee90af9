# SPDX-License-Identifier: Apache-2.0
"""A whole result as one Markdown file: all its words and numbers, without its figures."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import chain

from linewatt import __version__
from linewatt.report.campaign_text import campaign_text, campaign_title
from linewatt.report.kinds import result_kind
from linewatt.report.machine.environment import environment_section
from linewatt.report.printing import markdown
from linewatt.report.printing.screen import Screen
from linewatt.report.section import text_lines
from linewatt.report.trials.answer.first_screen import first_screen_of_trials
from linewatt.report.trials.caveats import caveats
from linewatt.report.trials.digest import Digest, digest_of
from linewatt.report.trials.sections import page_sections
from linewatt.store import Result


def markdown_first_screen(result: Result) -> str | None:
    """The first screen alone; None where there is none."""
    kind = result_kind(result.manifest)
    screen = first_screen_of_trials(digest_of(result)) if kind is None else kind.first_screen(result)
    if screen is None:
        return None
    return markdown.document([*markdown.screen(screen, rest_place=screen.full), *markdown.more(screen.more)])


def render_markdown(result: Result) -> str:
    """All of it."""
    kind = result_kind(result.manifest)
    parts = _of_trials(digest_of(result)) if kind is None else kind.markdown(result)
    return markdown.document([*parts, *_campaign(result)])


def _of_trials(view: Digest) -> Iterator[str]:
    yield from markdown_top(first_screen_of_trials(view), view.result, caveats(view))
    results, details, trials = page_sections(view)
    yield from chain.from_iterable(map(markdown.markdown_section, results))
    yield from markdown.findings(view.notes)
    yield from chain.from_iterable(map(markdown.markdown_section, details))
    if view.failed:
        why = (
            f"Trial {trial.number} ({view.describe(trial.case)}): {trial.reason or 'no reason recorded'}"
            for trial in view.failed
        )
        yield from markdown.markdown_lines(text_lines("Failed trials", why), 2)
    environment = environment_section(view.hosts, view.result.idle_before, view.result.connections)
    yield from markdown.markdown_section(environment)
    yield from markdown.markdown_section(trials)


def markdown_top(screen: Screen | None, result: Result, caveats_of_result: Iterable[str]) -> Iterator[str]:
    """How it begins: with its first screen, or else its name and what must be known before any number."""
    if screen is not None:
        yield from markdown.screen(screen, 1)
        return
    yield from (f"# {markdown.plain(str(result.manifest.name or result.id))}", "")
    yield from (*(f"> {markdown.plain(caveat)}  " for caveat in caveats_of_result), "")


def _campaign(result: Result) -> Iterator[str]:
    source = result.imported_from
    yield from (f"## {campaign_title(result)}", "")
    text = campaign_text(result.manifest)
    yield from (
        markdown.fenced(text)
        if text
        else ("The file is not stored, or not shown: it is not valid YAML and may contain logins.", "")
    )
    version = result.manifest.linewatt_version or "not recorded"
    origin = f"Imported from {source} with" if source else "Measured with"
    yield markdown.plain(f"{origin} linewatt {version}, written by linewatt {__version__}.")
