# SPDX-License-Identifier: Apache-2.0
"""Watts above idle on hosts whose power is known: a model of the CPU use that was really seen."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from pathlib import Path
from statistics import fmean
from typing import Any

import pytest
from tests.lab.test_campaign import Bench
from tests.packed import texts

from linewatt.analysis.cases.summary import summarise
from linewatt.analysis.power.summary import EndPower
from linewatt.features.lab.power_model import PSUS, server_power
from linewatt.features.lab.system import search_path
from linewatt.model import Window
from linewatt.sensors.power.dynamics import TOO_SHORT_WORDS
from linewatt.sensors.registry import SENSORS
from linewatt.store.read import Result, load_result

pytestmark = [
    pytest.mark.lab,
    pytest.mark.skipif(shutil.which("ipmi_sim", path=search_path()) is None, reason="needs ipmi_sim"),
]


def true_w(text: str, cpus: set[str], window: Window) -> float:
    """What the model draws out of its supplies, from CPU use second by second as mpstat wrote it."""
    found = []
    for line in text.splitlines():
        record = json.loads(line)
        if window.start_s <= record["received_s"] - record["span_s"] / 2 <= window.end_s:
            shares = SENSORS["mpstat"].parse(record["text"])
            own = [1 - share(shares, cpu, "idle") - share(shares, cpu, "iowait") for cpu in cpus]
            found.append(PSUS * server_power(fmean(own)).psu_out_w)
    return fmean(found)


def share(shares: dict[str, float | None], cpu: str, column: str) -> float:
    value = shares[f"cpu{cpu}.{column}_ratio"]
    assert value is not None
    return value


def windows(result: Result) -> Iterator[tuple[Path, Window]]:
    for name in ("idle", "idle-end"):
        times = json.loads((result.path / f"{name}.json").read_text())["window"]
        yield result.path / "raw" / name, Window(times["start_s"], times["end_s"])


def _mpstat(result: Result, number: int, host: str) -> str:
    return texts(result.path / "trials" / f"{number:05d}" / "raw")[f"{host}/mpstat.jsonl"]


def true_above_idle_w(result: Result, host: str, cpus: set[str]) -> float:
    idle = [true_w(texts(raw)[f"{host}/mpstat.jsonl"], cpus, window) for raw, window in windows(result)]
    loaded = [
        true_w(_mpstat(result, one.number, host), cpus, one.window)
        for one in result.trials
        if one.window is not None
    ]
    return fmean(loaded) - fmean(idle)


@pytest.mark.measures
def test_watts_above_idle_are_what_the_model_gives_or_are_withheld(lab2: Any, tmp_path: Path) -> None:
    bench = Bench(lab2, tmp_path)
    window = {"seconds": 8, "omit": 1.5, "tail": 1.5}
    bench.run("run", bench.campaign(rate="1G", trials=2, window=window, idle={"seconds": 4}))
    result = load_result(bench.result)
    (summary,) = summarise(result.trials)
    for end in (summary.sender_power, summary.receiver_power):
        assert isinstance(end, EndPower)
        if end.dynamic_w is None:
            codes = {flag.code for flag in summary.case_flags}
            drifted = end.reasons["dynamic_w"].startswith("idle was ") and "idle-drifted" in codes
            assert drifted or TOO_SHORT_WORDS in end.reasons["dynamic_w"]
            continue
        assert end.dynamic_uncertainty_w is not None
        truth_w = true_above_idle_w(result, end.host, bench.own_cpus(end.host))
        assert abs(end.dynamic_w.mean - truth_w) <= end.dynamic_uncertainty_w.mean
        if end.dynamic_w_per_bps is None:
            assert "idle: " in end.reasons["dynamic_w_per_bps"]
