# SPDX-License-Identifier: Apache-2.0
"""Hosts that are slow to answer, or stand still: limits that are stated, learned, used, and named."""

from __future__ import annotations

import asyncio
import json
import os
import re
import subprocess
from collections.abc import Callable, Coroutine
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.documents import valid
from tests.idle_simulation import Clock
from tests.report_factories import demo_trials, result, stored
from tests.unit.conftest import Run
from tests.unit.hosts.test_beats import Anchored

from linewatt.campaign.reading.file import load_campaign
from linewatt.campaign.stored import campaign_as_dict, campaign_from_dict
from linewatt.engine.live.connections import ConnectionBook
from linewatt.engine.live.session import Session
from linewatt.errors import HostError, InvalidInput, WaitTimeout
from linewatt.hosts import leash
from linewatt.hosts import limits as own
from linewatt.hosts.base import HostSpec
from linewatt.hosts.journal.lines import encoded, parse
from linewatt.hosts.limits import Limits, LimitsUsed, Pace, slow_start, used
from linewatt.hosts.local import LocalHost
from linewatt.hosts.ssh import connection as ssh
from linewatt.hosts.ssh import login
from linewatt.hosts.ssh.connection import SshHost, Wire
from linewatt.records import Connection
from linewatt.report.machine.connections import connection_text
from linewatt.store import read

SPEC = HostSpec("dut", "192.0.2.1", "eth0")
SECONDS = st.floats(0, 100)


# --- what follows from an answer ----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("slowest_s", "silence_s", "answer_s", "command_s"),
    [(0.0, 1.5, 3.0, 0.0), (0.49, 1.5, 3.0, 0.0), (2.0, 4.0, 4.0, 20.0), (2.1, 4.5, 4.5, 22.5)],
)
def test_limits_follow_the_slowest_answer_upward(
    slowest_s: float, silence_s: float, answer_s: float, command_s: float
) -> None:
    limits = used(Limits(), slowest_s, own.LOGIN_S)
    assert (limits.silence_s, limits.answer_s, limits.command_s) == (silence_s, answer_s, command_s)
    assert limits.heartbeat_s == own.HEARTBEAT_S


@given(st.lists(SECONDS))
def test_limits_only_go_up_hold_what_was_seen_and_stay_within_their_bounds(answers_s: list[float]) -> None:
    pace, before = Pace(Limits()), LimitsUsed()
    for seconds in answers_s:
        pace.answered(seconds)
        now = pace.used
        for name, most_s in (
            ("silence_s", own.MOST_SILENCE_S),
            ("answer_s", own.MOST_ANSWER_S),
            ("command_s", own.MOST_COMMAND_S),
        ):
            value = getattr(now, name)
            assert getattr(before, name) <= value <= most_s
            slow_s = max(answers_s) if max(answers_s) >= own.SLOW_S else 0.0
            assert value <= max(getattr(LimitsUsed(), name), 10 * (slow_s + own.ANSWER_STEP_S))
        assert now.silence_s >= min(seconds, own.MOST_SILENCE_S) or seconds < own.SLOW_S
        before = now


@given(SECONDS, st.floats(0.5, 60), st.floats(0.5, 60), st.floats(1, 3600), st.floats(1, 600))
def test_what_a_campaign_states_is_used_as_it_is_stated(
    slowest_s: float, silence_s: float, answer_s: float, command_s: float, login_s: float
) -> None:
    stated = Limits(None, silence_s, answer_s, command_s, login_s)
    limits = used(stated, slowest_s, 100.0)
    assert (limits.silence_s, limits.answer_s, limits.command_s, limits.login_s) == (
        *(silence_s, answer_s),
        *(command_s, login_s),
    )
    assert Pace(stated, slowest_s).learned == []


def test_the_limit_of_a_login_follows_what_the_way_to_the_port_took() -> None:
    pace = Pace(Limits())
    assert pace.used.login_s == own.REACH_S
    pace.reached(0.001)
    assert pace.used.login_s == own.LOGIN_S
    pace.reached(4.0)
    assert pace.used.login_s == 40.0
    pace.answered(3.0)
    assert pace.used.login_s == 40.0, "and is kept when an answer is learned from"


