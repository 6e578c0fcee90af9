# SPDX-License-Identifier: Apache-2.0
"""Descriptors in the receive and transmit rings of an interface, through ``ethtool -g`` and ``-G``.

Drivers round what is asked for to what they can have (a power of two, a multiple of 32): a value that does
not read back as asked is an error that shows what it became. Formats checked from ethtool 4.8 to 6.7.
"""

from __future__ import annotations

from collections.abc import Mapping

from linewatt.tuning.nic.ethtool_table import TableKnob


class Rings(TableKnob):
    """Descriptors a queue; the canonical text is ``rx=1024/8192 tx=1024/8192``."""

    name = "rings"
    about = "descriptors in the rings of each queue"
    values = "`rx=1024 tx=1024`, also `rx-mini`, `rx-jumbo`; up to the pre-set maximum"
    order = 90
    letter, thing, lowest, example = "g", "ring", 1, "rx=1024 tx=1024"
    options: Mapping[str, str] = {"RX": "rx", "RX Mini": "rx-mini", "RX Jumbo": "rx-jumbo", "TX": "tx"}


LISTED_KNOB = Rings()
