# SPDX-License-Identifier: Apache-2.0
"""``udp-<bytes>``: what the number means, from the campaign file to the frame on the wire."""

from __future__ import annotations

import asyncio
import re
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from pydantic import TypeAdapter, ValidationError
from tests.report_factories import result, trial, watts
from tests.unit.campaign.test_campaign_file import SMALLEST, written
from tests.unit.campaign.test_plan_order import campaign, spec
from tests.unit.engine.test_proof import answers, rounds, session
from tests.unit.engine.test_readiness import answer, every, only

from linewatt.campaign.planning.plan import plan_campaign
from linewatt.engine.networks.proof import refuse_wrong_ways
from linewatt.errors import InvalidInput
from linewatt.features.tables.imported import test_of as of_table
from linewatt.json_document import document_of
from linewatt.loads.base import LoadJob
from linewatt.loads.iperf3.load import Iperf3
from linewatt.model import Case, Family, Trial
from linewatt.network.framing import BARE, Encapsulation, Framing, goodput_bps, payload_bytes
from linewatt.report.findings import NO_MARKS
from linewatt.report.series import test_title as title_of
from linewatt.report.trials.charts.cases import rate_of
from linewatt.report.trials.digest import digest_of
from linewatt.report.trials.power.power_table import power_cases, power_table
from linewatt.report.trials.settings.scalability import export_case, scalability_table
from linewatt.sizes import (
    ANY_SIZE,
    LARGEST_FRAME_BYTES,
    MINIMUM_FRAME_BYTES,
    SIZED,
    checked_test,
    datagram_bytes,
    frame_bytes,
    least_frame_bytes,
    of_small_packets,
    rank,
)

HEADERS: dict[Family, int] = {"ipv4": 14 + 20 + 8, "ipv6": 14 + 40 + 8}
sizes = st.integers(MINIMUM_FRAME_BYTES, LARGEST_FRAME_BYTES).filter(lambda size: size != 1500)
families: st.SearchStrategy[Family] = st.sampled_from(["ipv4", "ipv6"])


@given(sizes, families)
def test_payload_and_headers_make_the_frame_that_was_asked_for(size: int, family: Family) -> None:
    test = f"udp-{size}"
    payload = datagram_bytes(test, family)
    assert payload is not None
    assert payload + HEADERS[family] == size == frame_bytes(test)
    if payload < 0:
        with pytest.raises(InvalidInput, match="needs ipv4"):
            payload_bytes(test, family, Framing(LARGEST_FRAME_BYTES))
        return
    assert payload_bytes(test, family, Framing(size - 14)) == payload
    with pytest.raises(InvalidInput, match=rf"needs an MTU of {size - 14}, not {size - 15}"):
        payload_bytes(test, family, Framing(size - 15))


@given(st.integers(60, 1464).filter(lambda size: size != 1500), families)
def test_a_tunnel_goes_around_the_frame_and_takes_nothing_from_it(size: int, family: Family) -> None:
    if size < HEADERS[family]:
        return
    test, tunnel = f"udp-{size}", Framing(1450, (Encapsulation("vxlan"),))
    payload = payload_bytes(test, family, tunnel)
    assert payload == payload_bytes(test, family)
    assert tunnel.frame_bytes((payload or 0) + HEADERS[family] - 14) == size + 50
    wire = size + 50 + 24
    assert goodput_bps(100e9, test, family, tunnel) == pytest.approx(100e9 * (payload or 0) / wire)
    packets_per_s = 100e9 / (8 * wire)
    assert goodput_bps(100e9, test, family, tunnel) == pytest.approx(packets_per_s * 8 * (payload or 0))


def test_udp_1500_is_named_after_its_packet_and_is_the_largest_frame_of_its_mtu() -> None:
    assert frame_bytes("udp-1500") == frame_bytes("udp-1514") == 1514
    for family in HEADERS:
        assert payload_bytes("udp-1500", family) == payload_bytes("udp-1514", family) is not None
    assert payload_bytes("udp-1499", "ipv4") == 1457
    tunnel = Framing(1450, (Encapsulation("vxlan"),))
    assert payload_bytes("udp-1500", "ipv4", tunnel) == 1422, "it shrinks to what fits"
    with pytest.raises(InvalidInput, match="needs an MTU of 1500, not 1450: frames of 1464 bytes fit"):
        payload_bytes("udp-1514", "ipv4", tunnel)


@given(st.text() | st.integers(-10, 99_999).map(lambda size: f"udp-{size}"))
@example(ANY_SIZE)
def test_a_name_is_a_test_if_its_schema_says_so_and_no_frame_is_beyond_ip(name: str) -> None:
    try:
        known = checked_test(name) == name
    except ValueError:
        known = False
    listed = name in ("tcp", "tcp-rr", "udp-rr")
    match = re.fullmatch(SIZED, name, re.ASCII)
    assert known == (listed or (match is not None and int(match[1]) <= 65_549))


