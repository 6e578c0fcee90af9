# SPDX-License-Identifier: Apache-2.0
"""Moments at which a controller that works on guests is killed: waited for, proven, and only then struck.

A controller is stopped before it is killed, so that what is looked at meanwhile is what it was killed in: its
events, the lines of its undo journal, and who writes on which guest.
"""

from __future__ import annotations

import json
import random
import signal
import subprocess
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from tests.faults.ground import LOOK_S, Command, Ground
from tests.vm.machine import Machine

REACHED_LIMIT_S = 300.0
"""for a guest without KVM to come to the last trial of a campaign"""
ANSWER_LIMIT_S = 30.0

HOSTS = ("h1", "h2")
GROUND = ("cpus_online",)
SERVICES = ("tuned", "irqbalance")
DEVICE = ("rings", "channels", "mtu", "offload")
ON_TOP = ("coalescing", "pause", "irq_affinity", "sysctl", "netem", "network")

# Five lines a second, of which locks of linewatt's are held: "1 0" is a change that is being made ($net), by
# nobody who works on the host ($sys). proc_locks(5)
_WATCH = r"""net=$(stat -Lc %i /proc/self/ns/net) sys=$(stat -Lc %i /sys/class/net)
line="FLOCK +ADVISORY +WRITE +[0-9]+ +[0-9a-f]+:[0-9a-f]+" writes="$line:$net " held="$line:$sys "
exec 8<> <(:)
while :; do
  read -r -d "" locks </proc/locks
  [[ $locks =~ $writes ]]; one=$?
  [[ $locks =~ $held ]]; echo "$(( ! one )) $(( ! $? ))"
  read -r -t 0.2 -u 8
done"""


class Watch:
    """What a guest says of itself while a controller works on it."""

    def __init__(self, machine: Machine) -> None:
        self.machine = machine
        self.ticks = 0
        self.writes = self.held = False
        self._process = subprocess.Popen(machine.argv(_WATCH), stdout=subprocess.PIPE, text=True)
        assert self._process.stdout is not None
        self._lines = self._process.stdout

    def follow(self) -> None:
        """Read until its end."""
        for line in self._lines:
            self.writes, self.held = (word == "1" for word in line.split())
            self.ticks += 1

    def after(self, ticks: int) -> None:
        """Wait for so many further lines."""
        wanted = self.ticks + ticks
        what = f"waited {ANSWER_LIMIT_S:g} s for {self.machine.name} to say who writes there"
        until(lambda: self.ticks >= wanted, ANSWER_LIMIT_S, what)

    def end(self) -> None:
        self._process.kill()
        self._process.wait()


@contextmanager
def watching(machines: Sequence[Machine]) -> Iterator[dict[str, Watch]]:
    """Guest → its watch, which has begun."""
    watches = {machine.name: Watch(machine) for machine in machines}
    with ThreadPoolExecutor(len(watches)) as pool:
        try:
            for watch in watches.values():
                pool.submit(watch.follow)
            for watch in watches.values():
                watch.after(1)
            yield watches
        finally:
            for watch in watches.values():
                watch.end()


@dataclass(frozen=True)
class Position:
    """How far a controller has come, by what it said and what its journal has."""

    said: str = ""
    """the last of its phases"""
    trials: int = 0
    started: int = 0
    stored: int = 0
    open: frozenset[tuple[str, str]] = frozenset()
    """host and knob of what it is about to change, or changes"""
    undone: int = 0
    left: int = 0
    """changes in the journal that are not put back"""

    @classmethod
    def of(cls, ground: Ground, command: Command) -> Position:
        said, trials, started, stored = "", 0, 0, 0
        for event in command.events:
            kind = event["event"]
            said = event["text"] if kind == "phase" else said
            trials = event["trials"] if kind == "started" else trials
            started += kind == "trial_started"
            stored += kind == "trial_stored"
        changes: dict[int, tuple[str, str]] = {}
        open_ones: dict[int, tuple[str, str]] = {}
        undone = 0
        for line in _journal(ground):
            if line["event"] == "intend":
                changes[line["number"]] = line["host"], line["knob"]
                if line["before"] != line["wanted"]:  # else it is kept for later
                    open_ones[line["number"]] = line["host"], line["knob"]
            elif line["event"] in ("applied", "undone"):
                open_ones.pop(line["number"], None)
            if line["event"] == "undone":
                undone += changes.pop(line["number"], None) is not None
        return cls(said, trials, started, stored, frozenset(open_ones.values()), undone, len(changes))

    @property
    def measured(self) -> bool:
        """Whether all its trials are stored, so that nothing is left to do but to undo."""
        return 0 < self.trials == self.stored


def _journal(ground: Ground) -> Iterator[dict[str, Any]]:
    for path in (ground.store / "state" / "journal").glob("*.jsonl"):
        try:
            lines = path.read_text().splitlines()
        except FileNotFoundError:  # all is undone
            continue
        for line in lines:
            try:
                yield json.loads(line)
            except ValueError:  # it is being written
                return


