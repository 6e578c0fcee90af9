# SPDX-License-Identifier: Apache-2.0
"""Every knob there is, by name. A new one is one file and one line here."""

from __future__ import annotations

from linewatt.tuning.base import ListedKnob
from linewatt.tuning.c_states import CStates
from linewatt.tuning.channels import Channels
from linewatt.tuning.coalescing import Coalescing
from linewatt.tuning.epp import Epp
from linewatt.tuning.governor import Governor
from linewatt.tuning.irq_affinity import IrqAffinity
from linewatt.tuning.irqbalance import Irqbalance
from linewatt.tuning.mtu import Mtu
from linewatt.tuning.ntuple import Ntuple
from linewatt.tuning.offload import Offload
from linewatt.tuning.pause import Pause
from linewatt.tuning.rfs import Rfs
from linewatt.tuning.rings import Rings
from linewatt.tuning.rps_cpus import RpsCpus
from linewatt.tuning.sysctl import Sysctl
from linewatt.tuning.tuned import Tuned
from linewatt.tuning.turbo import Turbo
from linewatt.tuning.xps_cpus import XpsCpus

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
