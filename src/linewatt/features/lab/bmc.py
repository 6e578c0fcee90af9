# SPDX-License-Identifier: Apache-2.0
"""A lab's BMCs: their files, the process that feeds them, and whether each answers.

A host's BMC is an ``ipmi_sim`` in the host's network namespace, on its management address, that of a guest on
one of its own. It is no process
of the host, which cannot see it, and is not kept on the host's CPUs. The feeder lives in the switch's
namespace. So everything is ended with what else is in the namespaces (``build.take_down``).
"""

from __future__ import annotations

import os
import secrets
import socket
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Literal

import linewatt
from linewatt.errors import LabError
from linewatt.features.lab import bmc_recipe, processes
from linewatt.features.lab.keys import write_secret
from linewatt.features.lab.layout import HostLayout, Layout
from linewatt.features.lab.power_model import server_power
from linewatt.features.lab.system import Tools, log_words, tool_environment
from linewatt.hosts.facts import format_cpulist

BmcState = Literal["up", "silent", "down", "not fed"]
"""``not fed``: it answers, but its values no longer follow the host; ``silent``: it runs and does not answer
in time."""

PACKAGES = "openipmi (Debian, Ubuntu) or OpenIPMI-lanserv (Fedora, RHEL)"
NOT_INSTALLED = f"ipmi_sim was not found when it was built; install {PACKAGES} and build it again"
NOT_WANTED = "it was built with --no-bmc"

_PASSWORD_BYTES = 12  # 16 characters of base64, which every version of IPMI takes
_START_LIMIT_S = 20.0
_ANSWER_LIMIT_S = 1.0
_FED_LIMIT_S = 5.0
_ASK_AGAIN_S = 0.05
_NICENESS = "10"

# ASF 2.0, 3.2.4: presence ping, which is answered without a session.
_PING = bytes.fromhex("0600ff06 000011be 80000000")
_PONG = bytes.fromhex("0600ff06 000011be 40")

START_FEEDER = r"""
log=$1 niceness=$2
shift 2
# stdin was the lab's lock: from here on nobody who stays holds it.
exec setsid -f nice -n "$niceness" "$@" </dev/null >/dev/null 2>>"$log"
"""
"""Starts the feeder in a session of its own; its arguments are a log, a niceness and the command."""


def write_files(layout: Layout, directory: Path) -> Path:
    """The simulators' configuration, values of an idle host, and the password, whose file is returned.

    It is one for all BMCs of the lab, and root's alone.
    """
    place = _values(directory)
    place.mkdir(parents=True)
    password = secrets.token_urlsafe(_PASSWORD_BYTES)
    password_file = directory / "bmc.password"
    write_secret(password_file, f"{password}\n".encode())
    first = _first_on_same_cpus(layout)
    for name in set(first.values()):
        (place / name).write_text(bmc_recipe.values_line(server_power(0.0)))
    for host in layout.hosts:
        conf = bmc_recipe.lan_conf(
            f"{layout.name}-{host.name}", host.bmc_address, password, in_band=host.guest is not None
        )
        write_secret(_host_file(directory, host, "lan.conf"), conf.encode())
        _host_file(directory, host, "emu").write_text(bmc_recipe.commands(place / first[host.name]))
    return password_file


def start_arguments(host: HostLayout, directory: Path, ipmi_sim: str) -> list[str]:
    """The log and the command of a host's BMC, for the host's start script."""
    # Any CPU may run it, not only the host's: a BMC has a processor of its own.
    everywhere = format_cpulist(os.sched_getaffinity(0))
    files = [
        "-c",
        str(_host_file(directory, host, "lan.conf")),
        "-f",
        str(_host_file(directory, host, "emu")),
    ]
    # -p: what a caller sets is not kept, and no state directory is needed.
    return [
        str(_host_file(directory, host, "log")),
        *("taskset", "-c", everywhere, ipmi_sim, "-n", "-p", *files),
    ]


def start_feeder(
    layout: Layout, directory: Path, tools: Tools, lock: int, output_fd: int
) -> subprocess.Popen[bytes]:
    """Start the feeder of all BMCs; the returned process ends as soon as the feeder runs."""
    first = _first_on_same_cpus(layout)
    cpus = {host.name: host.cpus for host in layout.hosts if first[host.name] == host.name}
    # -S: it needs nothing but Python's own library and linewatt, which it finds where it is now.
    python = [sys.executable, "-S", "-P", "-m", "linewatt.features.lab.feeder"]
    return subprocess.Popen(
        [
            *(tools.ip, "netns", "exec", layout.switch_namespace, "sh", "-c", START_FEEDER, "linewatt-lab"),
            *(str(_log_of_feeder(directory)), _NICENESS, *python),
            *bmc_recipe.feeder_arguments(_values(directory), cpus, layout.meters),
        ],
        stdin=lock,
        stdout=output_fd,
        stderr=output_fd,
        env={**tool_environment(), "PYTHONPATH": str(Path(linewatt.__file__).parents[1])},
    )


