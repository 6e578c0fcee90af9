# SPDX-License-Identifier: Apache-2.0
"""Making a lab: files, namespaces and networks, hosts with their sshd; then waiting until each listens."""

from __future__ import annotations

import os
import socket
import subprocess
import tempfile
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from pathlib import Path

from linewatt.errors import LabError
from linewatt.features.lab import bmc, processes, recipe
from linewatt.features.lab.guests import start as guests
from linewatt.features.lab.guests.recipe import GUEST_DIRECTORY, START_GUEST
from linewatt.features.lab.guests.tools import GuestTools
from linewatt.features.lab.keys import KeyPair, make_key, write_secret
from linewatt.features.lab.layout import SSH_PORT, HostLayout, Layout
from linewatt.features.lab.state import LabState
from linewatt.features.lab.system import Tools, log_words, names_present, run_batch, tool_environment

_START_LIMIT_S = 60.0
_ANSWER_LIMIT_S = 60.0  # 250 hosts on a busy machine; a host that has died is noticed at once
_REACH_LIMIT_S = 5.0
_RETRY_S = 0.002


def build(
    layout: Layout, directory: Path, tools: Tools, lock: int, guest_tools: GuestTools | None = None
) -> None:
    """Make everything in ``layout``; the tools hold ``lock`` while they run. Raises LabError.

    ``guest_tools``: where its hosts are guests.
    """
    what = f"lab {layout.name}"
    run_batch([tools.ip, "-batch", "-"], recipe.root_batch(layout), what=what, lock=lock)
    run_batch(
        [tools.ip, "netns", "exec", layout.switch_namespace, "sh", "-c", recipe.START_SWITCH],
        recipe.switch_batch(layout),
        what=what,
        lock=lock,
    )
    if layout.shared_bps is not None:
        run_batch(
            [tools.ip, "netns", "exec", layout.switch_namespace, "tc", "-batch", "-"],
            recipe.switch_shape_batch(layout),
            what=what,
            lock=lock,
        )
    emulated = guest_tools is not None and not guest_tools.kvm
    write_files(layout, directory, tools, emulated=emulated)
    if guest_tools is not None:
        guests.write_files(layout, directory, tools.sshd, guest_tools, bmc=tools.ipmi_sim is not None)
    start(layout, directory, tools, lock)
    wait_for_hosts(layout, directory)
    if tools.ipmi_sim is not None:
        bmc.wait_until_ready(layout, directory)


def write_files(layout: Layout, directory: Path, tools: Tools, *, emulated: bool = False) -> None:
    """Keys, sshd configurations, homes, what the BMCs need, and the inventory."""
    user = make_key()
    write_secret(directory / "id_ed25519", user.private)
    (directory / "authorized_keys").write_text(f"{user.public} linewatt-lab-{layout.name}\n")
    public_keys = {}
    for host in layout.hosts:
        key = make_key()
        public_keys[host.name] = key.public
        _write_sshd_files(host, directory, key, tools)
    (directory / "known_hosts").write_text(recipe.known_hosts(layout, public_keys))
    password_file = None if tools.ipmi_sim is None else bmc.write_files(layout, directory)
    (directory / "inventory.yaml").write_text(
        recipe.inventory(layout, directory, password_file, bmc.plugs(layout, directory), emulated=emulated)
    )


def _write_sshd_files(host: HostLayout, directory: Path, key: KeyPair, tools: Tools) -> None:
    """A host's key, its sshd's configuration and its home; a guest is handed them, and has them elsewhere."""
    theirs, seen = directory, directory
    if host.guest is not None:
        theirs, seen = guests.handed_directory(host, directory), GUEST_DIRECTORY
        theirs.mkdir(parents=True)
        (theirs / "authorized_keys").write_text((directory / "authorized_keys").read_text())
    write_secret(theirs / f"{host.name}.key", key.private)
    config = recipe.sshd_config(host, seen, source_penalties=tools.sshd_version >= (9, 8))
    (theirs / f"{host.name}.conf").write_text(config)
    (theirs / "home" / host.name).mkdir(parents=True)


def start(layout: Layout, directory: Path, tools: Tools, lock: int) -> None:
    """Run the start scripts of all hosts in parallel, and start the feeder of the BMCs."""
    with tempfile.TemporaryFile("w+") as complaints:
        started = {}
        if tools.ipmi_sim is not None:  # first: it takes longest to be ready
            started["the BMCs' feeder"] = bmc.start_feeder(
                layout, directory, tools, lock, complaints.fileno()
            )
        for host in layout.hosts:
            started[host.name] = _start_host(layout, host, directory, tools, lock, complaints.fileno())
        deadline = time.monotonic() + _START_LIMIT_S
        failed = [
            name for name, process in started.items() if process.wait(max(0.0, deadline - time.monotonic()))
        ]
        if failed:
            complaints.seek(0)
            output = " ".join(complaints.read().split())
            raise LabError(f"lab {layout.name}: {_format_names(failed)} did not start: {output}")


