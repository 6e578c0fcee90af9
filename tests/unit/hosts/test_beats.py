# SPDX-License-Identifier: Apache-2.0
"""Heartbeats of many hosts through one busy loop: where none comes a host ends all that runs on it."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from itertools import pairwise
from types import SimpleNamespace
from typing import Any, cast

import pytest
from tests.idle_simulation import Clock

from linewatt.errors import HostLost, WaitTimeout
from linewatt.hosts.base import HostSpec
from linewatt.hosts.limits import HEARTBEAT_S, SLOW_S, Limits, Pace
from linewatt.hosts.ssh import beats as module
from linewatt.hosts.ssh import connection as ssh
from linewatt.hosts.ssh.beats import beats_of_loop
from linewatt.hosts.ssh.connection import SshHost, Wire

HOSTS = 96
CHUNK_S = 0.01
"""what is done with one chunk of a host's output, on a machine that has much else to do"""


def ignore(_: bytes) -> None:
    pass


class Anchored:
    """A connection whose anchor answers when it is told to."""

    def __init__(self, written: Callable[[bytes], None] = ignore, limits: Limits | None = None) -> None:
        self.out = asyncio.StreamReader()
        self.sent: list[bytes] = []
        anchor = SimpleNamespace(stdin=SimpleNamespace(write=self._write), stdout=self.out)
        connection = SimpleNamespace(is_closed=lambda: False, abort=lambda: None)
        self._written = written
        self.anchor = cast("Any", anchor)
        self.wire = Wire("dut", cast("Any", connection), Pace(limits or Limits()))
        self.wire._anchor = self.anchor
        self.wire._begins = False

    def _write(self, data: bytes) -> None:
        self._written(data)
        self.sent.append(data)

    def answer(self) -> None:
        self.out.feed_data(self.sent[-1].split()[0] + b" 1000.5\n")


class Output:
    """Of hosts that have always more to say: reading it never gives the loop away."""

    async def read(self, _: int) -> bytes:
        return b"a record\n"


