# SPDX-License-Identifier: Apache-2.0
"""Knobs of a host on a kernel of its own: a real TuneD, a real irqbalance, CPUs that really go offline.

Each is turned through linewatt's own code and looked at by bare tools, before, meanwhile and after.
"""

from __future__ import annotations

import asyncio
import json
import re
import shutil
import subprocess
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import ParamSpec, TypeVar

import pytest
from tests.faults.hosts import changed
from tests.vm.knobs_table import Cell, Key, Outcome, Table, hold
from tests.vm.machine import Machine, one_port, with_systemd

from linewatt.campaign.reading.file import load_campaign
from linewatt.engine.undo.knobs import ALL_KNOBS
from linewatt.engine.undo.restore import undo_all
from linewatt.engine.undo.settings import Settings
from linewatt.errors import LinewattError
from linewatt.features.lab import api as lab
from linewatt.hosts.base import Host, HostSpec
from linewatt.hosts.connect import connect_to_host
from linewatt.hosts.journal.journal import Journal, journal_path
from linewatt.tuning.base import Change

pytestmark = [pytest.mark.vm, pytest.mark.thorough]

_ENDED = (
    "for _ in $(seq 300); do grep -q '^State:.[^Z]' /proc/{}/status 2>/dev/null || exit 0; sleep 0.1; done;"
    " echo irqbalance does not end within 30 s >&2; exit 1"
)
"""A guest without an init leaves who has ended a zombie."""
P = ParamSpec("P")
T = TypeVar("T")
MOVED_LIMIT_S = 60.0
RMEM = "4096 131072 7340032"

# Each section begins with a line "== NAME"
_LOOK = r"""cd /proc/irq && echo "== interrupts" && grep . [0-9]*/smp_affinity
cd /sys/devices/system/cpu && echo "== cpus" && cat online
echo "== sysctl"; sysctl net.ipv4.tcp_rmem net.core.busy_read vm.swappiness
echo "== governor, clock"; cat cpufreq/policy*/scaling_governor cpuidle/current_driver 2>&1
echo "== tuned"; cat /etc/tuned/active_profile /etc/tuned/profile_mode; echo
echo "== irqbalance"; for name in /proc/[0-9]*/comm; do
  read -r program 2>/dev/null <"$name" && [ "$program" = irqbalance ] && echo "${name%/comm}"
done
exit 0"""


@dataclass(frozen=True)
class Turned:
    """What linewatt said, where it could not; what bare tools saw while the change was in force."""

    said: str
    during: Mapping[str, str]


def look(machine: Machine) -> dict[str, str]:
    """Section → text."""
    found: dict[str, list[str]] = {}
    for line in machine.run(_LOOK).splitlines():
        if line.startswith("== "):
            section = found.setdefault(line[3:], [])
        else:
            section.append(line)
    return {name: "\n".join(lines) for name, lines in found.items()}


def specs(inventory: Path, tmp: Path) -> Mapping[str, HostSpec]:
    """The hosts of an inventory as a campaign reads them."""
    path = tmp / "hosts.yaml"
    document = {
        "name": "knobs",
        "hosts": str(one_port(inventory, tmp)),
        "pairs": ["h1 -> h2"],
        "tests": ["tcp"],
        "trials": 1,
    }
    path.write_text(json.dumps(document))
    return load_campaign(path).hosts


async def _turn(host: Host, change: Change, machine: Machine, tmp: Path) -> Turned:
    journal = Journal(journal_path(tmp, f"run-{time.monotonic_ns()}"), create=True)
    journal.begin([host.spec])
    settings, said, during = Settings({host.spec.name: host}, ALL_KNOBS, journal), "", None
    try:
        await settings.check([change])
        await settings.to([change], [host.spec.name])
        during = await asyncio.to_thread(look, machine)
    except LinewattError as error:
        said = str(error).removeprefix(f"{host.spec.name}: ")
    _, problems = await undo_all(journal, {host.spec.name: host})
    assert problems == ()
    journal.discard()
    return Turned(said, during or {})


