# SPDX-License-Identifier: Apache-2.0
"""Receive packet steering: which CPUs do the receive work of an interface.

On a veth, which has no interrupts, this is what stands for the IRQ CPU (docs/lab.md). A CPU list goes to
every receive queue. Source: kernel, Documentation/networking/scaling.rst.
"""

from __future__ import annotations

from collections.abc import Sequence

from linewatt.tuning.steering.queues import CpuMasks


class RpsCpus(CpuMasks):
    """CPU masks of all receive queues; the canonical text is ``rx-0=3 rx-1=3`` (hexadecimal)."""

    name = "rps_cpus"
    about = "CPUs that do the receive work of an interface (receive packet steering)"
    targets = "interface"
    values = "CPU list such as `0-3`, for every receive queue; `off`"
    direction, file = "rx", "rps_cpus"
    order = 140

    def masks(self, cpus: Sequence[int], queues: int) -> list[int]:
        return [sum(1 << cpu for cpu in cpus)] * queues


LISTED_KNOB = RpsCpus()
