# SPDX-License-Identifier: Apache-2.0
"""What is said of a setting that a driver or the kernel does not take, and what to do about it."""

from __future__ import annotations

import re
from collections.abc import Iterable

from linewatt.errors import ChangeError, HostError, SettingRefused
from linewatt.foreign import shortened
from linewatt.hosts import Completed, Host
from linewatt.hosts.journal import Entry
from linewatt.tuning.base import Knob
from linewatt.tuning.setting_text import brief_target, settings_apart

# One line an interface: its name and its driver's
_DRIVERS = """for net; do
  (cd -P "/sys/class/net/$net/device/driver" && echo "$net ${PWD##*/}") 2>/dev/null
done; true"""

_UNSUPPORTED = re.compile(r"not supported", re.IGNORECASE)

Drivers = dict[str, str]
"""interface → the name of its driver; a virtual interface has none"""


async def drivers_of(host: Host, settings: Iterable[tuple[Knob, str]]) -> Drivers:
    """The drivers of the interfaces that these settings are of; none where the host does not say."""
    names = sorted({target.split()[0] for knob, target in settings if target and _of_interface(knob)})
    if not names:
        return {}
    try:
        done = await host.run(["bash", "-c", _DRIVERS, "linewatt", *names], timeout_s=10.0)
    except HostError:
        return {}
    return {words[0]: words[1] for line in done.stdout.splitlines() if len(words := line.split()) == 2}


def _of_interface(knob: Knob) -> bool:
    return getattr(knob, "targets", "").startswith("interface")


def _drivers_own(knob: Knob) -> bool:
    """Whether it is for the driver to take it: what is a file below /proc or /sys is the kernel's own."""
    return _of_interface(knob) and not getattr(knob, "tool", "").startswith("/")


def _who(knob: Knob, target: str, drivers: Drivers) -> str:
    if not _drivers_own(knob):
        return "the kernel"
    driver = drivers.get(target.split()[0])
    return f"its driver ({driver})" if driver else "its driver"


def unread(host: str, knob: Knob, target: str, done: Completed, drivers: Drivers) -> ChangeError:
    """Why a setting could not be read."""
    what = f"cannot read {knob.name} {brief_target(target)}"
    if _of_interface(knob) and (message := _unsupported(done)):
        who = _who(knob, target, drivers)
        advice = _without(host, knob, target)
        return ChangeError(f"{what}: {who} has no such setting ({message}); {advice}", where=host)
    return ChangeError(f"{what}: {why(done)}", where=host)


def unwritten(
    entry: Entry, knob: Knob, done: Completed, now: str | None, drivers: Drivers, *, back: bool
) -> ChangeError:
    """Why a setting could not be set, or put ``back``; ``now``: what it reads after that."""
    what = f"cannot {'put back' if back else 'set'} {entry.knob} {brief_target(entry.target)}"
    if not _of_interface(knob):
        kind = ChangeError if back else SettingRefused
        return kind(f"{what}: {why(done)}", where=entry.host)
    requested, shown = settings_apart(entry.before if back else entry.wanted, now or "")
    reads = f"; it reads {shown!r}" if now else ""
    if back:
        problem = f"{what} to {requested!r}: {why(done)}{reads}; set it by hand"
        return ChangeError(problem, where=entry.host)
    who = _who(knob, entry.target, drivers)
    if message := _unsupported(done):
        advice = _without(entry.host, knob, entry.target)
        problem = f"{what}: {who} cannot change it ({message}){reads}; {advice}"
        return SettingRefused(problem, where=entry.host)
    advice = f"ask for another value, or leave {_short(knob, entry.target)} out for {entry.host}"
    problem = f"{what} to {requested!r}: {who} refuses it ({why(done)}){reads}; {advice}"
    return SettingRefused(problem, where=entry.host)


def otherwise(entry: Entry, knob: Knob, text: str, drivers: Drivers) -> SettingRefused:
    """A setting that was written without complaint and does not read back as asked."""
    requested, shown = settings_apart(entry.wanted, text)
    who = _who(knob, entry.target, drivers)
    what = f"{entry.knob} {brief_target(entry.target)} was set to {requested!r}"
    if text == entry.before:
        still = f"{what} without complaint but still reads {shown!r}"
        advice = _without(entry.host, knob, entry.target)
        return SettingRefused(f"{still}: {who} ignores it; {advice}", where=entry.host)
    advice = "ask for one that it takes, such as this"
    problem = f"{what} but reads {shown!r}: {who} made another value of it; {advice}"
    return SettingRefused(problem, where=entry.host)


def _without(host: str, knob: Knob, target: str) -> str:
    alternative = ", or use an interface whose driver has it" if _drivers_own(knob) else ""
    return f"leave {_short(knob, target)} out for {host}{alternative}"


def _short(knob: Knob, target: str) -> str:
    """What a campaign leaves out: of an interface's features the one, of other knobs the knob."""
    _, _, part = target.partition(" ")
    if not part or not _of_interface(knob):
        return knob.name
    return part if knob.name == "offload" else f"{knob.name} {part}"


def _unsupported(done: Completed) -> str | None:
    """The line in which a tool says that there is no such thing."""
    lines = (done.stderr or done.stdout).splitlines()
    return next((shortened(line.strip()) for line in lines if _UNSUPPORTED.search(line)), None)


def why(done: Completed) -> str:
    """A tool's own words in one line: what matters may stand before its last line."""
    lines = (done.stderr.strip() or done.stdout.strip()).splitlines()
    complaint = "; ".join(dict.fromkeys(line.strip() for line in lines[-3:]))
    return shortened(complaint) or f"status {done.status}"