@dataclass
class Bench:
    """One host on which knobs are turned, and what became of each."""

    loop: asyncio.Runner
    host: Host
    machine: Machine
    tmp: Path
    cells: dict[Key, Cell]
    column: str

    def turn(self, knob: str, value: str, target: str = "host", *, row: str | None = None) -> Turned:
        """Set, look, undo; afterwards all is as before. The cell is ``works`` if linewatt did it."""
        before = self.aside(look, self.machine)
        turned = self.untold(knob, value, target)
        assert changed(before, self.aside(look, self.machine)) == []
        self.note(row or knob, "not there" if turned.said else "works", turned.said)
        return turned

    def aside(self, call: Callable[P, T], *arguments: P.args, **named: P.kwargs) -> T:
        """What a call comes to, while the connection to the host lives on."""
        return self.loop.run(asyncio.to_thread(call, *arguments, **named))

    def untold(self, knob: str, value: str, target: str = "host") -> Turned:
        """As :meth:`turn`, without a look before and after, and without a cell."""
        change = Change(self.host.spec.name, knob, target, value, "a test")
        return self.loop.run(_turn(self.host, change, self.machine, self.tmp))

    def note(self, row: str, outcome: Outcome, said: str = "") -> None:
        self.cells[row, self.column] = Cell(outcome, said)


@pytest.fixture(scope="module")
def bench(guests: lab.Lab, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Bench]:
    """h2 with systemd; where interrupts went before is put back by bare tools."""
    if missing := [tool for tool in ("tuned-adm", "irqbalance", "systemctl") if shutil.which(tool) is None]:
        pytest.skip(f"needs {', '.join(missing)}; scripts/setup.sh vm installs them")
    tmp = tmp_path_factory.mktemp("host-knobs")
    with with_systemd(guests.inventory, "h2", tmp) as inventory, asyncio.Runner() as loop:
        machine = Machine.of(inventory, "h2")
        before = look(machine)["interrupts"]
        release = re.match(r"\d+\.\d+", machine.run("uname -r"))
        assert release is not None
        host = loop.run(connect_to_host(specs(inventory, tmp)["h2"]))
        yield Bench(loop, host, machine, tmp, {}, f"Linux {release[0]}")
        loop.run(host.close())
        machine.run("systemctl stop irqbalance tuned")
        put_back(machine, before)


def put_back(machine: Machine, interrupts: str) -> None:
    """Bare: each line is ``NUMBER/smp_affinity:MASK``."""
    now = set(look(machine)["interrupts"].splitlines())
    moved = [line.split(":") for line in interrupts.splitlines() if line not in now]
    machine.run("cd /proc/irq; " + "; ".join(f"echo {mask} >{file}" for file, mask in moved))


def until_moved(machine: Machine, before: str) -> None:
    """Until irqbalance, which looks once a second, has put an interrupt elsewhere."""
    deadline = time.monotonic() + MOVED_LIMIT_S
    while look(machine)["interrupts"] == before:
        assert time.monotonic() < deadline, f"waited {MOVED_LIMIT_S:g} s for irqbalance to move an interrupt"


def affinity(state: Mapping[str, str], number: str) -> str:
    (mask,) = re.findall(rf"^{number}/smp_affinity:(\w+)$", state["interrupts"], re.MULTILINE)
    return str(mask)


def test_cpus_go_offline_and_every_interrupt_comes_back_with_them(bench: Bench) -> None:
    """Also that of a device that carries no load, whose only CPUs went: the kernel moves it for good."""
    machine = bench.machine
    found = bench.aside(look, machine)["interrupts"]
    number = bench.aside(machine.run, "sed -n 's/^ *\\([0-9]*\\):.*rtc0$/\\1/p' /proc/interrupts")
    bench.aside(machine.run, f"echo 8 >/proc/irq/{number}/smp_affinity")
    try:
        during = bench.turn("cpus_online", "0-2").during
        assert during["cpus"] == "0-2"
        assert int(affinity(during, number), 16) & 7, "the kernel moved it"
        assert affinity(bench.aside(look, machine), number) == "8"
    finally:
        bench.aside(put_back, machine, found)


def test_irqbalance_is_stopped_and_what_it_moved_is_put_back(bench: Bench) -> None:
    machine = bench.machine
    found = bench.aside(look, machine)
    bench.aside(machine.run, "systemctl start irqbalance")
    stopped = bench.untold("irqbalance", "off")
    assert (stopped.said, stopped.during["irqbalance"]) == ("", "")
    assert bench.aside(machine.run, "systemctl is-active irqbalance") == "active"
    bench.aside(machine.run, "systemctl stop irqbalance")
    bench.aside(put_back, machine, found["interrupts"])
    bench.loop.run(_moved(bench, found["interrupts"]))
    assert changed(found, bench.aside(look, machine)) == []
    bench.note("irqbalance", "works")


