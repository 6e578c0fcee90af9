# SPDX-License-Identifier: Apache-2.0
"""What else runs beside a load, and where datagrams go, on real hosts."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from tests.lab.test_campaign import Bench, await_event, end
from tests.lab.test_placement import flags, placed

pytestmark = [
    pytest.mark.lab,
    pytest.mark.skipif(len(os.sched_getaffinity(0)) < 2, reason="needs two CPUs"),
]
WINDOW = {"seconds": 4, "omit": 1.6, "tail": 1.8}
LIMIT_S = "60"
"""for what runs beside a load, should nobody end it"""
PORT = "5999"


@pytest.fixture
def bench(plain_lab2: Any, tmp_path: Path) -> Iterator[Bench]:
    one = Bench(plain_lab2, tmp_path)
    yield one
    one.until_nothing_runs()


@contextmanager
def beside(*argv: str) -> Iterator[None]:
    process = subprocess.Popen(argv, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        yield
    finally:
        process.terminate()
        process.wait(timeout=20)


def in_host(bench: Bench, number: int, *argv: str) -> list[str]:
    return ["ip", "netns", "exec", bench.lab.hosts[number - 1].namespace, "timeout", LIMIT_S, *argv]


def test_a_neighbours_flow_on_the_same_interface_is_told_at_both_ends(bench: Bench) -> None:
    address = bench.lab.hosts[1].data_ipv4
    server = in_host(bench, 2, "iperf3", "-s", "-p", PORT)
    client = in_host(bench, 1, "iperf3", "-c", address, "-p", PORT, "-b", "90M", "-t", LIMIT_S)
    retried = f"until {' '.join(client)}; do sleep 0.1; done"
    process = bench.start("run", placed(bench, window=WINDOW, rate="60M"))
    await_event(process, "started")
    with beside(*server), beside("timeout", LIMIT_S, "sh", "-c", retried):
        await_event(process, "trial_stored")
    end(process, 0)
    (trial,) = bench.trials()
    found = [flag for flag in trial["flags"] if flag["code"] == "neighbour-traffic"]
    assert [flag["where"] for flag in found] == ["h1", "h2"]
    assert "sent" in found[0]["evidence"]
    assert "received" in found[1]["evidence"]


LOADS = (("tcp", "200M"), ("udp-1500", "20M"), ("udp-60", "5M"))
OTHER_LOADS = (("tcp", "20M"), ("udp-1500", "500M"), ("udp-60", "500M"))


@pytest.fixture(scope="module")
def alone(plain_lab2: Any, tmp_path_factory: pytest.TempPathFactory) -> Callable[..., list[dict[str, Any]]]:
    """Trials of loads, one after the other, in one campaign."""

    @cache
    def trials_of(loads: tuple[tuple[str, str], ...]) -> list[dict[str, Any]]:
        one = Bench(plain_lab2, tmp_path_factory.mktemp("alone"))
        tests = [{"test": test, "rate": rate} for test, rate in loads]
        one.run("run", placed(one, window=WINDOW, rate=None, tests=tests))
        one.until_nothing_runs()
        return one.trials()

    return trials_of


@pytest.mark.parametrize(
    ("loads", "test"),
    [
        *((LOADS, test) for test, _ in LOADS),
        *(pytest.param(OTHER_LOADS, test, marks=pytest.mark.full) for test, _ in OTHER_LOADS),
    ],
)
def test_a_load_alone_has_no_neighbour(
    alone: Callable[..., list[dict[str, Any]]], loads: tuple[tuple[str, str], ...], test: str
) -> None:
    (trial,) = (one for one in alone(loads) if one["case"]["test"] == test)
    assert trial["status"] == "done", trial["reason"]
    assert "neighbour-traffic" not in flags(trial)


def test_a_busy_loop_on_the_irq_cpu_is_told(bench: Bench) -> None:
    process = bench.start("run", placed(bench, window=WINDOW, rate="200M"))
    await_event(process, "trial_started")
    with beside("taskset", "-c", "1", "timeout", LIMIT_S, "sh", "-c", "while :; do :; done"):
        await_event(process, "trial_stored")
    end(process, 0)
    (trial,) = bench.trials()
    assert "IRQ CPU 1, which has no load process" in flags(trial)["foreign-load"]["evidence"]
    assert trial["receiver"]["foreign_cores"] > 0.2


@pytest.mark.full
def test_a_loss_is_told_once_with_its_place(bench: Bench) -> None:
    bench.run("run", placed(bench, window=WINDOW, rate="2G", tests=["udp-60"]))
    (trial,) = bench.trials()
    if trial["lost_ratio"] < 0.001:
        pytest.skip("this machine lost nothing")
    assert "packets-dropped" not in flags(trial)
    assert "in the receive buffer of the UDP socket on h2" in flags(trial)["udp-loss"]["evidence"]
