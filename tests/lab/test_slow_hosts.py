# SPDX-License-Identifier: Apache-2.0
"""Hosts whose sshd answers late, or stands still for a while: real ones of a lab, slowed from outside."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import signal
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from ruamel.yaml import YAML
from tests.lab.test_campaign import Bench, await_event, await_warning, connection_pids

pytestmark = pytest.mark.lab

LONG = {"seconds": 6, "omit": 0.5, "tail": 1}
ONE_WAY_S = 1.0
"""what the relay adds each way: a heartbeat is answered after two seconds"""


@pytest.fixture
def bench(lab2: Any, tmp_path: Path) -> Iterator[Bench]:
    one = Bench(lab2, tmp_path)
    yield one
    one.until_nothing_runs()


class Relay:
    """A port of this machine that leads to a host's sshd, each way with a delay."""

    def __init__(self, target: tuple[str, int], delay_s: float) -> None:
        self._target = target
        self._delay_s = delay_s
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever)
        self._thread.start()
        self._tasks: set[asyncio.Task[None]] = set()
        opened = asyncio.run_coroutine_threadsafe(asyncio.start_server(self._met, "127.0.0.1", 0), self._loop)
        self._server = opened.result(10)
        self.port = int(self._server.sockets[0].getsockname()[1])

    async def _met(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        there, to_there = await asyncio.open_connection(*self._target)
        for source, sink in ((reader, to_there), (there, writer)):
            task = asyncio.create_task(self._carry(source, sink))
            self._tasks.add(task)
            task.add_done_callback(self._tasks.discard)

    async def _carry(self, source: asyncio.StreamReader, sink: asyncio.StreamWriter) -> None:
        """What comes goes on as late as it is to, in its order."""
        with contextlib.suppress(ConnectionError):
            while data := await source.read(1 << 16):
                self._loop.call_later(self._delay_s, sink.write, data)
        self._loop.call_later(self._delay_s, sink.close)

    def close(self) -> None:
        async def ended() -> None:
            self._server.close()
            for task in [*self._tasks]:
                task.cancel()
            await asyncio.gather(*self._tasks, return_exceptions=True)

        asyncio.run_coroutine_threadsafe(ended(), self._loop).result(10)
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(10)
        self._loop.close()


def variables(document: Any, number: int) -> dict[str, Any]:
    """Of a host, in an inventory that was read."""
    for value in document.values():
        if isinstance(value, dict):
            if f"h{number}" in value and isinstance(value[f"h{number}"], dict):
                found: dict[str, Any] = value[f"h{number}"]
                return found
            with contextlib.suppress(KeyError):
                return variables(value, number)
    raise KeyError(number)


def inventory(bench: Bench, number: int, **values: Any) -> str:
    """The lab's inventory with variables of one host replaced, and default limits for it alone."""
    yaml = YAML()
    document = yaml.load(bench.with_default_limits(number).read_text())
    variables(document, number).update(values)
    path = bench.tmp / "inventory.yaml"
    with path.open("w") as file:
        yaml.dump(document, file)
    return str(path)


def limits(**values: str) -> dict[str, Any]:
    return {"linewatt_limits": values}


def told(out: str, kind: str = "warned") -> list[str]:
    return [one["text"] for line in out.splitlines() if (one := json.loads(line))["event"] == kind]


def stand_still(bench: Bench, number: int, seconds: float) -> None:
    """The processes of a host's connections are stopped for a while."""
    pids = connection_pids(bench, number)
    assert pids
    for pid in pids:
        os.kill(pid, signal.SIGSTOP)
    try:
        end_s = time.monotonic() + seconds
        while time.monotonic() < end_s:
            threading.Event().wait(end_s - time.monotonic())
    finally:
        for pid in pids:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGCONT)


def test_a_host_that_answers_after_two_seconds_is_learned_and_not_cut(bench: Bench, tmp_path: Path) -> None:
    listed = variables(YAML(typ="safe").load(bench.lab.inventory.read_text()), 2)
    address, port = str(listed.get("linewatt_address") or listed["ansible_host"]), 22
    relay = Relay((address, port), ONE_WAY_S)
    try:
        keys = Path(str(listed["linewatt_known_hosts"])).read_text()
        known = tmp_path / "known_hosts"
        own = [line.split(" ", 1)[1] for line in keys.splitlines() if line.split(" ", 1)[0] == address]
        known.write_text(keys + "".join(f"[127.0.0.1]:{relay.port} {key}\n" for key in own))
        hosts = inventory(
            bench, 2, linewatt_address="127.0.0.1", linewatt_port=relay.port, linewatt_known_hosts=str(known)
        )
        process = bench.start("run", bench.campaign(hosts=hosts, trials=1, window=LONG))
        out, err = process.communicate(timeout=300)
    finally:
        relay.close()
    assert process.returncode == 0, out[-3000:] + err
    said = [text for text in told(out) if text.startswith("h2: an answer to a heartbeat took")]
    assert said
    assert all("its limits are now silence " in text for text in said)
    assert len(set(said)) == len(said), "said again only where limits rose again"
    (trial,) = bench.trials()
    assert trial["status"] == "done"
    connections = json.loads((bench.result / "connections.json").read_text())["hosts"]
    assert connections["h2"]["slowest_answer_s"] >= 2 * ONE_WAY_S
    assert connections["h2"]["silence_s"] >= 4 * ONE_WAY_S
    assert set(connections["h2"]["learned"]) >= {"silence_s", "answer_s", "command_s"}
    # on a busy machine the other one answers late itself, by less than the relay adds
    late_s = [float(text.partition(" took ")[2].split()[0]) for text in told(out) if "h1: an answer" in text]
    late_s.append(connections["h1"]["slowest_answer_s"])
    assert max(late_s) < 2 * ONE_WAY_S, "limits are learned from the host's own answers only"