async def _moved(bench: Bench, before: str) -> None:
    """irqbalance runs until it has moved what it likes, and is stopped again."""
    journal = Journal(journal_path(bench.tmp, "moved"), create=True)
    journal.begin([bench.host.spec])
    change = Change("h2", "irqbalance", "host", "running", "a test")
    try:
        await Settings({"h2": bench.host}, ALL_KNOBS, journal).to([change], ["h2"])
        await asyncio.to_thread(until_moved, bench.machine, before)
    finally:
        undone = await undo_all(journal, {"h2": bench.host})
    assert undone == (2, ()), "the service, and where interrupts went before"
    journal.discard()


@pytest.mark.parametrize("systemd", [True, False], ids=["systemd", "no systemd"])
def test_an_irqbalance_that_was_started_by_hand_is_said_and_left(
    bench: Bench, guests: lab.Lab, *, systemd: bool
) -> None:
    """It balances once an hour: this is about what is said of it."""
    machine = bench.machine if systemd else Machine.of(guests.inventory, "h2")
    start = "setsid -f irqbalance --foreground -t 3600 </dev/null >/dev/null 2>&1; "
    pid = bench.aside(
        machine.run, start + "for _ in 1 2 3 4 5 6 7 8 9; do pgrep -x irqbalance && break; sleep 0.2; done"
    )
    try:
        said = bench.untold("irqbalance", "off").said if systemd else _said_without_systemd(bench, guests)
        assert said.startswith(f"cannot read irqbalance host: irqbalance runs as process {pid} and is no")
        assert bench.aside(look, machine)["irqbalance"] == f"/proc/{pid}"
    finally:
        bench.aside(machine.run, f"kill {pid}; {_ENDED.format(pid)}")
    row = f"irqbalance, by hand with{'' if systemd else 'out'} systemd"
    bench.note(row, "refused", re.sub(rf"\b{pid}\b", "N", said))


def _said_without_systemd(bench: Bench, guests: lab.Lab) -> str:
    async def asked() -> str:
        host = await connect_to_host(specs(guests.inventory, bench.tmp)["h2"])
        try:
            change = Change("h2", "irqbalance", "host", "off", "a test")
            return (await _turn(host, change, Machine.of(guests.inventory, "h2"), bench.tmp)).said
        finally:
            await host.close()

    return bench.loop.run(asked())


def test_a_profile_of_tuned_is_turned_and_put_back_with_all_that_it_set(bench: Bench) -> None:
    machine = bench.machine
    stopped = bench.turn("tuned", "network-latency", row="tuned, not running")
    assert "TuneD does not run" in stopped.said
    bench.note("tuned, not running", "refused", stopped.said)
    bench.aside(machine.run, "systemctl start tuned")
    try:
        during = bench.turn("tuned", "network-latency").during
        assert during["tuned"].split() == ["network-latency", "manual"]
        assert "net.core.busy_read = 50" in during["sysctl"]
    finally:
        bench.aside(machine.run, "systemctl stop tuned")


def test_a_kernel_parameter_is_turned_and_put_back(bench: Bench) -> None:
    during = bench.turn("sysctl", RMEM, "net.ipv4.tcp_rmem").during
    assert "net.ipv4.tcp_rmem = 4096\t131072\t7340032" in during["sysctl"]


def test_what_this_kernel_has_not_is_said_in_plain_words(bench: Bench) -> None:
    before = bench.aside(look, bench.machine)
    for knob, value, words in (
        ("governor", "performance", "there is no scaling_governor"),
        ("epp", "performance", "there is no energy_performance_preference"),
        ("c_states", "off", "there are no idle states: no cpuidle driver"),
        ("turbo", "off", "there is neither intel_pstate/no_turbo nor cpufreq/boost"),
    ):
        said = bench.untold(knob, value).said
        assert words in said
        bench.note(knob, "not there", said)
    assert changed(before, bench.aside(look, bench.machine)) == []


def test_the_page_says_what_was_seen(bench: Bench, write_knobs: bool) -> None:
    machine = bench.machine
    versions = {
        "Linux": bench.aside(machine.run, "uname -r"),
        "QEMU": _second(["qemu-system-x86_64", "--version"], 3),
        "systemd": _second(["systemctl", "--version"], 1),
        "TuneD": _second(["tuned-adm", "--version"], 1),
        "irqbalance": _second(["irqbalance", "--version"], 2),
    }
    date = datetime.now(UTC).date().isoformat()
    hold(Table("hosts", "kernel", date, versions, bench.cells), write=write_knobs)


def _second(argv: Sequence[str], word: int) -> str:
    said = subprocess.run(argv, capture_output=True, text=True, check=False, timeout=60).stdout
    version = re.match(r"\d+(\.\d+)*", said.split()[word])
    assert version is not None, said
    return version[0]
