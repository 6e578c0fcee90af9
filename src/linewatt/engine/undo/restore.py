# SPDX-License-Identifier: Apache-2.0
"""Undoing what the journal holds: at the end of a campaign, and after one that was killed.

Entries are put back host by host, the newest first, each as ``put_back.py`` says.

What ``check --fix`` changed stands below what a run changes: it is no reason to refuse one, and is put back
after it.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

from linewatt.engine import events
from linewatt.engine.undo.host_lock import Holder, OnText, take, writers_ended
from linewatt.engine.undo.knobs import ALL_KNOBS, apart
from linewatt.engine.undo.leftover import FIXES, is_running, place_of
from linewatt.engine.undo.put_back import put_back_in_turn
from linewatt.engine.undo.restore_lock import RestoreAtWork, restore_lock
from linewatt.engine.undo.strays import end_strays
from linewatt.errors import ChangeError, JournalError, LinewattError
from linewatt.hosts import Host, HostSpec, connect_to_host
from linewatt.hosts.journal import Entry, Journal, Place, damage_text, journal_path, journals, read_journal

_STAMP = re.compile(r"\d{8}-\d{6}")

RUNNING_AGAIN_S = 0.5
"""how often it is looked whether a campaign that is waited for has ended"""


@dataclass(frozen=True, slots=True)
class Restored:
    """What became of one campaign's journal: settings put back, and what could not be."""

    id: str
    undone: int
    problems: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Undoer:
    """How an undo gets at hosts: as whom, whom it tells, and whether it waits for other controllers."""

    holder: Holder = field(default_factory=lambda: Holder("restore"))
    say: OnText = lambda _: None
    waits: bool = False


async def undo_all(
    journal: Journal,
    hosts: Mapping[str, Host],
    by: Undoer | None = None,
    *,
    force: bool = False,
    later: Mapping[Place, str] | None = None,
) -> tuple[int, tuple[str, ...]]:
    """Undo every change of a journal, the newest first; ``hosts`` are connections that are ours already.

    ``later``: hosts on which another journal holds newer changes, and its id; they are left as they are.
    Returns how many settings were put back, and the problems met. A host that cannot be reached does not
    keep the others from being put back; what is left stays in the journal. Damage of the journal is a problem
    itself, whatever could be read of it.
    """
    content = journal.content()
    specs, entries = content.hosts, content.entries
    by_host: dict[str, list[Entry]] = {}
    for entry in reversed(entries):
        by_host.setdefault(entry.host, []).append(entry)
    covered = {name: newer for name in by_host if (newer := (later or {}).get(place_of(specs[name])))}
    outcomes = await asyncio.gather(
        *(
            _undo_host(specs[name], hosts.get(name), host_entries, journal, by or Undoer(), force=force)
            for name, host_entries in by_host.items()
            if name not in covered
        )
    )
    problems = tuple(problem for outcome in outcomes for problem in outcome)
    problems += (damage_text(journal.path, content),) if content.damage else ()
    try:
        journal.sync()
    except JournalError as error:
        problems += (str(error),)
    problems += tuple(
        f"{name}: left as it is until what {newer} changed after it is put back"
        for name, newer in covered.items()
    )
    return len(entries) - len(journal.content().entries), problems


async def undo_and_tell(
    journal: Journal, hosts: Mapping[str, Host], holder: Holder, say: events.OnEvent
) -> None:
    """The end of a run: undo all, say what was put back and what could not be."""
    undone, problems = await undo_all(journal, hosts, Undoer(holder, lambda text: say(events.Phase(text))))
    if problems:
        say(events.LeftChanged(problems))
        journal.close()
        return
    journal.discard()
    if undone:
        say(events.Phase(f"put back {undone} settings"))


async def _undo_host(
    spec: HostSpec, host: Host | None, entries: list[Entry], journal: Journal, by: Undoer, *, force: bool
) -> list[str]:
    """A connection that ends meanwhile is made anew, once: a late heartbeat is no reason to leave a host."""
    host = host if host is not None and not host.lost else None
    problems, was_lost = await _undo_on(spec, host, entries, journal, by, force=force)
    if problems and was_lost:
        by.say(f"{spec.name}: its connection ended while settings were put back; connecting again")
        with suppress(LinewattError):  # what was put back already shows so, and is told once more
            remaining_numbers = {entry.number for entry in journal.content().entries}
            entries = [entry for entry in entries if entry.number in remaining_numbers]
        problems, _ = await _undo_on(spec, None, entries, journal, by, force=force)
    return problems


