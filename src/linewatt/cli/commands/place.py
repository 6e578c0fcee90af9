# SPDX-License-Identifier: Apache-2.0
"""``linewatt place``: which CPUs a load should use on a machine, from its topology. Touches no host."""

from __future__ import annotations

import typer


def place_command(  # noqa: PLR0913  a question has this many sides
    topology: str = typer.Argument(
        ..., metavar="FILE", help="What lstopo --of xml wrote on the machine; - reads stdin."
    ),
    processes: int = typer.Option(
        ..., "--processes", metavar="N", help="How many load processes run at once."
    ),
    nic: str | None = typer.Option(
        None, "--nic", metavar="NAME", help="The network device that carries the load."
    ),
    numa_node: int | None = typer.Option(
        None, "--numa-node", metavar="N", help="Its NUMA node in place of its name, as for a virtual device."
    ),
    policy: str = typer.Option("auto", "--policy", metavar="WHAT", help="auto, none, neighbour or remote."),
    smt: bool = typer.Option(False, "--smt", help="Use every hardware thread, not one a core."),
    process_cpus: str | None = typer.Option(
        None, "--process-cpus", metavar="LIST", help="Processes on these."
    ),
    irq_cpus: str | None = typer.Option(None, "--irq-cpus", metavar="LIST", help="Interrupts on these."),
    cpus: str | None = typer.Option(None, "--cpus", metavar="LIST", help="Choose from these CPUs only."),
    isolated: str | None = typer.Option(
        None, "--isolated", metavar="LIST", help="CPUs kept free by isolcpus; the file does not say it."
    ),
    as_json: bool = typer.Option(False, "--json", help="One JSON document on stdout."),
) -> None:
    """Say on which CPUs load and interrupts should run, and why.

    Everything that a process needs should be close to the network device. docs/placement.md has the rules.
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
        as_json=as_json,
    )
