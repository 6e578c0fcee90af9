# SPDX-License-Identifier: Apache-2.0
"""A campaign rehearsed on a guest for each of its hosts: what drivers make of it, and nothing left."""

from __future__ import annotations

import json
import os
import signal
import subprocess
from pathlib import Path

import pytest
from tests.lab.test_lab import LINEWATT, until
from tests.report_factories import host, result, stored, trial
from tests.vm.test_guests import linewatt

from linewatt.features.lab import api as lab
from linewatt.features.lab.state import ROOT
from linewatt.model import Case

pytestmark = [pytest.mark.vm, pytest.mark.thorough, pytest.mark.usefixtures("none_left")]

STAGE_LIMIT_S = 120.0
BOOT_AND_RUN_S = 800.0
"""of a boot, which has a limit of 420 s itself, and a campaign"""
ENDS_LIMIT_S = 60.0
DATA = {"gen": ("enp1s0f0np0", "192.0.2.101"), "dut": ("eno1", "192.0.2.100")}


def tunnel(host: str, number: int) -> dict[str, object]:
    """One end of a VXLAN between the two, on their own interfaces and addresses."""
    interface, _ = DATA[host]
    (remote,) = (address for name, (_, address) in DATA.items() if name != host)
    own = {"id": 100, "base-iface": interface, "remote": remote, "destination-port": 4789}
    address = {"enabled": True, "address": [{"ip": f"198.18.100.{number}", "prefix-length": 24}]}
    one = {"name": "vx0", "type": "vxlan", "state": "up", "mtu": 1450, "vxlan": own, "ipv4": address}
    return {"interfaces": [one]}


CAMPAIGN = {
    "name": "two",
    "hosts": {
        "gen": {"address": "192.0.2.11", "data": "enp1s0f0np0", "data_ipv4": "192.0.2.101"},
        "dut": {"address": "192.0.2.10", "data": "eno1", "data_ipv4": "192.0.2.100"},
    },
    "pairs": ["gen -> dut"],
    "tests": ["tcp"],
    "networks": [{"name": "vx", "hosts": {"gen": tunnel("gen", 1), "dut": tunnel("dut", 2)}}],
    "trials": 10,
    "window": {"seconds": 60, "omit": 5},
    "settings": {"pause": "rx=off tx=off"},
    "factors": {"rings": ["rx=512", "rx=100000"]},
}
ONE_CPU = {"cpu": {"numa_nodes": 1, "threads_per_core": 1}, "cpus": {"online": [0]}}
FACTS = {
    "gen": ONE_CPU | {"nic": {"driver": "mlx5_core", "channels": {"combined": 8}}},
    "dut": ONE_CPU | {"nic": {"driver": "e1000e"}},
}


def words(tmp: Path) -> list[str]:
    path = tmp / "campaign.yaml"
    path.write_text(json.dumps(CAMPAIGN))
    known = {name: host(name, facts=facts) for name, facts in FACTS.items()}
    trials = (trial(1, Case("tcp", "gen", "dut"), 1e9, 2.0),)
    facts = stored(tmp / "stored", result(trials, id="20260101-000000-real", hosts=known))
    return ["rehearse", str(path), "--facts", str(facts), "--json"]


def test_each_change_is_tried_on_a_driver_and_all_is_as_found(tmp_path: Path) -> None:
    before = {*lab.names()}
    found = json.loads(linewatt(tmp_path, *words(tmp_path), status=3, limit_s=BOOT_AND_RUN_S))
    assert [name for name in lab.names() if name.startswith("rehearse-") and name not in before] == []
    assert list((tmp_path / "state").glob("*")) == []
    verdicts = {
        (one["host"], one["knob"], one["value"]): one["verdict"]
        for one in found["changes"]
        if one["knob"] in ("rings", "pause")
    }
    assert verdicts["dut", "rings", "rx=512"] == verdicts["gen", "rings", "rx=512"] == "taken"
    assert verdicts["dut", "rings", "rx=100000"] == verdicts["gen", "rings", "rx=100000"] == "refused"
    assert verdicts["dut", "pause", "rx=off tx=off"] == "ignored"
    assert verdicts["gen", "pause", "rx=off tx=off"] == "refused"
    assert [one["verdict"] for one in found["changes"] if one["knob"] == "network"] == ["taken"] * 2
    assert found["as_found"], found["left"]
    assert found["loads"] == {"done": 1, "failed": 0, "pending": 0}
    assert found["places"]
    assert found["hosts"]["dut"]["interfaces"][0]["same_driver"]
    assert found["cannot_know"][0].startswith("mlx5_core (gen enp1s0f0np0): vmxnet3 stood in")
    assert not found["as_asked"]


def test_what_a_killed_rehearsal_left_goes_with_lab_down(tmp_path: Path) -> None:
    process = subprocess.Popen(
        [*LINEWATT, *words(tmp_path)], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    )
    name = f"rehearse-{process.pid}"
    try:
        until((ROOT / name / "guests" / "h1.sh").exists, STAGE_LIMIT_S, "the first guest's script")
        os.kill(process.pid, signal.SIGKILL)
        process.wait(ENDS_LIMIT_S)
        assert lab.down(name)
        assert name not in lab.names()
        assert not (ROOT / name).exists()
    finally:
        process.kill()
        process.wait()
        lab.down(name)
