# SPDX-License-Identifier: Apache-2.0
"""Every knob there is, by name: what modules of these rooms call ``LISTED_KNOB``."""

from __future__ import annotations

from linewatt.plugins import brought
from linewatt.tuning import cpu, nic, steering, sysctl
from linewatt.tuning.base import ListedKnob

_KNOBS = sorted(brought("LISTED_KNOB", cpu, nic, steering, sysctl), key=lambda knob: knob.order)
KNOBS: dict[str, ListedKnob] = {knob.name: knob for knob in _KNOBS}
"""from the ground up"""
