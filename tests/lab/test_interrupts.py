# SPDX-License-Identifier: Apache-2.0
"""Interrupts and context switches of a trial's hosts, which in a lab are one machine."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.lab.test_campaign import Bench

pytestmark = pytest.mark.lab
WINDOW = {"seconds": 5, "omit": 0.5, "tail": 1.5}
"""so long that it is of little weight that its ends are read up to a second apart"""


@pytest.fixture
def bench(plain_lab2: Any, tmp_path: Path) -> Iterator[Bench]:
    one = Bench(plain_lab2, tmp_path)
    yield one
    one.until_nothing_runs()


def test_both_ends_of_a_lab_count_what_their_one_machine_did(bench: Bench) -> None:
    bench.run("run", bench.campaign(trials=1, rate="200M", window=WINDOW))
    (trial,) = bench.trials()
    for counter in ("host.interrupts", "host.context_switches", "softirqs.net_rx"):
        counted = [trial[end]["counters"][counter] for end in ("sender", "receiver")]
        assert counted[0] > 0
        assert counted[0] == pytest.approx(counted[1], rel=0.3)
        assert counter not in trial["sender"]["reasons"]
    assert "irq.data" not in trial["sender"]["counters"], "a veth has no interrupts"
    (case,) = json.loads(bench.run("show", "last", "--json").stdout)["cases"]
    window_s = trial["window"]["end_s"] - trial["window"]["start_s"]
    for role in ("receiver", "sender"):
        for what in ("interrupts", "context_switches"):
            counted = trial[role]["counters"][f"host.{what}"]
            assert case[f"{role}_{what}_per_s_mean"] == pytest.approx(counted / window_s)
    shown = bench.run("show", "last", "--full").stdout
    assert "machine" in shown
    assert "switches" in shown