Watches = dict[str, Watch]
Reached = Callable[[Position, Watches], bool]


@dataclass(frozen=True)
class Moment:
    """A phase of a campaign, and where in it a controller is killed. ``reached`` holds nowhere else."""

    phase: str
    where: str
    """what was drawn"""
    reached: Reached
    restore_too: bool = False
    """whether the ``restore`` that follows is killed on its way as well"""
    loaded: bool = False
    """whether both guests run iperf3 then"""


def moments(draw: random.Random, trials: int) -> list[Moment]:
    """One of each phase."""
    logins, ticks, host = draw.randint(0, 3), draw.randint(0, 5), draw.choice(HOSTS)
    trial, put_back = draw.randint(1, trials), draw.randint(1, 4)

    begun: dict[str, int] = {}

    def connecting(at: Position, watches: Watches) -> bool:
        if not at.said.startswith("connecting") or any(watch.held for watch in watches.values()):
            return False
        return watches[host].ticks >= begun.setdefault("connecting", watches[host].ticks) + logins

    def reading(at: Position, watches: Watches) -> bool:
        if at.left or at.trials or not all(watch.held for watch in watches.values()):
            return False
        return watches[host].ticks >= begun.setdefault("reading", watches[host].ticks) + ticks

    def loading(at: Position, _: Watches) -> bool:
        return at.started == trial == at.stored + 1

    def between(at: Position, _: Watches) -> bool:
        return 0 < at.stored == at.started == min(trial, at.trials - 1)

    def undoing(at: Position, _: Watches) -> bool:
        return at.measured and at.left > 0 and at.undone >= begun.setdefault("undoing", at.undone) + put_back

    def undoing_now(at: Position, watches: Watches) -> bool:
        return at.measured and at.left > 0 and watches[host].writes

    return [
        Moment("connecting", f"{logins / 5:g} s after it began", connecting),
        Moment("reading", f"{ticks / 5:g} s after both were held", reading),
        *(
            Moment(f"writing {name}", f"on {(own := draw.choice(HOSTS))}", _writing(own, knobs))
            for name, knobs in (
                ("what all else stands on", GROUND),
                ("services", SERVICES),
                ("the device", DEVICE),
                ("on top", ON_TOP),
            )
        ),
        Moment("load", f"trial {trial}", loading, restore_too=True, loaded=True),
        Moment("between trials", f"after trial {trial}", between),
        Moment("undoing", f"{put_back} changes are put back", undoing, restore_too=True),
        Moment("undoing, in a write", f"on {host}", undoing_now),
    ]


def _writing(host: str, knobs: Sequence[str]) -> Reached:
    """A change of one of these knobs is in the journal, not told to be made, and made on the guest now."""

    def reached(at: Position, watches: Watches) -> bool:
        return watches[host].writes and any((host, knob) in at.open for knob in knobs)

    return reached


def strike(ground: Ground, command: Command, watches: Watches, moment: Moment) -> str:
    """Kill a command at its moment, with nobody to clean up after it; what it was at, in words.

    Raises AssertionError where the moment never came.
    """
    deadline = time.monotonic() + REACHED_LIMIT_S
    while True:
        at = Position.of(ground, command)
        what = f"{moment.phase}, {moment.where}; it is at {at}"
        ended = command.process.poll()
        assert ended is None, f"it ended with {ended} before {what}: {command.err.read_text()[-2000:]}"
        assert time.monotonic() < deadline, f"waited {REACHED_LIMIT_S:g} s for {what}"
        if moment.reached(at, watches) and (told := _killed(ground, command, watches, moment)):
            return told
        time.sleep(LOOK_S)


def _killed(ground: Ground, command: Command, watches: Watches, moment: Moment) -> str:
    """What a command was killed at; nothing: it has gone on, and lives."""
    command.process.send_signal(signal.SIGSTOP)
    for watch in watches.values():
        watch.after(2)  # one may have been on its way
    at = Position.of(ground, command)
    if not moment.reached(at, watches):
        command.process.send_signal(signal.SIGCONT)
        return ""
    if moment.loaded:
        for watch in watches.values():
            watch.machine.run("pgrep -x iperf3")
    command.process.kill()
    command.process.wait()
    writes = [name for name, watch in watches.items() if watch.writes]
    return f"{moment.phase}, {moment.where}: {at}; written to then: {writes or 'none'}"


def until(condition: Callable[[], bool], limit_s: float, what: str) -> None:
    deadline = time.monotonic() + limit_s
    while not condition():
        assert time.monotonic() < deadline, what
        time.sleep(LOOK_S)


def half_restored(undone: int) -> Moment:
    """A ``restore`` that has put something back beyond what was, and has more to do."""
    return Moment("restore", "something is put back", lambda at, _: at.undone > undone and at.left > 0)