@pytest.mark.parametrize("stated_s", [None, 0.05])
def test_a_port_that_answered_before_is_waited_for_no_longer_when_it_is_gone(
    monkeypatch: pytest.MonkeyPatch, stated_s: float | None
) -> None:
    async def nothing(*_: object, **__: object) -> None:
        await asyncio.Event().wait()

    async def scene() -> None:
        pace = Pace(Limits(login_s=stated_s))
        pace.reached(0.001)
        async with asyncio.timeout(5):
            await login.log_in(HostSpec("dut", "192.0.2.1", "eth1", lab="lab"), pace)

    monkeypatch.setattr(own, "REACH_S", 0.05)
    monkeypatch.setattr("linewatt.hosts.ssh.login.asyncssh.connect", nothing)
    with pytest.raises(HostError, match=r"dut .*: no answer within 0\.05 s"):
        asyncio.run(scene())


@pytest.mark.parametrize(
    ("stated", "slowest_s", "late_s"),
    [
        (Limits(), 0.4, 0.0),
        (Limits(), 2.0, 2.0),
        (Limits(), 100.0, own.MOST_ANSWER_S),
        (Limits(answer_s=5.0), 100.0, 5.0),
        (Limits(answer_s=60.0), 0.0, 57.0),
    ],
)
def test_what_a_host_says_is_waited_for_no_longer_than_until_it_counts_as_lost(
    stated: Limits, slowest_s: float, late_s: float
) -> None:
    assert used(stated, slowest_s, own.LOGIN_S).late_s == late_s


def test_a_document_of_a_pace_says_what_is_stated_and_what_was_learned() -> None:
    document = Pace(Limits(answer_s=9.0), 2.04).document()
    assert document == {
        "slowest_answer_s": 2.04,
        "heartbeat_s": 0.3,
        "silence_s": 4.5,
        "answer_s": 9.0,
        "login_s": 10.0,
        "command_s": 22.5,
        "stated": ["answer_s"],
        "learned": ["silence_s", "command_s"],
        "is_raised": None,
    }


# --- a connection to a slow host ---------------------------------------------------------------------------


class Delayed:
    """A connection whose commands run here, and whose bytes take a while each way."""

    def __init__(self, delay_s: float) -> None:
        self.delay_s = delay_s
        self.written: list[bytes] = []
        self._closed = False
        self._children: list[asyncio.subprocess.Process] = []

    async def create_process(self, line: str, encoding: None) -> Any:
        await asyncio.sleep(2 * self.delay_s)
        child = await asyncio.create_subprocess_shell(
            line, stdin=asyncio.subprocess.PIPE, stdout=asyncio.subprocess.PIPE
        )
        self._children.append(child)
        assert child.stdin is not None
        assert child.stdout is not None
        loop, out, stdin, stdout = (
            asyncio.get_running_loop(),
            asyncio.StreamReader(),
            child.stdin,
            child.stdout,
        )

        def write(data: bytes) -> None:
            self.written.append(data)
            loop.call_later(self.delay_s, stdin.write, data)

        async def read() -> None:
            while chunk := await stdout.read(4096):
                loop.call_later(self.delay_s, out.feed_data, chunk)
            loop.call_later(self.delay_s, out.feed_eof)

        self._reader = asyncio.create_task(read())
        return SimpleNamespace(stdin=SimpleNamespace(write=write), stdout=out, is_closing=lambda: False)

    def is_closed(self) -> bool:
        return self._closed

    def close(self) -> None:
        self._closed = True
        for child in self._children:
            if child.returncode is None:
                child.kill()

    abort = close

    async def wait_closed(self) -> None:
        for child in self._children:
            await child.wait()


def met(delay_s: float, limits: Limits, scene: Callable[[Wire, Delayed], Coroutine[Any, Any, None]]) -> None:
    """A connection to a host that answers so late, once it has begun."""

    async def run() -> None:
        connection = Delayed(delay_s)
        wire = Wire("dut", cast("Any", connection), Pace(limits))
        try:
            await wire.begin()
            await scene(wire, connection)
        finally:
            await wire.close()

    asyncio.run(run())


