# SPDX-License-Identifier: Apache-2.0
"""What of a campaign file two meters are compared over: one load, up and down."""

from __future__ import annotations

import json
from copy import deepcopy
from pathlib import Path
from typing import Any

import pytest
from tests.unit.conftest import Run

from linewatt.campaign.planning.plan import plan_campaign
from linewatt.campaign.reading.file import load_campaign
from linewatt.errors import InvalidInput
from linewatt.features.calibration.staircase import LEVELS, staircase

METER = {"driver": "estimate", "idle_w": 60, "max_w": 180}
FILE: dict[str, Any] = {
    "name": "t",
    "hosts": {
        "h1": {"address": "192.0.2.1", "data": "eth0"},
        "h2": {"address": "192.0.2.2", "data": "eth0", "power": {"bmc": METER, "pdu": METER}},
    },
    "pairs": ["h1 -> h2"],
    "tests": ["tcp"],
}


def wholly(value: dict[str, Any], tmp_path: Path) -> Any:
    path = tmp_path / "campaign.yaml"
    path.write_text(json.dumps(value))
    return load_campaign(path, edit=lambda found: staircase(found, "h2"))


def test_a_file_of_many_cases_becomes_one_load_up_and_down(tmp_path: Path) -> None:
    many = FILE | {
        "pairs": ["h2 -> h1", "h1 -> h2"],
        "tests": [{"test": "udp-1500", "rate": "auto", "instances": [1, 2]}, "tcp"],
        "directions": ["reverse", "forward"],
        "factors": {"gro": ["on", "off"]},
        "instances": [1, 2, 4],
        "order": "random",
        "seed": 3,
        "trials": {"until": "1%"},
    }
    campaign = wholly(many, tmp_path)
    assert campaign.pairs == (("h2", "h1"),)
    assert [(one.test, one.instances, one.rate_bps) for one in campaign.tests] == [("udp-1500", (2,), None)]
    levels = [one.case.load_level for one in plan_campaign(campaign, 0).trials]
    up = [level / 100 for level in LEVELS]
    assert levels == [None, None, *up, *reversed(up)]


def test_settings_and_sensors_stay_as_they_are(tmp_path: Path) -> None:
    campaign = wholly(FILE | {"settings": {"gro": "off"}, "window": {"seconds": 7}}, tmp_path)
    assert campaign.settings == {"gro": "off"}
    assert campaign.window_s == 7


@pytest.mark.parametrize(
    ("changes", "why"),
    [
        ({"soak": "1h"}, "soak: two meters are compared over trials"),
        ({"tests": []}, "tests: names no test"),
        ({"pairs": ["h1 -> h3"]}, "pairs: no pair contains h2"),
    ],
    ids=str,
)
def test_a_file_without_a_load_for_the_host_is_refused(changes: dict[str, Any], why: str) -> None:
    with pytest.raises(InvalidInput, match=why):
        staircase(FILE | changes, "h2")


def test_the_command_refuses_before_any_host_is_touched(tmp_path: Path, run: Run) -> None:
    path, value = tmp_path / "campaign.yaml", deepcopy(FILE)
    path.write_text(json.dumps(value))
    code, _, err = run("calibrate", str(path))
    assert code == 2
    assert "h2 has bmc, pdu; name the one that is trusted with --reference" in err
    del value["hosts"]["h2"]["power"]["pdu"]
    path.write_text(json.dumps(value))
    code, _, err = run("calibrate", str(path), "--reference", "pdu")
    assert code == 2
    assert "no host has two such sources of power to compare (h1: none; h2: bmc)" in err
