# SPDX-License-Identifier: Apache-2.0
"""Every knob there is, by name: what modules of these rooms call ``LISTED_KNOB``.

Other packages add theirs by entry points of the group ``linewatt.knobs``.
"""

from __future__ import annotations

from linewatt.plugins import brought, registered
from linewatt.tuning import cpu, nic, steering, sysctl
from linewatt.tuning.base import ListedKnob

_PARTS = ("name", "order", "check", "read", "parse", "wanted", "write")
_SHIPPED = brought("LISTED_KNOB", cpu, nic, steering, sysctl)
_KNOBS = sorted(registered(_SHIPPED, "linewatt.knobs", _PARTS), key=lambda knob: knob.order)
TUNING_KNOBS: dict[str, ListedKnob] = {knob.name: knob for knob in _KNOBS}
"""from the ground up"""
