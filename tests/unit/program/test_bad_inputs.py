# SPDX-License-Identifier: Apache-2.0
"""Bad input costs one line that says what is wrong, where, and what to do, and exit code 2.

``tests/captures/bad-inputs.txt`` has these lines, to be read as a page; LINEWATT_GOLDEN=keep writes it anew.
"""

from __future__ import annotations

import os
import re
from pathlib import Path

import pytest
from tests.unit.conftest import Run

CAPTURE = Path(__file__).parents[2] / "captures/bad-inputs.txt"
HOSTS = """hosts:
  gen: {address: 127.0.0.1, port: 1, data: eth0}
  dut: {address: 127.0.0.2, port: 1, data: eth1}
"""
BASE = f"name: n\n{HOSTS}tests: [tcp]\n"
FILES = {
    "empty file": "",
    "only a comment": "# nothing\n",
    "a list": "- name: n\n",
    "a word": "hello\n",
    "tab": "name: n\n\thosts: {}\n",
    "unclosed": "name: n\nhosts: {gen: {\n",
    "twice": "name: n\nname: m\n" + HOSTS + "tests: [tcp]\n",
    "two documents": BASE + "---\n" + BASE,
    "anchor bomb": "a: &a [x]\nb: *c\n",
    "json with comma": '{"name": "n",}',
    "python tag": "name: !!python/object:os.system x\n",
    "no name": HOSTS + "tests: [tcp]\n",
    "no hosts": "name: n\ntests: [tcp]\n",
    "no tests": "name: n\n" + HOSTS,
    "one host": "name: n\nhosts:\n  gen: {address: 127.0.0.1, data: eth0}\ntests: [tcp]\n",
    "no address": BASE.replace("address: 127.0.0.2, ", ""),
    "no data": BASE.replace("1, data: eth1", "1"),
    "test for tests": BASE.replace("tests", "test"),
    "window second": BASE + "window: {second: 10}\n",
    "trails": BASE + "trails: 3\n",
    "direction": BASE + "direction: reverse\n",
    "stream": BASE + "stream: 4\n",
    "instance": BASE + "instance: 4\n",
    "duration": BASE + "duration: 10\n",
    "time": BASE + "time: 10\n",
    "parallel": BASE + "parallel: 4\n",
    "mtu": BASE + "mtu: 9000\n",
    "sysctl": BASE + "sysctl: {net.ipv4.tcp_rmem: 1}\n",
    "Name": BASE.replace("na", "Na"),
    "key with space": BASE + "idle time: 5\n",
    "test http": "name: n\n" + HOSTS + "tests: [http]\n\n",
    "test tpc": "name: n\n" + HOSTS + "tests: [tpc]\n\n",
    "test TCP": "name: n\n" + HOSTS + "tests: [TCP]\n\n",
    "test udp": "name: n\n" + HOSTS + "tests: [udp]\n\n",
    "tests word": "name: n\n" + HOSTS + "tests: tcp, udp-1500\n\n",
    "tests empty": "name: n\n" + HOSTS + "tests: []\n\n",
    "tests twice": "name: n\n" + HOSTS + "tests: [tcp, tcp]\n\n",
    "tests number": "name: n\n" + HOSTS + "tests: [1]\n\n",
    "udp size": "name: n\n" + HOSTS + "tests: [udp-70000]\n\n",
    "trials 0": BASE + "trials: 0\n",
    "trials -1": BASE + "trials: -1\n",
    "trials many": BASE + "trials: 3.5\n",
    "trials word": BASE + "trials: three\n",
    "trials huge": BASE + "trials: 1000000000\n",
    "instances 0": BASE + "instances: [0]\n",
    "instances word": BASE + "instances: [many]\n",
    "instances huge": BASE + "instances: [100000]\n",
    "streams 0": BASE + "streams: [0]\n",
    "streams 1000": BASE + "streams: [1000]\n",
    "streams mapping": BASE + "streams: {a: 1}\n",
    "rate negative": BASE + "rate: -5M\n",
    "rate word": BASE + "rate: fast\n",
    "rate zero": BASE + "rate: 0\n",
    "rates list": BASE + "rate: [1G, 2G]\n",
    "window 10": BASE + "window: 10\n",
    "window word": BASE + "window: long\n",
    "window 0": BASE + "window: {seconds: 0}\n",
    "window negative": BASE + "window: {seconds: -10}\n",
    "window omit -1": BASE + "window: {omit: -1}\n",
    "window years": BASE + "window: {seconds: 1000000}\n",
    "window unit": BASE + "window: {seconds: 10 parsecs}\n",
    "idle": BASE + "idle: 5\n",
    "idle word": BASE + "idle: {seconds: lots}\n",
    "pairs word": BASE + "pairs: gen\n",
    "pairs unknown": BASE + "pairs: [gen -> dud]\n",
    "pairs itself": BASE + "pairs: [gen -> gen]\n",
    "pairs empty": BASE + "pairs: []\n",
    "pairs arrows": BASE + "pairs: [gen -> dut -> gen]\n",
    "directions": BASE + "directions: [upward]\n",
    "direction bidir twice": BASE + "directions: [forward, forward]\n",
    "families": BASE + "families: [ipv5]\n",
    "factors list": BASE + "factors: [mtu]\n",
    "factors unknown": BASE + "factors: {mut: [1500, 9000]}\n",
    "factors one": BASE + "factors: {mtu: 9000}\n",
    "factors empty": BASE + "factors: {mtu: []}\n",
    "factors kernel": BASE + "factors: {kernel: [6.1, 6.6]}\n",
    "factors sysctl": BASE + "factors: {sysctl: {net.ipv4.tcp_rmem: [1, 2]}}\n",
    "factors mtu word": BASE + "factors: {mtu: [big]}\n",
    "factors mtu 70000": BASE + "factors: {mtu: [70000]}\n",
    "factors mtu 10": BASE + "factors: {mtu: [10]}\n",
    "factors twice": BASE + "factors: {mtu: [1500, 1500]}\n",
    "settings unknown": BASE + "settings: {mut: 1}\n",
    "settings list": BASE + "settings: [mtu]\n",
    "settings ring": BASE + "settings: {ring: big}\n",
    "settings gro": BASE + "settings: {gro: maybe}\n",
    "settings governor": BASE + "settings: {governor: quick!}\n",
    "settings sysctl path": BASE + "settings: {sysctl: {../../etc: 1}}\n",
    "settings coalesce": BASE + "settings: {coalescing: -1}\n",
    "address space": BASE.replace("127.0.0.2", "not a host"),
    "address option": BASE.replace("127.0.0.2", "-oProxyCommand=x"),
    "port 0": BASE.replace("127.0.0.2, port: 1", "127.0.0.2, port: 0"),
    "port 70000": BASE.replace("127.0.0.2, port: 1", "127.0.0.2, port: 70000"),
    "port word": BASE.replace("127.0.0.2, port: 1", "127.0.0.2, port: ssh"),
    "data path": BASE.replace("127.0.0.2, port: 1, data: ", "127.0.0.2, port: 1, data: ../"),
    "data long": BASE.replace("eth1", "averyveryverylonginterface"),
    "data empty": BASE.replace("eth1", "''"),
    "host name": BASE.replace("  dut:", "  'd u t':"),
    "host option": BASE.replace("  d", "  -d"),
    "app cpus": BASE.replace("eth1", "eth1, app_cpus: 3-1"),
    "app cpus word": BASE.replace("eth1", "eth1, app_cpus: all of them"),
    "app cpus negative": BASE.replace("eth1", "eth1, app_cpus: -1"),
    "host key": BASE.replace("eth1", "eth1, colour: red"),
    "user root": BASE.replace("eth1", "eth1, user: 'root; rm'"),
    "sudo": BASE.replace("eth1", "eth1, sudo: perhaps"),
    "power word": BASE.replace("eth1", "eth1, power: ipmi"),
    "power driver": BASE.replace("eth1", "eth1, power: {b: {driver: impi}}"),
    "power no driver": BASE.replace("eth1", "eth1, power: {b: {address: 192.0.2.1}}"),
    "power no address": BASE.replace("eth1", "eth1, power: {b: {driver: ipmi}}"),
    "power interval": BASE.replace("eth1", "eth1, power: {b: {driver: rapl, interval_s: 0}}"),
    "power secret inline": BASE.replace(
        "eth1", "eth1, power: {b: {driver: ipmi, address: 192.0.2.1, user: a, password: b}}"
    ),
    "power url": BASE.replace(
        "eth1", "eth1, power: {b: {driver: redfish, address: 'ftp://x', user: a, password_file: /p}}"
    ),
    "networks": BASE + "networks: [vxlan]\n",
    "networks unknown": BASE + "networks: [{name: a, hosts: {gen: {kind: wormhole}}}]\n",
    "load": BASE + "load: netperf\n",
    "load number": BASE + "load: 3\n",
    "order": BASE + "order: alphabetical\n",
    "repeat until": BASE + "repeat_until: {interval_ratio: -1}\n",
    "concurrent": BASE + "concurrent_pairs: maybe\n",
    "label": BASE + "label: {a: {b: c}}\n",
    "soak forever": BASE.replace("tests: [tcp]", "soak: forever"),
    "users 0": "name: n\n" + HOSTS + "soak: 1h\nusers: 0\n",
    "include": BASE + "include: other.yaml\n",
    "name path": BASE.replace("name: ", "name: ../"),
    "name empty": BASE.replace("name: n", "name: ''"),
    "name number": BASE.replace("name: n", "name: 5"),
}
"""a campaign file, which ``plan`` reads"""
COMMANDS = {
    "no command": ["frobnicate"],
    "run nothing": ["run"],
    "run missing": ["run", "nope.yaml"],
    "run dir": ["run", "."],
    "plan two": ["plan", "a", "b"],
    "plan three": ["plan", "a", "b", "c"],
    "lab down name": ["lab", "down", "x"],
    "run option": ["run", "c.yaml", "--trails", "3"],
    "show nothing stored": ["show"],
    "show unknown": ["show", "nope"],
    "show option": ["show", "--fulll"],
    "show results": ["show", "--results", "nowhere"],
    "show results file": ["show", "--results", "c.yaml"],
    "compare one": ["compare", "a"],
    "compare none": ["compare"],
    "compare three": ["compare", "a", "b", "c"],
    "compare unknown": ["compare", "a", "b"],
    "compare by": ["compare", "last", "last", "--by", "colour"],
    "compare margin": ["compare", "last", "last", "--margin", "much"],
    "report format": ["report", "--format", "docx"],
    "report out": ["report", "-o", "/nowhere/x.html"],
    "export nothing": ["export"],
    "export format": ["export", "last", "--format", "xls"],
    "sql none": ["sql"],
    "sql drop": ["sql", "drop table trials"],
    "sql typo": ["sql", "selec * from trials"],
    "sql column": ["sql", "select nope from trials"],
    "sql table": ["sql", "select * from nope"],
    "sql limit": ["sql", "select 1", "--limit", "-1"],
    "sql two": ["sql", "select 1; select 2"],
    "list results": ["list", "--results", "nowhere"],
    "resume": ["resume", "nope"],
    "resume none": ["resume"],
    "verify": ["verify", "nope"],
    "import missing": ["import", "nope.json"],
    "import none": ["import"],
    "place none": ["place"],
    "place file": ["place", "nope.xml"],
    "place processes": ["place", "nope.xml", "--processes", "0"],
    "schema": ["schema", "nope"],
    "serve port": ["serve", "--port", "70000"],
    "serve port word": ["serve", "--port", "http"],
    "history": ["history", "--metric", "speed"],
    "init none": ["init"],
    "init one": ["init", "gen"],
    "init same": ["init", "gen", "gen"],
    "advise psu": ["advise", "psu", "last"],
    "calibrate": ["calibrate"],
    "lab hosts": ["lab", "up", "--hosts", "0"],
    "empty id": ["show", ""],
    "empty compare": ["compare", "", ""],
    "derive": ["derive"],
    "fit": ["fit", "nope"],
    "analyze": ["analyze"],
}
"""words of a command, where no result is stored and c.yaml is a good file"""


