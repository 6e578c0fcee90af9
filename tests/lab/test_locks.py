# SPDX-License-Identifier: Apache-2.0
"""One controller a host, and no undo beside a write: real locks, in network namespaces of this machine."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import pytest

from linewatt.engine.undo import host_lock as lock
from linewatt.engine.undo.host_lock import Holder, take, take_all, writers_ended
from linewatt.errors import HostInUse, WaitTimeout
from linewatt.hosts import batch
from linewatt.hosts.base import HostSpec, Line
from linewatt.hosts.local import LocalHost
from linewatt.hosts.process import LeashedProcess

pytestmark = pytest.mark.lab

BUSY_S = 2.0
"""what a busy machine may add"""


class Namespace(LocalHost):
    """This machine, seen from inside a network namespace."""

    def __init__(self, namespace: str, name: str) -> None:
        super().__init__(HostSpec(name, "local", "eth0"))
        self.inside = ["ip", "netns", "exec", namespace]

    async def _begin(
        self, words: Sequence[str], argv: Sequence[str], on_line: Callable[[Line], None] | None
    ) -> LeashedProcess:
        return await super()._begin([*self.inside, *words], argv, on_line)


@pytest.fixture
def spaces() -> Iterator[list[str]]:
    names = [f"lwlock{os.getpid()}{letter}" for letter in "ab"]
    try:
        for name in names:
            subprocess.run(["ip", "netns", "add", name], check=True, timeout=20)
        yield names
    finally:
        for name in names:
            subprocess.run(["ip", "netns", "del", name], check=False, timeout=20)


def test_a_second_controller_is_refused_and_told_who_works_there_until_the_first_lets_go(
    spaces: list[str],
) -> None:
    first, second = Namespace(spaces[0], "h1"), Namespace(spaces[0], "dut")
    other = Namespace(spaces[1], "h2")

    async def scene() -> None:
        held = await take(first, Holder("soak of $(id) 'x'", "ann", "ctl1"))
        assert held.note is None
        free = await take(other, Holder("b"))
        with pytest.raises(HostInUse) as caught:
            await take(second, Holder("b"))
        assert str(caught.value).startswith("dut: in use by ann@ctl1 (soak of $(id) 'x', since 20")
        await held.release()
        await (await take(second, Holder("b"))).release()
        await free.release()

    asyncio.run(scene())


def test_what_somebody_else_says_of_himself_reaches_no_terminal_as_it_is(spaces: list[str]) -> None:
    host = Namespace(spaces[0], "h1")

    async def scene() -> None:
        held = await take(host, Holder("\x1b[2J\tx\nbusy\t" + "y" * 300, "a\x9b1mn", "c\u202etl"))
        with pytest.raises(HostInUse) as caught:
            await take(host, Holder("b"))
        assert str(caught.value).isprintable()
        assert len(str(caught.value)) < 400
        await held.release()

    asyncio.run(scene())


def test_a_lock_whose_holder_cannot_be_seen_is_told_so(spaces: list[str]) -> None:
    host = Namespace(spaces[0], "h1")
    argv = [*host.inside, "flock", "/sys/class/net", "bash", "-c", "echo held; exec sleep 60"]

    async def scene() -> None:
        with pytest.raises(HostInUse, match="in use by somebody whose process cannot be seen there"):
            await take(host, Holder("b"))

    with subprocess.Popen(argv, stdout=subprocess.PIPE, text=True) as holder:
        assert holder.stdout is not None
        assert holder.stdout.readline() == "held\n"
        asyncio.run(scene())
        subprocess.run(["kill", "--", *children(holder.pid), str(holder.pid)], check=True)


def children(pid: int) -> list[str]:
    return Path(f"/proc/{pid}/task/{pid}/children").read_text().split()


def test_whoever_waits_is_told_for_whom_and_gets_it(spaces: list[str]) -> None:
    first, second = Namespace(spaces[0], "h1"), Namespace(spaces[0], "dut")
    said: list[str] = []

    async def scene() -> None:
        held = await take(first, Holder("a", "ann", "ctl1"))
        told = asyncio.Event()

        def hear(text: str) -> None:
            said.append(text)
            told.set()

        waiting = asyncio.ensure_future(take_all([second], Holder("b"), hear))
        await asyncio.wait_for(told.wait(), 30)
        await held.release()
        ((_, taken),) = await asyncio.wait_for(waiting, 30)
        assert taken.process is not None
        await taken.release()

    asyncio.run(scene())
    assert len(said) == 1
    assert said[0].startswith("dut: waiting for ann@ctl1 (a, since ")


def test_two_who_want_the_same_hosts_at_once_leave_one_with_all_of_them(spaces: list[str]) -> None:
    async def wants(name: str) -> list[tuple[object, lock.Held]] | HostInUse:
        hosts = [Namespace(space, f"{name}{i}") for i, space in enumerate(spaces)]
        try:
            return list(await take_all(hosts if name == "a" else hosts[::-1], Holder(name)))
        except HostInUse as error:
            return error

    async def scene() -> None:
        # addresses are alike here, so names decide which host is first: a0 and b0 are the same one
        outcomes = await asyncio.gather(wants("a"), wants("b"))
        (won,) = [one for one in outcomes if isinstance(one, list)]
        (lost,) = [one for one in outcomes if isinstance(one, HostInUse)]
        assert len(won) == 2
        assert "in use by " in str(lost)
        for _, held in won:
            await held.release()

    asyncio.run(scene())


def test_two_names_of_one_machine_are_no_two_controllers(spaces: list[str]) -> None:
    async def scene() -> None:
        taken = await take_all([Namespace(spaces[0], "a"), Namespace(spaces[0], "b")], Holder("x"))
        assert [held.process is None for _, held in taken] == [False, True]
        for _, held in taken:
            await held.release()

    asyncio.run(scene())


def test_a_lock_goes_with_a_controller_that_is_killed(spaces: list[str]) -> None:
    code = """