def parsed(text: str) -> dict[str, str]:
    """The limits that a message says to write."""
    written = YAML(typ="safe").load(text[text.index("{silence") : text.index("}") + 1])
    return {str(name): str(value) for name, value in written.items()}


def run_with_a_stop(bench: Bench, hosts: str, seconds: float) -> tuple[str, int]:
    """A campaign of two trials, on the second of which h2 stands still: its events, and its exit status."""
    process = bench.start("run", bench.campaign(hosts=hosts, trials=2, window=LONG))
    await_event(process, "trial_started", 2)
    stand_still(bench, 2, seconds)
    out, _ = process.communicate(timeout=300)
    return out, process.returncode


@pytest.mark.full
def test_a_host_that_stands_still_for_longer_than_its_silence_is_cut_and_what_to_write_helps(
    bench: Bench,
) -> None:
    out, status = run_with_a_stop(bench, inventory(bench, 2, **limits(answer="10 s")), 2.5)
    assert status == 1
    lost = [text for text in told(out) if text.startswith("h2: lost (")]
    assert len(lost) == 1, told(out)
    assert "h2 ends what runs on it after 1.5 s of silence" in lost[0]
    assert "say so there: limits: {silence: " in lost[0]
    first, second = bench.trials()
    assert (first["status"], second["status"]) == ("done", "failed")
    assert second["reason"].startswith("h2: while waiting for the ")
    assert "the SSH connection ended: no heartbeat was answered for 2." in second["reason"]
    written = parsed(lost[0])
    bench.results = bench.tmp / "again"
    out, status = run_with_a_stop(bench, inventory(bench, 2, **limits(**written)), 2.5)
    assert status == 0, out[-3000:]
    assert [trial["status"] for trial in bench.trials()] == ["done", "done"]
    assert [text for text in told(out) if "lost" in text] == []


def test_a_host_that_stays_still_is_cut_with_its_name_its_limit_and_what_was_awaited(bench: Bench) -> None:
    hosts = inventory(bench, 2, **limits(silence="20 s", answer="2 s"))
    process = bench.start("run", bench.campaign(hosts=hosts, trials=2, window=LONG))
    await_event(process, "trial_started", 1)
    pids = connection_pids(bench, 2)
    for pid in pids:
        os.kill(pid, signal.SIGSTOP)
    try:
        said = await_warning(process)
    finally:
        for pid in pids:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGCONT)
    last = await_event(process, "ended")
    process.communicate(timeout=120)
    assert process.returncode == 1
    assert said.startswith("h2: lost (waited 2 s for the answer to a heartbeat; if h2, or the way to it, ")
    assert "limits: {silence: 4 s, answer: 4 s}" in said
    assert (last["done"], last["failed"]) == (1, 1)
    assert "waited 2 s for the answer to a heartbeat" in bench.trials()[0]["reason"]


@pytest.mark.full
def test_resume_goes_on_with_the_limits_that_the_file_states_by_now(bench: Bench) -> None:
    """What a message said to write is of no use where only a new run has it."""
    file = bench.campaign(hosts=inventory(bench, 2), trials=3, window=LONG)
    process = bench.start("run", file)
    await_event(process, "trial_started", 2)
    process.send_signal(signal.SIGINT)
    process.communicate(timeout=120)
    assert process.returncode == 130
    inventory(bench, 2, **limits(silence="6 s"))
    done = bench.run("resume", "last")
    assert "limits of h2 are those that" in done.stderr
    assert "was edited" not in done.stderr
    first, known = (
        json.loads((bench.result / f"connections{part}.json").read_text())["hosts"] for part in ("", "-2")
    )
    assert "h2" not in first
    assert known["h2"]["silence_s"] == 6.0
    assert known["h2"]["stated"] == ["silence_s"]
    assert [trial["status"] for trial in bench.trials()].count("done") == 3
