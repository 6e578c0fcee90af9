# SPDX-License-Identifier: Apache-2.0
"""A real campaign that is watched: by who does not read, without harm to it; and stopped by the button."""

from __future__ import annotations

import fcntl
import json
import re
import socket
import subprocess
import sys
import termios
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import pytest
from tests import forked
from tests.lab.test_campaign import CHANGES, HANG_LIMIT_S, LONG, Bench, await_event, bench, end, until
from tests.live_server import Served

from linewatt.features.serve.broadcast import sockets

pytestmark = pytest.mark.lab
__all__ = ["bench"]

MOST_EXTRA_CORES = 0.03
"""of the controller's CPU while it is watched: as much as all that a run of two hosts takes anyway"""
HALF = 2
"""trials before anybody watches, and as many that are watched"""
WITHOUT = ("trials", "window", "idle")
"""of a campaign: what a soak has none of"""


@contextmanager
def served(bench: Bench) -> Iterator[Served]:
    """``linewatt serve``, a process of its own."""
    bench.results.mkdir(exist_ok=True)
    process = forked.Forked(
        bench.words("serve", "--port", "0"),
        env=bench.environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        assert process.stdout is not None
        made = Served.at(process.stdout.readline().strip())
        assert made is not None, process.communicate(timeout=HANG_LIMIT_S)
        yield made
    finally:
        process.terminate()
        process.communicate(timeout=HANG_LIMIT_S)


def cpu_s(pid: int) -> float:
    """CPU time of all threads of a process, by the scheduler's account."""
    return sum(
        int(path.read_text().split()[0]) / 1e9 for path in Path(f"/proc/{pid}/task").glob("*/schedstat")
    )


class SmallBuffers(forked.Forked):
    """A run whose kernel keeps little for who does not read, so that what it writes has nowhere to go."""

    before = "from linewatt.features.serve.broadcast import broadcast\nbroadcast.KERNEL_BYTES = 1"


@contextmanager
def watched_by_the_stuck(bench: Bench, web: Served, name: str) -> Iterator[socket.socket]:
    """One at the socket itself, and a browser, neither of which reads what it is sent; the former."""
    with ExitStack() as stack:
        own = stack.enter_context(sockets.connect(sockets.path_of(bench.tmp / "state", name)))
        own.sendall(b'{"ask": "watch"}\n')
        browser = stack.enter_context(socket.create_connection(("127.0.0.1", web.port)))
        browser.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        headers = {"host": f"127.0.0.1:{web.port}", **web.authorization}
        lines = [f"GET /live/{name}/events HTTP/1.1", *(f"{key}: {text}" for key, text in headers.items())]
        browser.sendall("\r\n".join([*lines, "", ""]).encode())
        yield own


def unread(stuck: socket.socket) -> int:
    """Bytes that a socket has been sent and nobody has read."""
    return int.from_bytes(fcntl.ioctl(stuck, termios.FIONREAD, bytes(4)), sys.byteorder)


def share(process: subprocess.Popen[str]) -> float:
    """Cores that the controller takes over two seconds of a load."""
    begun_s, before_s = time.monotonic(), cpu_s(process.pid)
    for _ in range(2):
        await_event(process, "throughput")
    return (cpu_s(process.pid) - before_s) / (time.monotonic() - begun_s)


@pytest.mark.full
def test_who_is_stuck_takes_no_cpu_and_no_throughput_from_the_campaign(bench: Bench) -> None:
    alone: list[float] = []
    watched: list[float] = []
    process = bench.start("run", bench.campaign(trials=2 * HALF, window=LONG), kind=SmallBuffers)
    with served(bench) as web:
        name = await_event(process, "started")["id"]
        for number in range(1, HALF + 1):
            await_event(process, "trial_started", number)
            alone.append(share(process))
        with watched_by_the_stuck(bench, web, name) as stuck:
            full = 0
            for number in range(HALF + 1, 2 * HALF + 1):
                await_event(process, "trial_started", number)
                watched.append(share(process))
                full = full or unread(stuck)
            assert 0 < unread(stuck) == full, "the run writes, and nothing more gets through"
            end(process, 0)
    stored = bench.trials()
    assert [one["status"] for one in stored] == ["done"] * 2 * HALF
    rates = [one["throughput_bps"] for one in stored]
    assert max(rates) < 1.02 * min(rates), "a paced load arrives whether anybody watches or not"
    assert min(watched) - min(alone) < MOST_EXTRA_CORES, (alone, watched)


def test_the_button_stops_a_run_as_an_interrupt_does(bench: Bench) -> None:
    before = bench.settings("net.ipv4.tcp_rmem")
    process = bench.start("run", bench.campaign(trials=3, window=LONG, **CHANGES))
    with served(bench) as web:
        name = await_event(process, "started")["id"]
        with web.events(f"/live/{name}/events") as heard:
            assert next(heard)[0] == "whole"
            await_event(process, "trial_started", 2)
            shown = next(words["now"] for _, words in heard if words["now"] and words["now"]["cpu"])
            assert [(one["host"], one["role"]) for one in shown["cpu"]] == [
                ("h1", "sender"),
                ("h2", "receiver"),
            ]
            assert all("–" not in (one["cpu"], one["app"]) for one in shown["cpu"]), shown
            assert bench.settings("net.ipv4.tcp_rmem") != before
            page = web.ask(f"/live/{name}")[1]
            token = re.search(r'name="token" value="([^"]+)"', page)
            assert token is not None
            assert web.ask(f"/live/{name}/stop", {"token": token[1]})[0] == 303
            *_, (last, words) = heard
        out, err = process.communicate(timeout=HANG_LIMIT_S)
        assert process.returncode == 130, out + err
        assert (last, words["how"], words["result"]) == ("closed", "Stopped", f"/results/{name}")
        assert "1 of 3 trials are stored" in words["text"]
        assert web.ask(f"/live/{name}/stop", {"token": token[1]})[0] == 409
    assert "Traceback" not in err
    assert f"interrupted; 1 of 3 trials kept; continue with: linewatt resume {name}" in err
    said: list[dict[str, Any]] = [json.loads(line) for line in out.splitlines()]
    assert any("stopped by linewatt serve" in one.get("text", "") for one in said)
    assert bench.settings("net.ipv4.tcp_rmem") == before
    bench.until_nothing_runs()
    assert sockets.ids(bench.tmp / "state") == []
    assert [one["number"] for one in bench.trials()] == [1]
    assert "nothing to restore" in bench.restore()
    bench.run("resume", "last")
    assert [one["status"] for one in bench.trials()] == ["done"] * 3


def test_a_soak_is_watched_and_stopped_too(bench: Bench) -> None:
    file = bench.campaign(soak={"duration": "300s", "interval": "1s", "segment": "3s"}, rate="50M")
    document = json.loads(file.read_text())
    file.write_text(json.dumps({key: document[key] for key in document if key not in WITHOUT}))
    process = bench.start("run", file)
    await_event(process, "soaking")
    with served(bench) as web:
        (name,) = sockets.ids(bench.tmp / "state")
        with web.events(f"/live/{name}/events") as heard:
            shown = next(words for _, words in heard if words["now"] and words["now"]["cpu"])
            assert {one["host"]: one["role"] for one in shown["now"]["cpu"]} == {
                "h1": "sender",
                "h2": "receiver",
            }
            assert shown["head"]["progress"].endswith(" left")
            assert 0 < shown["head"]["ratio"] < 1
            token = re.search(r'name="token" value="([^"]+)"', web.ask(f"/live/{name}/stop")[1])
            assert token is not None
            assert web.ask(f"/live/{name}/stop", {"token": token[1]})[0] == 303
            *_, (last, words) = heard
        assert (last, words["how"]) == ("closed", "Stopped")
        out, err = process.communicate(timeout=HANG_LIMIT_S)
        assert process.returncode == 130, out[-2000:] + err
    bench.until_nothing_runs()
    assert "nothing to restore" in bench.restore()


def test_a_socket_that_kill_dash_nine_left_is_not_listed_and_goes(bench: Bench) -> None:
    process = bench.start("run", bench.campaign(trials=3))
    name = await_event(process, "started")["id"]
    state = bench.tmp / "state"
    until(lambda: sockets.ids(state) == [name], HANG_LIMIT_S, "the socket of the run")
    process.kill()
    process.communicate()
    assert sockets.ids(state) == [name]
    with served(bench) as web:
        assert "No campaign runs now" in web.ask("/live")[1]
    assert sockets.ids(state) == []
    bench.until_nothing_runs()
    bench.restore()