@pytest.mark.parametrize(
    ("test", "family", "length"),
    [("udp-512", "ipv4", 470), ("udp-512", "ipv6", 450), ("udp-78", "ipv6", 16), ("udp-9014", "ipv4", 8972)],
)
def test_iperf3_is_told_the_payload_of_the_frame_and_not_to_cut_it(
    test: str, family: Family, length: int
) -> None:
    command = Iperf3().client_command(LoadJob(test, "198.18.0.1", 5201, 5.0, family=family), (3, 12))
    assert command[command.index("--length") + 1] == str(length)
    assert ("--dont-fragment" in command) == (family == "ipv4")


def test_what_ipv6_or_the_load_cannot_make_that_small_is_left_out_with_the_smallest() -> None:
    tests = tuple(spec(f"udp-{size}") for size in (61, 62, 77, 78))
    planned = plan_campaign(campaign(tests=tests, families=("ipv6",)), seed=0)
    assert [case.test for case in planned.cases] == ["udp-78"]
    reasons = {one.what: one.reason for one in planned.skipped}
    assert "cannot be 61 bytes: its headers alone are 14 + 40 + 8 = 62" in reasons["udp-61 over ipv6"]
    for size in (62, 77):
        assert reasons[f"udp-{size} over ipv6"].endswith("over ipv6 take udp-78 or more")
    assert least_frame_bytes("ipv4", 16) == 60


def test_a_level_of_the_mtu_without_room_for_the_frame_is_left_out(tmp_path: Path) -> None:
    text = f"{SMALLEST.replace('[tcp]', '[udp-9014, udp-512]')}factors: {{mtu: [1500, 9000]}}\n"
    planned = plan_campaign(written(tmp_path, text), seed=0)
    assert {(case.test, dict(case.factors)["mtu"]) for case in planned.cases} == {
        ("udp-9014", "9000"),
        ("udp-512", "1500"),
        ("udp-512", "9000"),
    }
    (skipped,) = planned.skipped
    assert (skipped.what, skipped.reason) == ("udp-9014 with mtu=1500", "its packets have 9000 bytes")


def test_an_mtu_that_hosts_keep_leaves_out_the_frames_that_do_not_fit_it(tmp_path: Path) -> None:
    kept = "settings: {mtu: 1500}\n"
    planned = plan_campaign(
        written(tmp_path, SMALLEST.replace("[tcp]", "[udp-9000, udp-1514]") + kept), seed=0
    )
    assert [case.test for case in planned.cases] == ["udp-1514"]
    (skipped,) = planned.skipped
    assert (skipped.what, skipped.reason) == ("udp-9000 with mtu=1500", "its packets have 8986 bytes")
    alone = "no case is left to run: udp-9000 with mtu=1500: its packets have 8986 bytes"
    with pytest.raises(InvalidInput, match=alone):
        plan_campaign(written(tmp_path, SMALLEST.replace("[tcp]", "[udp-9000]") + kept), seed=0)


def test_a_plan_says_where_two_names_are_the_same_datagrams(tmp_path: Path) -> None:
    def said(tests: str, networks: str = "") -> list[str]:
        planned = plan_campaign(written(tmp_path, SMALLEST.replace("[tcp]", tests) + networks), seed=0)
        return [note for note in planned.notes if note.startswith("tests: ")]

    same = "udp-1514 and udp-1500 send the same datagrams on bare interfaces"
    assert said("[udp-1514, udp-1500]") == [
        f"tests: {same}, so that a case runs twice; leave one of them out"
    ]
    tests = "[{test: udp-1514, instances: [1, 2]}, {test: udp-1500, instances: [4, 2, 1]}]"
    assert said(tests) == [f"tests: {same}, so that 2 cases run twice; leave one of them out"]
    for apart in ("[udp-1513, udp-1500]", tests.replace("[1, 2]", "[8]"), "[tcp, udp-1500]"):
        assert said(apart) == []
    assert said("[udp-1514, udp-1500]", tunnelled("").replace("- bare\n", "")) == [], (
        "in a tunnel udp-1500 shrinks"
    )


NETWORK = """networks:
- bare
- name: vx
  hosts:
    gen: {interfaces: [INTERFACE]}
    dut: {interfaces: [INTERFACE]}
"""
VXLAN = (
    "{name: vx0, type: vxlan, state: up, MTUipv4: {enabled: true, dhcp: false, "
    "address: [{ip: 203.0.113.END, prefix-length: 24}]}, "
    "vxlan: {base-iface: ethBASE, id: 5, remote: 192.0.2.OTHER}}"
)


