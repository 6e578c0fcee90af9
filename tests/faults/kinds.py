# SPDX-License-Identifier: Apache-2.0
"""The faults: what is done to a campaign at a moment of it, and what undoes that."""

from __future__ import annotations

import os
import random
import shutil
import signal
import subprocess
import time
from collections.abc import Callable, Mapping
from contextlib import ExitStack, suppress
from dataclasses import dataclass, field
from pathlib import Path

from tests.faults import hosts
from tests.faults.ground import Command, Ground, wait_until

Strike = Callable[[Ground, Command, random.Random, ExitStack], None]
Prepare = Callable[[Ground, random.Random, ExitStack], None]


def _nothing(ground: Ground, draw: random.Random, back: ExitStack) -> None:
    pass


@dataclass(frozen=True)
class Fault:
    """One kind: ``prepare`` before the campaign, ``strike`` at the moment; the stack undoes both."""

    name: str
    strike: Strike
    prepare: Prepare = _nothing
    lasts: bool = False
    """until hosts were restored; else until the campaign has ended"""
    bmc: bool = False
    keys: Mapping[str, object] = field(default_factory=dict)
    """of the campaign"""


def _signal(number: signal.Signals) -> Strike:
    def strike(ground: Ground, run: Command, draw: random.Random, back: ExitStack) -> None:
        run.process.send_signal(number)

    return strike


def _sshd(ground: Ground, run: Command, draw: random.Random, back: ExitStack) -> None:
    """Every connection of one host ends, as when its sshd dies."""
    for pid in hosts.connections(draw.choice(ground.namespaces)):
        with suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)


def _management(ground: Ground, run: Command, draw: random.Random, back: ExitStack) -> None:
    """The cable of the management network is pulled, and plugged in again."""
    link = draw.choice(ground.lab.hosts).management_link
    _ip("link", "set", link, "down")
    back.callback(_ip, "link", "set", link, "up")
    _pass(run, draw.uniform(0.2, 6.0))
    back.close()


def _data(ground: Ground, run: Command, draw: random.Random, back: ExitStack) -> None:
    """A port of the switch goes down: a host has no carrier, and keeps its addresses."""
    switch, port = ground.lab.namespaces[0], draw.choice(ground.lab.hosts).switch_port
    _ip("-n", switch, "link", "set", port, "down")
    began_s = time.time()  # not before: on a busy machine a window may end while ip starts
    back.callback(_ip, "-n", switch, "link", "set", port, "up")
    _pass(run, draw.uniform(0.05, 3.0))
    ended_s = time.time()
    back.close()
    ground.dead.append((began_s, ended_s))


def _bmc(number: signal.Signals) -> Strike:
    """The BMC of a host stops, or ends."""

    def strike(ground: Ground, run: Command, draw: random.Random, back: ExitStack) -> None:
        running = hosts.processes(draw.choice(ground.namespaces))
        for pid in [pid for pid, argv in running.items() if "ipmi_sim" in argv.split()[0]]:
            os.kill(pid, number)
            if number == signal.SIGSTOP:
                back.callback(os.kill, pid, signal.SIGCONT)
        if number == signal.SIGSTOP:
            _pass(run, draw.uniform(0.5, 8.0))
            back.close()

    return strike


_SLOW = """#!/bin/bash
case $1 in -[ACGKLNUX] | -s) sleep {seconds} ;; esac
exec {tool} "$@"
"""


def _slow_writes(ground: Ground, draw: random.Random, back: ExitStack) -> None:
    """``ethtool`` takes its time before it writes, on every host."""
    where = shutil.which("ethtool", path=f"{os.environ.get('PATH', '')}:/usr/sbin:/sbin")
    if where is None:
        raise LookupError("ethtool is not installed")
    place = ground.tmp / "slow"
    place.mkdir(exist_ok=True)
    own = shutil.copy(where, place / "ethtool-itself")
    script = place / "ethtool"
    script.write_text(_SLOW.format(seconds=round(draw.uniform(1.0, 6.0), 1), tool=own))
    script.chmod(0o755)
    for namespace in ground.namespaces:
        inside = ["nsenter", "--mount", "--pid", "--target", str(_listener(namespace))]
        subprocess.run([*inside, "mount", "--bind", str(script), where], check=True)
        back.callback(subprocess.run, [*inside, "umount", "--lazy", where], check=True)


