# SPDX-License-Identifier: Apache-2.0
"""Both ends run the same load with sockets of the same limits, or it is said."""

from __future__ import annotations

import pytest
from tests.wiring import both, setup, story, told

CONGESTION = "net.ipv4.tcp_congestion_control"


def sockets(*, udp: bool = False, **values: tuple[str, str]) -> list[str]:
    """Evidence of what differs; ``values`` are (sender, receiver) of a parameter, dots as two underscores."""
    named = {name.replace("__", "."): own for name, own in values.items()}
    ends = {host: {name: own[at] for name, own in named.items()} for at, host in enumerate(("h1", "h2"))}
    found = told(both(story(udp=udp), setup(sysctls=ends))).trial().flags
    return [flag.evidence for flag in found if flag.code == "socket-settings-differ"]


@pytest.mark.parametrize("udp", [False, True])
def test_congestion_control_is_of_tcp_alone(udp: bool) -> None:
    said = [] if udp else [f"{CONGESTION} cubic at the sender, bbr at the receiver"]
    assert sockets(udp=udp, net__ipv4__tcp_congestion_control=("cubic", "bbr")) == said


@pytest.mark.parametrize(
    ("name", "tcp", "udp"),
    [
        ("net.ipv4.tcp_rmem", True, False),
        ("net.ipv4.tcp_wmem", True, False),
        ("net.core.rmem_default", False, True),
        ("net.core.wmem_default", False, True),
        ("net.core.rmem_max", True, True),
        ("net.core.wmem_max", True, True),
    ],
)
def test_limits_are_of_the_protocol_that_runs(name: str, tcp: bool, udp: bool) -> None:
    key = name.replace(".", "__")
    assert bool(sockets(udp=False, **{key: ("1", "2")})) == tcp
    assert bool(sockets(udp=True, **{key: ("1", "2")})) == udp


def test_ends_that_agree_or_are_not_known_raise_nothing() -> None:
    assert sockets(net__ipv4__tcp_rmem=("1 2 3", "1 2 3")) == []
    change = setup(sysctls={"h1": {"net.ipv4.tcp_rmem": "1 2 3"}})
    assert [flag.code for flag in told(change).trial().flags] == []


def test_versions_that_agree_raise_nothing_and_others_are_told_once() -> None:
    change = story(versions={"h1": "3.12", "h2": "3.18"}, placed=(("0", "0"), ("0", "0")))
    found = [flag for flag in told(change).trial().flags if flag.code == "load-versions-differ"]
    assert [(flag.where, flag.evidence) for flag in found] == [
        ("h1, h2", "iperf3 3.12 at the sender, 3.18 at the receiver")
    ]
