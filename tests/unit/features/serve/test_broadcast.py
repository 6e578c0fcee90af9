# SPDX-License-Identifier: Apache-2.0
"""What a run tells those who watch it: whole, bounded, to its own user only, at nobody's expense."""

from __future__ import annotations

import asyncio
import json
import os
import socket
import stat
import sys
import time
from collections.abc import AsyncIterator, Callable, Coroutine, Sequence
from contextlib import aclosing, asynccontextmanager, suppress
from dataclasses import replace
from pathlib import Path
from typing import Any, get_args

import pytest
from tests.live_runs import CASE, ENDS, WATTS, cpu_of, started
from tests.report_factories import trial

from linewatt.engine import events
from linewatt.errors import HostError
from linewatt.features.serve import live_words
from linewatt.features.serve.broadcast import broadcast as module
from linewatt.features.serve.broadcast import client, sockets
from linewatt.features.serve.broadcast.broadcast import Broadcast
from linewatt.features.serve.broadcast.client import NotRunning
from linewatt.features.serve.broadcast.telling import document_of_event
from linewatt.features.serve.broadcast.view import HISTORY_S, MOST_FINDINGS, MOST_ROWS, View
from linewatt.model import Case, Flag

ID = "20260101T000000Z-demo"
LIMIT_S = 60.0
BEGUN = events.Started(ID, f"results/{ID}", 3, 0, 33.0)
NOW = events.Throughput(9.01e9, 28.0, WATTS)
DONE = trial(1, CASE, 9.1e9, 0.5)


class Run:
    """A run that goes on until it is ended, stopped, or fails."""

    def __init__(self, tmp: Path, name: str = ID) -> None:
        self.state, self.path = tmp / "state", tmp / "results" / name
        self.shown: list[events.Event] = []
        self.asked_of: list[Sequence[events.Placed]] = []
        self.broadcast = Broadcast(self.shown.append, self._cpu)

    def _cpu(self, ends: Any) -> Any:
        self.asked_of.append(tuple(ends))
        return cpu_of(self.asked_of[-1])

    def said(self) -> list[str]:
        return [one.text for one in self.shown if isinstance(one, events.Phase)]

    @asynccontextmanager
    async def going(self) -> AsyncIterator[Broadcast]:
        async with self.broadcast.during(self.path, self.state, resumable=True):
            yield self.broadcast


def in_loop(work: Callable[[], Coroutine[Any, Any, None]]) -> None:
    async def bounded() -> None:
        async with asyncio.timeout(LIMIT_S):
            await work()

    asyncio.run(bounded())


async def until(true: Callable[[], bool]) -> None:
    """Let the loop go on until something is so; the test's own limit ends it."""
    while not true():  # noqa: ASYNC110  many things, of which none tells
        await asyncio.sleep(0.001)


async def asks(run: Run, line: bytes) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
    made = sockets.connect(sockets.path_of(run.state, run.path.name))
    reader, writer = await asyncio.open_unix_connection(sock=made, limit=client.MOST_LINE_BYTES)
    writer.write(line)
    return reader, writer


def test_who_looks_is_told_all_that_is_to_be_seen_by_now(tmp_path: Path) -> None:
    run = Run(tmp_path)

    async def work() -> None:
        async with run.going() as going:
            for event in (BEGUN, started(), NOW):
                going.hear(event)
            seen = await client.look(run.state, ID)
            assert seen["event"] == "snapshot"
            assert (seen["id"], seen["path"], seen["trials"], seen["left_s"]) == (ID, str(run.path), 3, 28.0)
            assert seen["running"][0]["case"] == "tcp, h1 → h2, 4 inst."
            assert seen["now"]["throughput_bps"] == 9.01e9
            assert [rate for _, rate in seen["history"]] == [9.01e9]
            going.hear(events.TrialStored(DONE, 3))
            seen = await client.look(run.state, ID)
            assert (seen["stored"], seen["failed"], seen["now"], seen["running"]) == (1, 0, None, [])
            assert seen["rows"][0]["throughput_bps"] == 9.1e9

    in_loop(work)