def test_a_host_that_answers_late_is_learned_and_told_how_long_it_may_be_silent() -> None:
    async def scene(wire: Wire, connection: Delayed) -> None:
        assert wire.pace.slowest_s >= 1.2
        limits = wire.pace.used
        assert limits.silence_s >= 2.5
        assert connection.written[0].split()[1] == b"10", "nothing is cut while that is found out"
        assert connection.written[-1].split()[1] == b"%g" % limits.silence_s
        assert len(wire.exchanges) >= ssh.CLOCK_READINGS
        connection.delay_s = 0.0
        assert wire.lost is None

    met(0.6, Limits(), scene)


def test_a_host_that_answers_at_once_has_the_limits_that_hosts_have() -> None:
    async def scene(wire: Wire, connection: Delayed) -> None:
        if wire.pace.slowest_s < own.SLOW_S:  # a machine that is as slow as that is met by the others
            assert wire.pace.used == LimitsUsed()
            assert connection.written[-1].split()[1] == b"1.5"

    met(0.0, Limits(), scene)


def test_a_host_with_a_stated_silence_is_told_that_one() -> None:
    async def scene(wire: Wire, connection: Delayed) -> None:
        assert connection.written[-1].split()[1] == b"7.5"

    met(0.0, Limits(silence_s=7.5), scene)


STANDS_FOR_SSHD = """
exec 3<&0
printf sshd-session >/proc/$$/comm
bash -c "$1" linewatt 10 "$2" <&3
:
"""
"""the parent of an anchor: of a connection"""
CHRT = """#!/bin/sh
echo "$*" >>"{log}"
case "$1" in -p) echo "pid $2's current scheduling policy: {policy}";; esac
"""


def anchored(folder: Path, policy: str, raises: str) -> tuple[bytes, list[str]]:
    """What the anchor below an sshd answers, and how chrt was called, which says that it set a policy."""
    log, tools = folder / "log", folder / "tools"
    tools.mkdir()
    (tools / "chrt").write_text(CHRT.format(log=log, policy=policy))
    (tools / "sudo").write_text('#!/bin/sh\nshift\nSUDO=yes exec "$@"\n')
    for tool in tools.iterdir():
        tool.chmod(0o755)
    argv = ["bash", "-c", STANDS_FOR_SSHD, "x", leash.anchor(10.0)[2], raises]
    environment = {**os.environ, "PATH": f"{tools}:{os.environ['PATH']}"}
    done = subprocess.run(
        argv, input=leash.beat(1.0, 5.0), capture_output=True, env=environment, timeout=30, check=False
    )
    calls = log.read_text().splitlines() if log.exists() else []
    return done.stdout, [re.sub("[0-9]{2,}", "PID", call) for call in calls]


@pytest.mark.parametrize("raises", ["self", "sudo"])
def test_an_anchor_raises_itself_and_its_connection_and_says_what_it_read_back(
    tmp_path: Path, raises: str
) -> None:
    said, calls = anchored(tmp_path, "SCHED_RR|SCHED_RESET_ON_FORK", raises)
    assert said.split()[0::2] == [b"1.000000", b"rr"]
    assert calls == ["-R -r -p 1 PID", "-R -r -p 1 PID", "-p PID", "-p PID"]


@pytest.mark.parametrize("policy", ["SCHED_OTHER", "SCHED_RR", ""])
def test_an_anchor_that_was_not_raised_so_that_children_are_not_says_so(tmp_path: Path, policy: str) -> None:
    said, _ = anchored(tmp_path, policy, "self")
    assert said.split()[0::2] == [b"1.000000", b"refused"]


def test_an_anchor_that_is_not_asked_to_raises_nothing(tmp_path: Path) -> None:
    said, calls = anchored(tmp_path, "SCHED_RR|SCHED_RESET_ON_FORK", "")
    assert len(said.split()) == 2
    assert calls == []