def wait_until_ready(layout: Layout, directory: Path) -> None:
    """Wait until every BMC answers and is fed. Raises LabError naming one that does not."""
    deadline = time.monotonic() + _START_LIMIT_S
    while not _is_fed(directory):
        if time.monotonic() > deadline:
            log = _log_of_feeder(directory)
            raise LabError(f"lab {layout.name}: no values for the BMCs {_timeout_message(log)}")
        time.sleep(_ASK_AGAIN_S / 10)
    answers = answering([host.bmc_address for host in layout.hosts], deadline - time.monotonic())
    for host, its in zip(layout.hosts, answers, strict=True):
        if not its:
            where = f"its BMC does not answer on {host.bmc_address}:{bmc_recipe.PORT}"
            reason = _timeout_message(_host_file(directory, host, "log"))
            raise LabError(f"lab {layout.name}: {host.name}: {where} {reason}")


def states(layout: Layout, directory: Path) -> list[BmcState]:
    """The current state of each host's BMC."""
    fed: BmcState = "up" if _is_fed(directory) else "not fed"
    is_answering = answering([host.bmc_address for host in layout.hosts])
    silent: list[BmcState] = ["silent" if runs else "down" for runs in _runs_by_host(layout, directory)]
    return [fed if answered else fallback for answered, fallback in zip(is_answering, silent, strict=True)]


def running(layout: Layout, directory: Path) -> list[bool]:
    """Whether the BMC of each host and the feeder run, even if they are slow."""
    (feeders,) = processes.commands([layout.switch_namespace]).values()
    fed = any(str(_values(directory)) in words for words in feeders)
    return [fed and runs for runs in _runs_by_host(layout, directory)]


def _runs_by_host(layout: Layout, directory: Path) -> list[bool]:
    inside = processes.commands([host.namespace for host in layout.hosts])
    return [
        any(str(_host_file(directory, host, "lan.conf")) in words for words in inside[host.namespace])
        for host in layout.hosts
    ]


def answering(addresses: Sequence[str], limit_s: float = _ANSWER_LIMIT_S) -> list[bool]:
    """Whether a BMC answers at each address; asks all in parallel, repeatedly until the limit."""
    waiting = set(addresses)
    deadline = time.monotonic() + max(limit_s, _ASK_AGAIN_S)
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as asking:
        while waiting and (now_s := time.monotonic()) < deadline:
            for address in waiting:
                _send_ping(asking, address)
            waiting -= _heard(asking, waiting, min(now_s + _ASK_AGAIN_S, deadline))
    return [address not in waiting for address in addresses]


def _send_ping(asking: socket.socket, address: str) -> None:
    try:
        asking.sendto(_PING, (address, bmc_recipe.PORT))
    except OSError:  # no way there at the moment: then nobody answers
        return


def _heard(asking: socket.socket, waiting: set[str], until_s: float) -> set[str]:
    heard: set[str] = set()
    while heard != waiting and (left_s := until_s - time.monotonic()) > 0:
        asking.settimeout(left_s)
        try:
            answer, (address, _) = asking.recvfrom(256)
        except OSError:  # nothing in time
            break
        if answer.startswith(_PONG):
            heard.add(address)
    return heard & waiting


def _is_fed(directory: Path) -> bool:
    try:
        age_s = time.time() - (_values(directory) / bmc_recipe.BEAT).stat().st_mtime
    except OSError:
        return False
    return abs(age_s) < _FED_LIMIT_S


def _first_on_same_cpus(layout: Layout) -> dict[str, str]:
    """host → the first host with its CPUs, after which their values are called."""
    first: dict[tuple[int, ...], str] = {}
    return {host.name: first.setdefault(host.cpus, host.name) for host in layout.hosts}


def plugs(layout: Layout, directory: Path) -> dict[str, Path]:
    """host → the file of its plug, where it has one."""
    if not layout.meters.plug:
        return {}
    first = _first_on_same_cpus(layout)
    return {host.name: _values(directory) / f"{first[host.name]}{bmc_recipe.PLUG}" for host in layout.hosts}


def _values(directory: Path) -> Path:
    return directory / "bmc" / "values"


def _host_file(directory: Path, host: HostLayout, kind: str) -> Path:
    return directory / "bmc" / f"{host.name}.{kind}"


def _log_of_feeder(directory: Path) -> Path:
    return directory / "bmc" / "feeder.log"


def _timeout_message(log: Path) -> str:
    return f"(limit {_START_LIMIT_S:.0f} s); {log_words(log)}; lab up --no-bmc does without"