def test_due_heartbeats_of_all_hosts_are_sent_between_chunks_of_output(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    clock = Clock()
    for one in (ssh, module):
        monkeypatch.setattr(one, "now_s", clock)
    sent_s: list[list[float]] = [[clock.now_s] for _ in range(HOSTS)]

    async def scene() -> None:
        for times_s in sent_s:
            beats_of_loop().add(Anchored(lambda _, own=times_s: own.append(clock.now_s)).wire)  # type: ignore[misc]
        for _ in range(1000):
            clock.now_s += CHUNK_S
            await ssh._read(cast("Any", Output()))

    asyncio.run(scene())
    for times_s in sent_s:
        gaps_s = [after - before for before, after in pairwise(times_s)]
        assert max(gaps_s) <= HEARTBEAT_S + 2 * CHUNK_S
        assert min(gaps_s) >= HEARTBEAT_S


def test_heartbeats_go_on_where_nothing_is_read_and_end_with_their_connection() -> None:
    async def scene() -> None:
        one, other = Anchored(), Anchored()
        for each in (one, other):
            beats_of_loop().add(each.wire)
        await until(lambda: len(one.sent) >= 2)
        beats_of_loop().give_up(one.wire)
        sent = len(one.sent)
        await until(lambda: len(other.sent) >= sent + 2)
        assert len(one.sent) == sent
        beats_of_loop().give_up(other.wire)

    asyncio.run(scene())


def test_a_connection_that_cannot_be_written_to_keeps_no_heartbeat_from_another() -> None:
    def broken(_: bytes) -> None:
        raise BrokenPipeError("Channel not open for sending")

    async def scene() -> None:
        one, other = Anchored(broken), Anchored()
        for each in (one, other):
            beats_of_loop().add(each.wire)
        await until(lambda: len(other.sent) >= 2)
        for each in (one, other):
            beats_of_loop().give_up(each.wire)

    asyncio.run(scene())


async def until(condition: Callable[[], bool]) -> None:
    end_s = time.monotonic() + 10
    while not condition():
        assert time.monotonic() < end_s, "waited 10 s for heartbeats"
        await asyncio.sleep(0.01)


def test_answers_of_heartbeats_that_were_sent_meanwhile_are_all_taken_in_their_order() -> None:
    async def scene() -> None:
        one = Anchored()
        for _ in range(3):
            one.wire.send_beat()
            one.answer()
        for _ in range(3):
            await one.wire._answer(one.anchor)
        assert len(one.wire.exchanges) == 3
        sent_s = [exchange.sent_s for exchange in one.wire.exchanges]
        assert [b"%.6f 1.5\n" % time_s for time_s in sent_s] == one.sent

    asyncio.run(scene())


def test_a_connection_that_ended_since_heartbeats_were_late_says_so_also_after_the_next_ones(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    clock = Clock()
    monkeypatch.setattr(ssh, "now_s", clock)

    async def scene(pauses_s: list[float], answered: int) -> str:
        one = Anchored()
        for pause_s in pauses_s:
            clock.now_s += pause_s
            one.wire.send_beat()
            one.answer()
        for _ in range(answered):
            await one.wire._answer(one.anchor)
        one.out.feed_eof()
        return one.wire._ended()

    assert "no heartbeat was sent for 1.6 s" in asyncio.run(scene([0.3, 1.6, 0.3, 0.3], answered=1))
    assert asyncio.run(scene([0.3, 1.6, 0.3], answered=3)) == "the SSH connection ended"


def test_a_connection_that_was_closed_blames_no_late_heartbeat(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = Clock()
    monkeypatch.setattr(ssh, "now_s", clock)
    monkeypatch.setattr(ssh, "close", nothing_to_wait_for)

    async def scene(first: str | None) -> list[str | None]:
        host = SshHost(HostSpec("dut", "192.0.2.1", "eth1"), asyncio.Semaphore(1))
        wires = [Anchored().wire for _ in range(2)]
        host._wires += wires
        wires[1]._lost = first
        await host.close()
        for wire in wires:
            cast("Any", wire._connection).is_closed = lambda: True
        clock.now_s += 60
        return [host.lost, *(wire.lost for wire in wires)]

    closed, silent = "the SSH connection was closed", "waited 3 s for the answer to a heartbeat"
    assert asyncio.run(scene(None)) == [closed] * 3
    assert asyncio.run(scene(silent)) == [silent] * 3


async def nothing_to_wait_for(_: object) -> None:
    pass


def test_an_answer_that_came_while_the_loop_was_busy_is_no_silence() -> None:
    async def scene() -> None:
        one = Anchored(limits=Limits(answer_s=0.05))
        one.wire.send_beat()
        answered = asyncio.create_task(one.wire._answer(one.anchor))
        await asyncio.sleep(0)
        asyncio.get_running_loop().call_soon(one.answer)  # as what comes from a socket: in the next cycle
        time.sleep(0.1)  # noqa: ASYNC251
        await answered
        assert len(one.wire.exchanges) == 1

    asyncio.run(scene())


def test_an_answer_that_waited_for_a_busy_loop_makes_no_host_slow() -> None:
    async def scene() -> None:
        one = Anchored()
        beats_of_loop().add(one.wire)
        await until(lambda: len(one.sent) >= 1)
        answered = asyncio.create_task(one.wire._answer(one.anchor))
        await asyncio.sleep(0)
        asyncio.get_running_loop().call_soon(one.out.feed_data, one.sent[0].split()[0] + b" 1000.5\n")
        end_s = time.monotonic() + 1.5
        while time.monotonic() < end_s:  # the output of other hosts, between which heartbeats are in time
            time.sleep(CHUNK_S)  # noqa: ASYNC251
            beats_of_loop().send_due()
        await answered
        beats_of_loop().give_up(one.wire)
        assert len(one.sent) > 3
        assert one.wire.pace.slowest_s < SLOW_S

    asyncio.run(scene())


def test_a_host_that_is_slow_beside_a_loop_that_was_busy_before_is_slow() -> None:
    async def scene() -> None:
        one = Anchored()
        beats_of_loop().add(one.wire)
        await until(lambda: len(one.sent) >= 1)
        time.sleep(0.6)  # noqa: ASYNC251
        await until(lambda: len(one.sent) >= 2)
        one.wire._unanswered.popleft()
        one.wire._told.popleft()
        await until(lambda: len(one.sent) >= 5)
        one.out.feed_data(one.sent[1].split()[0] + b" 1000.5\n")
        await one.wire._answer(one.anchor)
        beats_of_loop().give_up(one.wire)
        assert one.wire.pace.slowest_s > 2 * HEARTBEAT_S

    asyncio.run(scene())


def test_a_host_that_does_not_answer_or_says_something_else_is_lost() -> None:
    limits = Limits(heartbeat_s=0.01, answer_s=0.05)

    async def scene() -> None:
        silent, odd = Anchored(limits=limits), Anchored(limits=limits)
        silent.wire.send_beat()
        with pytest.raises(WaitTimeout, match=r"waited 0\.05 s for the answer to a heartbeat") as caught:
            await silent.wire._answer(silent.anchor)
        assert str(caught.value).endswith(
            "if dut, or the way to it, stands still under load, say so there: "
            "limits: {silence: 0.5 s, answer: 0.5 s}"
        )
        odd.out.feed_data(b"hello\n")
        with pytest.raises(HostLost, match="its heartbeat answered 'hello'"):
            await odd.wire._answer(odd.anchor)

    asyncio.run(scene())


def test_heartbeats_of_a_host_that_states_another_time_between_them_keep_it_beside_others(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    clock = Clock()
    for one in (ssh, module):
        monkeypatch.setattr(one, "now_s", clock)
    sent_s: dict[float, list[float]] = {0.3: [], 1.0: [], 0.1: []}

    async def scene() -> None:
        for heartbeat_s, own in sent_s.items():
            limits = Limits(heartbeat_s=heartbeat_s, silence_s=5.0)
            beats_of_loop().add(Anchored(lambda _, own=own: own.append(clock.now_s), limits).wire)  # type: ignore[misc]
        for _ in range(1000):
            clock.now_s += CHUNK_S
            beats_of_loop().send_due()

    asyncio.run(scene())
    for heartbeat_s, own in sent_s.items():
        gaps_s = [after - before for before, after in pairwise(own)]
        assert heartbeat_s - 1e-9 <= min(gaps_s) <= max(gaps_s) <= heartbeat_s + 2 * CHUNK_S


def test_a_timer_that_is_set_for_a_rare_heartbeat_is_no_hindrance_to_a_frequent_one() -> None:
    async def scene() -> None:
        rare = Anchored(limits=Limits(heartbeat_s=20.0, silence_s=60.0))
        often = Anchored(limits=Limits(heartbeat_s=0.05))
        for each in (rare, often):
            beats_of_loop().add(each.wire)
        await until(lambda: len(often.sent) >= 3)
        assert rare.sent == []
        for each in (rare, often):
            beats_of_loop().give_up(each.wire)

    asyncio.run(scene())
