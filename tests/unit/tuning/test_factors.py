# SPDX-License-Identifier: Apache-2.0
"""What a campaign's factors may name: one spelling a level, and the changes it means on a host."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from linewatt.errors import InvalidInput, LinewattError
from linewatt.hosts.base import HostSpec
from linewatt.tuning.factors import FACTORS, factor_named
from linewatt.tuning.registry import TUNING_KNOBS

HOST = HostSpec("dut", "192.0.2.10", "eth0", irq_cpus=(4, 5, 6))

LEVELS: list[tuple[str, str, str, list[tuple[str, str, str]]]] = [
    ("mtu", "9000", "9000", [("mtu", "eth0", "9000")]),
    ("gro", "on", "on", [("offload", "eth0 gro", "on")]),
    ("gro", "off", "off", [("offload", "eth0 gro", "off")]),
    ("tso", "off", "off", [("offload", "eth0 tso", "off")]),
    ("gso", "on", "on", [("offload", "eth0 gso", "on")]),
    ("lro", "on", "on", [("offload", "eth0 lro", "on")]),
    ("rx_checksum", "off", "off", [("offload", "eth0 rx", "off")]),
    ("tx_checksum", "off", "off", [("offload", "eth0 tx", "off")]),
    ("udp_gro", "on", "on", [("offload", "eth0 rx-udp-gro-forwarding", "on")]),
    ("udp_gro_list", "on", "on", [("offload", "eth0 rx-gro-list", "on")]),
    ("udp_gso", "off", "off", [("offload", "eth0 tx-udp-segmentation", "off")]),
    ("rings", "rx=1024, tx=512", "rx=1024 tx=512", [("rings", "eth0", "rx=1024 tx=512")]),
    ("coalescing", "adaptive-rx=true", "adaptive-rx=on", [("coalescing", "eth0", "adaptive-rx=on")]),
    ("channels", "4", "4", [("channels", "eth0", "4")]),
    ("channels", "rx=2 tx=1", "rx=2 tx=1", [("channels", "eth0", "rx=2 tx=1")]),
    ("pause", "off", "autoneg=off rx=off tx=off", [("pause", "eth0", "autoneg=off rx=off tx=off")]),
    (
        "netem",
        "loss 0.10% delay 0.5ms",
        "delay 500us loss 0.1%",
        [("netem", "eth0", "delay 500us loss 0.1%")],
    ),
    ("netem", "off", "none", [("netem", "eth0", "none")]),
    ("rss", "4", "4", [("rss", "eth0", "4")]),
    ("rss", "weight  6 2", "weight 3 1", [("rss", "eth0", "weight 3 1")]),
    ("rss_key", "Symmetric", "symmetric", [("rss_key", "eth0", "symmetric")]),
    (
        "udp_hash",
        "ports",
        "sdfn",
        [("rx_flow_hash", "eth0 udp4", "sdfn"), ("rx_flow_hash", "eth0 udp6", "sdfn")],
    ),
    ("irq_affinity", "irq", "irq", [("irq_affinity", "eth0", "4-6")]),
    ("rps", "0,1,2", "0-2", [("rps_cpus", "eth0", "0-2")]),
    ("rps", "off", "off", [("rps_cpus", "eth0", "off")]),
    ("rps", "irq", "irq", [("rps_cpus", "eth0", "4-6")]),
    ("xps", "0-3", "0-3", [("xps_cpus", "eth0", "0-3")]),
    (
        "rfs",
        "32768",
        "32768",
        [("sysctl", "net.core.rps_sock_flow_entries", "32768"), ("rfs", "eth0", "32768")],
    ),
    ("rfs", "off", "off", [("sysctl", "net.core.rps_sock_flow_entries", "0"), ("rfs", "eth0", "off")]),
    ("irqbalance", "off", "stopped", [("irqbalance", "host", "stopped")]),
    ("governor", "performance", "performance", [("governor", "host", "performance")]),
    ("epp", "balance_power", "balance_power", [("epp", "host", "balance_power")]),
    ("c_states", "C1", "C1", [("c_states", "host", "C1")]),
    ("c_states", "on", "on", [("c_states", "host", "on")]),
    ("turbo", "on", "on", [("turbo", "host", "on")]),
    ("tuned", "network-latency", "network-latency", [("tuned", "host", "network-latency")]),
    ("congestion_control", "bbr", "bbr", [("sysctl", "net.ipv4.tcp_congestion_control", "bbr")]),
    (
        "socket_buffers",
        "16384K",
        "16M",
        [
            ("sysctl", "net.core.rmem_max", "16777216"),
            ("sysctl", "net.core.wmem_max", "16777216"),
            ("sysctl", "net.ipv4.tcp_rmem", "* * 16777216"),
            ("sysctl", "net.ipv4.tcp_wmem", "* * 16777216"),
        ],
    ),
    ("sysctl.net.core.busy_poll", "50", "50", [("sysctl", "net.core.busy_poll", "50")]),
    ("cpus_online", "3,0-2", "0-3", [("cpus_online", "host", "0-3")]),
    ("cpus_online", "all", "all", [("cpus_online", "host", "all")]),
    ("offload.rx-gro-hw", "off", "off", [("offload", "eth0 rx-gro-hw", "off")]),
]


@pytest.mark.parametrize(("name", "level", "spelling", "changes"), LEVELS)
def test_a_level_has_one_spelling_and_means_these_changes(
    name: str, level: str, spelling: str, changes: list[tuple[str, str, str]]
) -> None:
    factor = factor_named(name)
    assert factor.check(level) == spelling
    assert factor.check(spelling) == spelling
    made = factor.changes(spelling, HOST)
    assert [(change.knob, change.target, change.value) for change in made] == changes
    assert {change.host for change in made} == {"dut"}
    for change in made:
        assert name.partition(".")[0] in change.why
        TUNING_KNOBS[change.knob].read(change.target)
        TUNING_KNOBS[change.knob].check(change.value)


def test_every_factor_is_in_the_list_above() -> None:
    assert {name for name, _, _, _ in LEVELS if "." not in name} == set(FACTORS)


def test_every_factor_says_what_it_is_and_which_levels_it_has() -> None:
    for name, factor in FACTORS.items():
        assert factor.name == name
        assert factor.about
        assert factor.levels


@pytest.mark.parametrize(
    ("name", "level"),
    [
        ("mtu", "67"),
        ("mtu", "jumbo"),
        ("mtu", "9000.5"),
        ("mtu", "70000"),
        ("gro", "maybe"),
        ("rings", "1024"),
        ("rings", "rx=0"),
        ("rings", "rx=1 rx=2"),
        ("rings", "size=1024"),
        ("coalescing", "adaptive-rx=8"),
        ("coalescing", "rx_usecs=8"),
        ("channels", "0"),
        ("channels", "queues=4"),
        ("pause", "rx=maybe"),
        ("rss", "0"),
        ("rss", "4 from"),
        ("rss", "weight 0 0"),
        ("rss_key", "6d"),
        ("udp_hash", "sz"),
        ("netem", "delay 10"),
        ("netem", "delay 0ms"),
        ("netem", "delay 401ms"),
        ("netem", "delay 1.0001us"),
        ("netem", "delay 10ms 2ms"),
        ("netem", "delay 10ms delay 20ms"),
        ("netem", "delay 123.456ms"),
        ("netem", "loss 0%"),
        ("netem", "loss 51%"),
        ("netem", "loss 0.1"),
        ("netem", "limit 1000"),
        ("netem", "delay 10ms limit 0"),
        ("netem", "rate 10mbit"),
        ("netem", ""),
        ("rps", "3-1"),
        ("irq_affinity", ""),
        ("irq_affinity", "off"),
        ("rfs", "1000"),
        ("irqbalance", "dead"),
        ("governor", "Performance; rm"),
        ("epp", "default"),
        ("c_states", "1"),
        ("turbo", "2"),
        ("tuned", "a/b"),
        ("tuned", ""),
        ("congestion_control", "--help"),
        ("socket_buffers", "16 apples"),
        ("socket_buffers", "2G"),
        ("socket_buffers", "1K"),
        ("sysctl.net.core.busy_poll", ""),
    ],
)
def test_a_level_that_cannot_be_is_refused_in_one_line_without_a_host(name: str, level: str) -> None:
    with pytest.raises(InvalidInput) as caught:
        factor_named(name).check(level)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("MTU", "unknown factor 'MTU'"),
        ("gr0", "did you mean gro"),
        ("governer", "did you mean governor"),
        ("congestion", "did you mean congestion_control"),
        ("sysctl.a b", "is not a kernel parameter"),
        ("sysctl.", "is not a kernel parameter"),
        ("offload.x y", "is not a feature"),
        ("offload.", "is not a feature"),
        ("zerocopy", "unknown factor"),
    ],
)
def test_what_is_no_factor_is_refused_with_names_like_it(name: str, words: str) -> None:
    with pytest.raises(InvalidInput) as caught:
        factor_named(name)
    assert words in str(caught.value)


def test_own_cpus_need_a_host_that_names_them() -> None:
    with pytest.raises(InvalidInput, match="rps: irq means the irq_cpus of bare, which names none"):
        FACTORS["rps"].changes("irq", HostSpec("bare", "192.0.2.11", "eth0"))


@given(st.sampled_from(sorted(FACTORS)), st.text(max_size=20))
def test_a_level_that_passes_is_spelled_once_and_for_all(name: str, level: str) -> None:
    factor = FACTORS[name]
    try:
        spelling = factor.check(level)
    except LinewattError:
        return
    assert factor.check(spelling) == spelling
    assert spelling == spelling.strip()
    assert factor.changes(spelling, HOST)


@given(st.integers(4096, 2**31 - 1))
def test_sizes_keep_every_byte(size: int) -> None:
    factor = FACTORS["socket_buffers"]
    assert factor.changes(factor.check(str(size)), HOST)[0].value == str(size)