def test_who_watches_is_told_what_happens_and_how_it_ended(tmp_path: Path) -> None:
    run = Run(tmp_path)

    async def work() -> None:
        heard: list[dict[str, Any]] = []

        async def listen() -> None:
            async with aclosing(client.watch(run.state, ID)) as tells:
                async for one in tells:
                    heard.append(one)

        async with run.going() as going:
            listening = asyncio.create_task(listen())
            await until(lambda: bool(heard))
            for event in (started(), NOW, events.TrialStored(DONE, 3), events.Ended(ID, "x", 1, 0, 2)):
                going.hear(event)
        await listening
        kinds = [one["event"] for one in heard]
        assert kinds == ["snapshot", "trial_started", "now", "trial_stored", "ended", "closed"]
        assert [one["seq"] for one in heard] == [0, 1, 2, 3, 4, 5]
        assert heard[2]["cpu"][1] == {
            "host": "h2",
            "role": "receiver",
            "cpus": 4,
            "cpu_cores": 1.34,
            "app_busy_ratio": 0.97,
            "irq_busy_ratio": 0.41,
        }
        view = View(heard[0])
        for one in heard[1:]:
            view.take(one)
        assert view.state == run.broadcast.view.state | {"event": "snapshot"}, "it sees what the run does"

    in_loop(work)
    assert sockets.ids(run.state) == []


def test_nobody_is_asked_for_cpu_use_that_nobody_watches(tmp_path: Path) -> None:
    run = Run(tmp_path)

    async def work() -> None:
        async with run.going() as going:
            going.hear(started())
            going.hear(NOW)
            await client.look(run.state, ID)
            going.hear(NOW)
            assert run.asked_of == []
            async with aclosing(client.watch(run.state, ID)) as tells:
                snapshot = await anext(tells)
                assert len(snapshot["now"]["cpu"]) == snapshot["now"]["ends"] == 2  # not a second later
                assert run.asked_of.pop() == ENDS
                going.hear(NOW)
            assert run.asked_of == [ENDS]
            await until(lambda: not going._watching)
            going.hear(NOW)
            assert run.asked_of == [ENDS]

    in_loop(work)


def test_of_many_hosts_the_cpu_use_of_some_is_told_and_how_many_they_are(tmp_path: Path) -> None:
    run = Run(tmp_path)

    async def work() -> None:
        async with run.going() as going:
            for number in range(1, 41):
                ends = tuple(events.Placed(f"h{number}-{end}", "sender") for end in range(2))
                going.hear(replace(started(number, 40), ends=ends))
            async with aclosing(client.watch(run.state, ID)) as tells:
                await anext(tells)
                going.hear(NOW)
                now = await anext(tells)
            assert (len(now["cpu"]), now["ends"]) == (module.MOST_ENDS, 80)
            words = live_words.now(going.view)
            assert words is not None
            assert (len(words["cpu"]), words["more"]) == (48, 32)

    in_loop(work)


def test_who_does_not_read_is_cut_off_with_a_bounded_buffer_and_others_miss_nothing(tmp_path: Path) -> None:
    run, spoken = Run(tmp_path), 4000
    warned = events.Warned("w" * 500)

    async def work() -> None:
        async with run.going() as going:
            stuck = sockets.connect(sockets.path_of(run.state, ID))
            stuck.sendall(b'{"ask": "watch"}\n')
            await until(lambda: len(going._watching) == 1)
            (reader,) = going._watching
            transport = reader._transport
            assert transport is not None
            async with aclosing(client.watch(run.state, ID)) as tells:
                await anext(tells)
                most = 0
                for number in range(spoken):
                    going.hear(warned)
                    most = max(most, transport.get_write_buffer_size())
                    assert (await anext(tells))["seq"] == number + 1
            assert reader not in going._watching
            assert 0 < most <= module.MOST_WAITING_BYTES
            stuck.close()

    in_loop(work)


