# SPDX-License-Identifier: Apache-2.0
"""Whether hosts are ready: a table and sentences, or a document."""

from __future__ import annotations

import asyncio
import shlex
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

import typer

from linewatt.campaign import Campaign, resolve_campaign
from linewatt.campaign.reading import load_campaign
from linewatt.cli.output import columns_of_output, print_json, put_lines, say, wrapped
from linewatt.engine.readiness import (
    Check,
    Checkup,
    Fixes,
    Status,
    apply_fixes,
    check_titles,
    fixes_of_checks,
    worst_status,
)
from linewatt.hosts.journal import state_dir
from linewatt.report import plural

SCHEMA_VERSION = 1
MOST_COLUMNS = 120
"""of lines of prose: longer ones are hard to read"""
NAME_WIDTH = 24
GAP = 2
"""blanks between columns of the table"""
STATUS_WORDS: Mapping[Status | None, str] = {
    "ok": "ok",
    "warn": "warning",
    "fail": "FAIL",
    "unknown": "not known",
    None: "–",
}
MEANINGS: Mapping[Status | None, str] = {
    "fail": "would spoil a result",
    "warn": "does not stop a run",
    "unknown": "the host does not tell",
    None: "does not apply, or was not checked",
}
"""of what stands in the table, beside what is ok"""


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
        fix_command = None if fix else _fix_command(file, hosts)
        put_lines(lines(campaign, checks, columns_of_output(), fix_command))
    if not ready(checks) or any(fixed_setting.problem for fixed_setting in applied.changes):
        raise typer.Exit(1)


def _fix_command(file: Path, hosts: Path | None) -> str:
    inventory = () if hosts is None else ("--hosts", str(hosts))
    return shlex.join(["linewatt", "check", str(file), *inventory, "--fix"])


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
        "counts": {status: counts[status] for status in STATUS_WORDS if status is not None},
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


def lines(
    campaign: Campaign, checks: Sequence[Check], width: int, fix_command: str | None = None
) -> Iterator[str]:
    """What is ok, a table of all else, what is wrong with the worst first, and one line that sums it up.

    ``fix_command`` makes the changes that are safe; None: they are not offered.
    """
    of_hosts = _by_host(campaign, checks)
    yield from _ok_everywhere(of_hosts, width)
    yield from _tables(of_hosts, width)
    prose_width = min(width, MOST_COLUMNS)
    for status, word in (("fail", "FAIL"), ("warn", "warning")):
        yield from _findings([check for check in checks if check.status == status], word, prose_width)
    yield from _unknown([check for check in checks if check.status == "unknown"], prose_width)
    if fix_command is not None:
        yield from _offer_of_fix(checks, fix_command, prose_width)
    yield _summary(campaign, checks, prose_width)


_StatusByHost = Mapping[str, Mapping[str, Status | None]]
"""name of a check → host → its status there"""


def _by_host(campaign: Campaign, checks: Sequence[Check]) -> _StatusByHost:
    """The checks in the order of their titles."""
    of_place: dict[tuple[str, str], list[Check]] = {}
    for check in checks:
        of_place.setdefault((check.name, check.host), []).append(check)
    return {
        name: {host: worst_status(of_place.get((name, host), ())) for host in campaign.hosts}
        for name in check_titles()
    }


def _is_ok(of_hosts: Mapping[str, Status | None], reachable_hosts: Collection[str]) -> bool:
    """Whether a check is ok on all reachable hosts that it applies to, and fails on none."""
    statuses = {of_hosts[host] for host in reachable_hosts}
    return "ok" in statuses and statuses <= {"ok", None} and "fail" not in of_hosts.values()


def _reachable(of_hosts: _StatusByHost) -> list[str]:
    """The hosts that were logged in to."""
    return [host for host, status in of_hosts["ssh"].items() if status != "fail"]


def _ok_everywhere(of_hosts: _StatusByHost, width: int) -> Iterator[str]:
    reachable_hosts = _reachable(of_hosts)
    titles = [
        check_titles()[name] for name, statuses in of_hosts.items() if _is_ok(statuses, reachable_hosts)
    ]
    if titles:
        where = (
            "on every host" if len(reachable_hosts) == len(of_hosts["ssh"]) else "on every host that answers"
        )
        yield from wrapped(f"ok {where}: {', '.join(titles)}", min(width, MOST_COLUMNS))
        yield ""