def tunnelled(mtu: str) -> str:
    one = VXLAN.replace("MTU", mtu)
    gen, dut = (
        one.replace("END", end).replace("BASE", base).replace("OTHER", other)
        for end, base, other in (("1", "0", "10"), ("2", "1", "11"))
    )
    return NETWORK.replace("INTERFACE", gen, 1).replace("INTERFACE", dut, 1)


def test_a_network_whose_document_leaves_no_room_for_the_frame_is_left_out(tmp_path: Path) -> None:
    text = SMALLEST.replace("[tcp]", "[udp-1465, udp-1464, udp-1500]")
    planned = plan_campaign(written(tmp_path, text + tunnelled("mtu: 1450, ")), seed=0)
    (skipped,) = planned.skipped
    assert (skipped.what, skipped.cases) == ("udp-1465 on network vx", 1)
    assert skipped.reason == "vx0 of gen: udp-1465 needs an MTU of 1451, not 1450: frames of 1464 bytes fit"
    assert len(planned.cases) == 5
    planned = plan_campaign(written(tmp_path, text + tunnelled("")), seed=0)
    assert planned.skipped == (), "what the document does not say is as the hosts have it"


def test_tables_of_others_name_sizes_as_campaigns_do() -> None:
    assert [*map(of_table, ("udp-512", "tcp-tput", "udp-1500"))] == ["udp-512", "tcp", "udp-1500"]
    assert [*map(of_table, ("udp-59", "udp-65550", ANY_SIZE, "udp", "sctp"))] == [None] * 5


def test_a_frame_above_the_mtu_of_an_end_is_refused_before_any_change() -> None:
    case = Case("udp-1515", "a", "b")
    with pytest.raises(
        InvalidInput, match=r"b: eth0 on network bare: udp-1515 needs an MTU of 1501, not 1500"
    ):
        asyncio.run(refuse_wrong_ways(session(answers(), mtus=(9000, 1500)), rounds(case)))
    asyncio.run(refuse_wrong_ways(session(answers()), rounds(Case("udp-1514", "a", "b"))))


def test_a_frame_above_the_mtu_is_found_by_check_unless_the_run_sets_the_mtu() -> None:
    def failed(case: Case, *knobs: str) -> list[str]:
        checks = only(every(answer(cases=(case,), knobs=set(knobs))), "mtu")
        return [check.found for check in checks if check.status == "fail"]

    (found,) = failed(Case("udp-9014", "h1", "h2"))
    assert found == "eth0: udp-9014 needs an MTU of 9000, not 1500: frames of 1514 bytes fit"
    assert failed(Case("udp-9014", "h1", "h2"), "mtu") == []
    assert failed(Case("udp-1514", "h1", "h2")) == failed(Case("udp-9014", "h1", "h2", network="vx")) == []


def test_sizes_are_titled_alike_and_come_from_the_largest_to_the_smallest() -> None:
    tests = ["udp-60", "udp-rr", "udp-512", "tcp", "udp-9014", "udp-1500", "tcp-rr"]
    ordered = sorted(tests, key=rank)
    assert ordered == ["tcp", "udp-9014", "udp-1500", "udp-512", "udp-60", "tcp-rr", "udp-rr"]
    assert [title_of(test) for test in ordered[1:5]] == ["UDP 9014", "UDP 1500", "UDP 512", "UDP 60"]
    assert [test for test in ordered if of_small_packets(test)] == ["udp-512", "udp-60"]


@pytest.mark.parametrize(
    ("test", "title"),
    [
        ("udp-32810", "UDP 32 KB datagrams"),
        ("udp-32830", "UDP 32 KB datagrams"),  # of IPv6
        ("udp-8234", "UDP 8 KB datagrams"),
        ("udp-65549", "UDP 65,507 B datagrams"),
        ("udp-65569", "UDP 65,507 B datagrams"),
        ("udp-20042", "UDP 20,000 B datagrams"),
        ("udp-9014", "UDP 9014"),
        ("udp-9230", "UDP 9230"),
        ("udp-1500", "UDP 1500"),
        ("udp-1066", "UDP 1066"),
    ],
)
def test_datagrams_that_no_frame_holds_are_titled_by_their_own_size(test: str, title: str) -> None:
    assert title_of(test) == title


def of_size(test: str, payload: int) -> list[Trial]:
    """Two trials of 250,000 datagrams a second; the receiver has 2 cores and 100 W, the sender 1.2 cores."""
    made = [trial(number, Case(test, "h1", "h2"), 250e3 * 8 * payload, 2.0) for number in (1, 2)]
    line_bps = 500e3 * 8 * payload
    counted = [
        replace(one, packets=16_000_000, lost_packets=1_000_000, line_goodput_bps=line_bps) for one in made
    ]
    supply = watts("psu-out:PSU1", 100.0)
    return [replace(one, receiver=replace(one.receiver, power=(supply,))) for one in counted if one.receiver]