def test_no_more_than_a_few_are_let_in(tmp_path: Path) -> None:
    run = Run(tmp_path)

    async def work() -> None:
        async with run.going() as going:
            kept = [await asks(run, b'{"ask": "watch"}\n') for _ in range(module.MOST_READERS)]
            await until(lambda: len(going._watching) == module.MOST_READERS)
            with pytest.raises(NotRunning, match="others watch it already"):
                await client.look(run.state, ID)
            for _, writer in kept:
                writer.close()
            await until(lambda: not going._connected)
            assert (await client.look(run.state, ID))["id"] == ID

    in_loop(work)


@pytest.mark.parametrize(
    "line",
    [b"\xff\xfe\n", b"{}\n", b"[1]\n", b'{"ask": "else"}\n', b'{"ask": ["stop"]}\n', b"x" * 9000, b"\n"],
)
def test_what_is_no_question_is_refused_and_the_run_goes_on(tmp_path: Path, line: bytes) -> None:
    run = Run(tmp_path)

    async def work() -> None:
        async with run.going() as going:
            reader, writer = await asks(run, line)
            answer = json.loads(await reader.readline())
            assert answer["event"] == "refused"
            assert await reader.read() == b""
            writer.close()
            going.hear(NOW)
            assert (await client.look(run.state, ID))["now"]["left_s"] == 28.0

    in_loop(work)
    assert run.said() == []


def test_who_says_nothing_is_not_waited_for(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "ASK_LIMIT_S", 0.01)
    run = Run(tmp_path)

    async def work() -> None:
        async with run.going() as going:
            reader, writer = await asks(run, b'{"ask": ')
            with suppress(ConnectionResetError):
                assert await reader.read() == b""
            writer.close()
            await until(lambda: not going._connected)

    in_loop(work)


def test_another_user_is_told_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    run = Run(tmp_path)
    monkeypatch.setattr(sockets, "peer", lambda _: (4242, os.geteuid() + 1))

    async def work() -> None:
        async with run.going() as going:
            with pytest.raises(NotRunning, match="its run ended"):
                await client.look(run.state, ID)
            with pytest.raises(NotRunning, match="its run ended"):
                await client.stop(run.state, ID, "somebody else")
            task = asyncio.current_task()
            assert task is not None
            assert not task.cancelling()
            assert not going._connected

    in_loop(work)


def test_the_kernel_tells_who_connects() -> None:
    ours, theirs = socket.socketpair()
    with ours, theirs:
        assert sockets.peer(ours) == (os.getpid(), os.geteuid())
    assert sockets.is_ours(os.geteuid())
    assert sockets.is_ours(0)
    assert not sockets.is_ours(os.geteuid() + 1)


def test_nobody_else_can_reach_the_socket(tmp_path: Path) -> None:
    run = Run(tmp_path)

    async def work() -> None:
        async with run.going():
            path = sockets.path_of(run.state, ID)
            assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700
            assert stat.S_IMODE(path.stat().st_mode) == 0o600
            assert [one.name for one in path.parent.iterdir()] == [path.name]

    in_loop(work)


def test_a_stop_ends_the_run_as_an_interrupt_does_and_the_run_says_who_asked(tmp_path: Path) -> None:
    run = Run(tmp_path)
    undone: list[str] = []

    async def going() -> None:
        async with run.going():
            try:
                await asyncio.Event().wait()
            finally:
                answer = await client.stop(run.state, ID, "a test, again")
                undone.append(answer[1])

    async def work() -> None:
        task = asyncio.create_task(going())
        await until(lambda: sockets.ids(run.state) == [ID])
        assert await client.stop(run.state, ID, "a test\x1b[2J") == (True, "it is stopping")
        with pytest.raises(asyncio.CancelledError):
            await task

    in_loop(work)
    assert undone == ["it is stopping already"]
    who = f"a test␛[2J (process {os.getpid()})"
    assert run.said() == [f"stopped by {who}: stopping the load and undoing every change"]
    assert run.broadcast.view.state["stopping"]["by"] == who
    assert run.broadcast.view.state["closed"]["how"] == "stopped"


