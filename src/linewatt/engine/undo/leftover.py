# SPDX-License-Identifier: Apache-2.0
"""What the journals hold about hosts: changes that were not put back, and campaigns at work there."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from linewatt.errors import ChangeError, JournalError
from linewatt.hosts import HostSpec
from linewatt.hosts.journal import Content, Journal, Place, damage_text, journals, read_journal
from linewatt.tuning import brief_target

FIXES = "check-"
"""how the journals of ``check --fix`` begin; those of runs begin with their time"""


@dataclass(frozen=True, slots=True)
class Leftover:
    """A journal with something about a host: settings it changed, and whether its campaign runs now."""

    id: str
    host: str
    settings: int
    running: bool
    own: bool
    """made by an earlier ``check --fix``"""
    damage: str | None = None
    """of a journal that cannot be read: what is wrong with it, and what to do"""
    first: str = ""
    """the first of its settings"""


def leftovers(state: Path, specs: Iterable[HostSpec]) -> Iterator[Leftover]:
    """Journals with something about these hosts: changes that were not put back, or a campaign at work."""
    ours = {place_of(spec): spec.name for spec in specs}
    for path in journals(state):
        is_fix = path.stem.startswith(FIXES)
        try:
            content = read_journal(path)
            running = is_running(path)
        except FileNotFoundError:
            continue  # it ended meanwhile
        if damaged := _damaged(content, ours):
            why = damage_text(path, content)
            yield from (Leftover(path.stem, ours[place], 0, running, is_fix, why) for place in damaged)
            continue
        for spec in content.hosts.values():
            settings = [
                f"{entry.knob} {brief_target(entry.target)}"
                for entry in content.entries
                if entry.host == spec.name
            ]
            if place_of(spec) in ours and (settings or running):
                name, first = ours[place_of(spec)], next(iter(settings), "")
                yield Leftover(path.stem, name, len(settings), running, is_fix, first=first)


def refuse_leftovers(
    state: Path, specs: Iterable[HostSpec], resumed: str | None, *, waits: bool = False
) -> None:
    """Raise ChangeError, JournalError where a campaign left changes on one of these hosts, or works there.

    A run on top of them would take the changed settings for the host's own. A campaign that is ``resumed``
    may find its own: it knows what was there before. What ``check --fix`` changed is the host's own until
    it is restored. ``waits``: one that is at work is waited for, which is not done here.
    """
    for leftover in leftovers(state, specs):
        if leftover.own or leftover.id == resumed:
            continue
        if leftover.damage is not None:
            raise JournalError(f"{leftover.host}: {leftover.damage}")
        if leftover.settings and not leftover.running:
            raise ChangeError(
                f"{leftover.host}: {leftover.id} changed {leftover.first} there and was killed "
                f"before it was put back; "
                "run `linewatt restore`"
            )
        if leftover.settings and not waits:
            raise ChangeError(
                f"{leftover.host}: {leftover.id} is at work on it; wait for its end, or use --wait"
            )


def _damaged(content: Content, ours: Mapping[Place, str]) -> list[Place]:
    """Which of our hosts a damaged journal may have changed: all of them where it cannot tell."""
    if not content.damage:
        return []
    return [place for place in ours if content.places is None or place in content.places]


def is_running(path: Path) -> bool:
    """Whether the controller that writes a journal is alive."""
    try:
        Journal(path, create=False).close()
    except ChangeError:
        return True
    return False


def place_of(spec: HostSpec) -> Place:
    """What tells a host from others, whatever campaigns call it."""
    return spec.address, spec.port
