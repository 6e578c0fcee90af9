# SPDX-License-Identifier: Apache-2.0
"""A text that every frequency policy has, below ``/sys/devices/system/cpu/cpufreq``.

A policy is named after its first CPU, and counts for all that share a clock with it. The canonical text is
``powersave@0-15 of=performance,powersave``: what each is set to, and what there is.
Source: kernel, Documentation/admin-guide/pm/cpufreq.rst.
"""

from __future__ import annotations

import re
from abc import ABC, abstractmethod

from linewatt.errors import ChangeError, ParseError
from linewatt.tuning.base import Command
from linewatt.tuning.commands import host_command
from linewatt.tuning.cpu.percpu import format_values, parse_values
from linewatt.tuning.setting_text import choices

# $1: file of the setting, $2: file of what there is
_READ = """cd /sys/devices/system/cpu/cpufreq 2>/dev/null && set -- "$1" "$2" policy* && [ -r "$3/$1" ] ||
  { echo "there is no $1: the firmware, the hypervisor or another driver decides" >&2; exit 1; }
file=$1; read -r available <"$3/$2" && echo "of $available"; shift 2
for policy; do read -r setting <"$policy/$file" && echo "$policy $setting" || exit 1; done"""

# $1: file. Input: policy=setting a line
_WRITE = """cd /sys/devices/system/cpu/cpufreq || exit 1
while IFS== read -r policy setting; do
  read -r now <"$policy/$1" && [ "$now" = "$setting" ] && continue
  { echo "$setting" >"$policy/$1"; } 2>/dev/null && continue
  why=$( { echo "$setting" >"$policy/$1"; } 2>&1) && continue
  echo "$policy/$1 takes no $setting: ${why##*: }" >&2; exit 1
done"""

_POLICY = re.compile(r"policy(\d+) (\S+)", re.ASCII)
_OF = " of="


class PolicyText(ABC):
    """A knob that turns ``file`` of every policy; the driver lists what it takes in ``available``."""

    file: str
    available: str
    targets = "`host`"

    @property
    def tool(self) -> str:
        return f"/sys/devices/system/cpu/cpufreq/policy*/{self.file}"

    @abstractmethod
    def check(self, value: str) -> str: ...

    def read(self, target: str) -> Command:
        return host_command(target, _READ, self.file, self.available)

    def parse(self, output: str) -> str:
        lines = output.splitlines()
        policies = {int(match[1]): match[2] for line in lines if (match := _POLICY.fullmatch(line))}
        if not policies:
            raise ParseError(f"no frequency policy in {output[:80]!r}")
        available = sorted(word for line in lines if line.startswith("of ") for word in line.split()[1:])
        return format_values(policies) + (_OF + ",".join(available) if available else "")

    def wanted(self, before: str, value: str) -> str:
        """Every policy with ``value``."""
        name = self.check(value)
        values, of, available = before.partition(_OF)
        if of and name not in available.split(","):
            raise ChangeError(f"the driver has no {name}; {choices(available.split(','), name)}")
        return format_values(dict.fromkeys(parse_values(values), name)) + of + available

    def write(self, target: str, setting: str) -> Command:
        values = parse_values(setting.partition(_OF)[0])
        lines = "".join(f"policy{cpu}={values[cpu]}\n" for cpu in sorted(values))
        return host_command(target, _WRITE, self.file, stdin=lines)
