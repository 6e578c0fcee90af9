# SPDX-License-Identifier: Apache-2.0
"""Every load there is, by name. A new one is one package and one line here."""

from __future__ import annotations

from linewatt.loads.base import Load
from linewatt.loads.iperf3.load import Iperf3

LOADS: dict[str, Load] = {load.name: load for load in (Iperf3(),)}
