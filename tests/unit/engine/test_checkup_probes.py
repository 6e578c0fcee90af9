# SPDX-License-Identifier: Apache-2.0
"""What `linewatt check` asks hosts, against what hosts really answered; the scripts on this machine."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from linewatt.engine.readiness import checkup_probes as probes
from linewatt.engine.readiness.checkup_probes import Way
from linewatt.loads.iperf3 import LOAD as IPERF3

CAPTURES = Path(__file__).parents[2] / "captures" / "check"
HERE = Way("h1", "h1", "ipv4", "127.0.0.1", "127.0.0.1", 1500)
V4 = Way("h1", "h2", "ipv4", "198.19.2.1", "198.19.2.2", 1500)
V6 = Way("h1", "h2", "ipv6", "2001:2:0:2::1", "2001:2:0:2::2", 1500)


def capture(name: str) -> str:
    return (CAPTURES / name / "output").read_text()


def run(argv: Sequence[str]) -> str:
    return subprocess.run(argv, capture_output=True, text=True, timeout=30, check=False).stdout


def test_a_host_tells_its_tools_and_how_idle_its_cpus_are() -> None:
    live = probes.parse_live(capture("live-veth"))
    assert live.tools["ss"] is True
    assert live.tools["numactl"] is False
    assert set(live.tools) == set(probes.TOOLS)
    assert live.idle is not None
    busy = 85 + 8
    assert live.idle[0] == pytest.approx(7 / (busy + 7))
    assert live.idle[1] == 0.0
    assert live.card_ports is None, "a veth is on no card"


def test_ports_of_a_card_are_those_with_a_link() -> None:
    live = probes.parse_live("card\nport eth0\nport eth1\n")
    assert live.card_ports == ("eth0", "eth1")
    assert probes.parse_live("card\n").card_ports == ()
    assert probes.parse_live("").card_ports is None


def test_a_counter_that_ran_backwards_or_stood_still_is_no_idle_time() -> None:
    before = "before cpu0 10 0 10 100 0 0 0 0 0 0\nbefore cpu1 10 0 10 100 0 0 0 0 0 0\n"
    after = "after cpu0 10 0 10 100 0 0 0 0 0 0\nafter cpu1 90 0 10 50 0 0 0 0 0 0\n"
    assert probes.parse_live(before + after).idle is None
    assert probes.parse_live(before).idle is None


@given(st.integers(0, 2000), st.data())
def test_a_cut_answer_never_makes_a_cpu_busier_or_a_tool_appear(cut: int, data: st.DataObject) -> None:
    text = capture("live-veth")
    whole, part = probes.parse_live(text), probes.parse_live(text[:cut])
    assert part.tools.items() <= whole.tools.items()
    assert set(part.idle or ()) <= set(whole.idle or ())
    probes.parse_live(data.draw(st.text(max_size=200)))
    probes.parse_taken(data.draw(st.text(max_size=200)))
    for one in probes.parse_paths(data.draw(st.text(max_size=200)), [V4]):
        assert one.full is None or one.replies is not None


def test_ways_over_ipv4_and_ipv6() -> None:
    v4, v6 = probes.parse_paths(capture("paths-veth"), [V4, V6])
    assert (v4.device, v4.gateway, v4.replies, v4.full, v4.problem) == ("data0", None, True, True, None)
    assert (v6.device, v6.family, v6.full) == ("data0", "ipv6", True)
    (mgmt,) = probes.parse_paths(capture("paths-mgmt"), [V4])
    assert mgmt.device == "mgmt0"


def test_a_blackhole_has_no_device_and_no_answer() -> None:
    (way,) = probes.parse_paths(capture("paths-blackhole"), [V4])
    assert (way.device, way.replies, way.full, way.problem) == (None, False, False, None)


def test_a_gateway_is_told() -> None:
    text = 'route 0 [{"dst":"198.19.2.2","gateway":"198.19.2.254","dev":"data0"}]\n'
    (way,) = probes.parse_paths(text, [V4])
    assert (way.device, way.gateway) == ("data0", "198.19.2.254")
    assert way.replies is None


def test_without_ping_nothing_is_said_of_packets() -> None:
    text = "no ping\n" + capture("paths-veth").replace("small 0", "small 127").replace("full 0", "full 127")
    for way in probes.parse_paths(text, [V4, V6]):
        assert (way.device, way.replies, way.full) == ("data0", None, None)


def test_interfaces_whose_subnets_have_the_peers_address_are_told() -> None:
    def link(name: str, *addresses: tuple[str, int]) -> dict[str, Any]:
        return {"ifname": name, "addr_info": [{"local": one, "prefixlen": bits} for one, bits in addresses]}

    links: list[dict[str, Any]] = [
        {},
        {"ifname": "lo", "addr_info": [{}]},
        link("eth1", ("198.19.2.1", 24)),
        link("eth2", ("198.19.2.9", 24)),
        link("eth3", ("10.0.0.1", 8)),
    ]
    (way,) = probes.parse_paths(f'route 0 [{{"dev":"eth1"}}]\naddresses 4 {json.dumps(links)}\n', [V4])
    assert way.neighbours == ("eth1", "eth2")
    assert way.is_crossed("eth2", ("eth1", "eth2"))
    assert not way.is_crossed("eth3", ("eth1", "eth3"))
    assert not replace(way, gateway="198.19.2.254").is_crossed("eth2", ("eth1", "eth2"))
    peer = {"local": "1.2.3.4", "address": "198.19.2.2", "prefixlen": 32}
    to_one = [{"ifname": "tun0", "addr_info": [peer]}]
    (way,) = probes.parse_paths(f"addresses 4 {json.dumps(to_one)}\n", [V4])
    assert way.neighbours == ("tun0",)
    for text in ("addresses", "addresses 4 [", 'addresses 4 [{"addr_info": [{"local": "x"}]}]'):
        assert probes.parse_paths(text, [V4])[0].neighbours == ()


def test_an_answer_that_ends_before_a_way_says_so() -> None:
    first, second = probes.parse_paths("route 0 \nping 0 small 0\n", [V4, V6])
    assert first.problem is None
    assert second.problem is not None


def test_who_listens_on_the_ports() -> None:
    assert probes.parse_taken(capture("taken-python")) == {
        5201: "python3 (4767)",
        5203: "python3 (4767)",
        5204: "python3 (4767)",
    }
    unprivileged = "LISTEN 0 128 0.0.0.0:5201 0.0.0.0:*\n"
    assert probes.parse_taken(unprivileged) == {5201: "a process of the system"}


@pytest.mark.parametrize("name", ["exchange-tcp", "exchange-udp"])
def test_an_exchange_that_went_well_has_no_problem(name: str) -> None:
    assert IPERF3.try_problem(capture(name), "", 0) is None
    assert IPERF3.try_problem(capture(name)[:-20], "", 0) is not None
    assert IPERF3.try_problem("", "", 0) is not None
    assert IPERF3.try_problem(capture(name), "", 1) == "status 1"


def test_a_refused_exchange_is_told_in_the_tools_words_although_its_status_is_0() -> None:
    assert IPERF3.try_problem(capture("exchange-refused"), "", 0) == (
        "unable to connect to server: Connection refused"
    )
    said = IPERF3.try_problem("", "iperf3: error - bad option\n", 1)
    assert said == "bad option"


def test_a_full_packet_leaves_room_for_its_headers() -> None:
    assert (V4.payload_bytes, V6.payload_bytes) == (1472, 1452)
    assert Way("a", "b", "ipv4", "1", "2", None).payload_bytes is None


def test_the_scripts_run_here() -> None:
    live = probes.parse_live(run(probes.live_command("lo")))
    assert live.tools.keys() == set(probes.TOOLS)
    assert live.idle
    assert all(0 <= ratio <= 1 for ratio in live.idle.values())


def fake_ping(directory: Path, largest: int) -> dict[str, str]:
    """A ping that answers for payloads up to ``largest``."""
    ping = directory / "ping"
    script = f'#!/bin/bash\nwhile [ "$1" != -s ]; do shift; done; [ "$2" -le {largest} ]\n'
    ping.write_text(script)
    ping.chmod(0o755)
    return {"PATH": f"{directory}:/usr/bin:/bin"}


def test_a_file_that_cannot_be_run_is_no_tool(tmp_path: Path) -> None:
    """One that no machine has, asked for in the place of the last."""
    tool = tmp_path / "linewatt-tool"
    tool.write_text("#!/bin/sh\n")
    found = []
    for mode in (0o644, 0o755):
        tool.chmod(mode)
        done = subprocess.run(
            [*probes.live_command("lo")[:-1], tool.name],
            env={"PATH": f"{tmp_path}:/usr/bin:/bin"},
            capture_output=True,
            text=True,
            timeout=30,
            check=False,
        )
        found.append(probes.parse_live(done.stdout).tools[tool.name])
    assert found == [False, True]


def test_packets_on_the_way_must_not_be_fragmented(tmp_path: Path) -> None:
    """A ping that fails unless it is told so."""
    ping = tmp_path / "ping"
    ping.write_text('#!/bin/bash\n[[ " $* " == *" -M do "* ]]\n')
    ping.chmod(0o755)
    environment = {"PATH": f"{tmp_path}:/usr/bin:/bin"}

    def answered(argv: Sequence[str]) -> str:
        return subprocess.run(
            argv, env=environment, capture_output=True, text=True, timeout=60, check=False
        ).stdout

    (way,) = probes.parse_paths(answered(probes.paths_command([HERE])), [HERE])
    assert (way.replies, way.full) == (True, True)
    assert int(answered(V4.search_command())) == 1471


@pytest.mark.parametrize("largest", [100, 101, 1000, 1371, 1471])
def test_the_largest_packet_is_found_to_the_byte(tmp_path: Path, largest: int) -> None:
    """The search alone, with a ping made for the test; the lab has a real one."""
    argv = V4.search_command()
    done = subprocess.run(
        argv, env=fake_ping(tmp_path, largest), capture_output=True, text=True, timeout=60, check=True
    )
    assert int(done.stdout) == largest
