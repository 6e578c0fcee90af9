# SPDX-License-Identifier: Apache-2.0
"""The ground that truths are planted in: a lab, what is changed on its hosts, and what runs there meanwhile.

Every change is a context: it is taken back and every process ended, by its id, whatever a test did. What runs
has a limit of its own as well, so that it ends with a killed test, too.
"""

from __future__ import annotations

import ctypes
import json
import os
import socket
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import Any

import pytest
from ruamel.yaml import YAML
from tests import cpu_weights

from linewatt.features.lab.api import HostLayout, Lab
from linewatt.features.lab.recipe import shape_batch

HERE = Path(__file__).parent
RATE_BPS = 10_000_000_000
LIMIT_S = 120.0
"""A helper ends after this, whoever started it."""
END_LIMIT_S = 10.0
QUIET_LIMIT_S = 60.0
QUIET_CORES = 0.2
PIDFD_GETFD = 438
"""the same number on every architecture but Alpha (asm-generic/unistd.h)"""
Data = Mapping[str, object]


class Ground:
    """Two hosts of a lab with their switch."""

    def __init__(self, lab: Lab) -> None:
        self.lab = lab
        self.h1, self.h2 = lab.hosts
        self.switch = lab.namespaces[0]
        one, other = self.h2.cpus[0], self.h2.cpus[-1]
        self.borrows = one == other
        """whether the receiver has one CPU only, so that a second one is the sender's"""
        self.app_cpu, self.irq_cpu = (self.h1.cpus[0] if self.borrows else one), other

    def inventory(self, path: Path, changes: Mapping[str, Data]) -> Path:
        """The lab's inventory with some variables of its hosts replaced."""
        document: dict[str, Any] = YAML(typ="safe").load(self.lab.inventory)
        for host, values in changes.items():
            own = document["all"]["hosts"][host]
            own.update({f"linewatt_{key}": value for key, value in values.items()})
        path.write_text(json.dumps(document))
        return path

    def apart(self, irq_cpus: str | None = None) -> dict[str, Data]:
        """Inventory changes that give the receiver an app CPU and an IRQ CPU, and say whose CPUs they are."""
        own = {"app_cpus": f"{self.app_cpu}", "irq_cpus": irq_cpus or f"{self.irq_cpu}"}
        if not self.borrows:
            return {"h2": own}
        cpus = f"{min(self.app_cpu, self.irq_cpu)},{max(self.app_cpu, self.irq_cpu)}"
        shares = {"shares_cpus_with": ["h2"]}, {"shares_cpus_with": ["h1"]}
        return {"h1": shares[0], "h2": {**own, "cpus": cpus, **shares[1]}}


def run(namespace: str, *argv: str) -> str:
    """A command on a host to its end; what it wrote."""
    words = ["ip", "netns", "exec", namespace, *argv]
    done = subprocess.run(words, capture_output=True, text=True, check=False, timeout=END_LIMIT_S)
    assert done.returncode == 0, f"{' '.join(words)}: {done.stderr}"
    return done.stdout.strip()


@contextmanager
def helper(
    namespace: str, script: str, *words: str, cpu: int | None = None
) -> Iterator[subprocess.Popen[str]]:
    """One of this folder's scripts on a host, from when it says that it is ready until the end."""
    pin = [] if cpu is None else ["taskset", "-c", str(cpu)]
    argv = [*pin, sys.executable, str(HERE / f"{script}.py"), str(LIMIT_S), *words]
    process = subprocess.Popen(
        ["ip", "netns", "exec", namespace, *argv],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    try:
        assert process.stdout is not None
        assert process.stdout.readline().strip() == "ready", f"{script} on {namespace} did not start"
        yield process
    finally:
        process.kill()  # taskset and ip become what they start
        process.communicate(timeout=END_LIMIT_S)


@contextmanager
def sysctl(host: HostLayout, name: str, value: str) -> Iterator[None]:
    """A kernel parameter of a host's network, while this lasts."""
    before = run(host.namespace, "sysctl", "-n", name)
    run(host.namespace, "sysctl", "-qw", f"{name}={value}")
    try:
        yield
    finally:
        run(host.namespace, "sysctl", "-qw", f"{name}={before}")


def _quota_group() -> Path | None:
    """The control group of :func:`cpu_quota`, where there is one."""
    name = f"linewatt-quota-{os.getpid()}"
    groups = (cpu_weights.V1 / name, cpu_weights.V2 / name)
    return next((group for group in groups if group.exists()), None)


@contextmanager
def cpu_quota(host: HostLayout, cores: float) -> Iterator[None]:
    """A control group that may use so much CPU, and its tree where the host's logins look, while this lasts.

    A host of a lab has a /sys of its own, in which no control groups are mounted, as they are on real hosts.
    """
    name, period_us = f"linewatt-quota-{os.getpid()}", 100_000
    roots = (cpu_weights.V1, cpu_weights.V2)
    groups = (cpu_weights.make_group(root / name, cpu_weights.TESTS) for root in roots)
    group = next((made for made in groups if made is not None), None)
    if group is None:
        pytest.skip("needs control groups with the controller cpu that can be written below /sys/fs/cgroup")
    quota_us = round(cores * period_us)
    inside = ["nsenter", "--mount", "--target", str(_sshd(host))]
    controllers = group.parent.resolve().name
    is_v2 = (group / "cpu.max").exists()
    kind = ["cgroup2"] if is_v2 else ["cgroup", "-o", controllers]
    with ExitStack() as back:
        back.callback(cpu_weights.remove_group, group)
        if is_v2:
            (group / "cpu.max").write_text(f"{quota_us} {period_us}")
        else:
            (group / "cpu.cfs_quota_us").write_text(str(quota_us))
        subprocess.run([*inside, "mount", "-t", *kind, "none", "/sys/fs/cgroup"], check=True)
        back.callback(subprocess.run, [*inside, "umount", "/sys/fs/cgroup"], check=True)
        yield


def _sshd(host: HostLayout) -> int:
    """The process that listens for the host's logins, as this machine numbers it."""
    listening = run(host.namespace, "ss", "-Hltnp", "( sport = :22 )")
    return int(listening.partition("pid=")[2].partition(",")[0])


def _process_name(pid: str) -> str | None:
    """``None``: it has ended."""
    with suppress(OSError):
        return Path(f"/proc/{pid}/comm").read_text().strip()
    return None


def add_to_group(host: HostLayout, name: str) -> None:
    """Move the processes of this name on a host into the group of :func:`cpu_quota`."""
    group = _quota_group()
    assert group is not None
    for pid in _pids(host, name):
        (group / "cgroup.procs").write_text(pid)


def _pids(host: HostLayout, name: str) -> list[str]:
    pids = run(host.namespace, "ip", "netns", "pids", host.namespace).split()
    named = [pid for pid in pids if _process_name(pid) == name]
    assert named, f"no process {name} runs on {host.namespace}"
    return named


def shrink_receive_buffers(host: HostLayout, name: str, size_bytes: int) -> None:
    """Give the UDP sockets of the processes of this name on a host a smaller receive buffer from now on.

    Another process's socket is reached by a copy of its descriptor (pidfd_getfd(2), Linux 5.6).
    """
    system, shrunk = ctypes.CDLL(None, use_errno=True), 0
    for pid in _pids(host, name):
        with ExitStack() as back:
            process = os.pidfd_open(int(pid))
            back.callback(os.close, process)
            for link in Path(f"/proc/{pid}/fd").iterdir():
                if not str(link.readlink()).startswith("socket:"):
                    continue
                copy = system.syscall(PIDFD_GETFD, process, int(link.name), 0)
                assert copy >= 0, os.strerror(ctypes.get_errno())
                with socket.socket(fileno=copy) as one:
                    if one.type == socket.SOCK_DGRAM:
                        one.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, size_bytes)
                        shrunk += 1
    assert shrunk, f"no process {name} on {host.namespace} has a UDP socket"


