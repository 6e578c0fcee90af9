# SPDX-License-Identifier: Apache-2.0
"""Making the guests of a lab: what each is handed, its start, and waiting until its sshd answers."""

from __future__ import annotations

import os
import re
import socket
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from linewatt.errors import LabError
from linewatt.features.lab import processes
from linewatt.features.lab.guests import meter, recipe
from linewatt.features.lab.guests.kernel_image import unpack
from linewatt.features.lab.guests.recipe import Wire
from linewatt.features.lab.guests.spec import Guest
from linewatt.features.lab.guests.tools import GuestTools, unpacked_modules
from linewatt.features.lab.layout import SSH_PORT, HostLayout, Layout
from linewatt.features.lab.recipe import log_file, process_file, shape_batch
from linewatt.features.lab.system import log_words, search_path

_UP_LIMIT_S = 420.0
"""without KVM a guest boots in 16 s on a quiet machine, and in minutes on one whose CPUs are all busy"""
_ASK_AGAIN_S = 0.5
_ANSWER_LIMIT_S = 10.0
_BANNER = b"SSH-"
_LOG_BYTES = 2000
_STUCK = re.compile(r"soft lockup - CPU#(\d+) stuck for (\d+)s")
"""Linux, kernel/watchdog.c"""
_STUCK_LIMIT_S = 120
"""a CPU that is emulated on a busy machine may stand still for half a minute and go on"""


def wires_of(layout: Layout, host: HostLayout, guest: Guest) -> tuple[Wire, ...]:
    """The management interface of a guest and those of its data."""
    management = Wire("tap-m", "mgmt0", recipe.mac(layout.index, host.number, 0), (f"{host.address}/24",))
    data = (
        Wire(
            f"tap{at}",
            port.interface,
            recipe.mac(layout.index, host.number, at + 1),
            (f"{port.ipv4}/{port.ipv4_prefix}", f"{port.ipv6}/64"),
            nic.queues or 1,
        )
        for at, (nic, port) in enumerate(zip(guest.nics, host.ports, strict=True))
    )
    return (management, *data)


def handed_directory(host: HostLayout, directory: Path) -> Path:
    """What a guest may read: its own key, its sshd's configuration, and its script."""
    return directory / "guests" / host.name


def write_files(layout: Layout, directory: Path, sshd: str, tools: GuestTools, *, bmc: bool) -> None:
    """What each guest is handed, beside its key and configuration, which are there; and how it is started."""
    table = None if tools.iasl is None else str(meter.write_table(directory / "guests", tools.iasl))
    unpacked = {} if tools.kvm else _unpacked(tools.kernels, directory / "guests")
    for host, kernel in zip(layout.hosts, tools.kernels, strict=True):
        if host.guest is None:
            raise LabError(f"lab {layout.name}: {host.name} is not a guest")
        wires = wires_of(layout, host, host.guest)
        handed = handed_directory(host, directory)
        (handed / "guest.sh").write_text(recipe.guest_script(host.guest, wires, layout.mtu, sshd, host.name))
        scratch = directory / "guests" / f"{host.name}.scratch"
        scratch.mkdir()
        boot = recipe.Boot(
            tools.virtme_run,
            tools.busybox,
            str(kernel),
            tools.kvm,
            bmc,
            modules=unpacked_modules(kernel),
            table=table if host.guest.acpi_meter else None,
            unpacked=unpacked.get(kernel),
            in_turn=not tools.kvm and (bool(host.shares_cpus_with) or host.guest.cpus > len(host.cpus)),
        )
        argv = recipe.command(host.guest, host.name, wires, handed, boot)
        # What it leaves where programs leave things goes with the lab.
        variables = {"PATH": search_path(), "LC_ALL": "C", "HOME": str(scratch), "TMPDIR": str(scratch)}
        start_file(host, directory).write_text(recipe.start_script(argv, variables))


def _unpacked(kernels: Sequence[Path], directory: Path) -> dict[Path, str]:
    """Image → its unpacked kernel, where it can be unpacked."""
    paths = {image: directory / f"vmlinux-{number}" for number, image in enumerate(dict.fromkeys(kernels), 1)}
    return {image: str(path) for image, path in paths.items() if unpack(image, path)}


def start_file(host: HostLayout, directory: Path) -> Path:
    return directory / "guests" / f"{host.name}.sh"


def start_arguments(layout: Layout, host: HostLayout, guest: Guest, directory: Path) -> list[str]:
    """Arguments of :data:`recipe.START_GUEST`."""
    wires = wires_of(layout, host, guest)
    return [
        recipe.network_batch(wires, host.bmc_address, layout.mtu),
        shape_batch(layout.rate_bps, [port.interface for port in host.ports]),
        str(process_file(host, directory)),
        str(log_file(host, directory)),
        str(start_file(host, directory)),
    ]


def wait_for_guests(
    hosts: Sequence[HostLayout], directory: Path, process_of: dict[str, int], what: str
) -> None:
    """Wait until the sshd of every guest answers. Raises LabError naming a guest, with the end of its log."""
    deadline = time.monotonic() + _UP_LIMIT_S
    waiting = list(hosts)
    while waiting:
        answers = answering([host.address for host in waiting])
        waiting = [host for host, its in zip(waiting, answers, strict=True) if not its]
        for host in waiting:
            if not processes.is_inside(process_of[host.name], host.namespace):
                log = log_words(log_file(host, directory))
                raise LabError(f"{what}: guest {host.name} has ended; {log}")
            if stuck := stuck_cpu(host, directory):
                raise LabError(f"{what}: guest {host.name} does not answer: {stuck}")
        if waiting and time.monotonic() > deadline:
            host = waiting[0]
            where = f"{host.address}:{SSH_PORT} (limit {_UP_LIMIT_S:.0f} s)"
            log = log_words(log_file(host, directory))
            raise LabError(f"{what}: sshd of guest {host.name} does not answer on {where}; {log}")
        if waiting:
            time.sleep(_ASK_AGAIN_S)


def answering(addresses: Sequence[str], limit_s: float = _ANSWER_LIMIT_S) -> list[bool]:
    """Whether an sshd sends its banner at each address: a hanging guest still accepts connections."""
    with ThreadPoolExecutor(max_workers=len(addresses) or 1) as pool:
        return list(pool.map(lambda address: _has_ssh_banner(address, limit_s), addresses))


def _has_ssh_banner(address: str, limit_s: float) -> bool:
    try:
        with socket.create_connection((address, SSH_PORT), timeout=limit_s) as connection:
            return connection.recv(len(_BANNER)) == _BANNER
    except OSError:
        return False


def stuck_cpu(host: HostLayout, directory: Path) -> str | None:
    """A message if the kernel log of a guest reports a CPU that is stuck for minutes; else None.

    It happens where CPUs are emulated, seldom; one that was watched for 520 s did not go on.
    """
    reports = _STUCK.findall(_end_of(log_file(host, directory)))
    if not reports or int(reports[-1][1]) < _STUCK_LIMIT_S:
        return None
    cpu, stuck_s = reports[-1]
    return (
        f"its kernel says that CPU {cpu} has stood still for {stuck_s} s, as happens where CPUs are emulated"
    )


def _end_of(log: Path) -> str:
    if not log.exists():
        return ""
    with log.open("rb") as file:
        file.seek(max(0, log.stat().st_size - _LOG_BYTES), os.SEEK_SET)
        return file.read().decode(errors="replace")