def _start_host(
    layout: Layout, host: HostLayout, directory: Path, tools: Tools, lock: int, output_fd: int
) -> subprocess.Popen[bytes]:
    script, arguments = _start_script(layout, host, directory, tools)
    if tools.ipmi_sim is not None:
        arguments += bmc.start_arguments(host, directory, tools.ipmi_sim)
    with _on_cpus(host.cpus):
        return subprocess.Popen(
            [
                tools.ip,
                "netns",
                "exec",
                host.namespace,
                "sh",
                "-c",
                script,
                "linewatt-lab",
                *arguments,
            ],
            stdin=lock,
            stdout=output_fd,
            stderr=output_fd,
            env=tool_environment(),
        )


def _start_script(layout: Layout, host: HostLayout, directory: Path, tools: Tools) -> tuple[str, list[str]]:
    """The script that starts a host in its namespace, and its arguments."""
    if host.guest is None:
        return recipe.START_HOST, recipe.start_arguments(layout, host, tools.sshd, directory)
    return START_GUEST, guests.start_arguments(layout, host, host.guest, directory)


@contextmanager
def _on_cpus(cpus: Sequence[int]) -> Iterator[None]:
    """What this thread starts inherits these CPUs: two system calls, where ``taskset`` is a program."""
    before = os.sched_getaffinity(0)
    os.sched_setaffinity(0, cpus)
    try:
        yield
    finally:
        os.sched_setaffinity(0, before)


def wait_for_hosts(layout: Layout, directory: Path) -> None:
    """Wait until the sshd of every host accepts connections. Raises LabError naming a host that does not."""
    if any(host.guest is not None for host in layout.hosts):
        its_process = {host.name: process_of(host, directory) for host in layout.hosts}
        guests.wait_for_guests(layout.hosts, directory, its_process, f"lab {layout.name}")
        return
    deadline = time.monotonic() + _ANSWER_LIMIT_S
    for host in layout.hosts:
        process = process_of(host, directory)
        while not processes.listens(process, SSH_PORT):
            if not processes.is_inside(process, host.namespace):
                log = log_words(recipe.log_file(host, directory))
                raise LabError(f"lab {layout.name}: {host.name}: sshd has ended; {log}")
            if time.monotonic() > deadline:
                where = f"{host.address}:{SSH_PORT} (limit {_ANSWER_LIMIT_S:.0f} s)"
                log = log_words(recipe.log_file(host, directory))
                raise LabError(f"lab {layout.name}: {host.name}: sshd does not listen on {where}; {log}")
            time.sleep(_RETRY_S)
    first = layout.hosts[0].address
    if not answers(first, limit_s=_REACH_LIMIT_S):
        raise LabError(
            f"lab {layout.name}: sshd listens on {first}:{SSH_PORT} but cannot be reached within"
            f" {_REACH_LIMIT_S:.0f} s; does a firewall of this machine drop 198.18.0.0/15?"
        )


def process_of(host: HostLayout, directory: Path) -> int:
    """The process that lives as long as the host's sshd; 0 where it never lived."""
    try:
        return int(recipe.process_file(host, directory).read_text().strip() or 0)
    except FileNotFoundError:  # it is being taken down
        return 0


def answering(addresses: Sequence[str]) -> list[bool]:
    """Whether the SSH port of each address accepts connections; asks all in parallel."""
    with ThreadPoolExecutor(max_workers=32) as pool:
        return list(pool.map(answers, addresses))


def answers(address: str, limit_s: float = 1.0) -> bool:
    """Whether the SSH port accepts a connection now."""
    try:
        socket.create_connection((address, SSH_PORT), timeout=limit_s).close()
    except OSError:
        return False
    return True


def _format_names(names: Sequence[str]) -> str:
    return ", ".join(names[:5]) + (f" and {len(names) - 5} more" if len(names) > 5 else "")


def take_down(state: LabState) -> None:
    """Remove everything that ``state`` lists, created or not. Raises LabError naming what remains."""
    processes.end_all(state.namespaces, what=_format_lab(state))
    present = names_present()
    lines = [f"netns del {namespace}" for namespace in state.namespaces if namespace in present]
    if any(link in present for link in state.links):
        # One transaction for all links: one by one, each waits for a grace period of the kernel.
        lines.append(f"link del group {state.link_group}")
    run_batch(["ip", "-force", "-batch", "-"], "\n".join(lines) + "\n", what=_format_lab(state), strict=False)
    for copy in state.copies:
        remove_copy(Path(copy), state.request.name)
    remaining = sorted(names_present() & {*state.namespaces, *state.links})
    if remaining:
        raise LabError(
            f"{_format_lab(state)}: still there: {', '.join(remaining)};"
            " see ip netns list and ip link, then try again"
        )


def remove_copy(path: Path, name: str) -> None:
    """Remove an inventory written for the lab ``name``, unless something else is there by now."""
    with suppress(FileNotFoundError):
        if is_inventory_of(path, name):
            path.unlink()


def is_inventory_of(path: Path, name: str) -> bool:
    """Whether ``path`` is an inventory that the lab ``name`` wrote."""
    with path.open(errors="replace") as file:
        return file.readline() == f"{recipe.INVENTORY_HEADER}{name}\n"


def _format_lab(state: LabState) -> str:
    return f"lab {state.request.name}"
