# SPDX-License-Identifier: Apache-2.0
"""What the line and the slot of a NIC can carry, from the facts of both hosts."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from linewatt.engine.live.line_rate import LineLimit, line_limit, line_of_group, pcie_goodput_bps
from linewatt.model import Case
from linewatt.model.case import group_of
from linewatt.network.framing import Framing

TCP = Case("tcp", "h1", "h2")
ENDS = {"h1": Framing(), "h2": Framing()}


def facts(**nic: Any) -> dict[str, Any]:
    return {"nic": {"kind": "physical", "speed_bps": 100_000_000_000} | nic, "sysctl": {}}


def test_two_links_carry_what_the_slower_one_does() -> None:
    found = line_limit(TCP, ENDS, {"h1": facts(), "h2": facts(speed_bps=25_000_000_000)})
    assert found is not None
    assert (found.kind, found.host) == ("link", "h2")
    assert found.goodput_bps == pytest.approx(25e9 * 1448 / 1538)


def test_a_shaper_below_the_link_is_named_as_such() -> None:
    qdisc = "qdisc tbf 8001: root refcnt 2 rate 10Gbit burst 1Mb lat 5ms"
    found = line_limit(TCP, ENDS, {"h1": facts(qdisc=qdisc), "h2": facts()})
    assert found is not None
    assert (found.kind, found.host) == ("shaper", "h1")
    assert found.goodput_bps == pytest.approx(10e9 * 1448 / 1514)


def test_a_shaper_of_one_transmit_queue_is_not_that_of_the_line() -> None:
    qdisc = "mq: 3 × fq limit 10000p, 1 × tbf rate 1Gbit burst 1Mb lat 5ms"
    found = line_limit(TCP, ENDS, {"h1": facts(qdisc=qdisc), "h2": facts()})
    assert found is not None
    assert found.kind == "link"
    assert found.goodput_bps == pytest.approx(100e9 * 1448 / 1538)


def test_a_shaper_of_the_receiver_holds_back_nothing_that_comes() -> None:
    shaped = {"qdisc": "qdisc tbf 8001: root refcnt 2 rate 10Gbit burst 1Mb lat 5ms"}
    found = line_limit(TCP, ENDS, {"h1": facts(), "h2": facts(**shaped)})
    assert found is not None
    assert found.kind == "link"
    assert found.goodput_bps == pytest.approx(100e9 * 1448 / 1538)
    slower = {"qdisc": "qdisc tbf 8001: root refcnt 2 rate 2Gbit burst 1Mb lat 5ms"}
    veths = {"h1": facts(kind="veth", **shaped), "h2": facts(kind="veth", **slower)}
    found = line_limit(TCP, ENDS, veths)
    assert found is not None
    assert (found.kind, found.host) == ("shaper", "h1")
    assert found.goodput_bps == pytest.approx(10e9 * 1448 / 1514)


def test_many_senders_of_shaped_virtual_links_have_the_lines_of_all_of_them() -> None:
    shaped = {"kind": "veth", "qdisc": "qdisc tbf 8001: root refcnt 2 rate 300Mbit burst 128Kb lat 5ms"}
    pairs = [replace(TCP, sender=name, receiver="dut") for name in ("h1", "h2")]
    known = {name: facts(**shaped) for name in ("h1", "h2", "dut")}
    lines = [line_limit(one, {name: Framing() for name in one.hosts}, known) for one in pairs]
    group = replace(TCP, **group_of("many-to-one", (("h1", "dut"), ("h2", "dut"))))
    shared = line_limit(pairs[0], {"dut": Framing()}, known)
    found = line_of_group(group, lines, shared)
    assert found is not None
    assert found.goodput_bps == pytest.approx(2 * 300e6 * 1448 / 1514)
    assert found.host == "h1, h2"


def test_lines_of_a_group_of_which_one_is_no_shaper_are_no_shaper_together() -> None:
    shaped, link = LineLimit(1e9, "shaper", "h1"), LineLimit(9e9, "link", "h2")
    group = replace(TCP, **group_of("both-ways", (("h1", "h2"), ("h2", "h1"))))
    assert line_of_group(group, [shaped, link], None) == LineLimit(10e9, "link", "h1, h2")
    assert line_of_group(group, [shaped, shaped], None) == LineLimit(2e9, "shaper", "h1")


def test_a_line_of_unknown_speed_has_no_limit() -> None:
    assert line_limit(TCP, ENDS, {"h1": facts(kind="veth"), "h2": facts()}) is None


@pytest.mark.parametrize("driver", ["vmxnet3", "hv_netvsc", "virtio_net"])
def test_what_a_hypervisor_names_is_the_speed_of_no_line(driver: str) -> None:
    nominal = facts(driver=driver, speed_bps=10_000_000_000)
    assert line_limit(TCP, ENDS, {"h1": nominal, "h2": nominal}) is None, "so that 9.4 Gbps fill none"
    assert line_limit(TCP, ENDS, {"h1": facts(driver="mlx5_core"), "h2": nominal}) is None


@pytest.mark.parametrize(
    ("speed", "width", "gbps"),
    [("8.0 GT/s PCIe", 16, 109.2), ("8.0 GT/s PCIe", 8, 54.6), ("16.0 GT/s PCIe", 16, 218.5)],
)
def test_a_slot_carries_its_lanes_less_encoding_packet_headers_and_frame_headers(
    speed: str, width: int, gbps: float
) -> None:
    found = pcie_goodput_bps(TCP, Framing(), facts(pci_speed=speed, pci_width=width))
    assert found == pytest.approx(gbps * 1e9, rel=0.005)


def test_small_datagrams_cost_a_slot_more_and_an_unknown_slot_says_nothing() -> None:
    slot = facts(pci_speed="8.0 GT/s", pci_width=16)
    small = pcie_goodput_bps(Case("udp-60", "h1", "h2"), Framing(), slot)
    assert small == pytest.approx(126.03e9 * 18 / (60 + 26), rel=0.001)
    assert pcie_goodput_bps(TCP, Framing(), facts()) is None
    assert pcie_goodput_bps(Case("udp-60", "h1", "h2", family="ipv6"), Framing(), slot) is None
