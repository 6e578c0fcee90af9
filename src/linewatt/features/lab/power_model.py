# SPDX-License-Identifier: Apache-2.0
"""Simulated watts, fans and heat of a lab host, from the utilisation of its CPUs (pure).

The server is invented: one socket, two fans, two 800 W power supplies that share the load. Its numbers are
such as a machine of that kind could have: 72 W (idle) to 228 W out of the supplies and 91 W to 249 W into
them. They follow the host's CPUs and nothing else, and are called simulated wherever they are shown.
docs/lab.md has them in a table.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, fields

CPU_IDLE_W = 24.0
CPU_MAX_W = 150.0
MEMORY_IDLE_W = 12.0
MEMORY_MAX_W = 24.0
FANS_MAX_W = 20.0
REST_W = 33.5
"""Board, NIC, disk: they draw the same whatever the host does."""

AIR_C = 25.0
CPU_C_PER_W = 0.35

FAN_IDLE_RPM = 4000.0
FAN_MAX_RPM = 8000.0

PSUS = 2
PSU_LOSS_W = 9.0
PSU_LOSS_PER_W = 0.008
PSU_LOSS_PER_W2 = 8e-5


@dataclass(frozen=True, slots=True)
class ServerPower:
    """What a server draws at one moment. ``psu_in_w`` and ``psu_out_w`` are those of one of its supplies."""

    cpu_w: float
    memory_w: float
    fan_rpm: float
    fans_w: float
    psu_out_w: float
    psu_in_w: float
    cpu_c: float


def server_power(utilisation: float, least_rpm: float = 0.0) -> ServerPower:
    """Power of a server whose CPUs are busy by this ratio; what is beyond 0 to 1 counts as 0 or 1.

    Its fans turn at ``least_rpm`` or faster.
    """
    busy = min(max(utilisation, 0.0), 1.0)
    heat = rise(busy)
    cpu_w = CPU_IDLE_W + (CPU_MAX_W - CPU_IDLE_W) * heat
    memory_w = MEMORY_IDLE_W + (MEMORY_MAX_W - MEMORY_IDLE_W) * busy
    fan_rpm = max(FAN_IDLE_RPM + (FAN_MAX_RPM - FAN_IDLE_RPM) * heat, least_rpm)
    # A fan's power goes with the cube of its speed (fan affinity laws).
    fans_w = FANS_MAX_W * (fan_rpm / FAN_MAX_RPM) ** 3
    out_w = (cpu_w + memory_w + fans_w + REST_W) / PSUS
    cpu_c = AIR_C + CPU_C_PER_W * cpu_w
    return ServerPower(cpu_w, memory_w, fan_rpm, fans_w, out_w, psu_input_w(out_w), cpu_c)


def rise(busy: float) -> float:
    """How far a CPU's power is between idle and its most, 0 to 1: most of the way at little use already.

    Source: Fan, Weber and Barroso, "Power provisioning for a warehouse-sized computer", ISCA 2007:
    2u − u^1.4 came closest to what their servers drew.
    """
    return 2 * busy - math.pow(busy, 1.4)


def psu_input_w(out_w: float) -> float:
    """What one supply takes in to give ``out_w``.

    Its loss has a part that is always there, which is why efficiency falls off below a fifth of the rating.
    """
    return out_w + PSU_LOSS_W + PSU_LOSS_PER_W * out_w + PSU_LOSS_PER_W2 * out_w**2


def mean_power(powers: Sequence[ServerPower]) -> ServerPower:
    """The mean of several moments, as an averaging BMC shows it."""
    return ServerPower(
        *(
            math.fsum(getattr(power, field.name) for power in powers) / len(powers)
            for field in fields(ServerPower)
        )
    )
