# SPDX-License-Identifier: Apache-2.0
"""Notices of changes at the data interface: what ip and tc said, and the stream itself."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path

import pytest

from linewatt.errors import ParseError
from linewatt.hosts.base import HostSpec
from linewatt.sensors.link import Link, LinkConfig, link_news

CAPTURES = Path(__file__).parents[2] / "captures" / "link"
SENSOR = Link()


def test_notices_are_counted_and_said_in_short() -> None:
    case = CAPTURES / "6.1.0-offload-mtu-shaper"
    expected = json.loads((case / "expected.json").read_text())
    records = (case / "output").read_text().splitlines()
    assert [SENSOR.parse(record)["link.changes"] for record in records] == expected["values"]
    assert [link_news(record) for record in records] == expected["news"]
    assert SENSOR.channel("link.changes").kind == "counter"


def test_a_tool_that_is_not_there_is_a_problem_in_its_own_words() -> None:
    for record in (CAPTURES / "no-ip" / "output").read_text().splitlines():
        with pytest.raises(ParseError, match="ip: command not found"):
            SENSOR.parse(record)
        assert link_news(record) == []


@pytest.mark.parametrize("record", ["", "linewatt-link 1 5|count x|end 6", "linewatt-link 1 5|count 3|news"])
def test_a_damaged_record_is_a_problem(record: str) -> None:
    with pytest.raises(ParseError, match=r"^link: "):
        SENSOR.parse(record)
    with pytest.raises(ParseError, match="no channel"):
        SENSOR.channel("link.other")


IP = ("1: data01: other", "2: data0@if3: mtu 9000 a|b state UP event X \\\\ link", "3: lo: mtu 1")
TC = ("qdisc tbf 8001: dev data0 root refcnt 2 rate 1Gbit", "qdisc tbf 1: dev data00 root")
BOND = (
    "4: eth2: <BROADCAST,SLAVE,UP> mtu 1500 qdisc mq master bond0 state DOWN event X \\\\ link",
    "5: eth3: <BROADCAST,SLAVE,UP> mtu 1500 qdisc mq master bond1 state DOWN \\\\ link",
    "6: tap0: <BROADCAST,UP> mtu 1500 qdisc mq master bond0 state DOWN \\\\ link",
    "7: bond0: <BROADCAST,MASTER,UP> mtu 1500 qdisc noqueue state UP \\\\ link",
)


@pytest.mark.parametrize(
    ("data", "said", "told"),
    [
        ("data0", IP, ["X (mtu 9000, state UP)", "qdisc tbf dev data0 root rate 1Gbit"]),
        ("bond0", BOND, ["eth2 of bond0: X (mtu 1500, state DOWN)", "mtu 1500, state UP"]),
    ],
    ids=["interface", "bond"],
)
def test_the_stream_has_the_lines_of_its_interface_alone_and_ends_what_it_began(
    data: str, said: tuple[str, ...], told: list[str], tmp_path: Path
) -> None:
    pids = tmp_path / "pids"
    for name, lines in (("ip", said), ("tc", TC)):
        tool = tmp_path / name
        script = "".join(f"echo '{line}'\n" for line in lines)
        tool.write_text(f"#!/bin/bash\necho $$ >>{pids}\n{script}exec sleep 60\n")
        tool.chmod(0o755)
    argv = SENSOR.command(LinkConfig(interval_s=0.1), HostSpec("h1", "local", data))
    environment = {**os.environ, "PATH": f"{tmp_path}:{os.environ['PATH']}", "LC_ALL": "C"}
    with subprocess.Popen(argv, stdout=subprocess.PIPE, text=True, env=environment) as process:
        assert process.stdout is not None
        shown: list[str] = []
        for line in process.stdout:
            shown += link_news(line)
            if SENSOR.parse(line)["link.changes"] == 2:
                break
        process.terminate()
    assert sorted(shown) == told
    for pid in pids.read_text().split():
        _await_end(int(pid))


def _await_end(pid: int) -> None:
    """The tool is ended by a trap of the script that has been ended: nobody else waits for it."""
    subprocess.run(["tail", "-s", "0.05", f"--pid={pid}", "-f", "/dev/null"], timeout=20, check=True)
