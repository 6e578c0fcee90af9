# SPDX-License-Identifier: Apache-2.0
"""Undoing what the journal holds: at the end of a campaign, and after one that was killed.

What ``check --fix`` changed stands below what a run changes: it is no reason to refuse one, and is put back
after it.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from linewatt.engine import events
from linewatt.engine.knobs import KNOBS
from linewatt.engine.layers import apart
from linewatt.engine.readiness import Leftover
from linewatt.errors import ChangeError, JournalError, LinewattError
from linewatt.hosts.base import Host, HostSpec
from linewatt.hosts.connect import connect
from linewatt.hosts.journal import Entry, Journal, journal_path, journals, look, told
from linewatt.hosts.journal_lines import Content, Place
from linewatt.tuning.apply import put_back
from linewatt.tuning.words import brief

FIXES = "check-"
"""how the journals of ``check --fix`` begin; those of runs begin with their time"""

_STAMP = re.compile(r"\d{8}-\d{6}")


@dataclass(frozen=True, slots=True)
class Restored:
    """What became of one campaign's journal: settings put back, and what could not be."""

    id: str
    undone: int
    problems: tuple[str, ...]


async def undo_all(
    journal: Journal,
    hosts: Mapping[str, Host],
    *,
    force: bool = False,
    later: Mapping[Place, str] | None = None,
) -> tuple[int, tuple[str, ...]]:
    """Undo every change of a journal, the newest first; ``hosts`` are connections that may be used.

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
    covered = {name: newer for name in by_host if (newer := (later or {}).get(_place(specs[name])))}
    outcomes = await asyncio.gather(
        *(
            _undo_host(specs[name], hosts.get(name), own, journal, force=force)
            for name, own in by_host.items()
            if name not in covered
        )
    )
    problems = tuple(problem for outcome in outcomes for problem in outcome)
    problems += (told(journal.path, content),) if content.damage else ()
    try:
        journal.sync()
    except JournalError as error:
        problems += (str(error),)
    problems += tuple(
        f"{name}: left as it is until what {newer} changed after it is put back"
        for name, newer in covered.items()
    )
    return len(entries) - len(journal.content().entries), problems


async def undo_and_tell(journal: Journal, hosts: Mapping[str, Host], say: events.OnEvent) -> None:
    """The end of a run: undo all, say what was put back and what could not be."""
    undone, problems = await undo_all(journal, hosts)
    if problems:
        say(events.LeftChanged(problems))
        journal.close()
        return
    journal.discard()
    if undone:
        say(events.Phase(f"put back {undone} settings"))


async def _undo_host(
    spec: HostSpec, host: Host | None, entries: list[Entry], journal: Journal, *, force: bool
) -> list[str]:
    opened = None
    problems = []
    try:
        if host is None or host.lost:
            host = opened = await connect(spec)
        for together in apart(entries):
            outcomes = await put_back(host, KNOBS, together, journal, force=force)
            problems += [str(problem) for problem in outcomes if problem is not None]
    except LinewattError as error:
        problems.append(f"{error} ({len(entries)} settings are still to be put back)")
    except Exception as error:  # noqa: BLE001  what one host does must not keep others from being put back
        what = f"{type(error).__name__}: {str(error)[:120]!r}"
        problems.append(f"{spec.name}: {what} ({len(entries)} settings are still to be put back)")
    finally:
        if opened is not None:
            with suppress(Exception):
                await opened.close()
    return problems


def refuse_leftovers(state: Path, specs: Iterable[HostSpec], resumed: str | None) -> None:
    """Raise ChangeError, JournalError if a killed campaign left changes on one of these hosts, or may have.

    A run on top of them would take the changed settings for the host's own. A campaign that is ``resumed``
    may find its own: it knows what was there before. What ``check --fix`` changed is the host's own until
    it is restored.
    """
    ours = {(spec.address, spec.port): spec.name for spec in specs}
    for path in journals(state):
        if path.stem == resumed or path.stem.startswith(FIXES):
            continue
        try:
            content = look(path)
        except FileNotFoundError:
            continue  # it ended meanwhile
        for place in _damaged(content, ours):
            raise JournalError(f"{ours[place]}: {told(path, content)}")
        for entry in content.entries:
            spec = content.hosts[entry.host]
            if (spec.address, spec.port) in ours:
                what = f"{entry.knob} {brief(entry.target)}"
                raise ChangeError(
                    f"{ours[spec.address, spec.port]}: {path.stem} changed {what} there "
                    "and has not put it back; wait for it, or run `linewatt restore` if it was killed"
                )


def _damaged(content: Content, ours: Mapping[Place, str]) -> list[Place]:
    """Which of our hosts a damaged journal may have changed: all of them where it cannot tell."""
    if not content.damage:
        return []
    return [place for place in ours if content.places is None or place in content.places]


async def undo_first_part(state: Path, result_id: str) -> None:
    """Put back what the killed part of a resumed campaign left, before its hosts are looked at.

    What they show meanwhile is not theirs: an MTU, a tunnel in the way of another network's; and a host that
    was rebooted shows none of it. Raises ChangeError: something cannot be put back.
    """
    path = journal_path(state, result_id)
    if not path.exists():
        return
    journal = Journal(path, create=False)
    _, problems = await undo_all(journal, {})
    if problems:
        journal.close()
        raise ChangeError(problems[0])
    journal.discard()


def leftovers(state: Path, specs: Iterable[HostSpec]) -> Iterator[Leftover]:
    """Journals with something about these hosts: changes that were not put back, or a campaign at work."""
    ours = {_place(spec): spec.name for spec in specs}
    for path in journals(state):
        own = path.stem.startswith(FIXES)
        try:
            content = look(path)
            running = _is_running(path)
        except FileNotFoundError:
            continue  # it ended meanwhile
        if damaged := _damaged(content, ours):
            why = told(path, content)
            yield from (Leftover(path.stem, ours[place], 0, running, own, why) for place in damaged)
            continue
        for spec in content.hosts.values():
            settings = sum(entry.host == spec.name for entry in content.entries)
            if _place(spec) in ours and (settings or running):
                yield Leftover(path.stem, ours[_place(spec)], settings, running, own)


def _is_running(path: Path) -> bool:
    """Whether the controller that writes a journal is alive."""
    try:
        Journal(path, create=False).close()
    except ChangeError:
        return True
    return False


def _place(spec: HostSpec) -> Place:
    return spec.address, spec.port


def _age(path: Path) -> tuple[str, bool]:
    """Sorts journals by when they began, as their names say; a run of the same second came after a fix."""
    fixes = path.stem.startswith(FIXES)
    stamps = _STAMP.findall(path.stem)
    return (stamps[-1 if fixes else 0] if stamps else ""), not fixes


def forget(state: Path, result_id: str) -> int:
    """Drop a journal whose hosts are no more. Returns how many changes it held. Raises ChangeError."""
    own = {path.stem: path for path in journals(state)}
    if result_id not in own:
        raise ChangeError(f"{result_id}: no such journal; there are: {', '.join(own) or 'none'}")
    journal = Journal(own[result_id], create=False)
    entries = journal.content().entries
    journal.discard()
    return len(entries)


async def restore(
    state: Path, *, force: bool = False, on_text: Callable[[str], None] = lambda _: None
) -> list[Restored]:
    """Undo what every campaign that no longer runs left behind, the newest first.

    A journal whose campaign still runs is left alone and told through ``on_text``, and so is what older ones
    hold of its hosts.
    """
    outcomes = []
    later: dict[Place, str] = {}
    for path in sorted(journals(state), key=_age, reverse=True):
        try:
            journal = Journal(path, create=False)
        except FileNotFoundError:
            continue  # it ended meanwhile
        except JournalError as error:
            outcomes.append(Restored(path.stem, 0, (str(error),)))
            continue
        except LinewattError as error:
            on_text(str(error))
            with suppress(FileNotFoundError):
                later |= {_place(spec): path.stem for spec in look(path).hosts.values()}
            continue
        undone, problems = await undo_all(journal, {}, force=force, later=later)
        if problems:
            content = journal.content()
            later |= {_place(content.hosts[entry.host]): path.stem for entry in content.entries}
            journal.close()
        else:
            journal.discard()
        outcomes.append(Restored(path.stem, undone, problems))
    return outcomes
