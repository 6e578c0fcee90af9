# SPDX-License-Identifier: Apache-2.0
"""Whether hosts are ready, in words and marks."""

from __future__ import annotations

import asyncio
import textwrap
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

import typer

from linewatt.campaign import Campaign, resolve_campaign
from linewatt.campaign.reading import load_campaign
from linewatt.cli.output import print_json, put_lines, say
from linewatt.engine.readiness import (
    Check,
    Checkup,
    Fixes,
    apply_fixes,
    check_titles,
    fixes_of_checks,
    worst_status,
)
from linewatt.hosts.journal import state_dir
from linewatt.report import plural

SCHEMA_VERSION = 1
WIDTH = 80
NAME_WIDTH = 24
COLUMN = 3
"""characters from mark to mark; names of checks stand on two lines in turn and have twice as many"""
MARKS = {"ok": ".", "warn": "!", "fail": "X", "unknown": "?", None: " "}
LEGEND = ". ok   ! warning   X would spoil a result   ? not known"


def check_hosts(
    *, file: Path, hosts: Path | None, results: Path, fix: bool, allow_commands: bool, as_json: bool
) -> None:
    """Check hosts for anything that would spoil a result."""
    campaign = resolve_campaign(load_campaign(file, hosts, will_connect=True), results)
    checks, applied = asyncio.run(_checked(campaign, results, fix, allow_commands))
    if as_json:
        print_json(document(campaign, checks, applied))
    else:
        for line in fixed_lines(applied):
            say(line)
        put_lines(lines(campaign, checks))
    if not ready(checks) or any(fixed_setting.problem for fixed_setting in applied.changes):
        raise typer.Exit(1)


async def _checked(
    campaign: Campaign, results: Path, fix: bool, allow_commands: bool
) -> tuple[Sequence[Check], Fixes]:
    """The checks; with ``fix`` those after the changes."""
    checkup = Checkup(campaign, state_dir(), results, allow_commands=allow_commands)
    try:
        await checkup.open()
        checks = await checkup.checks()
        if not fix or not fixes_of_checks(checks):
            return checks, Fixes()
        applied = await apply_fixes(campaign.name, checkup.hosts, fixes_of_checks(checks), state_dir())
        return await checkup.checks(), applied
    finally:
        await checkup.close()


def ready(checks: Sequence[Check]) -> bool:
    return not any(check.status == "fail" for check in checks)


def document(campaign: Campaign, checks: Sequence[Check], applied: Fixes) -> dict[str, Any]:
    """The whole as JSON; a ``fix`` is what ``--fix`` would do."""
    counts: Counter[str] = Counter(check.status for check in checks)
    rows = [{**asdict(check), "fix": None if check.fix is None else asdict(check.fix)} for check in checks]
    return {
        "schema_version": SCHEMA_VERSION,
        "campaign": campaign.name,
        "ready": ready(checks),
        "counts": {status: counts[status] for status in MARKS if status is not None},
        "checks": rows,
        "fixed": [asdict(fixed_setting) for fixed_setting in applied.changes],
        "journal": applied.journal,
    }


def fixed_lines(applied: Fixes) -> Iterator[str]:
    """What ``--fix`` did, and how it is taken back."""
    for fixed_setting in applied.changes:
        what = f"{fixed_setting.change.host}: {fixed_setting.change.knob} {fixed_setting.change.target}"
        if fixed_setting.problem is not None:
            yield f"not fixed: {fixed_setting.change.host}: {fixed_setting.problem}"
        else:
            yield f"fixed: {what} = {fixed_setting.now} (was {fixed_setting.before})"
    if applied.journal is not None:
        yield f"these stay until linewatt restore puts them back (journal {applied.journal})"


def lines(campaign: Campaign, checks: Sequence[Check]) -> Iterator[str]:
    """The table, then what is wrong with the worst first, then one line that sums it up."""
    yield from _table(campaign, checks)
    yield ""
    for status, word in (("fail", "FAIL"), ("warn", "warning")):
        yield from _findings([check for check in checks if check.status == status], word)
    yield from _unknown([check for check in checks if check.status == "unknown"])
    yield _summary(campaign, checks)


def _table(campaign: Campaign, checks: Sequence[Check]) -> Iterator[str]:
    names = list(check_titles())
    width = min(NAME_WIDTH, max(4, *(len(name) for name in campaign.hosts))) + 2
    for line in (0, 1):
        cells = [f"{name:<{2 * COLUMN}}" for name in names[line::2]]
        yield (("host" if line else "").ljust(width + line * COLUMN) + "".join(cells)).rstrip()
    for host in campaign.hosts:
        shown = host if len(host) <= NAME_WIDTH else host[: NAME_WIDTH - 1] + "…"
        host_checks = [check for check in checks if check.host == host]
        marks = (MARKS[worst_status(check for check in host_checks if check.name == name)] for name in names)
        yield (shown.ljust(width) + "".join(mark.ljust(COLUMN) for mark in marks)).rstrip()
    yield LEGEND


def _findings(checks: Sequence[Check], word: str) -> Iterator[str]:
    """One paragraph each; what several hosts share is said once."""
    alike: dict[tuple[str, str, str], list[str]] = {}
    for check in checks:
        alike.setdefault((check.name, check.found, check.advice), []).append(check.host)
    for (name, finding, advice), hosts in alike.items():
        yield from _wrapped(f"{word}  {_some(hosts)}: {check_titles().get(name, name)}: {finding}", "    ")
        if advice:
            yield from _wrapped(f"    do: {advice}", "        ")


def _unknown(checks: Sequence[Check]) -> Iterator[str]:
    """One line a host: it may be all right."""
    texts_by_host: dict[str, list[str]] = {}
    for check in checks:
        text = f"{check_titles().get(check.name, check.name)}: {check.found}"
        texts_by_host.setdefault(check.host, []).append(f"{text} ({check.advice})" if check.advice else text)
    alike: dict[str, list[str]] = {}
    for host, texts in texts_by_host.items():
        alike.setdefault("; ".join(dict.fromkeys(texts)), []).append(host)
    for text, hosts in alike.items():
        yield from _wrapped(f"not known  {_some(hosts)}: {text}", "    ")


def _some(hosts: Sequence[str]) -> str:
    names = list(dict.fromkeys(hosts))
    return ", ".join(names) if len(names) <= 4 else f"{', '.join(names[:3])} and {len(names) - 3} more"


def _wrapped(text: str, indent: str) -> list[str]:
    return textwrap.wrap(
        text, WIDTH, subsequent_indent=indent, break_on_hyphens=False, break_long_words=False
    )


def _summary(campaign: Campaign, checks: Sequence[Check]) -> str:
    counts: Counter[str] = Counter(check.status for check in checks)
    nouns = (("fail", "failure"), ("warn", "warning"))
    words = [plural(counts[status], noun) for status, noun in nouns if counts[status]]
    words += [f"{counts['unknown']} not known"] if counts["unknown"] else []
    verdict = "ready" if ready(checks) else "not ready"
    more = f": {', '.join(words)}" if words else ""
    return f"{campaign.name}: {verdict}{more} on {len(campaign.hosts)} hosts"
