# SPDX-License-Identifier: Apache-2.0
"""Leashed processes, and hosts that have nothing else, whatever carries their standard streams."""

from __future__ import annotations

import asyncio
from abc import ABC, abstractmethod
from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress
from typing import Protocol, TypeVar

from linewatt.errors import HostError, HostLost, WaitTimeout
from linewatt.hosts import leash
from linewatt.hosts.base import Completed, Ended, HostSpec, Line
from linewatt.hosts.limits import Limits, LimitsUsed, Pace, slow_command
from linewatt.hosts.output import Complaints, Flood, Lines, Whole

T = TypeVar("T")

LONGER_THAN_ANY_RUN_S = 366 * 86_400.0
MARGIN_S = 2.0
"""what the end of a command may take beyond its own limit, and once it is asked for"""


class Pipes(Protocol):
    """The streams of a process on a host. A lost connection reads as end of file and status ``None``."""

    async def read_stdout(self) -> bytes: ...

    async def read_stderr(self) -> bytes: ...

    def write(self, data: bytes) -> None: ...

    def write_eof(self) -> None: ...

    async def status(self) -> int | None:
        """Exit status once it has ended (128 + n for signal n), ``None`` if the connection went first."""

    def why_ended(self) -> str:
        """Where the connection went first: how it ended."""


class LeashedProcess:
    """A process that ends when its controller stops talking to it; see :mod:`linewatt.hosts.leash`."""

    def __init__(
        self,
        host: str,
        argv: Sequence[str],
        pipes: Pipes,
        on_line: Callable[[Line], None] | None,
        pace: Pace | None = None,
    ) -> None:
        """``pace``: how slow its host is known to be."""
        self.name = f"{host}: {argv[0]}"
        self._pace = pace or Pace(Limits())
        self._argv = tuple(argv)
        self._host = host
        self._pipes = pipes
        self._stdout = Whole()
        self._lines = Lines(on_line) if on_line else None
        self._stderr = Complaints()
        self._flood: asyncio.Future[str] = asyncio.get_running_loop().create_future()
        self._status: int | None = None
        self._ready = asyncio.Event()
        self._on_lost_leash: Callable[[], None] = lambda: None
        self._life = asyncio.create_task(self._live())

    async def _live(self) -> None:
        await asyncio.gather(self._read_stdout(), self._read_stderr())
        self._status = await self._pipes.status()

    def when_leash_is_lost(self, call: Callable[[], None]) -> None:
        """Have it called if the leash ends before what it holds: it alone says when that has ended.

        Called as well if the process cannot be stopped, because a process without a leash keeps its streams.
        """
        self._on_lost_leash = call
        self._life.add_done_callback(lambda _: self._look_at_leash())

    def _look_at_leash(self) -> None:
        marks = self._marks()
        if self._status is not None and marks.pid is not None and marks.ended_s is None:
            self._on_lost_leash()

    async def _read_stdout(self) -> None:
        """To its end, so that the channel can close; what comes after a flood began is thrown away."""
        output = self._lines or self._stdout
        while chunk := await self._pipes.read_stdout():
            if self._flood.done():
                continue
            try:
                output.add(chunk)
            except Flood as error:
                self._flood.set_result(f"{self._argv[0]} wrote {error}, and was stopped")
                self._interrupt()

    async def _read_stderr(self) -> None:
        while chunk := await self._pipes.read_stderr():
            self._stderr.add(chunk)
            self._ready.set()
        self._ready.set()

    def bound(self, most_bytes: int) -> None:
        """How much it may write: in all, or a second where its output is read line by line."""
        self._stdout.most_bytes = most_bytes
        if self._lines is not None:
            self._lines.bytes_a_s = most_bytes

    async def ready(self, timeout_s: float = 5.0) -> None:
        """Wait until the leash runs on the host, so that :meth:`release` only has to wake it."""
        limit_s = self._pace.used.of_command(timeout_s) + self._pace.used.late_s
        await self._bounded(self._ready.wait(), limit_s, f"{self.name} to be started")
        if not self._stderr:
            raise HostLost(
                f"{self._argv[0]} could not be started: {self._pipes.why_ended()}", where=self._host
            )

    def release(self) -> None:
        self._pipes.write(b"go\n")

    async def wait(self, timeout_s: float, awaited: str) -> Ended:
        """Wait for its end.

        Raises WaitTimeout naming ``awaited``, HostLost if the connection ended, HostError if it wrote more
        than it may.
        """
        ends = asyncio.wait((self._life, self._flood), return_when=asyncio.FIRST_COMPLETED)
        await within_limit(ends, timeout_s, f"{self._host}: {awaited}")
        if self._flood.done():
            raise HostError(self._flood.result(), where=self._host)
        return await self._ended(0.0, awaited)

    async def _ended(self, timeout_s: float, awaited: str) -> Ended:
        if not self._life.done():
            await self._bounded(asyncio.shield(self._life), timeout_s, f"{self._host}: {awaited}")
        self._life.result()
        if self._status is None:
            raise HostLost(f"while waiting for {awaited}: {self._pipes.why_ended()}", where=self._host)
        return self.so_far()

    async def _bounded(self, awaitable: Awaitable[T], limit_s: float, awaited: str) -> T:
        """With a limit that the host's ``limits`` can raise, and the message says how. Raises WaitTimeout."""
        try:
            return await within_limit(awaitable, limit_s, awaited)
        except WaitTimeout as error:
            raise WaitTimeout(f"{error}; {slow_command(self._host, limit_s)}") from error

    @property
    def pid(self) -> int | None:
        """Its process id on the host, once it is known."""
        return self._marks().pid

    @property
    def start_migrations(self) -> int | None:
        """How often the kernel had moved it when its wrapper had put it on its CPUs; None: not known."""
        return self._marks().migrations

    def _marks(self) -> leash.Marks:
        return leash.read_marks(self._stderr.text)

    def so_far(self) -> Ended:
        """What it wrote until now, and how it ended if it has."""
        marks = self._marks()
        return Ended(self._status, self._stdout.text, marks.stderr, marks.started_s, marks.ended_s)

    async def stop(self, timeout_s: float = 3.0) -> Ended:
        """Interrupt it (SIGINT, then SIGKILL) and wait."""
        if not self._life.done():
            self._interrupt()
        limit_s = self._pace.used.of_command(timeout_s)
        try:
            return await self._ended(limit_s, f"the end of {self.name} after it was interrupted")
        except WaitTimeout:
            self._on_lost_leash()
            raise

    def _interrupt(self) -> None:
        self._pipes.write(b"stop\n")
        self._pipes.write_eof()

    async def to_its_end(self, data: bytes, limit_s: float) -> Completed:
        """Hand a short command its input and wait for its end; whoever no longer waits ends it.

        Raises WaitTimeout, HostLost, HostError if it wrote more than it may.
        """
        self._pipes.write(data)
        try:
            ended = await self.wait(
                limit_s + MARGIN_S + self._pace.used.late_s, f"the end of {self._argv[0]}"
            )
        except WaitTimeout as error:
            await finish_before_cancel(self.put_down())
            raise WaitTimeout(f"{error}; {slow_command(self._host, limit_s)}") from error
        except (HostError, asyncio.CancelledError):
            await finish_before_cancel(self.put_down())
            raise
        if self._marks().late:
            raise WaitTimeout(
                f"{self._argv[0]} did not end within {limit_s:g} s; {slow_command(self._host, limit_s)}",
                where=self._host,
            )
        assert ended.status is not None  # noqa: S101
        return Completed(self._argv, ended.status, ended.stdout, ended.stderr)

    async def put_down(self) -> None:
        """Have it end, as far as that can be waited for: what is in the kernel ends when it is back."""
        with suppress(HostError):
            await self.stop(MARGIN_S)


