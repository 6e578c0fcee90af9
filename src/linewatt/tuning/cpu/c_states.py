# SPDX-License-Identifier: Apache-2.0
"""How deep idle CPUs may sleep, through ``cpuidle``. The target is ``host``.

A value names the deepest state that stays allowed; ``off`` leaves the first one only, which spins on x86
(POLL) and waits on Arm (WFI). The states are known by their number and name, because two may share a name.
Source: kernel, Documentation/admin-guide/pm/cpuidle.rst.
"""

from __future__ import annotations

import re

from linewatt.errors import ChangeError, InvalidInput, ParseError
from linewatt.tuning.base import Command
from linewatt.tuning.commands import host_command
from linewatt.tuning.cpu.percpu import format_values, parse_values
from linewatt.tuning.setting_text import choices

# A line "cpuN/cpuidle/stateN NAME DISABLED" for each, without a process
_READ = """cd /sys/devices/system/cpu || exit 1
set -- cpu[0-9]*/cpuidle/state[0-9]*
[ -d "$1" ] ||
  { echo "there are no idle states: no cpuidle driver, as in most virtual machines" >&2; exit 1; }
for state; do
  read -r name <"$state/name" && read -r disabled <"$state/disable" || exit 1
  echo "$state ${name// /_} $disabled"
done"""

# Input: CPU/STATE=DISABLED a line. Asked again for its words only where it failed: a process less for each
_WRITE = """cd /sys/devices/system/cpu || exit 1
while IFS== read -r state disabled; do
  read -r now <"$state/disable" && [ "$now" = "$disabled" ] && continue
  { echo "$disabled" >"$state/disable"; } 2>/dev/null && continue
  why=$( { echo "$disabled" >"$state/disable"; } 2>&1) && continue
  echo "$state cannot be set: ${why##*: }" >&2; exit 1
done"""

_STATE = re.compile(r"cpu(\d+)/cpuidle/state(\d+) (\S+) (\d+)", re.ASCII)
_ASKED = re.compile(r"[A-Za-z][\w+.-]{0,31}", re.ASCII)

States = dict[tuple[int, str], dict[int, str]]
"""number and name of a state → CPU → on or off"""


class CStates:
    """The canonical text is ``0.POLL=on@0-7 1.C1=on@0-7 2.C6=off@0-7``."""

    name = "c_states"
    about = "deepest sleep of idle CPUs"
    targets = "`host`"
    values = "`on` (all), `off` (the first only), or the deepest allowed by name, such as `C1`"
    tool = "/sys/devices/system/cpu/cpu*/cpuidle/state*/disable"
    order = 50

    def check(self, value: str) -> str:
        text = value.strip()
        if text.lower() in {"on", "off", "true", "false"}:
            return {"true": "on", "false": "off"}.get(text.lower(), text.lower())
        if not _ASKED.fullmatch(text):
            raise InvalidInput(f"{value!r} is not an idle state; write on, off, or a name like C1")
        return text

    def read(self, target: str) -> Command:
        return host_command(target, _READ)

    def parse(self, output: str) -> str:
        states: States = {}
        for line in output.splitlines():
            match = _STATE.fullmatch(line)
            if match is None:
                raise ParseError(f"{line[:80]!r} is not an idle state of a CPU")
            # "disable" is not 0 also for what the driver itself keeps off
            cpus = states.setdefault((int(match[2]), match[3]), {})
            cpus[int(match[1])] = "on" if match[4] == "0" else "off"
        if not states:
            raise ParseError("the host shows no idle states")
        return _text(states)

    def wanted(self, before: str, value: str) -> str:
        states, setting = _states(before), self.check(value)
        numbers = {name.lower(): number for number, name in sorted(states, reverse=True)}
        deepest = {"on": max(numbers.values()), "off": 0}.get(setting, numbers.get(setting.lower()))
        if deepest is None:
            raise ChangeError(
                f"these CPUs have no idle state {setting}; {choices([name for _, name in states])}"
            )
        return _text(
            {
                (number, name): dict.fromkeys(cpus, "on" if number <= deepest else "off")
                for (number, name), cpus in states.items()
            }
        )

    def write(self, target: str, setting: str) -> Command:
        lines = [
            f"cpu{cpu}/cpuidle/state{number}={'0' if state == 'on' else '1'}\n"
            for (number, _), cpus in _states(setting).items()
            for cpu, state in cpus.items()
        ]
        return host_command(target, _WRITE, stdin="".join(lines))


def _text(states: States) -> str:
    return " ".join(
        format_values({cpu: f"{number}.{name}={state}" for cpu, state in states[number, name].items()})
        for number, name in sorted(states)
    )


def _states(setting: str) -> States:
    """Canonical text as numbers. Raises ParseError."""
    states: States = {}
    for word in setting.split():
        for cpu, text in parse_values(word).items():
            match = re.fullmatch(r"(\d+)\.(\S+)=(on|off)", text, re.ASCII)
            if match is None:
                raise ParseError(f"{word!r} is not an idle state, such as 1.C1=on@0-7")
            states.setdefault((int(match[1]), match[2]), {})[cpu] = match[3]
    return states


LISTED_KNOB = CStates()
