# SPDX-License-Identifier: Apache-2.0
"""Whether CPUs may run above their base frequency. The target is ``host``.

intel_pstate has ``no_turbo``, other drivers ``boost`` (kernel, Documentation/admin-guide/pm/intel_pstate.rst
and cpufreq.rst). Where firmware forbids it the kernel answers a write with EPERM.
"""

from __future__ import annotations

import re

from linewatt.errors import ParseError
from linewatt.tuning.base import Command
from linewatt.tuning.commands import host_command
from linewatt.tuning.setting_text import switch

_READ = """cd /sys/devices/system/cpu || exit 1
for file in intel_pstate/no_turbo cpufreq/boost; do
  read -r state 2>/dev/null <"$file" && { echo "$file $state"; exit; }
done
echo "there is neither intel_pstate/no_turbo nor cpufreq/boost: firmware or hypervisor decide" >&2; exit 1"""

# $1: file, $2: 0 or 1
_WRITE = """cd /sys/devices/system/cpu || exit 1
why=$( { echo "$2" >"$1"; } 2>&1) || { echo "$1 takes no $2: ${why##*: }" >&2; exit 1; }"""

_STATE = re.compile(r"(intel_pstate/no_turbo|cpufreq/boost)[ =]([01])")


class Turbo:
    """The canonical text is the kernel's own switch: ``intel_pstate/no_turbo=0`` or ``cpufreq/boost=1``."""

    name = "turbo"
    about = "frequencies above the base clock"
    targets = "`host`"
    values = "`on`, `off`"
    tool = "/sys/devices/system/cpu/intel_pstate/no_turbo or cpufreq/boost"
    order = 60

    def check(self, value: str) -> str:
        return switch(value)

    def read(self, target: str) -> Command:
        return host_command(target, _READ)

    def parse(self, output: str) -> str:
        return "=".join(_state(output.strip()))

    def wanted(self, before: str, value: str) -> str:
        file, _ = _state(before)
        return f"{file}={int((switch(value) == 'on') != file.endswith('no_turbo'))}"

    def write(self, target: str, setting: str) -> Command:
        return host_command(target, _WRITE, *_state(setting))


def _state(text: str) -> tuple[str, str]:
    match = _STATE.fullmatch(text)
    if match is None:
        raise ParseError(f"{text[:80]!r} is not a turbo switch with its state")
    return match[1], match[2]


LISTED_KNOB = Turbo()