def test_a_run_that_has_ended_is_not_stopped(tmp_path: Path) -> None:
    run = Run(tmp_path)

    async def work() -> None:
        async with run.going() as going:
            going.hear(events.Ended(ID, "x", 3, 0, 0))
            assert await client.stop(run.state, ID, "a test") == (False, "all of it was run already")
            task = asyncio.current_task()
            assert task is not None
            assert not task.cancelling()
        with pytest.raises(NotRunning):
            await client.stop(run.state, ID, "a test")

    in_loop(work)


def test_a_run_that_fails_tells_why(tmp_path: Path) -> None:
    run = Run(tmp_path)

    async def work() -> None:
        with pytest.raises(HostError):
            async with run.going():
                raise HostError("h1: no route to host")

    in_loop(work)
    closed = run.broadcast.view.state["closed"]
    assert (closed["how"], closed["reason"]) == ("failed", "h1: no route to host")


def test_two_runs_are_told_apart(tmp_path: Path) -> None:
    first, second = Run(tmp_path, "20260101T000000Z-a"), Run(tmp_path, "20260101T000000Z-b")

    async def work() -> None:
        async with first.going() as one, second.going():
            one.hear(started())
            found = await client.running(first.state)
            assert [(run["id"], len(run["running"])) for run in found] == [
                (first.path.name, 1),
                (second.path.name, 0),
            ]
        assert await client.running(first.state) == []

    in_loop(work)


def left_by_a_kill(state: Path, name: str = ID) -> Path:
    """A socket whose process went without a word."""
    sockets.listen(state, name).close()
    return sockets.path_of(state, name)


def test_a_socket_that_a_kill_left_is_known_and_removed(tmp_path: Path) -> None:
    path = left_by_a_kill(tmp_path)
    assert path.is_socket()
    assert asyncio.run(client.running(tmp_path)) == []
    assert not path.exists()


def test_a_run_that_goes_on_after_a_kill_takes_its_place(tmp_path: Path) -> None:
    run = Run(tmp_path)
    left_by_a_kill(run.state)

    async def work() -> None:
        async with run.going():
            assert (await client.look(run.state, ID))["id"] == ID

    in_loop(work)
    assert run.said() == []


def test_a_socket_that_answers_is_not_taken_from_its_run(tmp_path: Path) -> None:
    first, second = Run(tmp_path), Run(tmp_path)

    async def work() -> None:
        async with first.going() as going, second.going():
            going.hear(started())
            assert len((await client.look(first.state, ID))["running"]) == 1

    in_loop(work)
    assert "another process offers it" in second.said()[0]


def test_a_state_directory_may_have_a_long_path(tmp_path: Path) -> None:
    run = Run(tmp_path / ("d" * 100) / ("e" * 100))

    async def work() -> None:
        async with run.going():
            assert (await client.look(run.state, ID))["id"] == ID

    in_loop(work)
    assert run.said() == []


def open_to_others(state: Path) -> None:
    (state / sockets.FOLDER).mkdir(parents=True)
    (state / sockets.FOLDER).chmod(0o755)


def a_file(state: Path) -> None:
    state.mkdir()
    (state / sockets.FOLDER).write_text("")


@pytest.mark.parametrize("spoiled", [open_to_others, a_file])
def test_where_it_cannot_be_watched_the_run_goes_on_and_says_so_once(
    tmp_path: Path, spoiled: Callable[[Path], None]
) -> None:
    run = Run(tmp_path)
    spoiled(run.state)

    async def work() -> None:
        async with run.going() as going:
            going.hear(NOW)
            with pytest.raises(NotRunning):
                await client.look(run.state, ID)

    in_loop(work)
    (said,) = run.said()
    assert said.startswith(f"this run cannot be watched: {run.state / sockets.FOLDER}")


