# SPDX-License-Identifier: Apache-2.0
"""How CPUs that choose their frequency themselves weigh speed against energy. The target is ``host``.

The energy performance preference of every policy (intel_pstate, amd-pstate-epp). With the governor
``performance`` the driver takes nothing but ``performance`` (EBUSY): set the governor first. ``default`` is
refused, because it reads back as whatever the firmware means by it.
Source: kernel, Documentation/admin-guide/pm/intel_pstate.rst.
"""

from __future__ import annotations

from linewatt.errors import InvalidInput
from linewatt.tuning.cpu.policies import PolicyText
from linewatt.tuning.setting_text import choices

PREFERENCES = ("performance", "balance_performance", "balance_power", "power")
"""from the fastest to the thriftiest"""


class Epp(PolicyText):
    """The canonical text is ``balance_performance@0-15 of=…``."""

    name = "epp"
    about = "how CPUs weigh speed against energy (energy performance preference)"
    values = "`performance`, `balance_performance`, `balance_power`, `power`"
    file, available = "energy_performance_preference", "energy_performance_available_preferences"
    order = 40

    def check(self, value: str) -> str:
        if value.strip() not in PREFERENCES:
            raise InvalidInput(
                f"{value!r} is not a preference that reads back; {choices(PREFERENCES, value)}"
            )
        return value.strip()


LISTED_KNOB = Epp()