def _tables(of_hosts: _StatusByHost, width: int) -> Iterator[str]:
    """Every check that is not ok on each host: a column each, in as many tables as the width asks for."""
    reachable_hosts = _reachable(of_hosts)
    shown = {
        name: statuses
        for name, statuses in of_hosts.items()
        if any(statuses.values()) and not _is_ok(statuses, reachable_hosts)
    }
    columns = [
        (check_titles()[name].split(), [STATUS_WORDS[status] for status in statuses.values()])
        for name, statuses in shown.items()
    ]
    hosts = ["host"], [_shortened(host) for host in of_hosts["ssh"]]
    for portion in _portions(columns, width - _width(hosts)):
        yield from _table([hosts, *portion])
        yield ""
    if shown:
        marks = {status for statuses in shown.values() for status in statuses.values()}
        meanings = (f"{STATUS_WORDS[mark]}: {words}" for mark, words in MEANINGS.items() if mark in marks)
        yield from wrapped(f"({' · '.join(meanings)})", min(width, MOST_COLUMNS), 1)
        yield ""


_Column = tuple[list[str], list[str]]
"""the words of its heading, each on a line, and a cell for each host"""


def _width(column: _Column) -> int:
    heading, cells = column
    return max(map(len, [*heading, *cells])) + GAP


def _portions(columns: Iterable[_Column], width: int) -> Iterator[list[_Column]]:
    """Columns in portions that fit ``width``, at least one in each."""
    portion: list[_Column] = []
    for column in columns:
        if portion and sum(map(_width, portion)) + _width(column) - GAP > width:
            yield portion
            portion = []
        portion.append(column)
    if portion:
        yield portion


def _table(columns: Sequence[_Column]) -> Iterator[str]:
    """The headings end on one line."""
    height = max(len(heading) for heading, _ in columns)
    padded = [[*[""] * (height - len(heading)), *heading, *cells] for heading, cells in columns]
    for row in zip(*padded, strict=True):
        cells = (cell.ljust(_width(column)) for cell, column in zip(row, columns, strict=True))
        yield "".join(cells).rstrip()


def _shortened(host: str) -> str:
    return host if len(host) <= NAME_WIDTH else f"{host[: NAME_WIDTH - 1]}…"


def _findings(checks: Sequence[Check], word: str, width: int) -> Iterator[str]:
    """One paragraph each; what several hosts share is said once."""
    alike: dict[tuple[str, str, str], list[str]] = {}
    for check in checks:
        alike.setdefault((check.name, check.found, check.advice), []).append(check.host)
    for (name, finding, advice), hosts in alike.items():
        title = check_titles().get(name, name)
        yield from wrapped(f"{word}  {_some(hosts)}: {title}: {finding}", width)
        if advice:
            yield from wrapped(f"    do: {advice}", width)


def _unknown(checks: Sequence[Check], width: int) -> Iterator[str]:
    """One line a host: it may be all right."""
    texts_by_host: dict[str, list[str]] = {}
    for check in checks:
        text = f"{check_titles().get(check.name, check.name)}: {check.found}"
        texts_by_host.setdefault(check.host, []).append(f"{text} ({check.advice})" if check.advice else text)
    alike: dict[str, list[str]] = {}
    for host, texts in texts_by_host.items():
        alike.setdefault("; ".join(dict.fromkeys(texts)), []).append(host)
    for text, hosts in alike.items():
        yield from wrapped(f"not known  {_some(hosts)}: {text}", width)


def _offer_of_fix(checks: Sequence[Check], fix_command: str, width: int) -> Iterator[str]:
    """Which changes are safe, and the command that makes them; nothing where there are none."""
    hosts_by_change: dict[str, list[str]] = {}
    for fix in fixes_of_checks(checks):
        hosts_by_change.setdefault(f"{fix.knob} {fix.value}", []).append(fix.host)
    if hosts_by_change:
        changes = "; ".join(f"{change} on {_some(hosts)}" for change, hosts in hosts_by_change.items())
        yield from wrapped(f"safe changes: {changes}", width)
        yield from wrapped(f"    do: {fix_command} (linewatt restore undoes them)", width)


def _some(hosts: Sequence[str]) -> str:
    names = list(dict.fromkeys(hosts))
    return ", ".join(names) if len(names) <= 4 else f"{', '.join(names[:3])} and {len(names) - 3} more"


def _summary(campaign: Campaign, checks: Sequence[Check], width: int) -> str:
    """The verdict and how many are not well; on how many hosts, where there is room."""
    counts: Counter[str] = Counter(check.status for check in checks)
    nouns = (("fail", "failure"), ("warn", "warning"))
    words = [plural(counts[status], noun) for status, noun in nouns if counts[status]]
    words += [f"{counts['unknown']} not known"] if counts["unknown"] else []
    verdict = "ready" if ready(checks) else "not ready"
    more = f": {', '.join(words)}" if words else ""
    summary = f"{campaign.name}: {verdict}{more}"
    of_hosts = f"{summary} on {len(campaign.hosts)} hosts"
    return of_hosts if len(of_hosts) <= width else summary
