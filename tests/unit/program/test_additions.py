# SPDX-License-Identifier: Apache-2.0
"""What a new sensor, knob and metric take: one file, or one declaration, and everything else knows them."""

from __future__ import annotations

import json
import re
import shutil
from pathlib import Path

import pytest
from tests.programs import outputs_of

ROOT = Path(__file__).parents[3]
OLD = ROOT / "tests" / "captures" / "results" / "method-1"

KNOB = """
# SPDX-License-Identifier: Apache-2.0
from linewatt.tuning.commands import Command, tool_command
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
        return tool_command("ip", "-o", "link", "show", "dev", target)

    def parse(self, output: str) -> str:
        return output.split("qlen ")[1].split()[0]

    def wanted(self, before: str, value: str) -> str:
        return self.check(value)

    def write(self, target: str, setting: str) -> Command:
        return tool_command("ip", "link", "set", "dev", target, "txqueuelen", setting)


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


@pytest.fixture(scope="module")
def printed(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """What commands of a copy of the product, to which all three are added, printed: in one process, whose
    imports take longer than the commands."""
    folder = tmp_path_factory.mktemp("copy")
    copied = shutil.copytree(ROOT / "src", folder / "src", ignore=shutil.ignore_patterns("*.pyc.*"))
    package = copied / "linewatt"  # what was compiled of the other files holds for the copy, too
    (package / "sensors" / "uptime.py").write_text(sensor_of_the_docs())
    (package / "tuning" / "nic" / "txqueuelen.py").write_text(KNOB)
    declarations = package / "analysis" / "metrics" / "of_trial.py"
    text = declarations.read_text()
    at = text.index('    Metric(\n        "packets_per_s"')
    declarations.write_text(text[:at] + METRIC.lstrip("\n") + text[at:])
    (folder / "sensor.yaml").write_text(CAMPAIGN.format(more="sensors: {uptime: {interval_s: 2}}"))
    (folder / "knob.yaml").write_text(CAMPAIGN.format(more="factors: {txqueuelen: [500, 1000]}"))
    stored = Path(shutil.copytree(OLD, folder / "results" / "20261122-031105-demo")).name
    shutil.copytree(OLD, folder / "results" / "20261123-031105-demo")
    commands = {
        "schema": ["schema"],
        "plan with sensor": ["plan", "sensor.yaml", "--json"],
        "plan with knob": ["plan", "knob.yaml"],
        "show": ["show", stored, "--full"],
        "document": ["show", stored, "--json"],
        "table": ["show", stored, "--csv"],
        "report": ["report", stored, "--output", "x.html"],
        "compare": ["compare", stored, "last", "--metric", "packets", "--fail-on", "nothing", "--full"],
    }
    outputs = outputs_of(copied, list(commands.values()), cwd=folder, COLUMNS="300")
    return dict(zip(commands, outputs, strict=True)) | {"page": (folder / "x.html").read_text()}


def sensor_of_the_docs() -> str:
    """That of docs/architecture.md, word by word."""
    page = (ROOT / "docs" / "architecture.md").read_text()
    (source,) = re.findall(r"^   ```python\n(.*?)\n   ```", page, re.DOTALL | re.MULTILINE)
    lines = [line.removeprefix("   ") for line in source.splitlines()]
    head = "from typing import ClassVar\nfrom linewatt.errors import ParseError\n"
    head += "from linewatt.hosts.base import HostSpec\nfrom linewatt.model import Channel\n"
    head += "from linewatt.sensors.base import SensorConfig\n"
    return head + "\n".join(lines)


def test_a_new_sensor_is_one_file(printed: dict[str, str]) -> None:
    assert "uptime" in json.dumps(json.loads(printed["schema"]))
    assert "uptime" in json.dumps(json.loads(printed["plan with sensor"]))


def test_a_new_knob_is_one_file(printed: dict[str, str]) -> None:
    assert "txqueuelen" in printed["plan with knob"]


def test_a_new_metric_or_column_is_one_declaration(printed: dict[str, str]) -> None:
    assert re.search(r"Lost\s", printed["show"])
    cases = json.loads(printed["document"])["cases"]
    assert any(case["packets_lost_mean"] for case in cases if case["test"] != "tcp")
    assert "packets_lost_sd" in printed["table"].splitlines()[0]
    assert "Datagrams that never came." in printed["page"]
    assert "Lost packets" in printed["compare"]
