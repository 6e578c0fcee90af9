# SPDX-License-Identifier: Apache-2.0
"""Making changes on hosts and taking them back: read, journal, write, read back."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence

from linewatt.errors import ChangeError
from linewatt.hosts.base import Host
from linewatt.hosts.journal import Entry, Journal
from linewatt.tuning.base import Change, Command, Knob

Hosts = Mapping[str, Host]


async def apply(
    hosts: Hosts, changes: Sequence[Change], knobs: Mapping[str, Knob], journal: Journal
) -> list[Entry]:
    """Make ``changes``; those that a host shows already are none. Returns what was changed.

    Raises ChangeError when a setting cannot be read or written, or does not read back as asked; what was
    changed until then is in the journal.
    """
    before = await asyncio.gather(
        *(read(hosts[change.host], knobs[change.knob], change.target) for change in changes)
    )
    entries = _entries(changes, knobs, before, journal.next_number())
    if not entries:
        return []
    journal.intend(entries)
    await asyncio.gather(*(make(hosts[entry.host], knobs[entry.knob], entry, journal) for entry in entries))
    return entries


def _entries(
    changes: Sequence[Change], knobs: Mapping[str, Knob], before: Sequence[str], first_number: int
) -> list[Entry]:
    entries = []
    for number, (change, setting) in enumerate(zip(changes, before, strict=True), start=first_number):
        wanted = knobs[change.knob].wanted(setting, change.value)
        if wanted != setting:
            entries.append(Entry(number, change.host, change.knob, change.target, setting, wanted))
    return entries


async def make(host: Host, knob: Knob, entry: Entry, journal: Journal) -> str:
    """Write a setting and read it back; ``entry`` is in the journal already. Returns what it reads then.

    Raises ChangeError when it cannot be written, or does not read back as asked.
    """
    await _run(host, knob.write(entry.target, entry.wanted), f"set {knob.name} {entry.target}", write=True)
    after = await read(host, knob, entry.target)
    journal.applied(entry.number, after)
    if after != entry.wanted:
        raise ChangeError(
            f"{entry.host}: {entry.knob} {entry.target} was set to {entry.wanted!r} but reads {after!r}; "
            "the kernel does not take this value"
        )
    return after


async def undo(host: Host, knob: Knob, entry: Entry, journal: Journal, *, force: bool = False) -> None:
    """Put a setting back as it was found, unless somebody else has changed it since.

    Raises ChangeError when it cannot be put back, or now shows a value that linewatt did not set
    (``force`` puts it back all the same).
    """
    now = await read(host, knob, entry.target)
    if now != entry.before:
        if entry.after is not None and now != entry.after and not force:
            raise ChangeError(
                f"{entry.host}: {entry.knob} {entry.target} reads {now!r}, which linewatt did not set "
                f"({entry.before!r} before, {entry.after!r} by linewatt); "
                "left as it is, restore --force puts it back"
            )
        command = knob.write(entry.target, entry.before)
        await _run(host, command, f"put back {knob.name} {entry.target}", write=True)
        now = await read(host, knob, entry.target)
        if now != entry.before:
            raise ChangeError(
                f"{entry.host}: {entry.knob} {entry.target} reads {now!r} after it was put back to "
                f"{entry.before!r}; set it by hand"
            )
    journal.undone(entry.number)


async def reassert(host: Host, entries: Sequence[Entry], knobs: Mapping[str, Knob]) -> None:
    """Make changes again that a host which went away and came back no longer shows. Raises ChangeError."""
    for entry in entries:
        knob = knobs[entry.knob]
        if await read(host, knob, entry.target) != entry.wanted:
            command = knob.write(entry.target, entry.wanted)
            await _run(host, command, f"set {knob.name} {entry.target} again", write=True)


async def read(host: Host, knob: Knob, target: str) -> str:
    """A setting in its canonical text. Raises ChangeError."""
    return knob.parse(await _run(host, knob.read(target), f"read {knob.name} {target}"))


async def _run(host: Host, command: Command, what: str, *, write: bool = False) -> str:
    done = await host.run(command.argv, stdin=command.stdin, root=write)
    if done.status != 0:
        why = (done.stderr or done.stdout).strip().splitlines()
        raise ChangeError(f"{host.spec.name}: cannot {what}: {why[-1] if why else f'status {done.status}'}")
    return done.stdout
