# SPDX-License-Identifier: Apache-2.0
"""Searches for the knee on real hosts: the test draws the rate of a link, and holds each instance back."""

from __future__ import annotations

import json
import random
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.lab.test_campaign import CHANGES, HANG_LIMIT_S, Bench, await_event
from tests.lab.test_check import CheckBench, _switch_port

pytestmark = pytest.mark.lab

EACH_BPS = 20_000_000
PORTS = range(5201, 5265)
SEARCHED = {
    **CHANGES,
    "rate": None,
    "instances": "auto",
    "trials": 3,
    "ports": f"{PORTS[0]}-{PORTS[-1]}",
    "search": {"max_instances": 16},
    "window": {"seconds": 2, "omit": 1, "tail": 0.8},
}
SYSCTL = "net.ipv4.tcp_rmem"


@pytest.fixture
def knee() -> float:
    return random.Random().uniform(2.4, 6.6)  # noqa: S311  a draw


@pytest.fixture
def bench(make_lab: Callable[..., Any], tmp_path: Path, knee: float) -> Iterator[Bench]:
    """A switch that lets so much of each port through, and no more than ``knee`` times that in all."""
    one = CheckBench(make_lab(rate="10gbit", bmc=False), tmp_path)
    link = _switch_port(one, 2)
    line, each = f"{round(knee * EACH_BPS)}bit", f"{EACH_BPS}bit"
    one.switch("tc", "qdisc", "replace", "dev", link, "root", "handle", "1:", "htb", "default", "2")
    _class(one, link, "1:", "1:1", line, line)
    _class(one, link, "1:", "1:2", "1gbit", "1gbit")
    for at, port in enumerate(PORTS, start=16):
        _class(one, link, "1:1", f"1:{at:x}", "100kbit", each)
        one.switch(
            *("tc", "filter", "add", "dev", link, "parent", "1:", "protocol", "ip", "prio", "1"),
            *("u32", "match", "ip", "dport", str(port), "0xffff", "flowid", f"1:{at:x}"),
        )
    before = one.settings(SYSCTL)
    yield one
    one.until_nothing_runs()
    one.assert_put_back(SYSCTL, before)


def _class(bench: CheckBench, link: str, parent: str, name: str, rate: str, ceil: str) -> None:
    bench.switch(
        *("tc", "class", "add", "dev", link, "parent", parent, "classid", name),
        *("htb", "rate", rate, "ceil", ceil, "burst", "5k", "cburst", "5k", "quantum", "1514"),
    )


@pytest.mark.full
def test_the_knee_is_found_within_one_instance_by_a_search_that_was_killed_on_the_way(
    bench: Bench, knee: float
) -> None:
    file = bench.campaign(**SEARCHED)
    process = bench.start("run", file)
    await_event(process, "trial_started", 8)
    process.kill()
    process.communicate(timeout=HANG_LIMIT_S)
    bench.until_nothing_runs()
    bench.restore()
    before = [(one["number"], one["case"]["instances"]) for one in bench.trials()]
    assert 6 <= len(before) < 9

    document = json.loads(file.read_text())
    bench.campaign(**SEARCHED | {"search": {"max_instances": 8}})
    refused = bench.run("resume", "last", status=1)
    assert "its searches go on from stored steps" in refused.stderr
    assert "instance_search.most: 16 → 8" in refused.stderr
    assert [(one["number"], one["case"]["instances"]) for one in bench.trials()] == before
    file.write_text(json.dumps(document))

    bench.run("resume", "last", limit_s=4 * HANG_LIMIT_S)
    trials = bench.trials()
    assert [(one["number"], one["case"]["instances"]) for one in trials][: len(before)] == before
    assert [one["reason"] for one in trials if one["status"] != "done"] == []
    search = shown(bench)
    assert search["state"] == "found", search
    assert search["knee_instances"] == pytest.approx(knee, abs=1)
    assert search["trials"] == len(trials) == 3 * len(search["steps"])
    assert sorted(one["instances"] for one in search["steps"]) == [
        one["instances"] for one in search["steps"]
    ]
    text = " ".join(bench.run("show", "last").stdout.split())
    assert "knee at" in text
    assert "tried: 1" in text
    page = bench.tmp / "report.html"
    bench.run("report", "last", "-o", page)
    assert "throughput by instances" in page.read_text()
    bench.run("rederive", "last")


def shown(bench: Bench) -> dict[str, Any]:
    """The one search of a result that is complete."""
    document = json.loads(bench.run("show", "last", "--json").stdout)
    assert document["complete"]
    (search,) = document["searches"]
    return dict(search)


def test_no_more_instances_are_tried_than_a_host_has_cpus_unless_the_file_names_more(
    plain_lab2: Any, tmp_path: Path
) -> None:
    bench = Bench(plain_lab2, tmp_path)
    cpus = min(len(host.cpus) for host in plain_lab2.hosts)
    window = {"seconds": 1, "omit": 0.2, "tail": 0.8}
    bench.run("run", bench.campaign(rate=None, instances="auto", trials=3, window=window))
    search = shown(bench)
    assert search["max_instances"] == cpus
    assert {one["instances"] for one in search["steps"]} <= set(range(1, cpus + 1))
    assert f"the {cpus} CPU" in search["bound"]
    assert search["ended"] is not None
    bench.until_nothing_runs()