@pytest.mark.parametrize(("sudo", "raises"), [(False, "self"), (True, "sudo")])
def test_a_host_whose_campaign_says_so_has_its_session_raised_and_that_is_on_record(
    monkeypatch: pytest.MonkeyPatch, sudo: bool, raises: str
) -> None:
    asked: list[str] = []

    def anchor(first_s: float, raises: str = "") -> list[str]:
        asked.append(raises)
        return ["bash", "-c", 'while read -r beat _; do echo "$beat 1.0 refused"; done']

    async def log_in(spec: HostSpec, pace: Pace) -> Delayed:
        return Delayed(0.0)

    monkeypatch.setattr(leash, "anchor", anchor)
    monkeypatch.setattr(ssh, "log_in", log_in)

    async def scene() -> Pace:
        host = await ssh.connect(replace(SPEC, raise_session=True, sudo=sudo), asyncio.Semaphore(1))
        await host.close()
        return host.pace

    pace = asyncio.run(scene())
    assert asked == [raises]
    assert pace.is_raised is False
    assert pace.document()["is_raised"] is False
    assert pace.said().startswith("raise_session: its SSH session is of the ordinary class")
    assert not pace.is_ordinary


def test_the_anchor_waits_as_long_as_the_last_heartbeat_said() -> None:
    async def scene() -> float:
        process = await asyncio.create_subprocess_exec(
            *leash.anchor(30.0), stdin=asyncio.subprocess.PIPE, stdout=asyncio.subprocess.PIPE
        )
        assert process.stdin is not None
        assert process.stdout is not None
        for silence_s in (20.0, 0.2):
            process.stdin.write(leash.beat(1.0, silence_s))
            assert (await process.stdout.readline()).startswith(b"1.000000 ")
        async with asyncio.timeout(10):
            await process.wait()
        return 0.0

    asyncio.run(scene())


def late_answer(after_s: float, *, beats: bool, clock: Clock | None = None) -> Wire:
    """A connection, one heartbeat of which was answered so late; ``beats``: others were sent meanwhile."""
    clock = clock or Clock()

    async def scene() -> Wire:
        one = Anchored()
        one.wire.send_beat()
        answer, end_s = one.sent[0].split()[0] + b" 1000.5\n", clock.now_s + after_s
        while beats and clock.now_s + own.HEARTBEAT_S < end_s:
            clock.now_s += own.HEARTBEAT_S
            one.wire.send_beat()
        clock.now_s = end_s
        one.out.feed_data(answer)
        await one.wire._answer(one.anchor)
        return one.wire

    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(ssh, "now_s", clock)
        return asyncio.run(scene())


def test_a_late_answer_is_learned_from_while_the_connection_is_used() -> None:
    assert late_answer(2.0, beats=True).pace.used.silence_s == 4.0


def test_an_answer_that_is_late_since_the_controller_was_is_not_the_hosts() -> None:
    pace = late_answer(2.0, beats=False).pace
    assert pace.slowest_s <= own.HEARTBEAT_S + 1e-6
    assert pace.used == LimitsUsed()


@pytest.mark.parametrize(("unheard_s", "told"), [(0.9, False), (1.4, False), (1.6, True), (2.4, True)])
def test_a_connection_that_ended_while_nothing_was_answered_names_host_and_limit_and_what_to_write(
    monkeypatch: pytest.MonkeyPatch, unheard_s: float, told: bool
) -> None:
    clock = Clock()
    monkeypatch.setattr(ssh, "now_s", clock)

    async def scene() -> str:
        one = Anchored()
        one.wire.send_beat()
        until_s = clock.now_s + unheard_s
        while clock.now_s + 0.3 <= until_s:
            clock.now_s += 0.3
            one.wire.send_beat()
        clock.now_s = until_s
        return one.wire._ended()

    text = asyncio.run(scene())
    if not told:
        assert text == "the SSH connection ended"
        return
    assert (
        f"no heartbeat was answered for {unheard_s:.1f} s, and dut ends what runs on it after 1.5 s" in text
    )
    written = re.search(r"limits: \{silence: ([0-9.]+) s, answer: ([0-9.]+) s\}$", text)
    assert written is not None
    assert float(written[1]) >= 2 * unheard_s


