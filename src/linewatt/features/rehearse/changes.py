# SPDX-License-Identifier: Apache-2.0
"""Make the changes of a campaign one by one on guests and record how the driver handles each.

A run makes all changes of a round together and ends with the first refused one; a rehearsal makes each change
alone, undoes it, and continues with the next.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from linewatt.campaign import Campaign
from linewatt.campaign.planning import plan_campaign
from linewatt.campaign.reading import site_of_host
from linewatt.engine import events
from linewatt.engine.live import Connector, Session, read_facts, read_passwords
from linewatt.engine.undo import ALL_KNOBS, Settings, undo_and_tell
from linewatt.errors import HostError, InvalidInput, LinewattError
from linewatt.hosts import HostSpec, finish_before_cancel
from linewatt.hosts.facts import Facts
from linewatt.hosts.journal import Journal, journal_path
from linewatt.loads import LOADS
from linewatt.missing import Missing
from linewatt.tuning import Change

Verdict = Literal["taken", "no change", "rounded", "ignored", "refused"]
NAME = "rehearsal"


@dataclass(frozen=True, slots=True)
class Outcome:
    """The outcome of a change; ``before`` and ``after`` were read from the host, ``words`` is the reason."""

    change: Change
    verdict: Verdict
    before: str | None = None
    after: str | None = None
    words: str = ""
    restored: bool = True


@dataclass(frozen=True, slots=True)
class Rehearsed:
    """The outcome of each change, the chosen placements, and settings that were not restored, as text."""

    outcomes: tuple[Outcome, ...]
    places: tuple[str, ...]
    left: tuple[str, ...]


async def facts_of(campaign: Campaign) -> dict[str, Facts | Missing]:
    """Facts of each host, or why they cannot be read. Changes nothing and takes no lock."""
    connector = Connector()

    async def read_host(spec: HostSpec) -> Facts | Missing:
        try:
            host = await connector.connect(spec)
        except (HostError, InvalidInput) as error:
            return Missing(str(error))
        try:
            return await read_facts(host, LOADS[campaign.load])
        except LinewattError as error:
            return Missing(str(error))
        finally:
            await finish_before_cancel(host.close())

    facts = await asyncio.gather(*map(read_host, campaign.hosts.values()))
    return dict(zip(campaign.hosts, facts, strict=True))


async def rehearse_changes(campaign: Campaign, state: Path, say: events.OnEvent) -> Rehearsed:
    """Make and undo each change of a campaign alone. Raises LinewattError if hosts are unreachable."""
    session = Session(campaign, read_passwords(campaign))
    problems: list[str] = []

    def collect(event: events.Event) -> None:
        if isinstance(event, events.LeftChanged):
            problems.extend(event.problems)
        say(event)

    try:
        await session.connect(lambda text: say(events.Phase(text)))
        await session.learn()
        sites = {name: site_of_host(spec, session.facts[name], None) for name, spec in campaign.hosts.items()}
        planned = plan_campaign(campaign, campaign.seed or 0, sites)
        changes = list(dict.fromkeys((*planned.changes, *planned.every_change)))
        journal = Journal(journal_path(state, NAME), create=True)
        journal.begin(campaign.hosts.values())
        try:
            settings = Settings(session.hosts, ALL_KNOBS, journal)
            outcomes = [await _try_change(settings, journal, change, say) for change in changes]
        finally:
            await finish_before_cancel(undo_and_tell(journal, session.hosts, session.holder, collect))
        now = {name: await read_facts(host, session.load) for name, host in session.hosts.items()}
        problems += differences(session.facts, now)
        return Rehearsed(tuple(outcomes), tuple(map(str, planned.places)), tuple(problems))
    finally:
        await finish_before_cancel(session.close())


async def _try_change(settings: Settings, journal: Journal, change: Change, say: events.OnEvent) -> Outcome:
    """Make and undo one change."""
    say(events.Phase(f"{change.host}: {change.knob} {change.target} {change.value}"))
    first = journal.next_number()
    problem = ""
    try:
        await settings.check([change])
        await settings.to([change], {change.host})
    except HostError:
        raise
    except LinewattError as error:
        problem = str(error)
    entry = next(
        (
            recorded
            for recorded in reversed(journal.read()[1])
            if recorded.number >= first and (recorded.knob, recorded.target) == (change.knob, change.target)
        ),
        None,
    )
    before, after = (None, None) if entry is None else (entry.before, entry.after)
    verdict = verdict_of(problem, before, after)
    try:
        await settings.to([], {change.host})
    except HostError:
        raise
    except LinewattError as error:
        return Outcome(change, verdict, before, after, f"{problem}; not put back: {error}", restored=False)
    return Outcome(change, verdict, before, after, problem)


def verdict_of(problem: str, before: str | None, after: str | None) -> Verdict:
    """The verdict on a change, from the values read before and after it. Pure."""
    if not problem:
        return "no change" if before is None else "taken"
    if after is None:
        return "refused"
    return "ignored" if after == before else "rounded"


def differences(before: Mapping[str, Facts], after: Mapping[str, Facts]) -> list[str]:
    """Facts of hosts that differ from before; counters are ignored. Pure."""
    return [
        f"{host}: {section}.{name} was {old!r} and is {new!r}"
        for host, sections in before.items()
        for section in ("nic", "sysctl", "further_nics")
        for name, old in sections.get(section, {}).items()
        if (new := after.get(host, {}).get(section, {}).get(name)) != old and name != "carrier_changes"
    ]
