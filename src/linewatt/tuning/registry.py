# SPDX-License-Identifier: Apache-2.0
"""Every knob there is, by name. A new one is one file and one line here."""

from __future__ import annotations

from linewatt.tuning.base import ListedKnob
from linewatt.tuning.cpu.c_states import CStates
from linewatt.tuning.cpu.epp import Epp
from linewatt.tuning.cpu.governor import Governor
from linewatt.tuning.cpu.tuned import Tuned
from linewatt.tuning.cpu.turbo import Turbo
from linewatt.tuning.nic.channels import Channels
from linewatt.tuning.nic.coalescing import Coalescing
from linewatt.tuning.nic.mtu import Mtu
from linewatt.tuning.nic.ntuple import Ntuple
from linewatt.tuning.nic.offload import Offload
from linewatt.tuning.nic.pause import Pause
from linewatt.tuning.nic.rings import Rings
from linewatt.tuning.steering.irq_affinity import IrqAffinity
from linewatt.tuning.steering.irqbalance import Irqbalance
from linewatt.tuning.steering.rfs import Rfs
from linewatt.tuning.steering.rps_cpus import RpsCpus
from linewatt.tuning.steering.xps_cpus import XpsCpus
from linewatt.tuning.sysctl import Sysctl

# From the ground up: what comes later stands on what comes earlier. A profile sets much of the rest, the
# queues decide which steering there is, and a governor which preferences a CPU takes.
KNOBS: dict[str, ListedKnob] = {
    knob.name: knob
    for knob in (
        Tuned(), Irqbalance(), Governor(), Epp(), CStates(), Turbo(),
        Mtu(), Channels(), Rings(), Coalescing(), Offload(), Pause(),
        IrqAffinity(), RpsCpus(), XpsCpus(), Rfs(), Ntuple(), Sysctl(),
    )
}  # fmt: skip
