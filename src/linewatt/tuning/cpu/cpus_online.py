# SPDX-License-Identifier: Apache-2.0
"""Which CPUs are online. The target is ``host``.

``/sys/devices/system/cpu/cpuN/online`` is the switch of a CPU; most machines give CPU 0 none: it is always
online. Interrupts, masks of queues and frequency policies follow what is online, so this is set before all
else.
Source: kernel, Documentation/core-api/cpu_hotplug.rst.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from linewatt.errors import ChangeError, InvalidInput, ParseError
from linewatt.hosts.facts import format_cpulist, parse_cpulist
from linewatt.tuning.base import Command
from linewatt.tuning.commands import host_command
from linewatt.tuning.cpu.percpu import format_values, parse_values

CPUS_ONLINE = "cpus_online"
ALL_CPUS = "all"

_READ = """cd /sys/devices/system/cpu || exit 1
for cpu in cpu[0-9]*; do
  state=always
  [ ! -e "$cpu/online" ] || read -r state <"$cpu/online" || exit 1
  echo "$cpu $state"
done"""

# Input: cpuN=0|1 a line, those that go online first
_WRITE = """cd /sys/devices/system/cpu || exit 1
while IFS== read -r cpu state; do
  read -r now <"$cpu/online" && [ "$now" = "$state" ] && continue
  why=$( { echo "$state" >"$cpu/online"; } 2>&1) && continue
  echo "$cpu/online takes no $state: ${why##*: }" >&2; exit 1
done"""

_LINE = re.compile(r"cpu(\d+) (always|0|1)", re.ASCII)
_STATES = {"0": "off", "1": "on", "always": "always"}


class CpusOnline:
    """The canonical text is ``always@0 off@4-7 on@1-3``; CPUs that are ``always`` online have no switch."""

    name = CPUS_ONLINE
    about = "CPUs that are online"
    targets = "`host`"
    values = "CPU list with CPU 0, such as `0-3`; `all`"
    tool = "/sys/devices/system/cpu/cpu*/online"
    order = 5

    def check(self, value: str) -> str:
        text = value.strip()
        if text.lower() == ALL_CPUS:
            return ALL_CPUS
        cpus = parse_cpulist(text)
        if 0 not in cpus:
            correction = f"0-{cpus[0] - 1}" if len(cpus) == 1 and cpus[0] > 1 else f"0,{text}"
            raise InvalidInput(
                f"{value!r} leaves out CPU 0, which machines keep online; write {correction if cpus else '0'}"
            )
        return format_cpulist(cpus)

    def read(self, target: str) -> Command:
        return host_command(target, _READ)

    def parse(self, output: str) -> str:
        states = {}
        for line in output.splitlines():
            match = _LINE.fullmatch(line)
            if match is None:
                raise ParseError(f"{line[:80]!r} is not a CPU with its state")
            states[int(match[1])] = _STATES[match[2]]
        if not states:
            raise ParseError("the host shows no CPUs")
        return format_values(states)

    def wanted(self, before: str, value: str) -> str:
        states, setting = parse_values(before), self.check(value)
        cpus = set(states) if setting == ALL_CPUS else set(parse_cpulist(setting))
        if absent := cpus - states.keys():
            raise ChangeError(
                f"there is no CPU {format_cpulist(absent)}; the host has {format_cpulist(states)}"
            )
        if always_online := {cpu for cpu, state in states.items() if state == "always"} - cpus:
            raise ChangeError(
                f"CPU {format_cpulist(always_online)} has no switch there and stays online; "
                "name it among them"
            )
        return format_values(
            {
                cpu: state if state == "always" else "on" if cpu in cpus else "off"
                for cpu, state in states.items()
            }
        )

    def write(self, target: str, setting: str) -> Command:
        states = parse_values(setting)
        switched = sorted((cpu for cpu in states if states[cpu] != "always"), key=lambda cpu: states[cpu])
        lines = [f"cpu{cpu}={int(states[cpu] == 'on')}\n" for cpu in reversed(switched)]
        return host_command(target, _WRITE, stdin="".join(lines))


def switched_off(level: str, needed: Iterable[int]) -> tuple[int, ...]:
    """Those of ``needed`` that a checked value switches off."""
    return () if level == ALL_CPUS else tuple(sorted({*needed} - {*parse_cpulist(level)}))


LISTED_KNOB = CpusOnline()
