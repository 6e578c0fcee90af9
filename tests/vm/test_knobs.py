# SPDX-License-Identifier: Apache-2.0
"""Every knob of a NIC on every driver of guests: set through linewatt, seen with the field's tools, undone.

Without KVM each start of a program takes a guest a tenth of a second and more, so that guests work side by
side and a guest's NICs are changed together, over one connection.
"""

from __future__ import annotations

import asyncio
import os
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path

import pytest
from ruamel.yaml import YAML
from tests.lab.conftest import _reason
from tests.lab.test_lab import output
from tests.vm.conftest import _show_logs
from tests.vm.knobs_table import Cell, Key, Outcome, Table, hold

from linewatt.engine.undo.knobs import TOP, apart, layer
from linewatt.engine.undo.put_back import put_back_in_turn
from linewatt.errors import LinewattError
from linewatt.features.lab import api as lab
from linewatt.features.lab.api import Guest, Nic
from linewatt.features.lab.guests.tools import why_no_guests
from linewatt.features.lab.state import ROOT
from linewatt.hosts.base import Host, HostSpec
from linewatt.hosts.connect import connect_to_host
from linewatt.hosts.journal.journal import Entry, Journal, journal_path
from linewatt.hosts.limits import Limits
from linewatt.tuning import apply
from linewatt.tuning.base import Change
from linewatt.tuning.registry import TUNING_KNOBS

pytestmark = [pytest.mark.vm, pytest.mark.thorough]

GUESTS = (
    Guest(nics=(Nic("e1000"), Nic("rtl8139"), Nic("i82559er"), Nic("tulip"))),
    Guest(nics=(Nic("e1000e"), Nic("virtio-net-pci", queues=2), Nic("vmxnet3"), Nic("pcnet"))),
)
LIMIT_S = 180.0
"""of one answer: a guest whose CPUs others need says nothing for long"""
LIMITS = Limits(silence_s=60.0, answer_s=60.0, command_s=LIMIT_S, login_s=120.0)

# Each link is waited for, 60 s at most. $@: interfaces
CARRIED = """for net; do
  for _ in $(seq 600); do
    read -r up </sys/class/net/$net/carrier && [[ $up == 1 ]] && continue 2
    sleep 0.1
  done
  echo "$net has no carrier after 60 s" >&2
  exit 1
done"""
# What can be set on each interface, as ethtool, ip, /proc and /sys show it
# $1: letters of ethtool; then interfaces
SEEN = """letters=$1; shift
for net; do
  echo "== $net"
  for letter in $letters; do ethtool -$letter "$net" 2>&1; done
  ethtool -n "$net" rx-flow-hash udp4 2>&1
  ip -d link show dev "$net"
  for file in /sys/class/net/"$net"/queues/*/*ps_*; do
    { read -r setting <"$file"; } 2>/dev/null && echo "$file:$setting"
  done
  device=$(cd -P "/sys/class/net/$net/device" && echo "${PWD##*/}")
  while read -r number rest; do
    case $rest in *"$net"* | *" $device-"*)
      read -r cpus <"/proc/irq/${number%:}/smp_affinity_list" && echo "irq ${rest##* } $cpus" ;;
    esac
  done </proc/interrupts
done; true"""


@dataclass(frozen=True, slots=True)
class Try:
    """One row of the table: a knob, what is asked of it where it reads ``before``, and what then shows."""

    row: str
    knob: str
    value: Callable[[str], str]
    shows: Callable[[str], str]
    """the pattern that :data:`SEEN` has of the interface once the setting is as in this canonical text"""
    part: str = ""
    """of the target, behind the interface"""


def number(setting: str, option: str) -> int:
    """Of a canonical text such as ``rx=256/4096``."""
    match = re.search(rf"(?<!\S){option}=(\d+)", setting)
    assert match is not None, setting
    return int(match[1])


def half(before: str) -> str:
    largest = {one: re.search(rf"(?<!\S){one}=\d+/(\d+)", before) for one in ("rx", "tx")}
    return " ".join(f"{one}={int(match[1]) // 2}" for one, match in largest.items() if match)


def ring_shown(setting: str) -> str:
    return rf"Current hardware settings:\nRX:\t+{number(setting, 'rx')}\n"


def flipped(before: str) -> str:
    return "off" if "=on" in before else "on"


def feature(name: str, words: str) -> Try:
    def shows(setting: str) -> str:
        return rf"\n{words}: {'on' if re.search(r'=on(?!.fixed)', setting) else 'off'}"

    return Try(name, "offload", flipped, shows, f" {name}")


def queue_masks(file: str) -> Callable[[str], str]:
    def shows(setting: str) -> str:
        queue, text = setting.split()[0].split("=")
        return rf"{queue}/{file}:0*{text}\n"

    return shows


def other_fields(before: str) -> str:
    return "sd" if "n" in before else "sdfn"


