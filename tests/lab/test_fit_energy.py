# SPDX-License-Identifier: Apache-2.0
"""Energies of a bit and of a packet that a BMC is fed with, from the traffic that really passes, are met;
also while idle drifts."""

from __future__ import annotations

import json
import random
import shutil
import subprocess
import threading
import time
from collections import deque
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from ruamel.yaml import YAML
from tests.lab.test_campaign import Bench
from tests.lab.test_power import Bmc, _hosts

from linewatt.features.lab import bmc_recipe
from linewatt.features.lab.system import search_path

pytestmark = [
    pytest.mark.lab,
    pytest.mark.skipif(
        not all(shutil.which(tool, path=search_path()) for tool in ("ipmi_sim", "ipmitool")),
        reason="needs ipmi_sim and ipmitool",
    ),
]

BASE_W, BIT_J, PACKET_J = 100.0, 2e-7, 5e-4
STEP_W = {"h1": 4, "h2": 1}
"""of one of the two supplies of each host's BMC"""
SWEEP = {"sizes": [60, 1500], "rates": ["10kpps", "20kpps", "30kpps"], "idle_share": "12%"}
DRIFT_W_PER_S = 0.04
BETWEEN = 5
"""idle windows: after every second of 12 trials but the last"""
AVERAGED_S, EVERY_S = 0.3, 0.1


def counted(pid: str, way: str) -> tuple[float, float, float]:
    """Now, and bytes and packets that a namespace's data interface has sent (tx) or received (rx)."""
    lines = Path(f"/proc/{pid}/net/dev").read_text().splitlines()
    (words,) = (line.partition(":")[2].split() for line in lines if line.strip().startswith("data0:"))
    at = 0 if way == "rx" else 8
    return time.monotonic(), float(words[at]), float(words[at + 1])


@contextmanager
def fed(bmc: Bmc, pid: str, way: str) -> Iterator[None]:
    """What the planted energies make of the traffic of the last moments, with a jitter of 0.6 W, on a host
    that warms up."""
    ended, began_s = threading.Event(), time.monotonic()
    jitter = random.Random(1)  # noqa: S311

    def feed() -> None:
        seen = deque([counted(pid, way)], maxlen=round(AVERAGED_S / EVERY_S) + 1)
        while not ended.wait(EVERY_S):
            seen.append(counted(pid, way))
            seconds, octets, packets = (
                after - before for before, after in zip(seen[0], seen[-1], strict=True)
            )
            warm_w = BASE_W + DRIFT_W_PER_S * (time.monotonic() - began_s)
            drawn_w = warm_w + (8 * octets * BIT_J + packets * PACKET_J) / seconds
            bmc.write(drawn_w / 2 + jitter.uniform(-0.6, 0.6))

    thread = threading.Thread(target=feed)
    thread.start()
    try:
        yield
    finally:
        ended.set()
        thread.join()


def campaign(bench: Bench, bmcs: dict[str, Bmc]) -> Path:
    inventory = YAML(typ="safe").load(bench.lab.inventory)
    for name, host in _hosts(inventory):
        host["linewatt_power"] = {"bmc": bmcs[name].source()}
    path = bench.tmp / "inventory.yaml"
    path.write_text(json.dumps(inventory))
    written = bench.campaign(
        hosts=str(path),
        energy=SWEEP,
        rate=None,
        trials=2,
        window={"seconds": 4, "omit": 1, "tail": 1.5},
        idle={"seconds": 2},
    )
    keys = json.loads(written.read_text())
    del keys["tests"]
    written.write_text(json.dumps(keys))
    return written


@pytest.mark.full
def test_planted_energies_are_met_and_a_meter_of_4_w_steps_is_refused(
    lab2: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    bench = Bench(lab2, tmp_path)
    with ExitStack() as stack:
        bmcs = {}
        for number, host in enumerate(lab2.hosts, 1):
            with monkeypatch.context() as patched:
                steps = (replace(one, step=min(one.step, STEP_W[host.name])) for one in bmc_recipe.SENSORS)
                patched.setattr(bmc_recipe, "SENSORS", tuple(steps))
                bmcs[host.name] = Bmc(tmp_path / f"bmc-{host.name}", number)
            stack.callback(bmcs[host.name].stop)
            pids = subprocess.run(
                ["ip", "netns", "pids", host.namespace], capture_output=True, text=True, check=True
            )
            way = "tx" if host.name == "h1" else "rx"
            stack.enter_context(fed(bmcs[host.name], pids.stdout.split()[0], way))
        path = campaign(bench, bmcs)
        planned = json.loads(bench.run("plan", path, "--json").stdout)["idle"]
        began_s = time.monotonic()
        bench.run("run", path)
        warmer_w = DRIFT_W_PER_S * (time.monotonic() - began_s)
    (result,) = bench.results.iterdir()
    assert planned["between_windows"] == BETWEEN
    assert len(list(result.glob("idle*.json"))) == 2 + BETWEEN
    found = json.loads(bench.run("fit", "energy", "last", "--json").stdout)
    fine, coarse = found["fits"]
    assert (fine["host"], coarse["host"]) == ("h2", "h1")
    for key, planted in (("e_bit_pj", 1e12 * BIT_J), ("e_pkt_nj", 1e9 * PACKET_J)):
        low, high = fine["ci"][key]
        assert low > 0, (key, fine)
        # each of two intervals of 95 % misses the truth once in 20; one twice as wide practically never
        assert abs(planted - (low + high) / 2) <= high - low, (key, fine)
    drift = fine["idle_drift"]
    assert drift["windows"] == 2 + BETWEEN
    assert drift["high_w"] - drift["low_w"] > warmer_w / 2
    assert drift["low_w"] <= fine["p_offset_w"] <= drift["high_w"], fine
    assert coarse["e_pkt_nj"] is None
    assert "of the meter's steps of 8 W; 3 are needed" in coarse["reasons"]["e_pkt_nj"]
    assert all(one["warnings"][0] == "Watts are simulated, not measured" for one in found["fits"])
