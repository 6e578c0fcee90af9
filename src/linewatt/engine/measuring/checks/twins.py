# SPDX-License-Identifier: Apache-2.0
"""Whether both ends run the same load with sockets of the same limits. Pure."""

from __future__ import annotations

from collections.abc import Iterator

from linewatt.analysis.comparison.besides import CONGESTION, LIMITS
from linewatt.engine.measuring.seen import Seen
from linewatt.model import EndResult, Flag


def check(seen: Seen) -> Iterator[Flag]:
    """The load's versions, and the kernel parameters that bound its sockets."""
    yield from versions(seen)
    yield from sockets(seen)


def versions(seen: Seen) -> Iterator[Flag]:
    """Two versions of the load; whether their threads differ is read back (checks/placement.py)."""
    for run in seen.cut.runs:
        sender, receiver = run.sender.load.version, run.receiver.load.version
        if sender != receiver:
            yield Flag(
                "load-versions-differ",
                f"{seen.case.sender}, {seen.case.receiver}",
                f"{seen.load.name} {sender} at the sender, {receiver} at the receiver",
                "use the same version on both hosts",
            )
            return


def sockets(seen: Seen) -> Iterator[Flag]:
    """Kernel parameters of sockets that one end has otherwise than the other."""
    protocol = "tcp" if seen.case.is_tcp else "udp"
    names = dict.fromkeys([*(name for own in LIMITS.values() for name in own[protocol])])
    if protocol == "tcp":
        names[CONGESTION] = None
    said = []
    for name in names:
        one, two = (_setting(seen, end, name) for end in seen.ends)
        if one is not None and two is not None and one != two:
            said.append(f"{name} {one} at the sender, {two} at the receiver")
    if said:
        yield Flag(
            "socket-settings-differ",
            f"{seen.case.sender}, {seen.case.receiver}",
            "; ".join(said),
            "set them alike (settings: sysctl), unless the hosts are meant to differ in them",
        )


def _setting(seen: Seen, end: EndResult, name: str) -> str | None:
    """As the trial had it set, else as the host showed it when the campaign began."""
    return end.settings.get(f"sysctl {name}") or seen.setup.sysctls.get(end.host, {}).get(name)
