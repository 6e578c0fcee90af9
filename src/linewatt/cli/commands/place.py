# SPDX-License-Identifier: Apache-2.0
"""``linewatt place``: which CPUs a load should use on a machine, from its topology. Touches no host."""

from __future__ import annotations

from pathlib import Path

import typer


def place_command(  # noqa: PLR0913  a question has this many sides
    topology: str = typer.Argument(
        ..., metavar="FILE", help="Output of lstopo --of xml on the machine; - reads stdin."
    ),
    processes: str = typer.Option(
        ..., "--processes", metavar="N", help="Number of parallel load processes, or several: 1,2,4."
    ),
    nic: str | None = typer.Option(
        None, "--nic", metavar="NAME", help="The network device that carries the load."
    ),
    numa_node: int | None = typer.Option(
        None, "--numa-node", metavar="N", help="NUMA node instead of --nic, e.g. for a virtual device."
    ),
    policy: str = typer.Option("auto", "--policy", metavar="WHAT", help="auto, none, neighbour or remote."),
    smt: bool = typer.Option(False, "--smt", help="Use all threads of a core, not only one."),
    process_cpus: str | None = typer.Option(
        None, "--process-cpus", metavar="LIST", help="CPUs for processes."
    ),
    irq_cpus: str | None = typer.Option(None, "--irq-cpus", metavar="LIST", help="CPUs for interrupts."),
    cpus: str | None = typer.Option(None, "--cpus", metavar="LIST", help="Choose from these CPUs only."),
    isolated: str | None = typer.Option(
        None, "--isolated", metavar="LIST", help="CPUs in isolcpus; lstopo does not record them."
    ),
    output: Path | None = typer.Option(
        None, "--output", "-o", metavar="FILE", help="Also write an offline HTML page with pictures."
    ),
    as_json: bool = typer.Option(False, "--json", help="Print one JSON document."),
) -> None:
    """Recommend CPUs for load and interrupts, with reasons.

    Load and interrupts should run close to the network device. docs/placement.md explains the rules.
    """
    from linewatt.cli.actions.place import print_placement

    print_placement(
        topology=topology,
        processes=processes,
        nic=nic,
        numa_node=numa_node,
        policy=policy,
        smt=smt,
        process_cpus=process_cpus,
        irq_cpus=irq_cpus,
        cpus=cpus,
        isolated=isolated,
        output=output,
        as_json=as_json,
    )