class LeashedHost(ABC):
    """A host on which everything that runs is on a leash; how it gets there is its subclass's business."""

    def __init__(self, spec: HostSpec, pace: Pace | None = None) -> None:
        """``pace``: what is known of how slowly it answers, from a connection before this one."""
        self.spec = spec
        self.pace = pace or Pace(spec.limits, raises=spec.raise_session)
        self.may_have_strays = False

    @property
    def limits(self) -> LimitsUsed:
        return self.pace.used

    @abstractmethod
    async def _begin(
        self, words: Sequence[str], argv: Sequence[str], on_line: Callable[[Line], None] | None
    ) -> LeashedProcess:
        """The leash ``words`` around ``argv``. Raises HostError."""

    async def run(
        self, argv: Sequence[str], *, stdin: str = "", timeout_s: float = 10.0, root: bool = False
    ) -> Completed:
        """Run a short command to its end, which its leash bounds on the host as well."""
        data, limit_s = stdin.encode(), self.limits.of_command(timeout_s)
        words = leash.brief(argv, limit_s=limit_s, size=len(data), root=root and self.spec.sudo)
        process = await _or_put_down(self._begin(words, argv, None))
        return await process.to_its_end(data, limit_s)

    async def start(
        self,
        argv: Sequence[str],
        *,
        wrapper: Sequence[str] = (),
        held: bool = False,
        on_line: Callable[[Line], None] | None = None,
        root: bool = False,
    ) -> LeashedProcess:
        words = leash.leashed(argv, held=held, root=root and self.spec.sudo, wrapper=wrapper)
        process = await _or_put_down(self._begin(words, argv, on_line))
        process.when_leash_is_lost(self._expect_strays)
        return process

    def _expect_strays(self) -> None:
        self.may_have_strays = True


async def _or_put_down(beginning: Awaitable[LeashedProcess]) -> LeashedProcess:
    """A process that begins; where nobody waits for that any more it ends: no host runs what none knows."""
    task = asyncio.ensure_future(beginning)

    async def ends() -> None:
        with suppress(HostError):
            await (await task).put_down()

    try:
        return await asyncio.shield(task)
    except asyncio.CancelledError:
        await finish_before_cancel(ends())
        raise


async def within_limit(awaitable: Awaitable[T], timeout_s: float, awaited: str) -> T:
    """Await with a limit whose message says what was awaited. Raises WaitTimeout."""
    try:
        async with asyncio.timeout(timeout_s):  # wait_for loses a cancellation that comes with the answer
            return await awaitable
    except TimeoutError as error:
        raise WaitTimeout(f"waited {timeout_s:g} s for {awaited}") from error


async def finish_before_cancel(work: Awaitable[T]) -> T:
    """Await what must not be left half done: a cancellation meanwhile is raised once it is over.

    A shield alone would have what comes after it run beside it.
    """
    task = asyncio.ensure_future(work)
    cancelled = False
    while not task.done():
        try:
            await asyncio.wait([task])
        except asyncio.CancelledError:
            cancelled = True
    if cancelled:
        raise asyncio.CancelledError from None if task.cancelled() else task.exception()
    return task.result()


def ignore_broken_pipe() -> suppress:
    """Writing to a process that has just ended is no error: its end is reported by :meth:`wait`."""
    return suppress(BrokenPipeError, ConnectionResetError)