def _listener(namespace: str) -> int:
    """The process of a host's sshd that listens."""
    found = hosts.inside(namespace, "ss", "-Hltnp", "( sport = :22 )")
    return int(found.partition("pid=")[2].partition(",")[0])


DISK_BYTES = 24 << 20


def _small_disk(ground: Ground, draw: random.Random, back: ExitStack) -> None:
    """Results and the undo journal are on a disk of their own, until the next campaign."""
    ground.store.mkdir(exist_ok=True)
    size = f"size={DISK_BYTES},mode=700"
    subprocess.run(["mount", "-t", "tmpfs", "-o", size, "tmpfs", str(ground.store)], check=True)


def _disk_full(ground: Ground, run: Command, draw: random.Random, back: ExitStack) -> None:
    """It is full to the last byte, until somebody makes room."""
    filler = ground.store / "filler"
    back.callback(filler.unlink, missing_ok=True)
    with filler.open("wb", buffering=0) as file, suppress(OSError):
        while file.write(bytes(1 << 16)):
            pass


def _second(ground: Ground, run: Command, draw: random.Random, back: ExitStack) -> None:
    """Somebody else runs a campaign on the same hosts, from a state directory of their own."""
    other: Path = ground.tmp / "other"
    second = ground.start("run", ground.tmp / "campaign.yaml", store=other)
    wait_until(lambda: second.process.poll() is not None or run.process.poll() is not None, 60.0)
    if draw.random() < 0.5:  # and gives up, perhaps
        second.process.send_signal(signal.SIGINT)
    back.callback(second.end)


def _stopped(ground: Ground, run: Command, draw: random.Random, back: ExitStack) -> None:
    """The controller stands still, as when its machine is suspended, and continues."""
    run.process.send_signal(signal.SIGSTOP)
    back.callback(run.process.send_signal, signal.SIGCONT)
    _pass(run, draw.uniform(0.5, 8.0))
    back.close()


def _two_restores(ground: Ground, run: Command, draw: random.Random, back: ExitStack) -> None:
    """The controller is killed, and two people restore the hosts at once."""
    run.process.kill()
    run.process.wait()
    restores = [ground.start("restore") for _ in range(2)]
    for restore in restores:
        back.callback(restore.end)


def _ip(*words: str) -> None:
    subprocess.run(["ip", *words], check=True, timeout=60)


def _pass(run: Command, seconds: float) -> None:
    """Time goes by, as long as the campaign runs."""
    wait_until(lambda: run.process.poll() is not None, seconds)


_SIGNALS = {
    "kill -9": signal.SIGKILL,
    "INT": signal.SIGINT,
    "TERM": signal.SIGTERM,
    "HUP": signal.SIGHUP,
}
_WATTS: Mapping[str, object] = {"idle": {"seconds": 1}, "trials": 1}

FAULTS: tuple[Fault, ...] = (
    *(Fault(name, _signal(number)) for name, number in _SIGNALS.items()),
    Fault("sshd killed", _sshd),
    Fault("management link down", _management),
    Fault("data link down", _data),
    Fault("BMC stopped", _bmc(signal.SIGSTOP), bmc=True, keys=_WATTS),
    Fault("BMC killed", _bmc(signal.SIGKILL), bmc=True, keys=_WATTS),
    *(
        Fault(f"slow writes, {name}", _signal(number), _slow_writes, lasts=True)
        for name, number in _SIGNALS.items()
    ),
    Fault("disk full", _disk_full, _small_disk),
    Fault("two controllers", _second),
    Fault("controller stopped", _stopped),
    Fault("two restores", _two_restores),
)