async def _undo_on(
    spec: HostSpec, host: Host | None, entries: list[Entry], journal: Journal, by: Undoer, *, force: bool
) -> tuple[list[str], bool]:
    """The problems met, and whether the connection ended meanwhile; without ``host`` one is made first."""
    opened = held = None
    problems = []
    try:
        if host is None:
            host = opened = await connect_to_host(spec)
            held = await take(host, by.holder, by.say if by.waits else None, again=True)
            if held.note is not None:
                by.say(held.note)
        await writers_ended(host, by.say)
        groups = list(apart(entries))
        async for _, outcomes in put_back_in_turn(host, ALL_KNOBS, groups, journal, force=force):
            problems += [str(problem) for problem in outcomes if problem is not None]
        if opened is not None:  # a run does so itself, when its sensors have ended
            await end_strays(host, by.say)
    except LinewattError as error:
        problems.append(f"{error} ({len(entries)} settings are still to be put back)")
    except Exception as error:  # noqa: BLE001  what one host does must not keep others from being put back
        what = f"{type(error).__name__}: {str(error)[:120]!r}"
        problems.append(f"{spec.name}: {what} ({len(entries)} settings are still to be put back)")
    finally:
        was_lost = host is not None and host.lost is not None
        with suppress(Exception):
            if held is not None:
                await held.release()
            if opened is not None:
                await opened.close()
    return problems, was_lost


class FirstPart:
    """What the killed part of a resumed campaign left; put back once, before its hosts are looked at.

    What they show meanwhile is not theirs: an MTU, a tunnel in the way of another network's; and a host that
    was rebooted shows none of it.
    """

    def __init__(self, state: Path, result_id: str | None, by: Undoer) -> None:
        """``result_id``: None for a campaign that is not resumed, which has none."""
        self._path = None if result_id is None else journal_path(state, result_id)
        self._by = by

    async def undo(self, hosts: Mapping[str, Host]) -> None:
        """Raises ChangeError: something cannot be put back, and stays in the journal."""
        path, self._path = self._path, None
        if path is None or not path.exists():
            return
        journal = Journal(path, create=False)
        undone, problems = await undo_all(journal, hosts, self._by)
        if problems:
            journal.close()
            more = f" (and {len(problems) - 1} more; run `linewatt restore`)" if len(problems) > 1 else ""
            raise ChangeError(problems[0] + more)
        journal.discard()
        if undone:
            self._by.say(f"put back {undone} settings that its first part left")

    async def undo_after_all(self, say: events.OnEvent) -> None:
        """After an interrupt: put back what is not yet put back, on hosts that nobody else has."""
        try:
            await self.undo({})
        except LinewattError as error:
            say(events.LeftChanged((str(error),)))


def _age(path: Path) -> tuple[str, bool]:
    """Sorts journals by when they began, as their names say; a run of the same second came after a fix."""
    fixes = path.stem.startswith(FIXES)
    stamps = _STAMP.findall(path.stem)
    return (stamps[-1 if fixes else 0] if stamps else ""), not fixes


def forget_journal(state: Path, result_id: str) -> int:
    """Drop a journal whose hosts are no more. Returns how many changes it held.

    Raises ChangeError, JournalError.
    """
    path_by_id = {path.stem: path for path in journals(state)}
    if result_id not in path_by_id:
        raise ChangeError(f"{result_id}: no such journal; there are: {', '.join(path_by_id) or 'none'}")
    with restore_lock(state, Holder("restore")):
        try:
            journal = Journal(path_by_id[result_id], create=False)
        except FileNotFoundError:
            raise ChangeError(f"{result_id}: another restore has just removed this journal") from None
        entries = journal.content().entries
        journal.discard()
    return len(entries)


async def restore_hosts(state: Path, by: Undoer | None = None, *, force: bool = False) -> list[Restored]:
    """Undo what every campaign that no longer runs left behind, the newest first.

    A journal whose campaign still runs is left alone and told, and so is what older ones hold of its hosts;
    where others are waited for, its end is, too. Raises RestoreAtWork, JournalError.
    """
    by = by or Undoer()
    if not journals(state):
        return []
    is_announced = False
    while True:
        try:
            with restore_lock(state, by.holder):
                return await _restore_all(state, by, force=force)
        except RestoreAtWork as error:
            if not by.waits:
                raise
            if not is_announced:
                by.say(f"waiting for another restore ({error.at_work})")
                is_announced = True
        await asyncio.sleep(RUNNING_AGAIN_S)


async def _restore_all(state: Path, by: Undoer, *, force: bool) -> list[Restored]:
    outcomes = []
    later: dict[Place, str] = {}
    for path in sorted(journals(state), key=_age, reverse=True):
        try:
            journal = await _opened(path, by)
        except FileNotFoundError:
            continue  # it ended meanwhile
        except JournalError as error:
            outcomes.append(Restored(path.stem, 0, (str(error),)))
            continue
        except LinewattError as error:
            by.say(str(error))
            with suppress(FileNotFoundError):
                later |= {place_of(spec): path.stem for spec in read_journal(path).hosts.values()}
            continue
        undone, problems = await undo_all(journal, {}, by, force=force, later=later)
        if problems:
            content = journal.content()
            later |= {place_of(content.hosts[entry.host]): path.stem for entry in content.entries}
            journal.close()
        else:
            journal.discard()
        outcomes.append(Restored(path.stem, undone, problems))
    return outcomes


async def _opened(path: Path, by: Undoer) -> Journal:
    """Raises ChangeError where its campaign runs and is not waited for, FileNotFoundError once it is gone."""
    is_announced = False
    while by.waits and is_running(path):
        if not is_announced:
            by.say(f"waiting for {path.stem}, which is still running")
            is_announced = True
        await asyncio.sleep(RUNNING_AGAIN_S)
    return Journal(path, create=False)