@pytest.mark.parametrize(("after_s", "told"), [(0.1, True), (1.4, True), (1.6, False)])
def test_a_host_that_answers_late_once_and_then_ends_it_was_silent_before(
    monkeypatch: pytest.MonkeyPatch, after_s: float, told: bool
) -> None:
    clock = Clock()
    wire = late_answer(2.5, beats=True, clock=clock)
    monkeypatch.setattr(ssh, "now_s", clock)
    wire._unanswered.clear()
    clock.now_s += after_s
    wire._beaten_s = clock.now_s
    assert ("no heartbeat was answered for 2." in wire._ended()) == told


def test_a_process_whose_connection_ended_says_how_that_was() -> None:
    class Gone(SshHost):
        lost = "the SSH connection ended: no heartbeat was answered"

    channel = SimpleNamespace()
    pipes = ssh._SshPipes(cast("Any", channel), Gone(SPEC, asyncio.Semaphore(1)))
    assert pipes.why_ended() == Gone.lost


# --- commands -----------------------------------------------------------------------------------------------


def test_a_command_has_the_longer_of_its_own_limit_and_the_hosts_and_says_what_to_write() -> None:
    here = HostSpec("here", "local", "lo")
    slow = LocalHost(replace(here, limits=Limits(command_s=20.0)))
    done = asyncio.run(slow.run(["sh", "-c", "sleep 0.6; echo done"], timeout_s=0.2))
    assert done.stdout == "done\n"
    with pytest.raises(WaitTimeout) as caught:
        asyncio.run(LocalHost(here).run(["sleep", "20"], timeout_s=0.5))
    text = "here: sleep did not end within 0.5 s; if here is that slow, say so there: limits: {command: 1 s}"
    assert str(caught.value) == text


def test_the_start_and_the_end_of_a_process_have_the_hosts_limit_too() -> None:
    async def scene() -> None:
        host = LocalHost(HostSpec("here", "local", "lo", limits=Limits(command_s=20.0)))
        stubborn = await host.start(["bash", "-c", "trap '' INT; echo up; while :; do sleep 1; done"])
        await stubborn.ready(0.0)
        await stubborn.stop(0.0)

    asyncio.run(scene())


# --- in a campaign ------------------------------------------------------------------------------------------

FILE = """
name: slow
hosts:
  gen: {{address: 192.0.2.11, data: eth0}}
  dut: {{address: 192.0.2.10, data: eth0, limits: {limits}}}
tests: [tcp]
"""


def write(folder: Path, limits: str) -> Path:
    path = folder / "slow.yaml"
    path.write_text(FILE.format(limits=limits))
    return path


def test_a_campaign_states_limits_with_their_units(tmp_path: Path) -> None:
    text = "{heartbeat: 500 ms, silence: 5 s, answer: 6s, command: 1m, login: 30 s}"
    hosts = load_campaign(write(tmp_path, text)).hosts
    assert hosts["dut"].limits == Limits(0.5, 5.0, 6.0, 60.0, 30.0)
    assert hosts["gen"].limits == Limits()


@pytest.mark.parametrize(
    ("limits", "said"),
    [
        ("{silence: 5}", "limits.silence: must be a time with its unit"),
        ("{silence: 0 s}", "limits.silence: must be from 0.5 s to 60 s, got '0 s'"),
        ("{silence: -1 s}", "limits.silence: must be a time with its unit"),
        ("{silence: 2 h}", "limits.silence: must be from 0.5 s to 60 s"),
        ("{answer: 61 s}", "limits.answer: must be from 0.5 s to 60 s"),
        ("{command: 2 h}", "limits.command: must be from 1 s to 3600 s"),
        ("{login: 0.1 s}", "limits.login: must be from 1 s to 600 s"),
        ("{heartbeat: 1 ms}", "limits.heartbeat: must be from 0.05 s to 20 s"),
        ("{heartbeat: 1 s}", "limits: a silence of 1.5 s is less than 3 heartbeats of 1 s"),
        ("{silence: 0.6 s}", "limits: a silence of 0.6 s is less than 3 heartbeats of 0.3 s"),
        ("{silense: 5 s}", "limits.silense: unknown key; did you mean silence?"),
        ("5 s", "limits: must be a mapping"),
    ],
)
def test_a_limit_that_cannot_be_is_one_line(run: Run, tmp_path: Path, limits: str, said: str) -> None:
    code, out, err = run("plan", str(write(tmp_path, limits)))
    assert (code, out, err.count("\n")) == (2, "", 1)
    assert f"hosts.dut.{said}" in err


