# SPDX-License-Identifier: Apache-2.0
"""Data ports that connections do not get to, or that somebody else has; and loads that leave their leash."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest
from tests.lab.test_campaign import GONE_LIMIT_S, Bench, await_event, end, until

pytestmark = pytest.mark.lab

PORTS = "5201-5264"
OPEN = f"open ports {PORTS} (TCP and UDP) in firewalls of h2 and on the way"


@pytest.fixture
def bench(plain_lab2: Any, tmp_path: Path) -> Iterator[Bench]:
    own = Bench(plain_lab2, tmp_path)
    yield own
    own.until_nothing_runs()


def keep_away(bench: Bench, action: str, back: ExitStack) -> None:
    """Have the second host drop what comes to the data ports (``blackhole``) or say no (``prohibit``)."""
    local, rule = ["lookup", "local"], ["iif", "data0", "ipproto", "tcp", "dport", PORTS, action]

    def change(what: str, pref: str, *words: str) -> None:
        bench.on_host(2, "ip", "rule", what, "pref", pref, *words)

    for what, undone, pref, words in (  # what is for the host itself comes behind the rule meanwhile
        ("add", "del", "2", local),
        ("add", "del", "1", rule),
        ("del", "add", "0", local),
    ):
        change(what, pref, *words)
        back.callback(change, undone, pref, *words)
    if action == "prohibit":  # a host that forwards nothing says nothing (ip_error in net/ipv4/route.c)
        bench.on_host(2, "sysctl", "-w", "net.ipv4.ip_forward=1")
        back.callback(bench.on_host, 2, "sysctl", "-w", "net.ipv4.ip_forward=0")


@pytest.mark.parametrize(
    ("action", "expected"),
    [
        ("blackhole", ": no answer though pings are answered: a firewall drops what is sent there"),
        ("prohibit", ": no route to host though pings are answered: a firewall rejects what is sent there"),
    ],
)
def test_a_firewall_before_the_data_ports_is_named_before_anything_is_changed(
    bench: Bench, action: str, expected: str
) -> None:
    with ExitStack() as back:
        keep_away(bench, action, back)
        told = bench.run("run", bench.campaign(instances=[2]), status=1).stderr
    assert f"{expected}; {OPEN}" in told
    assert "h1 to h2 (ipv4): TCP ports 5201-5202,5233-5234 of 198." in told
    assert "more)" not in told
    assert "making" not in told
    assert not bench.results.exists()


def test_a_firewall_that_comes_up_in_mid_campaign_is_named_by_trials_that_it_fails(bench: Bench) -> None:
    with ExitStack() as back:
        process = bench.start("run", bench.campaign(trials=3))
        await_event(process, "trial_stored")
        keep_away(bench, "blackhole", back)
        end(process, 1)
    *_, last = bench.trials()
    assert last["status"] == "failed"
    assert ": no answer though iperf3 listens there: a firewall drops what is sent there" in last["reason"]


def test_a_port_that_another_program_has_is_named_with_that_program(bench: Bench) -> None:
    listens = "at = socket.create_server(('', 5202)); print(flush=True); sys.stdin.read()"
    command = bench.inside(2, sys.executable, "-c", f"import socket, sys; {listens}")
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        process.stdout.readline()
        told = bench.run("run", bench.campaign(instances=[2]), status=1).stderr
        process.communicate(b"")
    assert "h2: port 5202 is taken by python" in told
    assert "choose other ports in the campaign (ports: FIRST-LAST)" in told
    assert not bench.results.exists()


def test_a_load_that_went_into_a_session_of_its_own_ends_with_a_killed_controller(bench: Bench) -> None:
    tool = shutil.which("iperf3")
    assert tool is not None
    own = shutil.copy(tool, bench.tmp / "iperf3")
    wrapper = bench.tmp / "wrapper"
    wrapper.write_text(f'#!/bin/bash\n[ "$1" = --version ] && exec {own} "$@"\nsetsid {own} "$@" & wait $!\n')
    wrapper.chmod(0o755)
    with ExitStack() as back:
        for number in (1, 2):
            bench.mount(number, wrapper, tool, back)
        process = bench.start("run", bench.campaign(trials=3))
        await_event(process, "trial_started", 1)
        until(lambda: any(str(own) in line for line in bench.processes()), 60, "iperf3 to run on a host")
        os.kill(process.pid, signal.SIGKILL)
        process.communicate()
        until(lambda: bench.processes() == [], GONE_LIMIT_S, "every process on the hosts to end")
        bench.restore()
