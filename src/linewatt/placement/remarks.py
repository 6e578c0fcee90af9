# SPDX-License-Identifier: Apache-2.0
"""What a reader must know of a placement besides its CPUs: what shares, and what is not alike. Pure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence

from linewatt.hosts.cpulist import format_cpulist
from linewatt.placement.topology import Cpu, Topology


def remarks(topology: Topology, processes: Sequence[int], interrupts: Sequence[int]) -> tuple[str, ...]:
    """Sentences about a placement, worst first; none where every process has what the others have."""
    cpus = {cpu.id: cpu for cpu in topology.cpus}
    own, served = [cpus[cpu] for cpu in dict.fromkeys(processes)], [cpus[cpu] for cpu in interrupts]
    return (
        *_sharing(processes, interrupts),
        *_threads(own, served),
        *_unlike(own, topology.isolated),
    )


def _sharing(processes: Sequence[int], interrupts: Sequence[int]) -> Iterator[str]:
    both = set(processes) & set(interrupts)
    if both:
        shared = format_cpulist(both)
        yield f"processes and interrupts share CPU {shared}: the two roles cannot be told apart there"
    most = max(Counter(processes).values(), default=0)
    if most > 1:
        yield f"up to {most} processes share a CPU: {len(processes)} of them on {len(set(processes))} CPUs"


def _threads(own: Sequence[Cpu], served: Sequence[Cpu]) -> Iterator[str]:
    """Different CPUs that are the same core all the same."""
    cores = Counter(cpu.core for cpu in own)
    if any(count > 1 for count in cores.values()):
        yield f"{len(own)} CPUs with processes are threads of {len(cores)} cores"
    busy = {cpu.id for cpu in own}
    beside = [cpu.id for cpu in served if cpu.core in cores and cpu.id not in busy]
    if beside:
        yield f"interrupts on {format_cpulist(beside)} run on the other thread of a core that runs a process"


def _unlike(own: Sequence[Cpu], isolated: Sequence[int]) -> Iterator[str]:
    alone = [cpu.id for cpu in own if cpu.id in isolated]
    if alone and len(alone) < len(own):
        listed = format_cpulist(alone)
        yield f"{len(alone)} of {len(own)} CPUs with processes are isolated ({listed}), the others not"
    slow = [cpu.id for cpu in own if cpu.slower]
    if slow and len(slow) < len(own):
        yield f"{len(slow)} of {len(own)} CPUs with processes are slower cores ({format_cpulist(slow)})"
    elif slow:
        yield f"all processes run on slower cores ({format_cpulist(slow)})"
