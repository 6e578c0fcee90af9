# SPDX-License-Identifier: Apache-2.0
"""Requirements of a lab on this machine: root, tools, CPUs, and free names and addresses."""

from __future__ import annotations

import ipaddress
import os
import re
import shutil
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from linewatt.errors import LabError
from linewatt.features.lab.layout import Cores
from linewatt.foreign import read_json

_SBIN = "/usr/local/sbin:/usr/sbin:/sbin"
_PACKAGE = {
    "ip": "iproute2",
    "tc": "iproute2",
    "sshd": "openssh-server",
    "unshare": "util-linux",
    "setsid": "util-linux",
}
_RANGE = ipaddress.IPv4Network("198.18.0.0/15")
_TOOL_LIMIT_S = 60.0


@dataclass(frozen=True, slots=True)
class Tools:
    """Absolute paths of the tools a lab is built with, and sshd's version (major, minor).

    Without ``ipmi_sim`` a lab has no BMCs.
    """

    ip: str
    sshd: str
    sshd_version: tuple[int, int]
    ipmi_sim: str | None = None


def find_tools() -> Tools:
    """Raises LabError naming what is missing and the package it comes in (Debian's names)."""
    require_root()
    path_by_tool = {tool: shutil.which(tool, path=search_path()) for tool in _PACKAGE}
    missing = [tool for tool, path in path_by_tool.items() if path is None]
    if missing:
        packages = " ".join(sorted({_PACKAGE[tool] for tool in missing}))
        raise LabError(
            f"lab: not found: {', '.join(missing)}; apt-get install --no-install-recommends {packages}"
        )
    if not Path("/proc/sys/net/ipv6").is_dir():
        raise LabError(
            "lab: this kernel runs without IPv6, which the data network needs; boot without ipv6.disable=1"
        )
    sshd = str(path_by_tool["sshd"])
    ipmi_sim = shutil.which("ipmi_sim", path=search_path())
    return Tools(ip=str(path_by_tool["ip"]), sshd=sshd, sshd_version=_sshd_version(sshd), ipmi_sim=ipmi_sim)


def require_root() -> None:
    """Raises LabError unless this process is root."""
    if os.geteuid() != 0:
        raise LabError("lab: network namespaces need root; run it as root or with sudo")


def search_path() -> str:
    """PATH with the places where Debian keeps root's tools and a user's PATH does not look."""
    return f"{os.environ.get('PATH', '/usr/bin:/bin')}:{_SBIN}"


def tool_environment() -> Mapping[str, str]:
    """What a tool sees: a PATH and the C locale, nothing of the caller's."""
    return {"PATH": search_path(), "LC_ALL": "C"}


def log_words(log: Path) -> str:
    """``its log: …``, for a message: how it ends."""
    log_end = " ".join(log.read_text(errors="replace").split()[-40:]) if log.exists() else ""
    return f"its log: {log_end or 'empty'}"


def _sshd_version(sshd: str) -> tuple[int, int]:
    # -V is unknown to sshd before 9.2, which then prints its version before its usage: both go to stderr.
    done = subprocess.run([sshd, "-V"], capture_output=True, text=True, timeout=_TOOL_LIMIT_S, check=False)
    match = re.search(r"OpenSSH_(\d+)\.(\d+)", done.stderr + done.stdout)
    return (int(match[1]), int(match[2])) if match else (0, 0)


def run_batch(
    argv: Sequence[str], batch: str, *, what: str, lock: int | None = None, strict: bool = True
) -> None:
    """Give ``batch`` to ``argv`` on stdin, holding ``lock``. Raises LabError with what the tool says."""
    done = subprocess.run(
        argv,
        input=batch,
        capture_output=True,
        text=True,
        env=tool_environment(),
        pass_fds=() if lock is None else (lock,),
        timeout=_TOOL_LIMIT_S,
        check=False,
    )
    if strict and done.returncode != 0:
        complaint = " ".join(done.stderr.split())
        raise LabError(f"{what}: {' '.join(argv[:4])} failed: {complaint}; {_advice(complaint)}")


_ADVICE = {
    "is this kernel without veth, bridge or tbf?": (
        *("Unknown device type", "not supported", "qdisc kind is unknown", "qdisc not found"),
    ),
    "root may not: in a container, run it privileged (CAP_NET_ADMIN, CAP_SYS_ADMIN)": ("not permitted",),
}
"""advice → fragments of the error messages of ip(8) and tc(8)"""
_ELSE = "what an earlier lab may have left is taken away by: linewatt lab down --name NAME"


def _advice(complaint: str) -> str:
    matching = (advice for advice, signs in _ADVICE.items() if any(sign in complaint for sign in signs))
    return next(matching, _ELSE)


def usable_cores(root: Path = Path("/")) -> Cores:
    """The CPUs this process may use, hardware threads of one core together, in the order of the cores.

    Neighbours share a package, so that a host gets CPUs that are close to each other.
    Source: Documentation/ABI/stable/sysfs-devices-system-cpu.
    """
    cores: dict[tuple[int, int, int], list[int]] = {}
    for cpu in sorted(os.sched_getaffinity(0)):
        cores.setdefault(_core_of(cpu, root), []).append(cpu)
    return tuple(tuple(cores[key]) for key in sorted(cores))


def _core_of(cpu: int, root: Path) -> tuple[int, int, int]:
    topology = root / f"sys/devices/system/cpu/cpu{cpu}/topology"
    try:
        package = int((topology / "physical_package_id").read_text())
        siblings = (topology / "thread_siblings_list").read_text()
        return package, int(re.split(r"[,-]", siblings)[0]), 0
    except (OSError, ValueError):
        return 0, cpu, 1  # a machine that does not tell: each CPU a core of its own


def occupied_subnets() -> list[ipaddress.IPv4Network]:
    """Networks within 198.18.0.0/15 that this machine already has a route to: a lab must not take them."""
    done = subprocess.run(
        ["ip", "-json", "-4", "route", "show", "table", "all"],
        capture_output=True,
        text=True,
        env=tool_environment(),
        timeout=_TOOL_LIMIT_S,
        check=False,
    )
    has_routes = done.returncode == 0 and done.stdout.strip()
    routes = read_json(done.stdout, "routes of this machine") if has_routes else []
    destinations = [route.get("dst", "default") for route in routes]
    networks = [ipaddress.IPv4Network(dst, strict=False) for dst in destinations if dst[:1].isdigit()]
    return [network for network in networks if network.subnet_of(_RANGE)]


def names_present() -> set[str]:
    """Network namespaces and root-namespace links that exist now."""
    places = (Path("/run/netns"), Path("/sys/class/net"))
    return {entry.name for place in places if place.is_dir() for entry in place.iterdir()}


def index_is_free(index: int, subnets: Sequence[ipaddress.IPv4Network], names: set[str]) -> bool:
    """Whether the names and management addresses of a lab number are free."""
    subnet = ipaddress.IPv4Network(f"198.18.{index}.0/24")
    leftover = {f"lwb{index}", f"lw{index}-sw", f"lw{index}-h1"}
    return not names & leftover and not any(subnet.overlaps(occupied) for occupied in subnets)
