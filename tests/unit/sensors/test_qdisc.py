# SPDX-License-Identifier: Apache-2.0
"""qdisc: what tc says (tests/captures/qdisc), and the stream itself with a tc that is told what to say."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path

import pytest

from linewatt.errors import ParseError
from linewatt.hosts.base import HostSpec
from linewatt.sensors.qdisc import Qdisc, QdiscConfig

CAPTURES = Path(__file__).parents[2] / "captures" / "qdisc"
SENSOR = Qdisc()
HOST = HostSpec("h1", "local", "data0")


@pytest.mark.parametrize(
    "record",
    [
        'Cannot find device "data0"',
        "Command failed -:1",
        "",
        "{}",
        "[3]",
        '[{"root": true}]',
        "[null]",
        "nan",
    ],
)
def test_what_is_no_record_is_a_problem_in_tcs_own_words(record: str) -> None:
    with pytest.raises(ParseError, match=r"^qdisc: "):
        SENSOR.parse(record)


def test_classes_below_the_root_are_in_its_sum_already() -> None:
    root = {"kind": "mq", "root": True, "drops": 5, "overlimits": 1, "requeues": 2}
    child = {"kind": "fq_codel", "parent": "8001:1", "drops": 5, "overlimits": 1, "requeues": 2}
    clsact = {"kind": "clsact", "parent": "ffff:fff1", "drops": 3, "overlimits": 0, "requeues": 0}
    values = SENSOR.parse(json.dumps([root, child, clsact]))
    assert values == {"qdisc.dropped": 8, "qdisc.overlimits": 1, "qdisc.requeues": 2}


def test_the_stream_asks_for_the_data_interface_again_and_again(tmp_path: Path) -> None:
    tc = tmp_path / "tc"
    tc.write_text('#!/bin/bash\necho "$*" >&2\nwhile read -r line; do echo "[$line]"; done\n')
    tc.chmod(0o755)
    argv = SENSOR.command(QdiscConfig(interval_s=0.1), HOST)
    environment = {**os.environ, "PATH": f"{tmp_path}:{os.environ['PATH']}"}
    with subprocess.Popen(argv, stdout=subprocess.PIPE, text=True, env=environment) as process:
        assert process.stdout is not None
        lines = (line.strip() for line in process.stdout if line.strip())
        said = [line for _, line in zip(range(62), lines, strict=False)]
        process.terminate()
    assert said[0] == "-s -j -force -batch -"
    assert said[1:61] == ["[qdisc show dev data0]"] * 60
    assert said[61] == "-s -j -force -batch -", "tc is started anew, for it remembers interfaces"


def test_it_is_on_unless_it_is_left_out(tmp_path: Path) -> None:
    from linewatt.campaign.reading.file import load_campaign

    hosts = {name: {"address": f"192.0.2.{at}", "data": "eth0"} for at, name in enumerate("ab", 1)}
    plain = {"name": "n", "hosts": hosts, "tests": ["tcp"]}
    soak = {**plain, "soak": "1h"}
    off = {**soak, "sensors": {"qdisc": False}}
    for at, (document, expected) in enumerate([(plain, True), (soak, True), (off, False)]):
        file = tmp_path / f"{at}.yaml"
        file.write_text(json.dumps(document))
        assert ("qdisc" in load_campaign(file).sensors) is expected


def test_a_host_without_tc_has_no_channels_and_says_why(tmp_path: Path) -> None:
    (tmp_path / "bash").symlink_to("/bin/bash")
    (words, *script) = SENSOR.command(QdiscConfig(interval_s=0.1), HOST)
    script[1] = script[1].replace("PATH=$PATH:/usr/sbin:/sbin", "PATH=/nowhere")
    assert words == "bash"
    with subprocess.Popen(["/bin/bash", *script], stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        records = [process.stdout.readline(), process.stdout.readline()]
        process.terminate()
    for record in records:
        assert SENSOR.ends_record(record)
        assert SENSOR.parse(record) == {}
        assert SENSOR.reasons(record) == {"qdisc": "the host has no tc (iproute2)"}
