# SPDX-License-Identifier: Apache-2.0
"""How CPUs that choose their frequency themselves weigh speed against energy. The target is ``host``.

The energy performance preference of every policy (intel_pstate, amd-pstate-epp). With the governor
``performance`` the driver takes nothing but ``performance`` (EBUSY): set the governor first. ``default`` is
refused, because it reads back as whatever the firmware means by it.
Source: kernel, Documentation/admin-guide/pm/intel_pstate.rst.
"""

from __future__ import annotations

from linewatt.errors import InvalidInput
from linewatt.tuning.base import Command
from linewatt.tuning.cpu.policies import parse_policies, read_policies, wanted_policies, write_policies
from linewatt.tuning.words import choices

_FILE, _AVAILABLE = "energy_performance_preference", "energy_performance_available_preferences"
PREFERENCES = ("performance", "balance_performance", "balance_power", "power")
"""from the fastest to the thriftiest"""


class Epp:
    """The canonical text is ``balance_performance@0-15 of=…``."""

    name = "epp"
    about = "how CPUs weigh speed against energy (energy performance preference)"
    targets = "`host`"
    values = "`performance`, `balance_performance`, `balance_power`, `power`"
    tool = "/sys/devices/system/cpu/cpufreq/policy*/energy_performance_preference"
    order = 40

    def check(self, value: str) -> str:
        if value.strip() not in PREFERENCES:
            raise InvalidInput(f"{value!r} is no preference that reads back; {choices(PREFERENCES, value)}")
        return value.strip()

    def read(self, target: str) -> Command:
        return read_policies(target, _FILE, _AVAILABLE)

    def parse(self, output: str) -> str:
        return parse_policies(output)

    def wanted(self, before: str, value: str) -> str:
        return wanted_policies(before, self.check(value))

    def write(self, target: str, setting: str) -> Command:
        return write_policies(target, _FILE, setting)


LISTED_KNOB = Epp()
