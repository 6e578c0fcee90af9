# SPDX-License-Identifier: Apache-2.0
"""Everything that can be set on a host, and put back: the knobs, and networks."""

from __future__ import annotations

from linewatt.network.registry import KNOBS as NETWORK
from linewatt.tuning.base import Knob
from linewatt.tuning.registry import KNOBS as TUNING

KNOBS: dict[str, Knob] = {**TUNING, **NETWORK}
