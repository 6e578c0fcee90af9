# SPDX-License-Identifier: Apache-2.0
"""Payloads and line rates of networks against figures worked out by hand, and what must always hold."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from linewatt.errors import InvalidInput
from linewatt.model import Family
from linewatt.network.framing import BARE, Encapsulation, Framing, goodput_bps, payload_bytes

VXLAN4, VXLAN6 = Encapsulation("vxlan"), Encapsulation("vxlan", "ipv6")
VLAN, GENEVE = Encapsulation("vlan"), Encapsulation("geneve")
LINE_BPS = 100e9

framings = st.builds(
    Framing,
    st.integers(1280, 9216),
    st.lists(
        st.builds(
            Encapsulation,
            st.sampled_from(["vxlan", "geneve", "vlan"]),
            st.sampled_from(["ipv4", "ipv6"]),
        ),
        max_size=3,
    ).map(tuple),
)
families = st.sampled_from(["ipv4", "ipv6"])
tests = st.sampled_from(["tcp", "udp-1500"])


@pytest.mark.parametrize(
    ("framing", "ipv4", "ipv6"),
    [
        (BARE, 1472, 1452),
        (Framing(9000), 1472, 1452),
        (Framing(1450, (VXLAN4,)), 1422, 1402),
        (Framing(1430, (VXLAN6,)), 1402, 1382),
        (Framing(1400, (VXLAN4,)), 1372, 1352),
        (Framing(8950, (VXLAN4,)), 1422, 1402),
        (Framing(1500, (VLAN,)), 1472, 1452),
        (Framing(1446, (VLAN, VXLAN4)), 1418, 1398),
    ],
)
def test_a_full_datagram_fills_1500_bytes_on_the_base_interface(
    framing: Framing, ipv4: int, ipv6: int
) -> None:
    assert payload_bytes("udp-1500", "ipv4", framing) == ipv4
    assert payload_bytes("udp-1500", "ipv6", framing) == ipv6


def test_a_small_datagram_fills_a_frame_of_60_bytes_and_has_no_room_with_ipv6() -> None:
    assert payload_bytes("udp-60", "ipv4") == payload_bytes("udp-60", "ipv4", Framing(1450, (VXLAN4,))) == 18
    with pytest.raises(InvalidInput, match="udp-60 needs ipv4"):
        payload_bytes("udp-60", "ipv6")
    for test in ("tcp", "udp-1500"):
        with pytest.raises(InvalidInput, match="leaves no room"):
            goodput_bps(LINE_BPS, test, "ipv6", Framing(48))


@pytest.mark.parametrize(
    ("test", "family", "framing", "part"),
    [
        ("tcp", "ipv4", BARE, 1448 / 1538),
        ("tcp", "ipv6", BARE, 1428 / 1538),
        ("tcp", "ipv4", Framing(9000), 8948 / 9038),
        ("tcp", "ipv4", Framing(1500, (VLAN,)), 1448 / 1542),
        ("tcp", "ipv4", Framing(1450, (VXLAN4,)), 1398 / 1538),
        ("tcp", "ipv4", Framing(1500, (VXLAN4,)), 1448 / 1588),
        ("tcp", "ipv4", Framing(1430, (VXLAN6,)), 1378 / 1538),
        ("tcp", "ipv4", Framing(1500, (GENEVE,)), 1448 / 1588),
        ("udp-1500", "ipv4", BARE, 1472 / 1538),
        ("udp-1500", "ipv4", Framing(1450, (VXLAN4,)), 1422 / 1538),
        ("udp-60", "ipv4", BARE, 18 / 84),
        ("udp-60", "ipv4", Framing(1450, (VXLAN4,)), 18 / 134),
        ("udp-60", "ipv4", Framing(1500, (VLAN,)), 18 / 88),
    ],
)
def test_goodput_is_payload_over_bytes_on_the_wire(
    test: str, family: Family, framing: Framing, part: float
) -> None:
    assert goodput_bps(LINE_BPS, test, family, framing) == pytest.approx(LINE_BPS * part)


def test_the_published_line_rate_of_tcp_is_found() -> None:
    assert goodput_bps(100e9, "tcp", "ipv4") / 1e9 == pytest.approx(94.15, abs=0.005)
    assert goodput_bps(100e9, "tcp", "ipv4", tcp_timestamps=False) == pytest.approx(100e9 * 1460 / 1538)


@given(framings, families, tests)
def test_no_payload_exceeds_the_line_and_no_encapsulation_is_free(
    framing: Framing, family: Family, test: str
) -> None:
    found = goodput_bps(LINE_BPS, test, family, framing)
    assert 0 < found < LINE_BPS
    bare = goodput_bps(LINE_BPS, test, family, Framing(framing.mtu))
    assert found == bare if not framing.encapsulations else found < bare


@given(framings, families, tests, st.integers(1, 500))
def test_a_larger_mtu_never_carries_less(framing: Framing, family: Family, test: str, more: int) -> None:
    larger = Framing(framing.mtu + more, framing.encapsulations)
    assert goodput_bps(LINE_BPS, test, family, larger) >= goodput_bps(LINE_BPS, test, family, framing)


@given(framings, families)
def test_a_full_datagram_never_exceeds_the_interface_nor_1500_bytes_below(
    framing: Framing, family: Family
) -> None:
    payload = payload_bytes("udp-1500", family, framing)
    assert payload is not None
    packet = payload + {"ipv4": 28, "ipv6": 48}[family]
    outer, _ = framing.outer_bytes(packet)
    assert packet <= framing.mtu
    assert outer <= 1500
    assert packet == framing.mtu or outer == 1500