@pytest.mark.parametrize(("test", "payload"), [("udp-60", 18), ("udp-512", 470), ("udp-1500", 1472)])
def test_packets_and_what_one_costs_stand_beside_bits_for_every_size(test: str, payload: int) -> None:
    view = digest_of(result(of_size(test, payload)))
    (found,) = view.summaries
    assert found.receiver_power is not None
    packets = found.values["efficiency_receiver_packets_per_core_s"]
    assert packets is not None
    assert packets.mean == pytest.approx(125e3)
    bits = found.values["efficiency_receiver_bps_per_core"]
    assert bits is not None
    assert bits.mean == pytest.approx(125e3 * 8 * payload)
    energy = found.receiver_power.values["energy_j_per_packet"]
    assert energy is not None
    assert energy.mean == pytest.approx(100 / 250e3)
    (table,) = (power_table(cases) for cases in power_cases(view.groups) if cases.role == "receiver")
    shown = dict(zip((head.title for head in table.heads), table.groups[0].rows[0].cells, strict=True))
    assert (shown["Energy per packet"].text, shown["Packets per energy"].text) == ("400.0", "2,500")
    assert {head.title: head.unit for head in table.heads}["Energy per packet"] == "µJ/packet"
    assert rate_of(view.groups[0].series).unit.name == ("kpps" if payload < 1472 else "Gbps")
    table = scalability_table(view.groups[0], NO_MARKS)
    shown = dict(zip((head.title for head in table.heads), table.groups[0].rows[0].cells, strict=True))
    in_gbps = payload == 1472
    assert shown["Packets per core, receiver (remote)"].text == ("0.125" if in_gbps else "125.0")
    sender = found.values["efficiency_sender_packets_per_core_s"]
    assert sender is not None
    assert sender.mean == pytest.approx(250e3 / 0.9375 / 1.2)


def test_documents_have_packets_and_what_one_costs_wherever_they_were_counted() -> None:
    new = {"efficiency_receiver_packets_per_core_s_mean", "receiver_energy_nj_per_packet_mean"}
    for test, payload in (("udp-60", 18), ("udp-1500", 1472), ("udp-512", 470)):
        (found,) = digest_of(result([replace(one, packets=None) for one in of_size(test, payload)])).summaries
        assert not [name for name in export_case(found) if re.search("packet.*(core|nj|_j)", name)]
        (found,) = digest_of(result(of_size(test, payload))).summaries
        row = export_case(found)
        assert new <= row.keys()
        assert row["efficiency_receiver_packets_per_core_s_mean"] == pytest.approx(125e3)
    assert row["receiver_energy_nj_per_packet_mean"] == pytest.approx(400_000)
    assert row["line_packets_per_s_mean"] == pytest.approx(500e3)
    assert row["receiver_energy_nj_per_packet_provenance"] == "measured"
    assert row["receiver_packets_per_j_mean"] == pytest.approx(2500)
    assert row["efficiency_sender_packets_per_core_s_mean"] == pytest.approx(250e3 / 0.9375 / 1.2)


def test_of_datagrams_that_nobody_counted_nothing_is_said_by_the_packet() -> None:
    (found,) = digest_of(result([replace(one, packets=None) for one in of_size("udp-512", 470)])).summaries
    assert found.receiver_power is not None
    said = {*found.reasons, *found.receiver_power.reasons, *found.receiver_power.values}
    assert not [name for name in said if "packets_per_core" in name or "per_packet" in name]
    half = of_size("udp-512", 470)
    (found,) = digest_of(result([half[0], replace(half[1], packets=None)])).summaries
    assert found.receiver_power is not None
    why = "in 1 of 2 trials: packets or lost packets not recorded"
    assert found.reasons["efficiency_receiver_packets_per_core_s"] == why
    assert found.receiver_power.reasons["energy_j_per_packet"] == why


@pytest.mark.parametrize("name", ["", "udp-", "udp-1500 ", "../udp-60", "udp-<b>", "sctp", "udp-600000"])
def test_a_stored_case_of_a_test_that_cannot_be_is_damaged(name: str) -> None:
    document = document_of(Case("udp-512", "a", "b"))
    assert TypeAdapter(Case).validate_python(document) == Case("udp-512", "a", "b")
    with pytest.raises(ValidationError):
        TypeAdapter(Case).validate_python({**document, "test": name})


def test_keys_of_cases_are_what_they_were() -> None:
    assert Case("udp-60", "a", "b").key == "a4728fdd7b21"
    assert Case("udp-1500", "a", "b").key == "4aaf4045257d"
    assert BARE.mtu == 1500
