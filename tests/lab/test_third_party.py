# SPDX-License-Identifier: Apache-2.0
"""A package outside the repository adds a sensor, a load and a feature, and a campaign uses them."""

from __future__ import annotations

import json
import re
import textwrap
from pathlib import Path
from typing import Any

import duckdb
import pytest
from tests.third_party import install, linewatt

pytestmark = pytest.mark.lab

ROOT = Path(__file__).parents[2]
IMPORTS = """
import contextlib, os
from typing import ClassVar
from linewatt.core.feature import Feature
from linewatt.errors import ParseError
from linewatt.hosts.base import HostSpec
from linewatt.loads.iperf3.load import Iperf3
from linewatt.model import Channel
from linewatt.sensors.base import SensorConfig
"""
LOAD_AND_FEATURE = """
class Renamed(Iperf3):
    name = "my-iperf3"
    is_default = False
    version_command = ("iperf3", "--version")

LOAD = Renamed()

class Log:
    soak_ends = ()
    def __init__(self, show, cpu_of):
        self.names = []
    def hear(self, event):
        self.names.append(type(event).__name__)
    @contextlib.asynccontextmanager
    async def during(self, result, state, *, resumable):
        yield
        with open(os.environ["EVENTS"], "w") as file:
            print(*self.names, file=file)

FEATURE = Feature(name="log", summary="writes down events", run_observer="thirdparty:Log")
"""


def test_a_campaign_runs_with_a_sensor_a_load_and_a_feature_of_another_package(
    lab2: Any, tmp_path: Path
) -> None:
    (sensor,) = re.findall(
        r"^   ```python\n(.*?)^   ```", (ROOT / "docs/architecture.md").read_text(), re.DOTALL | re.MULTILINE
    )
    groups = {
        "linewatt.sensors": "uptime = thirdparty:SENSOR",
        "linewatt.loads": "my-iperf3 = thirdparty:LOAD",
        "linewatt.features": "log = thirdparty:FEATURE",
    }
    install(tmp_path, groups, IMPORTS + textwrap.dedent(sensor) + LOAD_AND_FEATURE)
    campaign = tmp_path / "campaign.yaml"
    document = {
        "name": "third",
        "hosts": str(lab2.inventory),
        "pairs": ["h1 -> h2"],
        "tests": ["tcp"],
        "trials": 1,
        "rate": "200M",
        "load": "my-iperf3",
        "sensors": {"uptime": {"interval_s": 0.2}},
        "window": {"seconds": 1, "omit": 0.2, "tail": 0.8},
        "idle": {"seconds": 0},
    }
    campaign.write_text(json.dumps(document))
    environment = {
        "HOME": str(tmp_path),
        "LINEWATT_STATE": str(tmp_path / "state"),
        "EVENTS": str(tmp_path / "events"),
    }
    results = ("--results", str(tmp_path / "results"))
    done = linewatt("run", campaign, *results, path=tmp_path, environment=environment, limit_s=120.0)
    assert done.returncode == 0, done.stderr
    (stored,) = (tmp_path / "results").glob("*/trials/*")
    trial = json.loads((stored / "trial.json").read_text())
    assert trial["case"]["load"] == "my-iperf3"
    assert 150e6 < trial["throughput_bps"] < 250e6
    samples = duckdb.read_parquet(str(stored / "samples.parquet"))
    assert samples.filter("channel = 'host.uptime_s'").fetchall() != []
    assert {"Started", "TrialStarted", "TrialStored", "Ended"} <= set(
        (tmp_path / "events").read_text().split()
    )