def test_plan_names_the_limits_that_are_stated(run: Run, tmp_path: Path) -> None:
    code, out, _ = run("plan", str(write(tmp_path, "{silence: 5 s, answer: 6 s}")))
    assert code == 0
    assert "host dut: 192.0.2.10 port 22, data eth0, limits: silence 5 s, answer 6 s\n" in out
    assert out.count("limits:") == 1
    _, out, _ = run("plan", "--json", str(write(tmp_path, "{silence: 5 s}")))
    hosts = json.loads(out)["hosts"]
    assert hosts["dut"]["limits"] == {"silence_s": 5.0}
    assert "limits" not in hosts["gen"]


@pytest.mark.parametrize("name", ["inventory.ini", "inventory.yaml"])
def test_an_inventory_states_them_too(tmp_path: Path, name: str) -> None:
    texts = {
        "inventory.ini": """
gen ansible_host=192.0.2.11 linewatt_data=eth0
dut ansible_host=192.0.2.10 linewatt_data=eth0 linewatt_limits='silence: 5 s, answer: 6 s'
""",
        "inventory.yaml": """
all:
  hosts:
    gen: {ansible_host: 192.0.2.11, linewatt_data: eth0}
    dut: {ansible_host: 192.0.2.10, linewatt_data: eth0, linewatt_limits: {silence: 5 s, answer: 6 s}}
""",
    }
    (tmp_path / name).write_text(texts[name])
    file = tmp_path / "slow.yaml"
    file.write_text(f"name: slow\nhosts: {name}\npairs: [gen -> dut]\ntests: [tcp]\n")
    assert load_campaign(file).hosts["dut"].limits == Limits(silence_s=5.0, answer_s=6.0)


def test_plan_names_a_session_that_is_raised_as_a_change(run: Run, tmp_path: Path) -> None:
    file = write(tmp_path, "{silence: 5 s}, raise_session: true")
    code, out, _ = run("plan", str(file))
    assert code == 0
    assert (
        "change dut: linewatt's own SSH session and heartbeat there = SCHED_RR 1 (raise_session), gone "
        in out
    )
    assert "no change to any host" not in out
    code, out, _ = run("plan", "--json", str(file))
    assert json.loads(out)["hosts"]["dut"]["raise_session"] is True


def test_a_result_shows_that_a_session_was_raised() -> None:
    pace = Pace(Limits(), raises=True)
    pace.is_raised = True
    assert pace.said() == ""
    shown = connection_text(Connection.model_validate(pace.document()))
    assert shown == "slowest answer to a heartbeat 0 s; its SSH session was raised to SCHED_RR"


def test_an_inventory_with_limits_that_cannot_be_read_is_one_line(tmp_path: Path) -> None:
    (tmp_path / "inventory.ini").write_text(
        "gen linewatt_data=eth0\ndut linewatt_data=eth0 linewatt_limits=slow\n"
    )
    file = tmp_path / "slow.yaml"
    file.write_text("name: slow\nhosts: inventory.ini\npairs: [gen -> dut]\ntests: [tcp]\n")
    with pytest.raises(InvalidInput, match=r"inventory\.ini:2:.*linewatt_limits: must be a mapping"):
        load_campaign(file)


def test_results_and_journals_have_limits_only_where_some_are_stated(tmp_path: Path) -> None:
    campaign = load_campaign(write(tmp_path, "{silence: 5 s}"))
    stored = json.loads(json.dumps(campaign_as_dict(campaign)))
    assert stored["hosts"]["dut"]["limits"] == {"silence_s": 5.0}
    assert "limits" not in stored["hosts"]["gen"]
    assert campaign_from_dict(stored).hosts == campaign.hosts
    event = {"event": "hosts", "schema_version": 2, "hosts": list(stored["hosts"].values())}
    assert parse(encoded(event, 1)).hosts == campaign.hosts


