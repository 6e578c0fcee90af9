# SPDX-License-Identifier: Apache-2.0
"""``linewatt lab``: a lab of network namespaces, or of virtual machines, on this machine."""

from __future__ import annotations

from dataclasses import asdict
from itertools import zip_longest
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from linewatt.cli import Command, Group, print_json, put, say
from linewatt.errors import InvalidInput
from linewatt.features.lab.commands.kernels import kernels
from linewatt.features.lab.commands.next_step import DEFAULT_NAME, next_step_lines

if TYPE_CHECKING:
    from linewatt.features.lab.api import Guest, HostLayout, Lab, LabStatus

SCHEMA_VERSION = 1

_NAME = typer.Option(
    DEFAULT_NAME, "--name", metavar="NAME", help="Name of the lab: a-z, 0-9 and -, at most 20."
)
_JSON = typer.Option(False, "--json", help="Print one JSON document.")

lab_app = typer.Typer(
    cls=Group,
    help="Bring up hosts as namespaces or virtual machines.",
    no_args_is_help=True,
)


class _Up(Command):
    """``--vm`` may stand alone: then it is two guests, as it is two hosts without it."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        words: list[str] = []
        for word, behind in zip_longest(args, args[1:], fillvalue="-"):
            words += [word, "2"] if word == "--vm" and behind.startswith("-") else [word]
        return super().parse_args(ctx, words)


_HOSTS = typer.Option(2, "--hosts", metavar="N", help="How many hosts, 1 to 250.")
_RATE = typer.Option(
    "10gbit",
    "--rate",
    metavar="RATE",
    help="Rate of each data link, like 10gbit, 10G or 100M; none: unshaped.",
)
_MTU = typer.Option(1500, "--mtu", metavar="BYTES", help="MTU of the data network, 1280 to 9216.")
_PORTS = typer.Option(1, "--ports", metavar="N", help="Data ports of each host, 1 to 4.")
_SHARED = typer.Option(
    "none",
    "--shared",
    metavar="RATE",
    help="Highest rate from the switch to a host, over all its ports; none: unlimited.",
)
_INVENTORY = typer.Option(None, "--inventory", metavar="FILE", help="Write the inventory here too.")
_BMC = typer.Option(True, "--bmc/--no-bmc", help="A simulated BMC for each host.")
_BMC_REFRESH = typer.Option(
    0.0,
    "--bmc-refresh",
    metavar="SECONDS",
    help="Time between updates of BMC readings; 0: continuous.",
)
_BMC_AVERAGE = typer.Option(
    0.0,
    "--bmc-average",
    metavar="SECONDS",
    help="Time over which BMCs average; 0: no averaging.",
)
_BMC_GAIN = typer.Option(
    0.0, "--bmc-gain", metavar="PERCENT", help="Gain error of BMC readings of power supplies."
)
_BMC_OFFSET = typer.Option(
    0.0, "--bmc-offset", metavar="WATTS", help="Offset error of BMC readings, per host."
)
_BMC_DELAY = typer.Option(0.0, "--bmc-delay", metavar="SECONDS", help="Delay of BMC readings.")
_PLUG = typer.Option(False, "--plug", help="A second meter per host, at the plug, without BMC errors.")
_VM = typer.Option(
    None,
    "--vm",
    metavar="N",
    help="Use N virtual machines as hosts, 1 to 16; without N: 2.",
)
_NIC = typer.Option(
    [],
    "--nic",
    metavar="MODEL",
    help="Data NIC of each guest; repeatable. vmxnet3 (default), e1000e, virtio-net-pci[,queues=N], each"
    " also with ,node=K; or e1000, rtl8139, pcnet and others.",
)
_KERNEL = typer.Option(
    [],
    "--kernel",
    metavar="FILE",
    help="Kernel image of guests; several are used in turn; default: newest in /boot.",
)
_CPUS = typer.Option(2, "--cpus", metavar="N", help="CPUs of each guest.")
_THREADS = typer.Option(1, "--threads", metavar="N", help="Hardware threads per guest core, 1 or 2.")
_NODES = typer.Option(1, "--nodes", metavar="N", help="NUMA nodes of each guest, 1 to 4.")
_MEMORY = typer.Option(768, "--memory", metavar="MIB", help="Memory of each guest.")
_ACPI_METER = typer.Option(
    False, "--acpi-meter", help="ACPI power meter in each guest, with its BMC's values."
)


@lab_app.command("up", cls=_Up)
def up(  # noqa: PLR0913  one parameter an option
    name: str = _NAME,
    hosts: int = _HOSTS,
    rate: str = _RATE,
    mtu: int = _MTU,
    inventory: Path | None = _INVENTORY,
    bmc: bool = _BMC,
    bmc_refresh: float = _BMC_REFRESH,
    bmc_average: float = _BMC_AVERAGE,
    bmc_gain: float = _BMC_GAIN,
    bmc_offset: float = _BMC_OFFSET,
    bmc_delay: float = _BMC_DELAY,
    plug: bool = _PLUG,
    ports: int = _PORTS,
    shared: str = _SHARED,
    vm: int | None = _VM,
    nic: list[str] = _NIC,
    kernel: list[str] = _KERNEL,
    cpus: int = _CPUS,
    threads: int = _THREADS,
    nodes: int = _NODES,
    memory: int = _MEMORY,
    acpi_meter: bool = _ACPI_METER,
    as_json: bool = _JSON,
) -> None:
    """Build a lab and print the path of its inventory.

    Name it as hosts: in a campaign file. Also prints a first campaign file to copy. Needs root.
    """
    from linewatt.features.lab import api as lab

    template = lab.Guest(cpus=cpus, threads=threads, nodes=nodes, memory_mib=memory, acpi_meter=acpi_meter)
    guests = _guests(vm, hosts, nic, kernel, template)
    request = lab.LabRequest(
        name=name,
        hosts=vm or hosts,
        rate=rate,
        mtu=mtu,
        bmc=bmc,
        bmc_refresh_s=bmc_refresh,
        bmc_average_s=bmc_average,
        bmc_gain_ratio=bmc_gain / 100,
        bmc_offset_w=bmc_offset,
        bmc_delay_s=bmc_delay,
        plug=plug,
        ports=ports,
        shared=shared,
        guests=guests,
    )
    built = lab.up(request, inventory=inventory, tell=say)
    path = built.inventory if inventory is None else inventory
    if built.was_up:
        say(f"lab {name} was already up")
    _say_no_bmc(name, built.no_bmc)
    _say_sharing(built, [lab_name for lab_name in lab.names() if lab_name != name])
    if as_json:
        print_json(_document_of_lab(built, path))
    else:
        put(str(path))
        slow = vm is not None and not lab.has_kvm()
        for line in next_step_lines(name, [host.name for host in built.hosts], path, slow=slow):
            say(line)


def _guests(
    vm: int | None, hosts: int, nics: list[str], kernels: list[str], template: Guest
) -> tuple[Guest, ...]:
    """Guests for ``--vm`` and its options. Raises InvalidInput for such options without ``--vm``."""
    from linewatt.features.lab.guests.spec import Guest, same_guests

    if vm is not None:
        if hosts not in (2, vm):
            raise InvalidInput(f"--vm {vm} and --hosts {hosts}: all hosts are guests; give --vm alone")
        return same_guests(vm, nics, kernels, template)
    if nics or kernels or template != Guest():
        raise InvalidInput(
            "--nic, --kernel, --cpus, --threads, --nodes, --memory and --acpi-meter are of guests;"
            " give --vm N, too"
        )
    return ()


def _document_of_lab(built: Lab, inventory: Path) -> dict[str, Any]:
    return {
        "schema_version": SCHEMA_VERSION,
        "name": built.name,
        "index": built.index,
        "inventory": str(inventory),
        "already_up": built.was_up,
        "no_bmc": built.no_bmc,
        "hosts": [_document_of_host(host) for host in built.hosts],
    }


@lab_app.command("down", cls=Command)
def down(
    name: str = _NAME,
    all_labs: bool = typer.Option(False, "--all", help="All labs of this machine."),
    as_json: bool = _JSON,
) -> None:
    """Remove a lab: processes, namespaces, links and files.

    Also removes a half-built lab. Needs root.
    """
    from linewatt.features.lab import api as lab

    removed = lab.down_all() if all_labs else [name] if lab.down(name) else []
    if as_json:
        print_json({"schema_version": SCHEMA_VERSION, "removed": removed})
    elif removed:
        say(f"removed: {', '.join(removed)}")
    else:
        names = lab.names()
        say(
            ("no lab" if all_labs else f"there is no lab {name}")
            + (f"; there are: {', '.join(names)}" if names else "")
        )


@lab_app.command("status", cls=Command)
def status(
    name: str | None = typer.Option(None, "--name", metavar="NAME", help="Only this lab."),
    as_json: bool = _JSON,
) -> None:
    """List the labs of this machine and the state of their hosts.

    Checks the sshd and BMC of each host.
    """
    from linewatt.features.lab import api as lab
    from linewatt.features.lab.commands.status_table import print_table_of_labs

    labs = lab.status(name)
    for lab_status in labs:
        _say_no_bmc(lab_status.name, lab_status.no_bmc)
    if as_json:
        print_json({"schema_version": SCHEMA_VERSION, "labs": [_document_of_status(entry) for entry in labs]})
    elif not labs:
        say("no lab; build one with: linewatt lab up")
    else:
        print_table_of_labs(labs)


lab_app.command("kernels", cls=Command)(kernels)


def _say_sharing(built: Lab, other_labs: list[str]) -> None:
    sharing = [host for host in built.hosts if host.shares_cpus_with]
    if sharing:
        say(
            f"lab {built.name}: {len(sharing)} of {len(built.hosts)} hosts share physical CPU cores,"
            " so that their CPU figures are not apart; every result will say so"
        )
    if other_labs:
        say(
            f"also there: {', '.join(other_labs)};"
            " labs share this machine's CPUs, so measure in one at a time"
        )


def _say_no_bmc(name: str, reason: str | None) -> None:
    if reason is not None:
        say(f"lab {name} has no BMCs, so its hosts show no power: {reason}")


def _document_of_host(host: HostLayout) -> dict[str, Any]:
    return {
        "name": host.name,
        "namespace": host.namespace,
        "address": host.address,
        "data_ipv4": host.data_ipv4,
        "data_ipv6": host.data_ipv6,
        **({"data": [asdict(port) for port in host.ports]} if len(host.ports) > 1 else {}),
        **({} if host.guest is None else {"guest": asdict(host.guest)}),
        "cpus": list(host.cpus),
        "app_cpus": list(host.app_cpus),
        "irq_cpus": list(host.irq_cpus),
        "shares_cpus_with": list(host.shares_cpus_with),
    }


def _document_of_status(lab: LabStatus) -> dict[str, Any]:
    return {
        "name": lab.name,
        "state": lab.state,
        "index": lab.index,
        "inventory": None if lab.inventory is None else str(lab.inventory),
        "rate_bps": lab.rate_bps,
        "mtu_bytes": lab.mtu,
        "no_bmc": lab.no_bmc,
        "hosts": [
            {
                **_document_of_host(host.layout),
                "runs": host.runs,
                "sshd_answers": host.answers,
                "bmc": host.bmc,
            }
            for host in lab.hosts
        ],
    }
