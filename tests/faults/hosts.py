# SPDX-License-Identifier: Apache-2.0
"""What lab hosts show, read by the field's tools alone: nothing here is linewatt's own."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

LIMIT_S = 60.0

# Each section begins with a line "== NAME". $@: data interfaces
LOOK = r"""PATH=$PATH:/usr/sbin:/sbin LC_ALL=C
say() { echo "== $*"; "$@" 2>&1; }
say ip -d address show
for family in -4 -6; do say ip "$family" route show table all; say ip "$family" rule show; done
say tc qdisc show
for name; do for option in -k -c -g -l -a; do say ethtool "$option" "$name"; done; done
cd /sys/class/net || exit
say grep . */queues/*/{rps_cpus,rps_flow_cnt,xps_cpus} */{mtu,tx_queue_len,flags}"""
_NETWORK = r"""
say sysctl -a --pattern '^net[.](core|ipv4|ipv6)[.]'
exit 0"""

_PASSING = ("valid_lft", "nf_conntrack_count", "expires", "tcp_fastopen_key", "stable_secret", "promiscuity")
"""what changes by itself, in lines of its own or as a word with its value"""
_BESIDE = "Error: Peer netns reference is invalid."
"""what ip adds to its list while the namespace of another lab comes or goes: it looks at all there are"""


def state(namespace: str) -> dict[str, str]:
    """Section → text: links, addresses, routes, queues, offloads, sysctls of a host."""
    return sections(inside(namespace, "bash", "-c", LOOK + _NETWORK, "look", "data0"))


def sections(shown: str) -> dict[str, str]:
    """Section → text of what :data:`LOOK` shows, without what changes by itself."""
    found: dict[str, list[str]] = {}
    section = ""
    for line in shown.splitlines():
        if line.startswith("== "):
            section = line[3:]
        elif line != _BESIDE and not any(word in line for word in _PASSING[:5]):
            found.setdefault(section, []).append(line)
    return {name: "\n".join(lines) for name, lines in found.items()}


def changed(before: Mapping[str, str], after: Mapping[str, str]) -> list[str]:
    """What differs, a line each."""
    told = []
    for name in dict.fromkeys([*before, *after]):
        old, new = before.get(name, "").splitlines(), after.get(name, "").splitlines()
        told += [f"{name}: no longer {line.strip()!r}" for line in old if line not in new]
        told += [f"{name}: now {line.strip()!r}" for line in new if line not in old]
    return told


def processes(namespace: str) -> dict[int, str]:
    """Process id → command line of all that has the network of a host."""
    pids = subprocess.run(
        ["ip", "netns", "pids", namespace], capture_output=True, text=True, check=True, timeout=LIMIT_S
    )
    return {int(pid): argv for pid in pids.stdout.split() if (argv := _argv(int(pid))) is not None}


def _argv(pid: int) -> str | None:
    """A command line; None of one that has ended."""
    try:
        with open(f"/proc/{pid}/cmdline", "rb") as file:  # noqa: PTH123
            words = file.read().split(b"\0")
    except OSError:
        return None
    return b" ".join(words).decode(errors="replace").strip() or None


def connections(namespace: str) -> list[int]:
    """The sshd processes that serve a connection."""
    shown = inside(namespace, "ss", "-Htnp", "state", "established", "( sport = :22 )")
    words = shown.replace(",", " ").replace(")", " ").split()
    return sorted({int(word.removeprefix("pid=")) for word in words if word.startswith("pid=")})


def inside(namespace: str, *argv: str) -> str:
    """What a command prints in the network of a host."""
    done = subprocess.run(
        ["ip", "netns", "exec", namespace, *argv],
        capture_output=True,
        text=True,
        check=True,
        timeout=LIMIT_S,
    )
    return done.stdout


def received_bytes(server: Mapping[str, Any]) -> int:
    """What an iperf3 server counted, by its own intervals."""
    return sum(int(interval["sum"]["bytes"]) for interval in server["intervals"])


def false_results(
    trial: Mapping[str, Any], outputs: Iterable[str], dead: Sequence[tuple[float, float]]
) -> list[str]:
    """Why a trial that says that it is done is not: by its server's raw output, and when links were down.

    ``dead``: times (Unix seconds) in which no data could pass.
    """
    if trial["status"] != "done":
        return [] if trial["throughput_bps"] is None else ["it failed and has a throughput"]
    told = []
    try:
        documents = [json.loads(text) for text in outputs]
        if not documents or any(one.get("error") or not received_bytes(one) for one in documents):
            told.append("its receiver got nothing or failed")
    except (ValueError, KeyError) as error:
        told.append(f"its raw output is not whole: {error!r}")
    window = trial["window"]
    if any(begin_s < window["end_s"] and end_s > window["start_s"] for begin_s, end_s in dead):
        told.append("its link was down in its window")
    return told
