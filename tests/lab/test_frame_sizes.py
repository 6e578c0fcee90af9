# SPDX-License-Identifier: Apache-2.0
"""Frames of the size that was asked for, by the counters of both NICs, bare and through a tunnel."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.lab.test_networks import Networks

pytestmark = pytest.mark.lab
WINDOW = {"seconds": 3, "omit": 1.5, "tail": 1.5}
VXLAN_BYTES = 50


@pytest.fixture
def bench(plain_lab3: Any, tmp_path: Path) -> Iterator[Networks]:
    one = Networks(plain_lab3, tmp_path)
    yield one
    one.until_nothing_runs()


def wire_bytes(end: dict[str, Any], way: str) -> float:
    """Bytes of a packet by the counters of the data interface, which know nothing of the load."""
    counters = end["counters"]
    return float(counters[f"nic.{way}_bytes"] / counters[f"nic.{way}_packets"])


FAMILIES = ["ipv4", "ipv6"]


@pytest.mark.parametrize(
    ("tests", "rate"),
    [
        (["udp-78"], "1M"),
        # fast enough that the few small packets of neighbour discovery are below 0.1 % of a window
        pytest.param(["udp-1464", "udp-512"], "20M", marks=pytest.mark.full),
    ],
    ids=["smallest", "larger"],
)
def test_frames_on_the_wire_have_the_size_that_was_asked_for(
    bench: Networks, tests: list[str], rate: str
) -> None:
    bench.run(
        "run",
        bench.campaign(
            tests=tests,
            families=FAMILIES,
            networks=["bare", {"name": "vxlan", "hosts": bench.between()}],
            rate=rate,
            trials=1,
            window=WINDOW,
        ),
    )
    trials = bench.trials()
    assert len(trials) == len(tests) * (len(FAMILIES) + 1), "the tunnel has no IPv6 address"
    for trial in trials:
        case = trial["case"]
        assert trial["status"] == "done", trial["reason"]
        size = int(case["test"].removeprefix("udp-"))
        asked = size + (VXLAN_BYTES if case["network"] == "vxlan" else 0)
        for end, way in (("sender", "tx"), ("receiver", "rx")):
            assert wire_bytes(trial[end], way) == pytest.approx(asked, rel=0.005), case
        headers = 62 if case["family"] == "ipv6" else 42
        packets = trial["packets"] - trial["lost_packets"]
        goodput = trial["throughput_bps"] * (trial["window"]["end_s"] - trial["window"]["start_s"])
        assert goodput / packets / 8 == pytest.approx(size - headers, rel=0.002)
        share = trial["line_goodput_bps"] / (size - headers)
        assert share == pytest.approx(1e9 / asked), "packets that the shaped line carries, in bits"


def test_a_frame_that_an_end_has_no_room_for_ends_the_run_with_one_line(bench: Networks) -> None:
    said = bench.run("run", bench.campaign(tests=["udp-512", "udp-1515"], rate="4M", trials=1), status=2)
    fits = "data0 on network bare: udp-1515 needs an MTU of 1501, not 1500: frames of 1514 bytes fit"
    assert f"linewatt: h1: {fits}; leave the test out, or raise its MTU\n" in said.stderr
    assert "nothing to restore" in bench.restore()
