# SPDX-License-Identifier: Apache-2.0
"""What chooses the CPUs' frequency: the governor of every policy. The target is ``host``.

A driver with a governor of its own (intel_pstate, amd-pstate-epp) has ``performance`` and ``powersave``,
where the latter means that the hardware chooses, guided by :mod:`~linewatt.tuning.cpu.epp`.
"""

from __future__ import annotations

import re

from linewatt.errors import InvalidInput
from linewatt.tuning.cpu.policies import PolicyText

_NAME = re.compile(r"[a-z][a-z0-9_]{2,15}")


class Governor(PolicyText):
    """The canonical text is ``powersave@0-15 of=performance,powersave``."""

    name = "governor"
    about = "what chooses the CPUs' frequency"
    values = "`performance`, `powersave`, `schedutil` … as far as the driver has them"
    file, available = "scaling_governor", "scaling_available_governors"
    order = 30

    def check(self, value: str) -> str:
        if not _NAME.fullmatch(value.strip()):
            raise InvalidInput(f"{value!r} is not a governor; write one like performance or schedutil")
        return value.strip()


LISTED_KNOB = Governor()
