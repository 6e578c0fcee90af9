# SPDX-License-Identifier: Apache-2.0
"""A ceiling that two ports share: found over both, named before anything else, and not over either alone."""

from __future__ import annotations

import logging
import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from statistics import fmean

import pytest
from tests.lab.conftest import Labs, _reason
from tests.truth.hosts import Data, Ground
from tests.truth.plants import Plant
from tests.truth.test_plants import Said, agree, meet

from linewatt.findings.limits import FULL_ALONE_RATIO, FULL_RATIO

pytestmark = [pytest.mark.lab, pytest.mark.measures, pytest.mark.idle_machine]

RATE_BPS, SHARED_BPS = 400e6, 600e6
"""of each port's shaper, and of what the switch lets through to both; what two busy CPUs carry with margin"""
PAYLOAD = 1448 / 1514
"""of a full frame of TCP, as shapers count it"""
WITHIN = 0.02
INSTANCES = (2, 4, 8, 16)


@pytest.fixture(scope="module")
def two_ports() -> Iterator[Ground]:
    if reason := _reason():
        pytest.skip(reason)
    labs = Labs(f"t{os.getpid()}-2")
    try:
        yield Ground(labs.make(rate="400mbit", bmc=False, ports=2, shared="600mbit"))
    finally:
        labs.close()


def only(port: int) -> Plant:
    """The campaign of one port by itself."""

    def places(ground: Ground) -> Mapping[str, Data]:
        return {
            host.name: {"data": own.interface, "data_ipv4": own.ipv4, "data_ipv6": own.ipv6}
            for host in ground.lab.hosts
            for own in (host.ports[port],)
        }

    return Plant(f"data{port}", "a port is at its own line rate", {}, places=places)


OVER_BOTH = Plant(
    "shared-ceiling",
    "the switch lets 600 Mbit/s through to two ports of 400 Mbit/s each, which no host can see",
    {"instances": list(INSTANCES), "trials": 2},
)


def met(plant: Plant, ground: Ground, tmp_path: Path) -> Said:
    said = meet(plant, ground, tmp_path)
    logging.getLogger(__name__).info("%s\n%s", said.text(), said.first_screen)
    agree(said)
    return said


def limit_by_ports(said: Said, instances: int) -> str:
    """What limits a case, judged by how much of its line each port had in each trial.

    TCP shares a ceiling unevenly: a port that is at its line in every trial is a limit, and one that has so
    much of it that its line may be the limit of its part leaves nothing to be told of that case.
    """
    trials = [one for one in said.trials if one["case"]["instances"] == instances]
    parts = zip(*([one["throughput_bps"] for one in trial["data_ports"]] for trial in trials), strict=True)
    of_line = [[bps / (RATE_BPS * PAYLOAD) for bps in port] for port in parts]
    if any(min(port) >= FULL_ALONE_RATIO for port in of_line):
        return "shaper"
    may_be_full = any(
        fmean(port) >= FULL_RATIO or 2 * sum(share >= FULL_ALONE_RATIO for share in port) > len(port)
        for port in of_line
    )
    return "not-found" if may_be_full else "device-or-path"


@pytest.mark.parametrize("port", [0, 1])
def test_each_port_alone_is_at_its_own_line_rate(port: int, two_ports: Ground, tmp_path: Path) -> None:
    said = met(only(port), two_ports, tmp_path)
    assert said.first() == "shaper", said.text()
    (case,) = said.cases
    assert case["throughput_bps_mean"] == pytest.approx(RATE_BPS * PAYLOAD, rel=WITHIN)
    assert "ports" not in said.first_screen


def test_the_ceiling_that_two_ports_share_is_found_over_both(two_ports: Ground, tmp_path: Path) -> None:
    said = met(OVER_BOTH, two_ports, tmp_path)
    assert [case["instances"] for case in said.cases] == list(INSTANCES)
    told = {case["instances"]: case["limited_by_kinds"].split()[0] for case in said.cases}
    shown = {count: limit_by_ports(said, count) for count in INSTANCES}
    assert told == shown, said.text()
    assert [*shown.values()].count("device-or-path") >= 2, (
        "ports took turns at their whole line; run it again"
    )
    for case in said.cases:
        assert case["throughput_bps_mean"] == pytest.approx(SHARED_BPS * PAYLOAD, rel=WITHIN)
        assert case["line_rate_ratio_mean"] == pytest.approx(SHARED_BPS / (2 * RATE_BPS), rel=WITHIN)
    assert "hidden-ceiling" in {one["code"] for one in said.findings}
    assert "h1, h2 over 2 ports" in said.first_screen
    assert "instances over 2 ports" in said.first_screen
    for trial in said.trials:
        ports = trial["data_ports"]
        assert sum(one["throughput_bps"] for one in ports) == pytest.approx(trial["throughput_bps"])
        lines = [one["line_goodput_bps"] for one in ports]
        assert lines == pytest.approx([RATE_BPS * PAYLOAD] * 2, rel=1e-3)
