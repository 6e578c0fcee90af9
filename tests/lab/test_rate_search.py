# SPDX-License-Identifier: Apache-2.0
"""Searches for loss-bounded rates on real hosts, over a shaper at a rate that the test draws."""

from __future__ import annotations

import json
import math
import random
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.lab.test_campaign import HANG_LIMIT_S, Bench, await_event
from tests.lab.test_check import CheckBench, _switch_port
from tests.truth.others import undisturbed

pytestmark = pytest.mark.lab

SEARCHED = {
    "tests": ["udp-1500"],
    "rate": "auto",
    "window": {"seconds": 4, "omit": 1, "tail": 1.5},
    "search": {"max_rate": "40M", "width": "0.25%"},
}
FRAME = 1472 / 1514
"""payload of what a shaper counts: headers of Ethernet, IP and UDP are 42 bytes"""
QUEUE_S = 0.02
"""what the shaper holds: so much later may a process run without a loss, and 0.4 % more goes through"""


@pytest.fixture
def rate_bps() -> int:
    return round(random.Random().uniform(10e6, 20e6))  # noqa: S311  a draw


@pytest.fixture
def bench(make_lab: Callable[..., Any], tmp_path: Path, rate_bps: int) -> Iterator[Bench]:
    """A switch that lets so much through.

    Its queue is far shorter than the send buffer of a socket: a longer one would hold the sender back.
    """
    one = CheckBench(make_lab(rate="10gbit", bmc=False), tmp_path)
    queue = round(QUEUE_S * rate_bps / 8)
    bucket = ("tbf", "rate", f"{rate_bps}bit", "burst", "5000", "limit", str(queue))
    one.switch("tc", "qdisc", "replace", "dev", _switch_port(one, 2), "root", *bucket)
    yield one
    one.until_nothing_runs()


@pytest.mark.full
def test_a_search_that_was_killed_goes_on_and_claims_no_more_than_the_shaper_carries(
    bench: Bench, rate_bps: int
) -> None:
    window = {"seconds": 2, "omit": 1, "tail": 1.5}
    process = bench.start("run", bench.campaign(**SEARCHED | {"window": window}))
    await_event(process, "trial_started", 3)
    process.kill()
    process.communicate(timeout=HANG_LIMIT_S)
    bench.until_nothing_runs()
    bench.restore()
    before = [(one["number"], one["case"]["rate_bps"]) for one in bench.trials()]
    assert len(before) >= 2
    bench.run("resume", "last")
    trials = bench.trials()
    assert [(one["number"], one["case"]["rate_bps"]) for one in trials][: len(before)] == before
    assert all(one["status"] == "done" for one in trials)

    search = shown(bench)
    assert len(search["steps"]) == search["trials"] == len(trials)
    for goal in search["goals"]:
        lower = goal["lower"]
        assert lower is not None
        assert all(lost <= goal["loss_ratio"] for lost in lost_in_deciding(search, lower))
        assert 2 * len(lower["trials"]) > lower["runs"]
        assert goal["lower"]["throughput_bps"] <= 1.02 * rate_bps * FRAME
    assert "UDP 1500 NDR" in bench.run("show", "last").stdout
    assert "rates by loss" in bench.run("show", "last", "--full").stdout
    page = bench.tmp / "report.html"
    bench.run("report", "last", "-o", page)
    assert "loss against rate" in page.read_text()


def shown(bench: Bench) -> dict[str, Any]:
    """The one search of a result that is complete."""
    document = json.loads(bench.run("show", "last", "--json").stdout)
    assert document["complete"]
    (search,) = document["searches"]
    return dict(search)


def lost_in_deciding(search: dict[str, Any], bound: dict[str, Any]) -> list[float]:
    """What each trial lost that decided on a rate: the more of them agree, and one hiccup is outvoted."""
    return [one["lost_ratio"] for one in search["steps"] if one["trial"] in bound["trials"]]


@pytest.mark.measures
@pytest.mark.idle_machine
def test_both_rates_of_a_shaper_are_found_within_one_percent(bench: Bench, rate_bps: int) -> None:
    def measure(_: int) -> dict[str, Any]:
        bench.run("run", bench.campaign(**SEARCHED))
        return shown(bench)

    search = undisturbed(measure)
    ndr, pdr = search["goals"]
    assert [ndr["state"], pdr["state"]] == ["found", "found"], search
    assert ndr["lower"]["offered_bps"] == pytest.approx(rate_bps * FRAME, rel=0.01)
    assert pdr["lower"]["throughput_bps"] == pytest.approx(rate_bps * FRAME, rel=0.01)
    assert set(lost_in_deciding(search, ndr["lower"])) == {0.0}
    bisected = 1 + 2 * math.ceil(math.log2(40e6 / (0.0025 * rate_bps)))  # rates, each decided by two or more
    assert search["trials"] <= 2 * bisected
