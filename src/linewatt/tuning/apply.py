# SPDX-License-Identifier: Apache-2.0
"""One change on one host, and taking it back: read, journal, write, read back."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from linewatt.errors import ChangeError, InvalidInput, LinewattError, ParseError
from linewatt.hosts.base import Completed, Host
from linewatt.hosts.journal import Entry, Journal
from linewatt.tuning.base import Change, Command, Knob


def wanted_setting(knob: Knob, change: Change, before: str) -> str:
    """What a host that shows ``before`` is to show. Raises ChangeError naming host, knob and target."""
    try:
        return knob.wanted(before, change.value)
    except LinewattError as error:
        raise ChangeError(f"{change.host}: {change.knob} {change.target}: {error}") from error


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
    """A setting in its canonical text. Raises ChangeError naming host, knob and target."""
    where = f"{host.spec.name}: {knob.name} {target}"
    try:
        command = knob.read(target)
    except ChangeError as error:
        raise ChangeError(f"{where}: {error}") from error
    output = await _run(host, command, f"read {knob.name} {target}")
    try:
        return knob.parse(output)
    except (ParseError, InvalidInput) as error:
        raise ChangeError(f"{where}: {error}") from error


async def _run(host: Host, command: Command, what: str, *, write: bool = False) -> str:
    done = await host.run(command.argv, stdin=command.stdin, root=write)
    if done.status != 0:
        raise ChangeError(f"{host.spec.name}: cannot {what}: {_why(done)}")
    return done.stdout


def _why(done: Completed) -> str:
    """A tool's own words in one line: what matters may stand before its last line."""
    lines = (done.stderr.strip() or done.stdout.strip()).splitlines()
    return "; ".join(dict.fromkeys(line.strip() for line in lines[-3:])) or f"status {done.status}"