@contextmanager
def shaped(host: HostLayout, *words: str) -> Iterator[None]:
    """A token bucket of other settings where a host sends, while this lasts."""
    shape(host, *words)
    try:
        yield
    finally:
        run(host.namespace, "tc", *shape_batch(RATE_BPS).replace(" add ", " replace ").split())


def shape(host: HostLayout, *words: str) -> None:
    """Change it from now on; for use within :func:`shaped`."""
    run(host.namespace, "tc", "qdisc", "replace", "dev", "data0", "root", "tbf", *words)


def shaper(rate: str, burst: int = 250_000, limit: int = 1_500_000) -> tuple[str, ...]:
    """Words of a token bucket."""
    return "rate", rate, "burst", str(burst), "limit", str(limit)


@contextmanager
def delayed(ground: Ground, delay_s: float) -> Iterator[None]:
    """What arrives at the second host waits there, as where interrupts are moderated: a real round trip.

    A virtual link has interrupts to put off only where the receiver merges packets (GRO) that come one by
    one, so segmentation is switched off at the port that sends to it.
    """
    queue = "/sys/class/net/data0"
    waits = {"gro_flush_timeout": round(delay_s * 1e9), "napi_defer_hard_irqs": 100}
    with ExitStack() as back:
        for namespace, link, feature, value in (
            (ground.switch, ground.h2.switch_port, "tso", "off"),
            (ground.switch, ground.h2.switch_port, "gso", "off"),
            (ground.h2.namespace, "data0", "gro", "on"),
        ):
            before = "off" if value == "on" else "on"
            back.callback(run, namespace, "ethtool", "-K", link, feature, before)
            run(namespace, "ethtool", "-K", link, feature, value)
        for name, number in waits.items():
            back.callback(run, ground.h2.namespace, "sh", "-c", f"echo 0 > {queue}/{name}")
            run(ground.h2.namespace, "sh", "-c", f"echo {number} > {queue}/{name}")
        yield


def until_quiet() -> None:
    """Until the CPUs are idle for a second: on a busy machine no truth can be told."""
    end_s = time.monotonic() + QUIET_LIMIT_S
    while True:
        before = _busy_ticks()
        time.sleep(1.0)  # what is measured: the use of a second
        busy = (_busy_ticks() - before) / os.sysconf("SC_CLK_TCK")
        if busy < QUIET_CORES:
            return
        assert time.monotonic() < end_s, (
            f"waited {QUIET_LIMIT_S:g} s for a quiet machine: {busy:.2f} cores are busy without load (top)"
        )


def _busy_ticks() -> int:
    """All CPUs together; proc(5): user, nice, system, idle, iowait, irq, softirq, …"""
    user, nice, system, _, _, irq, softirq = map(int, Path("/proc/stat").read_text().split()[1:8])
    return user + nice + system + irq + softirq


def moved_bytes(host: HostLayout) -> int:
    """What a host's data interface has received so far."""
    (link,) = json.loads(run(host.namespace, "ip", "-j", "-s", "link", "show", "dev", "data0"))
    received: int = link["stats64"]["rx"]["bytes"]
    return received
