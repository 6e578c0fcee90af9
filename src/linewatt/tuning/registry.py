# SPDX-License-Identifier: Apache-2.0
"""Every knob there is, by name. A new one is one file and one line here."""

from __future__ import annotations

from linewatt.tuning.base import Knob
from linewatt.tuning.rps_cpus import RpsCpus
from linewatt.tuning.sysctl import Sysctl

KNOBS: dict[str, Knob] = {knob.name: knob for knob in (RpsCpus(), Sysctl())}