def fields_shown(setting: str) -> str:
    return r"UDP over IPV4 flows use [^=]*\nIP SA\nIP DA\n" + ("L4 bytes 0" if "n" in setting else r"\n")


TOGETHER = (
    Try("rings, half of the largest", "rings", half, ring_shown),
    Try("mtu", "mtu", lambda _: "1400", lambda _: r" mtu 1400 "),
    feature("rx", "rx-checksumming"),
    feature("tx", "tx-checksumming"),
    feature("tso", "tcp-segmentation-offload"),
    feature("gso", "generic-segmentation-offload"),
    feature("gro", "generic-receive-offload"),
    feature("lro", "large-receive-offload"),
    Try("coalescing", "coalescing", lambda _: "rx-usecs=100", lambda _: r"\nrx-usecs:\s+100\n"),
    Try("pause, off", "pause", lambda _: "off", lambda _: r"Autonegotiate:\s+off\nRX:\s+off\nTX:\s+off\n"),
    Try("ntuple", "ntuple", lambda _: "tcp4:5201=0", lambda _: "Dest port: 5201 "),
    Try("rss, the second queue", "rss", lambda _: "1 from 1", lambda _: r"\n    0: +1 +1 "),
    Try("rss_key", "rss_key", lambda _: "symmetric", lambda _: r"\nRSS hash key:\n6d:5a:6d:5a:"),
    Try("udp4 by ports", "rx_flow_hash", other_fields, fields_shown, " udp4"),
    Try("irq_affinity", "irq_affinity", lambda _: "1", lambda _: r"\nirq \S+ 1\n"),
    Try("rps_cpus", "rps_cpus", lambda _: "1", queue_masks("rps_cpus")),
    Try("xps_cpus", "xps_cpus", lambda _: "0", queue_masks("xps_cpus")),
    Try("rfs", "rfs", lambda _: "1024", queue_masks("rps_flow_cnt")),
)
"""what a feature needs is before it, so that it is put back after it"""
APART = (
    Try("rings, 101 and no multiple", "rings", lambda _: "rx=101", ring_shown),
    Try("pause, rx=off tx=off", "pause", lambda _: "rx=off tx=off", lambda _: r"\nRX:\s+off\nTX:\s+off\n"),
    Try("channels, one", "channels", lambda _: "1", lambda _: r"Current hardware[^=]*Combined:\s+1\n"),
)
"""what would change what the others show"""


@dataclass
class Tried:
    """What became of every try on the NICs of one guest."""

    host: Host
    journal: Journal
    nics: tuple[str, ...]
    drivers: dict[str, str] = field(default_factory=dict)
    versions: dict[str, str] = field(default_factory=dict)
    cells: dict[Key, Cell] = field(default_factory=dict)

    @property
    def name(self) -> str:
        return self.host.spec.name

    async def run(self) -> None:
        await self._learn()
        await self._carried()
        before = await self._seen()
        for tries, letters in ((TOGETHER, "g c a n k x"), (APART, "g l a")):
            await self._round(tries, letters)
        await self._carried()
        assert await self._seen() == before, "an undo left something"

    async def _carried(self) -> None:
        """Until every link is up: a driver that was reset takes seconds to find its carrier again."""
        await self._bare(CARRIED)

    async def _bare(self, script: str, *words: str) -> str:
        argv = ["bash", "-c", script, "test", *words, *self.nics]
        done = await self.host.run(argv, timeout_s=LIMIT_S, root=True)
        assert done.status == 0, done.stderr
        return done.stdout

    async def _learn(self) -> None:
        said = await self._bare(
            'uname -r; ethtool --version; for net; do ethtool -i "$net" | sed -n "s/^driver: //p"; done'
        )
        kernel, ethtool, *drivers = said.splitlines()
        self.versions = {"Linux": kernel, "ethtool": ethtool.split()[-1]}
        self.drivers = dict(zip(self.nics, drivers, strict=True))

    async def _seen(self, letters: str = "g c l x a n k") -> dict[str, str]:
        """Interface → what the tools show of it."""
        parts = (await self._bare(SEEN, letters)).split("== ")[1:]
        return {part.partition("\n")[0]: part for part in parts}

    async def _round(self, tries: Sequence[Try], letters: str) -> None:
        entries = await self._planned(tries)
        self.journal.intend(list(entries))
        made: dict[Entry, Try] = {}
        for level in range(TOP + 1):
            own = [entry for entry in entries if layer(entry.knob) == level]
            for entry, outcome in zip(
                own, await apply.make(self.host, TUNING_KNOBS, own, self.journal), strict=True
            ):
                if outcome.problem is None:
                    made[entry] = entries[entry]
                else:
                    self._not_made(entry, entries[entry], str(outcome.problem))
        seen = await self._seen(letters) if made else {}
        for entry, one in made.items():
            nic = entry.target.split()[0]
            assert re.search(one.shows(entry.wanted), seen[nic]), f"{one.row} of {nic}: {seen[nic]}"
            self._is(nic, one, Cell("works"))
        await self._undo()

    async def _planned(self, tries: Sequence[Try]) -> dict[Entry, Try]:
        """What the host is to show; what it cannot show is told without a change."""
        asked = [(nic, one) for nic in self.nics for one in tries]
        settings = [(TUNING_KNOBS[one.knob], nic + one.part) for nic, one in asked]
        entries: dict[Entry, Try] = {}
        for (nic, one), outcome in zip(asked, await apply.look_at_settings(self.host, settings), strict=True):
            shown = outcome.text
            if shown is None:
                self._is(nic, one, self._refusal(nic, "not there", str(outcome.problem)))
                continue
            target = nic + one.part
            change = Change(self.name, one.knob, target, one.value(shown), "a test")
            try:
                wanted = apply.wanted_setting(TUNING_KNOBS[one.knob], change, shown)
            except LinewattError as error:
                lacks = "the driver has it off" in str(error)
                self._is(nic, one, self._refusal(nic, "not there" if lacks else "refused", str(error)))
                continue
            assert wanted != shown, f"{one.row} of {nic} shows {shown} already"
            at = self.journal.next_number() + len(entries)
            entries[Entry(at, self.name, one.knob, target, shown, wanted)] = one
        return entries

    def _not_made(self, entry: Entry, one: Try, said: str) -> None:
        nic = entry.target.split()[0]
        assert f"({self.drivers[nic]})" in said, said
        outcome: Outcome = "refused"
        if "without complaint" in said:
            outcome = "ignored"
        elif "made another value" in said:
            outcome = "rounds"
        self._is(nic, one, self._refusal(nic, outcome, said))

    def _refusal(self, nic: str, outcome: Outcome, said: str) -> Cell:
        """Linewatt's words name host and interface; the page says them once for all of a kind."""
        assert said.startswith(f"{self.name}: "), said
        assert nic in said, said
        assert "\n" not in said, said
        words = said.removeprefix(f"{self.name}: ").replace(f" for {self.name}", " for this host")
        return Cell(outcome, words.replace(nic, "NIC").replace(f" ({self.drivers[nic]})", ""))

    def _is(self, nic: str, one: Try, cell: Cell) -> None:
        self.cells[one.row, self.drivers[nic]] = cell

    async def _undo(self) -> None:
        groups = list(apart(list(reversed(self.journal.read()[1]))))
        back = put_back_in_turn(self.host, TUNING_KNOBS, groups, self.journal)
        problems = [problem async for _, all_of in back for problem in all_of if problem is not None]
        assert problems == []
        assert self.journal.read()[1] == ()