def test_there_are_more_than_130_of_them() -> None:
    assert len(FILES) + len(COMMANDS) >= 130


@pytest.fixture
def printed(run: Run, monkeypatch: pytest.MonkeyPatch) -> dict[str, str]:
    """The one line of each, by its name."""
    monkeypatch.setenv("LINEWATT_STATE", "state")
    lines = {}
    for name, text in FILES.items():
        Path("c.yaml").write_text(text)
        lines[name] = one_line(name, run("plan", "c.yaml"))
    Path("c.yaml").write_text(BASE)
    for name, words in COMMANDS.items():
        lines[name] = one_line(name, run(*words))
    return lines


def one_line(name: str, answer: tuple[int, str, str]) -> str:
    """What it said, without the name of the program."""
    code, out, err = answer
    assert (code, out) == (2, ""), name
    mistakes = _MISTAKES.get(name, 1)
    assert re.fullmatch(rf"linewatt: ([^\n]+\n){{{mistakes}}}", err), f"{name}: {err}"
    return err.removeprefix("linewatt: ").rstrip("\n").replace("\n", "\n    ")


_MISTAKES = {"Name": 2, "power no address": 2}
"""inputs with several mistakes, each on a line of its own"""


def test_each_says_in_one_line_what_is_wrong_where_and_what_to_do(printed: dict[str, str]) -> None:
    for name in FILES:
        assert re.match(r"c\.yaml:\d+:\d+: \S", printed[name]), f"{name}: {printed[name]}"
    text = "".join(f"{name}\n    {line}\n" for name, line in printed.items())
    if os.environ.get("LINEWATT_GOLDEN") == "keep":
        CAPTURE.write_text(text)
    assert text == CAPTURE.read_text()
