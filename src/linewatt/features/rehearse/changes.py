# SPDX-License-Identifier: Apache-2.0
"""A campaign's changes made one by one, on hosts that stand in for its own: what a driver makes of each.

A run asks for all changes of a round at once and ends with the first that is refused; a rehearsal asks for
each alone, puts it back, and goes on with the next.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from linewatt.campaign.campaign import Campaign
from linewatt.campaign.planning.plan import plan
from linewatt.campaign.reading.sites import site
from linewatt.engine import events
from linewatt.engine.live.secrets import passwords
from linewatt.engine.live.session import Connector, Session, read_facts
from linewatt.engine.undo.knobs import KNOBS
from linewatt.engine.undo.restore import undo_and_tell
from linewatt.engine.undo.settings import Settings
from linewatt.errors import HostError, InvalidInput, LinewattError
from linewatt.hosts.base import HostSpec
from linewatt.hosts.facts.read import Facts
from linewatt.hosts.journal.journal import Journal, journal_path
from linewatt.hosts.process import completed
from linewatt.loads.registry import LOADS
from linewatt.tuning.base import Change

Verdict = Literal["taken", "no change", "rounded", "ignored", "refused"]
NAME = "rehearsal"


@dataclass(frozen=True, slots=True)
class Outcome:
    """What became of one change: ``before`` and ``after`` are what its host showed, ``words`` why."""

    change: Change
    verdict: Verdict
    before: str | None = None
    after: str | None = None
    words: str = ""
    restored: bool = True


@dataclass(frozen=True, slots=True)
class Rehearsed:
    """The outcome of each change, what placement chose, and what was not put back, in words."""

    outcomes: tuple[Outcome, ...]
    places: tuple[str, ...]
    left: tuple[str, ...]


async def facts_of(campaign: Campaign) -> dict[str, Facts | str]:
    """What each host says of itself, or why it cannot be had. Nothing is changed, nobody is kept away."""
    connector = Connector()

    async def one(spec: HostSpec) -> Facts | str:
        try:
            host = await connector.connect(spec)
        except (HostError, InvalidInput) as error:
            return str(error)
        try:
            return await read_facts(host, LOADS[campaign.load])
        except LinewattError as error:
            return str(error)
        finally:
            await completed(host.close())

    found = await asyncio.gather(*map(one, campaign.hosts.values()))
    return dict(zip(campaign.hosts, found, strict=True))


async def rehearse_changes(campaign: Campaign, state: Path, say: events.OnEvent) -> Rehearsed:
    """Make each change of a campaign alone, and put it back. Raises LinewattError where hosts are gone."""
    session = Session(campaign, passwords(campaign))
    left: list[str] = []

    def heard(event: events.Event) -> None:
        if isinstance(event, events.LeftChanged):
            left.extend(event.problems)
        say(event)

    try:
        await session.connect(lambda text: say(events.Phase(text)))
        await session.learn()
        sites = {name: site(spec, session.facts[name], None) for name, spec in campaign.hosts.items()}
        planned = plan(campaign, campaign.seed or 0, sites)
        changes = list(dict.fromkeys((*planned.changes, *planned.every_change)))
        journal = Journal(journal_path(state, NAME), create=True)
        journal.begin(campaign.hosts.values())
        try:
            settings = Settings(session.hosts, KNOBS, journal)
            outcomes = [await _alone(settings, journal, change, say) for change in changes]
        finally:
            await completed(undo_and_tell(journal, session.hosts, session.holder, heard))
        now = {name: await read_facts(host, session.load) for name, host in session.hosts.items()}
        left += differences(session.facts, now)
        return Rehearsed(tuple(outcomes), planned.places, tuple(left))
    finally:
        await completed(session.close())


async def _alone(settings: Settings, journal: Journal, change: Change, say: events.OnEvent) -> Outcome:
    """One change made and taken back."""
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
            one
            for one in reversed(journal.read()[1])
            if one.number >= first and (one.knob, one.target) == (change.knob, change.target)
        ),
        None,
    )
    before, after = (None, None) if entry is None else (entry.before, entry.after)
    verdict = judged(problem, before, after)
    try:
        await settings.to([], {change.host})
    except HostError:
        raise
    except LinewattError as error:
        return Outcome(change, verdict, before, after, f"{problem}; not put back: {error}", restored=False)
    return Outcome(change, verdict, before, after, problem)


def judged(problem: str, before: str | None, after: str | None) -> Verdict:
    """What a driver did, from what its interface showed before and after it was asked. Pure."""
    if not problem:
        return "no change" if before is None else "taken"
    if after is None:
        return "refused"
    return "ignored" if after == before else "rounded"


def differences(before: Mapping[str, Facts], after: Mapping[str, Facts]) -> list[str]:
    """Facts of hosts that are not as they were; those that nobody sets, such as counters, aside. Pure."""
    return [
        f"{host}: {section}.{name} was {one!r} and is {other!r}"
        for host, known in before.items()
        for section in ("nic", "sysctl", "further_nics")
        for name, one in known.get(section, {}).items()
        if (other := _of(after.get(host, {}), section, name)) != one and name != "carrier_changes"
    ]


def _of(facts: Mapping[str, Any], section: str, name: str) -> Any:
    return facts.get(section, {}).get(name)