@pytest.fixture(scope="module")
def nics() -> Iterator[lab.Lab]:
    """Two guests with four NICs each."""
    if reason := _reason() or why_no_guests():
        pytest.skip(reason)
    name = f"t{os.getpid()}-vn"
    try:
        yield lab.up(lab.LabRequest(name=name, rate="1gbit", bmc=False, guests=GUESTS))
    finally:
        _show_logs(ROOT / name)
        lab.down(name)


def specs(one: lab.Lab) -> list[HostSpec]:
    hosts: Mapping[str, dict[str, str]] = YAML(typ="safe").load(one.inventory.read_text())["all"]["hosts"]
    return [
        HostSpec(
            name,
            its["ansible_host"],
            "data0",
            user="root",
            key_file=its["ansible_ssh_private_key_file"],
            known_hosts=its["linewatt_known_hosts"],
            limits=LIMITS,
        )
        for name, its in hosts.items()
    ]


async def tried_on(spec: HostSpec, tmp: Path) -> Tried:
    journal = Journal(journal_path(tmp / spec.name, "run"), create=True)
    with closing(journal):
        journal.begin([spec])
        host = await connect_to_host(spec)
        try:
            tried = Tried(host, journal, tuple(f"data{at}" for at in range(4)))
            await tried.run()
        finally:
            await host.close()
    return tried


def qemu() -> str:
    match = re.search(r"version (\S+)", output("qemu-system-x86_64", "--version"))
    assert match is not None
    return match[1]


def test_each_knob_does_on_each_driver_what_the_page_says(
    nics: lab.Lab, tmp_path: Path, write_knobs: bool
) -> None:
    async def all_of_them() -> list[Tried]:
        return await asyncio.gather(*(tried_on(spec, tmp_path) for spec in specs(nics)))

    tried = asyncio.run(all_of_them())
    drivers = [driver for one in tried for driver in one.drivers.values()]
    rows = [one.row for one in (*TOGETHER, *APART)]
    cells = {key: cell for one in tried for key, cell in one.cells.items()}
    assert cells.keys() == {(row, driver) for row in rows for driver in drivers}
    ordered = {(row, driver): cells[row, driver] for row in rows for driver in drivers}
    versions = tried[0].versions | {"QEMU": qemu()}
    today = datetime.now(UTC).date().isoformat()
    hold(Table("nics", "driver", today, versions, ordered), write=write_knobs)
