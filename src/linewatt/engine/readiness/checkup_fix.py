# SPDX-License-Identifier: Apache-2.0
"""Making the changes that `linewatt check --fix` finds safe, through the undo journal.

The journal stays when the check has ended: what it holds is the hosts' state from then on, until
`linewatt restore` takes it back. A run goes on top of it (see :mod:`linewatt.engine.undo.leftover`).
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from linewatt.engine.undo.host_lock import Holder, take_all
from linewatt.engine.undo.leftover import FIXES, leftovers
from linewatt.engine.undo.settings import Settings
from linewatt.errors import ChangeError, JournalError, LinewattError
from linewatt.hosts import Host, HostSpec, finish_before_cancel, now_s
from linewatt.hosts.journal import Journal, journal_path
from linewatt.tuning import TUNING_KNOBS, Change
from linewatt.units import stamp


@dataclass(frozen=True, slots=True)
class Fixed:
    """What became of one change: the setting before and now, or why it could not be made."""

    change: Change
    before: str | None = None
    now: str | None = None
    problem: str | None = None


@dataclass(frozen=True, slots=True)
class Fixes:
    """What became of changes; ``journal`` is the id of the one that can take them back, if any was made."""

    changes: Sequence[Fixed] = ()
    journal: str | None = None


def refuse(state: Path, specs: Iterable[HostSpec]) -> None:
    """Raise ChangeError where a campaign is at work on one of these hosts, or was killed on it.

    Raises JournalError where a damaged journal does not tell.
    """
    for leftover in leftovers(state, specs):
        if leftover.running:
            raise ChangeError(
                f"{leftover.host}: {leftover.id} is at work on it; wait for its end, then check again"
            )
        if leftover.damage:
            raise JournalError(f"{leftover.host}: {leftover.damage}")
        if not leftover.own:
            raise ChangeError(
                f"{leftover.host}: {leftover.id} changed it and was killed; "
                "run `linewatt restore` first, then check again"
            )


async def apply_fixes(
    campaign: str, hosts: Mapping[str, Host], changes: Sequence[Change], state: Path
) -> Fixes:
    """Make these changes; hosts at the same time, on each one after the other.

    What a host shows already is no change. Raises ChangeError and JournalError as :func:`refuse`.
    """
    specs = {change.host: hosts[change.host].spec for change in changes}
    refuse(state, specs.values())
    taken = await take_all([hosts[name] for name in specs], Holder(f"check --fix {campaign}"))
    try:
        refuse(state, specs.values())  # nobody changes them from here on
        return await _fixed(campaign, hosts, changes, state)
    finally:
        await finish_before_cancel(asyncio.gather(*(held.release() for _, held in taken)))


async def _fixed(campaign: str, hosts: Mapping[str, Host], changes: Sequence[Change], state: Path) -> Fixes:
    specs = {change.host: hosts[change.host].spec for change in changes}
    journal = _new_journal(campaign, state)
    journal.begin(specs.values())
    try:
        of_host: dict[str, list[Change]] = {}
        for change in changes:
            of_host.setdefault(change.host, []).append(change)
        work = (_fix_host(hosts[name], host_changes, journal) for name, host_changes in of_host.items())
        done = await asyncio.gather(*work)
    finally:
        changed = bool(journal.read()[1])
        if changed:
            journal.close()
        else:
            journal.discard()
    fixes = [fixed for host_fixes in done for fixed in host_fixes]
    return Fixes(fixes, journal.path.stem if changed else None)


def _new_journal(campaign: str, state: Path) -> Journal:
    begun = stamp(now_s())
    for attempt in range(100):
        path = journal_path(state, f"{FIXES}{campaign}-{begun}" + (f"-{attempt + 1}" if attempt else ""))
        if not path.exists():
            return Journal(path, create=True)
    raise ChangeError(f"{path.stem}: too many checks at once; wait a second")


async def _fix_host(host: Host, changes: Sequence[Change], journal: Journal) -> list[Fixed]:
    """One that cannot be made does not keep the next from being made."""
    fixes: list[Fixed] = []
    name = host.spec.name
    settings = Settings({name: host}, TUNING_KNOBS, journal)
    good: list[Change] = []
    for change in changes:
        try:
            await settings.to([*good, change], [name])
        except LinewattError as error:
            fixes.append(Fixed(change, problem=error.without(name)))
            continue
        good.append(change)
        entry = settings.made(change)
        if entry is not None:
            fixes.append(Fixed(change, entry.before, entry.wanted))
    return fixes
