# SPDX-License-Identifier: Apache-2.0
"""What a new sensor, knob and metric take: one file, or one declaration, and everything else knows them."""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Sequence
from pathlib import Path

import pytest
from tests.programs import outputs_of

ROOT = Path(__file__).parents[2]
OLD = ROOT / "tests" / "captures" / "results" / "method-1"

KNOB = """
# SPDX-License-Identifier: Apache-2.0
from linewatt.tuning.commands import Command, tool
from linewatt.tuning.setting_text import switch


class TxQueueLength:
    name = "txqueuelen"
    about = "packets that an interface holds back"
    targets = "interface"
    values = "a number"
    tool = "ip link"
    order = 75

    def check(self, value: str) -> str:
        return str(int(value))

    def read(self, target: str) -> Command:
        return tool("ip", "-o", "link", "show", "dev", target)

    def parse(self, output: str) -> str:
        return output.split("qlen ")[1].split()[0]

    def wanted(self, before: str, value: str) -> str:
        return self.check(value)

    def write(self, target: str, setting: str) -> Command:
        return tool("ip", "link", "set", "dev", target, "txqueuelen", setting)


LISTED_KNOB = TxQueueLength()
"""
METRIC = """
    Metric(
        "packets_lost",
        "Lost packets",
        "Lost\\npackets",
        unit.COUNT,
        reading.udp_only("lost_packets"),
        loads="udp",
        response=Response("packets_lost", "Lost packets", "more lost", "fewer lost", False, group="packets"),
        meaning="Datagrams that never came.",
    ),
"""
CAMPAIGN = """
name: x
hosts:
  a: {{address: 192.0.2.1, data: eth1, app_cpus: 0, irq_cpus: 1}}
  b: {{address: 192.0.2.2, data: eth1, app_cpus: 0, irq_cpus: 1}}
pairs: all
tests: [tcp]
trials: 1
window: {{seconds: 5}}
ports: "5201-5210"
{more}
"""


@pytest.fixture
def copy(tmp_path: Path) -> Path:
    """The product's sources, to be changed; what was compiled of the others holds for the copy, too."""
    return Path(shutil.copytree(ROOT / "src", tmp_path / "src", ignore=shutil.ignore_patterns("*.pyc.*")))


def linewatt(copy: Path, *commands: Sequence[str]) -> list[str]:
    return outputs_of(copy, commands, cwd=copy, COLUMNS="300")


def campaign(copy: Path, more: str) -> str:
    (copy / "x.yaml").write_text(CAMPAIGN.format(more=more))
    return "x.yaml"


def test_a_new_sensor_is_one_file(copy: Path) -> None:
    """That of docs/architecture.md, word by word."""
    page = (ROOT / "docs" / "architecture.md").read_text()
    (found,) = re.findall(r"^   ```python\n(.*?)\n   ```", page, re.DOTALL | re.MULTILINE)
    lines = [line.removeprefix("   ") for line in found.splitlines()]
    head = "from typing import ClassVar\nfrom linewatt.errors import ParseError\n"
    head += "from linewatt.hosts.base import HostSpec\nfrom linewatt.model import Channel\n"
    head += "from linewatt.sensors.base import SensorConfig\n"
    (copy / "linewatt" / "sensors" / "uptime.py").write_text(head + "\n".join(lines))
    file = campaign(copy, "sensors: {uptime: {interval_s: 2}}")
    schema, plan = linewatt(copy, ["schema"], ["plan", file, "--json"])
    assert "uptime" in json.dumps(json.loads(schema))
    assert "uptime" in json.dumps(json.loads(plan))


def test_a_new_knob_is_one_file(copy: Path) -> None:
    (copy / "linewatt" / "tuning" / "nic" / "txqueuelen.py").write_text(KNOB)
    file = campaign(copy, "factors: {txqueuelen: [500, 1000]}")
    (plan,) = linewatt(copy, ["plan", file])
    assert "txqueuelen" in plan


def test_a_new_metric_or_column_is_one_declaration(copy: Path) -> None:
    declarations = copy / "linewatt" / "analysis" / "metrics" / "of_trial.py"
    text = declarations.read_text()
    at = text.index('    Metric(\n        "packets_per_s"')
    declarations.write_text(text[:at] + METRIC.lstrip("\n") + text[at:])
    stored = Path(shutil.copytree(OLD, copy / "results" / "20261122-031105-demo")).name
    shutil.copytree(OLD, copy / "results" / "20261123-031105-demo")
    compare = ["compare", stored, "last", "--metric", "packets", "--fail-on", "nothing", "--full"]
    shown, document, table, _, compared = linewatt(
        copy,
        ["show", stored, "--full"],
        ["show", stored, "--json"],
        ["show", stored, "--csv"],
        ["report", stored, "--output", "x.html"],
        compare,
    )
    assert re.search(r"Lost\s", shown)
    cases = json.loads(document)["cases"]
    assert any(case["packets_lost_mean"] for case in cases if case["test"] != "tcp")
    assert "packets_lost_sd" in table.splitlines()[0]
    assert "Datagrams that never came." in (copy / "x.html").read_text()
    assert "Lost packets" in compared
