# SPDX-License-Identifier: Apache-2.0
"""Transmit packet steering: which CPUs send through which queue of an interface.

The CPUs of a list are dealt out over the transmit queues, so that each sends through one queue; with fewer
CPUs than queues they are dealt out again from the first. An interface with one queue has no such setting.
Source: kernel, Documentation/networking/scaling.rst.
"""

from __future__ import annotations

from collections.abc import Sequence

from linewatt.tuning.steering.queues import CpuMasks


class XpsCpus(CpuMasks):
    """CPU masks of all transmit queues; the canonical text is ``tx-0=1 tx-1=2`` (hexadecimal)."""

    name = "xps_cpus"
    about = "CPUs that send through each transmit queue (transmit packet steering)"
    targets = "interface with several transmit queues"
    values = "CPU list such as `0-3`, dealt out over the transmit queues; `off`"
    direction, file = "tx", "xps_cpus"
    order = 150

    def masks(self, cpus: Sequence[int], queues: int) -> list[int]:
        masks = [0] * queues
        for turn in range(max(len(cpus), queues) if cpus else 0):
            masks[turn % queues] |= 1 << cpus[turn % len(cpus)]
        return masks


LISTED_KNOB = XpsCpus()