import asyncio, sys
from tests.lab.test_locks import Namespace
from linewatt.engine.undo.host_lock import Holder, take

async def work():
    held = await take(Namespace(sys.argv[1], "h1"), Holder("a"))
    print("held", flush=True)
    await asyncio.sleep(60)

asyncio.run(work())
"""
    root = Path(__file__).parents[2]
    with subprocess.Popen(
        [sys.executable, "-c", code, spaces[0]], cwd=root, stdout=subprocess.PIPE, text=True
    ) as controller:
        assert controller.stdout is not None
        assert controller.stdout.readline() == "held\n"
        controller.send_signal(signal.SIGKILL)

        async def scene() -> None:
            await (await take(Namespace(spaces[0], "h1"), Holder("b"))).release()

        asyncio.run(scene())


def test_a_host_without_flock_is_taken_and_that_is_said(spaces: list[str], tmp_path: Path) -> None:
    host = Namespace(spaces[0], "h1")
    for tool in ("bash", "sleep", "stat", "grep", "head"):
        (tmp_path / tool).symlink_to(f"/usr/bin/{tool}")
    host.inside = [*host.inside, "env", f"PATH={tmp_path}"]

    async def scene() -> None:
        held = await take(host, Holder("a"))
        assert held.process is None
        assert held.note == "h1: no flock there (util-linux), so nothing keeps other controllers away"
        await writers_ended(host, lambda _: None)
        short = batch.ShortCommand(("bash", "-c", "echo made"))
        (done,) = await batch.run_batch(host, [short], lock=batch.EXCLUSIVE)
        assert (done.status, done.stdout) == (0, "made\n")

    asyncio.run(scene())


ESCAPES = """setsid bash -c 'echo begun >"$1"; exec sleep 3' x "$1" >/dev/null 2>&1 & wait"""
"""a tool that cannot be ended for three seconds, as one in the kernel: not the leash's to kill"""


def test_an_undo_waits_for_a_write_that_goes_on_without_its_controller(
    spaces: list[str], tmp_path: Path
) -> None:
    host = Namespace(spaces[0], "h1")
    begun = tmp_path / "begun"
    said: list[str] = []

    async def scene() -> float:
        short = batch.ShortCommand(("bash", "-c", ESCAPES, "x", str(begun)))
        writing = asyncio.ensure_future(batch.run_batch(host, [short], lock=batch.EXCLUSIVE))
        async with asyncio.timeout(20):
            while not begun.exists():  # noqa: ASYNC110  a file only answers
                await asyncio.sleep(0.01)
        start_s = time.monotonic()
        writing.cancel()
        with pytest.raises(asyncio.CancelledError):
            await writing
        assert time.monotonic() - start_s < 2.0 + BUSY_S
        await writers_ended(host, said.append)
        return time.monotonic() - start_s

    assert asyncio.run(scene()) > 2.0
    assert len(said) == 1
    assert said[0].startswith("h1: a change is still being made there (sleep, process ")
    assert said[0].endswith("waiting up to 60 s for its end")


def test_a_write_that_does_not_end_is_named_and_nothing_is_read_or_written_beside_it(
    spaces: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    host = Namespace(spaces[0], "h1")
    monkeypatch.setattr(batch, "LOCK_S", 0.5)
    monkeypatch.setattr(lock, "WRITER_LIMIT_S", 0.5)
    hold = "exec 9</proc/self/ns/net; flock 9; echo held; exec sleep 60"

    async def scene() -> None:
        for kind in (batch.SHARED, batch.EXCLUSIVE):
            with pytest.raises(WaitTimeout, match=r"h1: waited 0\.5 s for another change there to end"):
                await batch.run_batch(host, [batch.ShortCommand(("true",))], lock=kind)
        with pytest.raises(WaitTimeout, match=r"waited 0\.5 s for a change .*\(sleep, process \d+\)"):
            await writers_ended(host, lambda _: None)
        assert [done.status for done in await batch.run_batch(host, [batch.ShortCommand(("true",))])] == [0]

    with subprocess.Popen([*host.inside, "bash", "-c", hold], stdout=subprocess.PIPE, text=True) as holder:
        assert holder.stdout is not None
        assert holder.stdout.readline() == "held\n"
        asyncio.run(scene())
        holder.kill()
