# SPDX-License-Identifier: Apache-2.0
"""What chooses the CPUs' frequency: the governor of every policy. The target is ``host``.

A driver with a governor of its own (intel_pstate, amd-pstate-epp) has ``performance`` and ``powersave``,
where the latter means that the hardware chooses, guided by :mod:`~linewatt.tuning.cpu.epp`.
"""

from __future__ import annotations

import re

from linewatt.errors import InvalidInput
from linewatt.tuning.base import Command
from linewatt.tuning.cpu.policies import parse_policies, read_policies, wanted_policies, write_policies

_FILE, _AVAILABLE = "scaling_governor", "scaling_available_governors"
_NAME = re.compile(r"[a-z][a-z0-9_]{2,15}")


class Governor:
    """The canonical text is ``powersave@0-15 of=performance,powersave``."""

    name = "governor"
    about = "what chooses the CPUs' frequency"
    targets = "`host`"
    values = "`performance`, `powersave`, `schedutil` … as far as the driver has them"
    tool = "/sys/devices/system/cpu/cpufreq/policy*/scaling_governor"
    order = 30

    def check(self, value: str) -> str:
        if not _NAME.fullmatch(value.strip()):
            raise InvalidInput(f"{value!r} is no governor; write one like performance or schedutil")
        return value.strip()

    def read(self, target: str) -> Command:
        return read_policies(target, _FILE, _AVAILABLE)

    def parse(self, output: str) -> str:
        return parse_policies(output)

    def wanted(self, before: str, value: str) -> str:
        return wanted_policies(before, self.check(value))

    def write(self, target: str, setting: str) -> Command:
        return write_policies(target, _FILE, setting)


LISTED_KNOB = Governor()