def test_whatever_goes_wrong_for_those_who_watch_is_no_harm_to_the_run(tmp_path: Path) -> None:
    run = Run(tmp_path)

    def broken(_: object) -> Any:
        raise ZeroDivisionError

    run.broadcast = Broadcast(run.shown.append, broken)

    async def work() -> None:
        async with run.going() as going:
            async with aclosing(client.watch(run.state, ID)) as tells:
                await anext(tells)
                going.hear(started())
                going.hear(NOW)
                assert [one["event"] async for one in tells] == ["trial_started"]
            going.hear(events.Ended(ID, "x", 3, 0, 0))

    in_loop(work)
    assert run.said() == ["this run cannot be watched any more: ZeroDivisionError()"]


def test_names_that_are_no_runs_are_not_looked_for(tmp_path: Path) -> None:
    for name in ("../journal", "", ".", "x/../y", ID):
        with pytest.raises(NotRunning, match="does not run"):
            asyncio.run(client.look(tmp_path, name))


EVERY: tuple[events.Event, ...] = (
    BEGUN,
    events.Phase("waiting"),
    started(),
    NOW,
    events.TrialStored(DONE, 3),
    events.Soaking(388e6, 300, 900.0, 2700.0, WATTS),
    events.SoakEnded(ID, "x", 3600.0, 0.0),
    events.Warned("h1: lost"),
    events.LeftChanged(("h1: mtu",)),
    events.Ended(ID, "x", 3, 0, 0),
)


def test_every_event_is_told_and_a_view_takes_it() -> None:
    assert {type(one) for one in EVERY} == set(get_args(events.Event))
    view = View()
    for number, event in enumerate(EVERY):
        view.take({**document_of_event(event), "seq": number, "at_s": float(number)})
        assert json.loads(json.dumps(view.snapshot(), allow_nan=False))["seq"] == number
    assert view.is_over


def test_a_view_of_a_long_campaign_stays_small() -> None:
    view = View()
    evil = Flag("cpu-accounting-disagrees", "h1", "e" * 5000, "look")
    for number in range(1, 2000):
        one = replace(DONE, number=number, flags=(evil,))
        for event in (started(number, 2000), NOW, events.TrialStored(one, 2000), events.Warned(f"{number}")):
            view.take({**document_of_event(event), "seq": number, "at_s": float(number)})
    state = view.state
    assert (len(state["rows"]), len(state["findings"])) == (MOST_ROWS, MOST_FINDINGS)
    assert len(state["history"]) == HISTORY_S + 1
    assert state["stored"] == 1999
    assert len(json.dumps(view.snapshot())) < module.MOST_WAITING_BYTES / 2


def test_a_trial_that_failed_is_told_as_failed_with_its_reason() -> None:
    case = Case("udp-60", "h1", "h2")
    bad = replace(trial(1, case, 1e9, 0.5), status="failed", reason="h2: no route", throughput_bps=None)
    row = document_of_event(events.TrialStored(bad, 3))["row"]
    assert (row["failed"], row["reason"], row["throughput_bps"]) == (True, "h2: no route", None)


def test_being_watched_costs_the_controller_next_to_nothing_and_imports_nothing(tmp_path: Path) -> None:
    run, seconds = Run(tmp_path), 200

    async def work() -> None:
        async with run.going() as going:
            going.hear(started())
            stuck = [sockets.connect(sockets.path_of(run.state, ID)) for _ in range(module.MOST_READERS)]
            for one in stuck:
                one.sendall(b'{"ask": "watch"}\n')
            await until(lambda: len(going._watching) == len(stuck))
            before, began_s = set(sys.modules), time.process_time()
            for _ in range(seconds):
                going.hear(NOW)
            used_s = time.process_time() - began_s
            for one in stuck:
                one.close()
        assert set(sys.modules) <= before
        assert used_s / seconds < 0.002, "of a second"

    in_loop(work)
