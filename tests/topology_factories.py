# SPDX-License-Identifier: Apache-2.0
"""Synthetic machines as facts have them, and results in which load ran on chosen CPUs of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from tests.report_factories import host, result, shares, trial

from linewatt.hosts.facts.cpulist import format_cpulist
from linewatt.model import Case, EndResult, InstanceResult, Trial
from linewatt.store.read import Result

NIC = "enp1s0f0np0"


def machine(
    *,
    packages: int = 1,
    nodes: int = 1,
    caches: int = 1,
    cores: int = 4,
    threads: int = 1,
    numa_node: int | None = 0,
    **cpus: Any,
) -> dict[str, Any]:
    """Facts of a machine: ``nodes`` of a package, ``caches`` of a node, ``cores`` of a cache.

    CPUs are numbered as Linux does: all first threads, then all second ones.
    """
    every = packages * nodes * caches * cores
    groups = [[core + every * thread for thread in range(threads)] for core in range(every)]

    def together(count: int) -> list[str]:
        size = every // count
        return [
            format_cpulist(cpu for core in groups[at * size : (at + 1) * size] for cpu in core)
            for at in range(count)
        ]

    known = {
        "online": list(range(every * threads)),
        "isolated": [],
        "allowed": list(range(every * threads)),
        "of_node": {f"node{at}": cpus for at, cpus in enumerate(together(packages * nodes))},
        "cores": [format_cpulist(core) for core in groups],
        "packages": together(packages),
        "caches": together(packages * nodes * caches),
    }
    nic = {"model": "ConnectX-6 Dx", "bus": "0000:41:00.0", "numa_node": numa_node, "driver": "mlx5_core"}
    return {"cpus": known | cpus, "nic": nic}


def placed_trial(
    number: int,
    case: Case,
    receiver: Sequence[int | None],
    irq: Sequence[int] = (),
    *,
    sender: Sequence[int | None] = (),
    ran_on: Mapping[int, str] | None = None,
) -> Trial:
    """A trial with its receiver's processes and interrupts on these CPUs; the sender's on the same or others.

    ``ran_on``: instance → where its receiver was seen, where that is not on its own CPU.
    """
    put = [None if cpu is None else str(cpu) for cpu in receiver]
    sent = [None if cpu is None else str(cpu) for cpu in sender] or put
    instances = tuple(
        InstanceResult(
            at,
            5201 + at,
            sent[at],
            put[at],
            0.0,
            0.0,
            1e9,
            1e9,
            sender_ran_on=sent[at],
            receiver_ran_on=(ran_on or {}).get(at, put[at]),
        )
        for at in range(len(put))
    )
    base = trial(number, replace(case, instances=len(put)), 1e9 * len(put), 1.0)
    assert base.receiver is not None
    assert base.sender is not None
    return replace(
        base, instances=instances, receiver=_served(base.receiver, irq), sender=_served(base.sender, irq)
    )


def _served(end: EndResult, irq: Sequence[int]) -> EndResult:
    if irq:
        return replace(end, irq_cpu=shares(0.5, cpus=tuple(irq)))
    return replace(end, irq_cpu=None, reasons={"irq_cpu": "no IRQ CPUs named"})


def placed_result(facts: Any, trials: Sequence[Trial], *, name: str = "h2", **manifest: Any) -> Result:
    """A result whose host ``name`` is the machine of ``facts``; the other has no topology on record."""
    hosts = {"h1": host("h1"), name: host(name, facts=facts)}
    return result(trials, hosts=hosts, **({"campaign": {"placement": "auto"}} | manifest))