def result_of_trials() -> read.Result:
    return result(demo_trials())


def slow_session() -> Session:
    """Of which ``h2`` took 2.1 s for an answer."""
    session = Session.__new__(Session)
    specs = {name: HostSpec(name, "192.0.2.1", "eth0") for name in ("h1", "h2", "h3")}
    specs["h3"] = replace(specs["h3"], limits=Limits(silence_s=2.0))
    session.paces = {name: Pace(spec.limits) for name, spec in specs.items()}
    session._told_pace = {}
    session.paces["h2"].answered(2.1)
    return session


def test_what_was_learned_is_said_once_for_each_host_until_it_is_something_else() -> None:
    session = slow_session()
    now = "silence 4.5 s, answer 4.5 s, command 22.5 s"
    assert session.slower() == [f"h2: an answer to a heartbeat took 2.1 s; its limits are now {now}"]
    assert session.slower() == []
    session.paces["h2"].answered(2.1001)
    session.paces["h3"].answered(1.2)
    (again,) = session.slower()
    assert again.startswith(
        "h3: an answer to a heartbeat took 1.2 s; its limits are now command 12.5 s; kept as "
    )
    assert again.endswith("kept as stated: silence 2 s")
    assert session.late_s(["h1"]) == 0.0
    assert session.late_s(["h1", "h2"]) == 2.25


def test_limits_of_slow_hosts_are_on_record_each_time_they_are_others_and_shown(
    tmp_path: Path, run: Run
) -> None:
    path = stored(tmp_path / "results", result_of_trials())
    session = slow_session()
    book = ConnectionBook(path, session)
    book.note()
    book.note()
    assert [one.name for one in path.glob("connections*")] == ["connections.json"]
    valid("connections", json.loads((path / "connections.json").read_text()))
    session.paces["h2"].answered(2.15)
    book.note()
    session.paces["h2"].answered(3.0)
    book.note()
    assert len([*path.glob("connections*")]) == 2
    known = read.connections(path)
    assert set(known) == {"h2", "h3"}
    assert (known["h2"].silence_s, known["h2"].learned) == (6.0, ["silence_s", "answer_s", "command_s"])
    assert (known["h3"].silence_s, known["h3"].stated) == (2.0, ["silence_s"])
    code, out, err = run("show", str(path), "--full", "--results", str(path.parent))
    assert code == 0, err
    assert "Slow hosts\n" in out
    assert "limits: silence 6 s (learned), answer 6 s (learned), command 30 s (learned)" in " ".join(
        out.split()
    )
    code, out, err = run("report", str(path), "--results", str(path.parent), "-o", "report.html")
    assert code == 0, err
    assert "silence 6 s (learned)" in Path("report.html").read_text()


def test_a_result_of_ordinary_hosts_has_no_record_of_connections(tmp_path: Path) -> None:
    session = slow_session()
    session.paces = {"h1": session.paces["h1"]}
    path = stored(tmp_path / "results", result_of_trials())
    ConnectionBook(path, session).note()
    assert not (path / "connections.json").exists()
    assert read.connections(path) == {}


def test_hosterror_is_what_a_host_that_never_answers_raises() -> None:
    """Its first channel is never opened."""

    class Mute(Delayed):
        async def create_process(self, line: str, encoding: None) -> Any:
            await asyncio.Event().wait()

    async def begin() -> None:
        await Wire("dut", cast("Any", Mute(0.0)), Pace(Limits(login_s=1.0))).begin()

    with pytest.raises(HostError, match=r"waited 1 s for dut: its first channel .* limits: \{login: 2 s\}"):
        asyncio.run(begin())


def test_a_host_that_begins_commands_late_may_be_late_with_all_it_says() -> None:
    pace = Pace(Limits())
    pace.started(1.9)
    assert pace.used == LimitsUsed()
    pace.started(4.0)
    assert (pace.used.start_s, pace.used.late_s) == (4.0, 8.0)
    pace.answered(0.1)
    assert pace.used.start_s == 4.0
    assert slow_start(4.0).startswith("its login takes 4.0 s before each command; look there for what ~/.")
