# SPDX-License-Identifier: Apache-2.0
"""Hosts over SSH: one connection each, kept open; commands as channels on it."""

from __future__ import annotations

import asyncio
import contextlib
import itertools
import math
from collections import deque
from collections.abc import Callable, Sequence
from contextlib import suppress

from linewatt.errors import HostError, HostLost, WaitTimeout
from linewatt.foreign import entered, one_line
from linewatt.hosts import leash
from linewatt.hosts.base import HostSpec, Line
from linewatt.hosts.clock import Exchange, Offset, best_offset, now_s
from linewatt.hosts.limits import Limits, Pace, slow_login, slow_to_answer
from linewatt.hosts.process import LeashedHost, LeashedProcess, ignore_broken_pipe, within_limit
from linewatt.hosts.ssh.beats import beats_of_loop
from linewatt.hosts.ssh.library import asyncssh
from linewatt.hosts.ssh.login import close, log_in

MOST_SAID_BYTES = 120
CLOCK_READINGS = 5
CLOCK_MEMORY = 64
_LOOPBACK = "127.0.0.1"

Channel = asyncssh.SSHClientProcess[bytes]


class _SshPipes:
    def __init__(self, channel: Channel, host: SshHost) -> None:
        self._channel = channel
        self._host = host

    async def read_stdout(self) -> bytes:
        return await _read(self._channel.stdout)

    async def read_stderr(self) -> bytes:
        return await _read(self._channel.stderr)

    def write(self, data: bytes) -> None:
        with ignore_broken_pipe():
            self._channel.stdin.write(data)

    def write_eof(self) -> None:
        with ignore_broken_pipe():
            self._channel.stdin.write_eof()

    async def status(self) -> int | None:
        with suppress(asyncssh.Error):
            await self._channel.wait_closed()
        return self._channel.exit_status

    def why_ended(self) -> str:
        return self._host.lost or "the connection ended"


async def _read(stream: asyncssh.SSHReader[bytes]) -> bytes:
    try:
        return await stream.read(65536)
    except (asyncssh.Error, OSError):
        return b""
    finally:
        beats_of_loop().send_due()


class _NoCommandError(HostError):
    """A login shell ran nothing of what it was given."""


class Wire:
    """One connection to a host, with the anchor that ends it when it goes silent."""

    def __init__(
        self,
        name: str,
        connection: asyncssh.SSHClientConnection,
        pace: Pace | None = None,
        raises: leash.Raises = "",
    ) -> None:
        """``pace``: of its host, whose connections have one; ``raises``: as the leash's anchor has it."""
        self._name = name
        self._connection = connection
        self._raises = raises
        self.pace = pace or Pace(Limits())
        self._begins = True
        """nothing is cut while it is found out how slow the host is"""
        self._lost: str | None = None
        self._channels: list[Channel] = []
        self._most: int | None = None
        self._anchor: Channel | None = None
        self._line_of: Callable[[Sequence[str]], str] = leash.shell_line
        """how its login shell is given a command"""
        self._pulse: asyncio.Task[None] | None = None
        self._beaten_s = now_s()
        self._between_s = 0.0
        """the longest time between heartbeats since all were answered"""
        self._unanswered: deque[float] = deque()
        """heartbeats by the time of their sending"""
        self._told: deque[float] = deque()
        """the silence that each of them allows"""
        self._allowed_s = self.pace.used.silence_s
        """the silence that the last one allowed that was answered: it is in force there"""
        self._late: tuple[float, float] | None = None
        """when the last answer came that took longer than the silence in force, and how long it took"""
        self.exchanges: deque[Exchange] = deque(maxlen=CLOCK_MEMORY)

    @property
    def lost(self) -> str | None:
        """Why the connection is no more, or ``None`` while it is."""
        if self._lost is None and self._connection.is_closed():
            self._lost = self._ended()
        return self._lost

    def _ended(self) -> str:
        """How a connection ended. A host to which no heartbeat comes for so long ends it itself."""
        time_s, limit_s = now_s(), self._allowed_s
        silent_s = max(self._between_s, time_s - self._beaten_s)
        if silent_s >= limit_s:
            return (
                f"the SSH connection ended: no heartbeat was sent for {silent_s:.1f} s (the controller was "
                f"stopped or busy), and a host ends what runs on it after {limit_s:g} s of silence"
            )
        unheard_s = time_s - self._unanswered[0] if self._unanswered else 0.0
        if self._late is not None and time_s - self._late[0] < limit_s:  # the host ended it meanwhile
            unheard_s = max(unheard_s, self._late[1])
        if unheard_s < limit_s:
            return "the SSH connection ended"
        return (
            f"the SSH connection ended: no heartbeat was answered for {unheard_s:.1f} s, and {self._name} "
            f"ends what runs on it after {limit_s:g} s of silence; {slow_to_answer(self._name, unheard_s)}"
        )

    @property
    def is_full(self) -> bool:
        """Whether it holds as many channels as its sshd has shown to allow (``MaxSessions``)."""
        return self._most is not None and self._count() >= self._most

    def _count(self) -> int:
        """How many channels are open now."""
        self._channels = [channel for channel in self._channels if not channel.is_closing()]
        return len(self._channels)

    async def begin(self) -> None:
        """Start the anchor and take the first readings of the host's clock. Raises HostError.

        Heartbeats go on meanwhile: to a slow host, five questions one after the other would be silence.
        """
        limit_s = self.pace.used.login_s
        try:
            try:
                self._anchor = await self._greeted(limit_s)
            except _NoCommandError:
                self._line_of = leash.encoded_line
                with suppress(HostError):
                    self._anchor = await self._greeted(limit_s)
                if self._anchor is None:
                    raise
            beats_of_loop().add(self)
            for _ in range(CLOCK_READINGS):
                if not self._unanswered:
                    self.send_beat()
                await self._answer(self._anchor)
        except (asyncssh.Error, OSError) as error:
            problem = f"the connection ended right after the login: {error}"
            raise HostLost(problem, where=self._name) from error
        self._begins = False
        self.send_beat()
        self._pulse = asyncio.create_task(self._listen_for_ever(self._anchor))

    async def _greeted(self, limit_s: float) -> Channel:
        """The anchor, once it has answered. Raises _NoCommandError, HostError; asyncssh's errors."""
        awaited = f"{self._name}: its first channel after the login; {slow_login(limit_s)}"
        began_s = now_s()
        anchor = await within_limit(self.open(leash.anchor(limit_s, self._raises)), limit_s, awaited)
        await self._greet(anchor, limit_s)
        self.pace.started(now_s() - began_s)
        return anchor

    async def open(self, argv: Sequence[str]) -> Channel:
        """Raises ChannelOpenError when sshd allows no more, and is full then; asyncssh's other errors."""
        beats_of_loop().send_due()
        if self.lost:
            raise HostLost(self.lost, where=self._name)
        try:
            channel = await self._connection.create_process(self._line_of(argv), encoding=None)
        except asyncssh.ChannelOpenError:
            self._most = self._count()
            raise
        self._channels.append(channel)
        return channel

    async def _listen_for_ever(self, anchor: Channel) -> None:
        try:
            while True:
                await self._answer(anchor)
        except (HostError, asyncssh.Error, OSError) as error:
            self._lost = self.lost or str(error)
            self._connection.abort()
        finally:
            beats_of_loop().give_up(self)

    async def _greet(self, anchor: Channel, limit_s: float) -> None:
        """See that what a command prints is what comes here. Raises HostError, which says what else came."""
        sent_s = now_s()
        stamp = b"%.6f" % sent_s
        with contextlib.suppress(BrokenPipeError):  # it has ended already; what it said is read below
            anchor.stdin.write(leash.beat(sent_s, limit_s))
        try:
            async with asyncio.timeout(limit_s):
                reply = await anchor.stdout.readline()
                complaint = b"" if reply else await anchor.stderr.read(MOST_SAID_BYTES)
        except TimeoutError as error:
            raise WaitTimeout(
                f"logged in, but no answer to its first command in {limit_s:g} s;"
                " look there for what ~/.bashrc waits for: it runs before each command; "
                f"{slow_login(limit_s)}",
                where=self._name,
            ) from error
        if not reply and self.lost:
            raise HostLost(f"{self.lost} right after the login", where=self._name)
        if not reply:
            why = _one_line(complaint) or "it said nothing"
            raise _NoCommandError(
                f"logged in, but no command can be run: {why}; bash must be there, the login must run what "
                "it is given (no nologin, no forced command), and ~/.bashrc, which runs first, must not end "
                "it (set -e, set -u, exit): begin it with: [[ $- == *i* ]] || return",
                where=self._name,
            )
        if self._raises:
            self.pace.is_raised = reply.split()[-1:] == [leash.RAISED.encode()]
        if not reply.startswith(stamp):
            raise HostError(
                f"its login prints {_one_line(reply)!r} before what a command says: no answer "
                "can be read; take that out of ~/.bashrc there, or begin it with: [[ $- == *i* ]] || return",
                where=self._name,
            )

    def send_beat(self) -> None:
        """Ask the host for its time, which tells it that its controller is there."""
        sent_s = now_s()
        self._between_s, self._beaten_s = max(self._between_s, sent_s - self._beaten_s), sent_s
        limits = self.pace.used
        silence_s = limits.login_s if self._begins else limits.silence_s
        self._unanswered.append(sent_s)
        self._told.append(silence_s)
        if self._anchor is not None:
            with suppress(asyncssh.Error, OSError):  # whoever waits for its answer is told
                self._anchor.stdin.write(leash.beat(sent_s, silence_s))

    async def _answer(self, anchor: Channel) -> None:
        """To the first heartbeat that has none. Raises HostError."""
        reply = await self._reply(anchor)
        if not reply:
            raise HostLost(self._ended())
        words, sent_s = reply.split(), self._unanswered.popleft() if self._unanswered else math.nan
        try:
            there_s = float(words[1]) if words[0] == b"%.6f" % sent_s else math.nan
        except (ValueError, IndexError):
            there_s = math.nan
        if not math.isfinite(there_s):
            raise HostLost(f"its heartbeat answered {_one_line(reply)!r}")
        answered_s = now_s()
        took_s = answered_s - sent_s - self._own_s(sent_s, answered_s)
        if took_s >= self._allowed_s:
            self._late = answered_s, took_s
        self._allowed_s = self._told.popleft()
        self.exchanges.append(Exchange(sent_s, there_s, answered_s))
        self.pace.answered(took_s)
        if not self._unanswered:
            self._between_s = 0.0

    async def _reply(self, anchor: Channel) -> bytes:
        """Raises WaitTimeout. What came while this loop was busy may be seen only in its next two cycles."""
        limits = self.pace.used
        limit_s = max(limits.login_s, limits.answer_s) if self._begins else limits.answer_s
        sent_s = self._unanswered[0] if self._unanswered else now_s() + limits.heartbeat_s
        rest_s = max(0.0, sent_s + limit_s - now_s())
        for part_s in (rest_s, leash.GRACE_S, leash.GRACE_S):
            with suppress(WaitTimeout):
                return await within_limit(anchor.stdout.readline(), part_s, "a line")
        raise WaitTimeout(
            f"waited {limit_s:g} s for the answer to a heartbeat; {slow_to_answer(self._name, limit_s)}"
        )

    def _own_s(self, sent_s: float, answered_s: float) -> float:
        """How late this controller itself was meanwhile, told by the heartbeats that it sent too late, and by
        its loop, which may send them in time and yet come to no answer."""
        sent = [sent_s, *self._unanswered, answered_s]
        between_s = max(after - before for before, after in itertools.pairwise(sent))
        return max(between_s - self.pace.used.heartbeat_s, beats_of_loop().late_s(sent_s))

    async def forward(self, port: int) -> int:
        """A port of the host's 127.0.0.1 to this one of ours. Raises asyncssh's errors, OSError."""
        listener = await self._connection.forward_remote_port(_LOOPBACK, 0, _LOOPBACK, port)
        return int(listener.get_port())

    async def close(self, why: str = "the SSH connection was closed") -> None:
        """End it; ``why`` is what is said of it from then on, unless it has ended by itself."""
        self._lost = self.lost or why
        if self._pulse:
            self._pulse.cancel()
        beats_of_loop().give_up(self)
        await close(self._connection)


class SshHost(LeashedHost):
    """A connected host; made by :func:`connect`.

    It has one connection, and further ones where its sshd allows no more channels on one: ten, unless its
    ``MaxSessions`` says otherwise (sshd_config(5)).
    """

    def __init__(self, spec: HostSpec, openings: asyncio.Semaphore, pace: Pace | None = None) -> None:
        super().__init__(spec, pace)
        self._openings = openings
        self._wires: list[Wire] = []
        self._dialling = asyncio.Lock()

    @property
    def lost(self) -> str | None:
        """Why a connection is no more, or ``None`` while all are."""
        return next((wire.lost for wire in self._wires if wire.lost), None)

    @property
    def clock(self) -> Offset:
        """Offset of the host's clock, from the quickest of the last exchanges."""
        offset = best_offset([exchange for wire in self._wires for exchange in wire.exchanges])
        if offset is None:
            raise HostError("its clock was never read", where=self.spec.name)
        return offset

    async def begin(self) -> Wire:
        """Open a connection. Raises HostError: what failed, where, what to do."""
        raises: leash.Raises = ""
        if self.spec.raise_session:
            raises = "sudo" if self.spec.sudo else "self"
        wire = Wire(self.spec.name, await log_in(self.spec, self.pace), self.pace, raises)
        try:
            await wire.begin()
        except BaseException:
            await wire.close()
            raise
        self._wires.append(wire)
        return wire

    async def _open(self, argv: Sequence[str], what: str) -> Channel:
        try:
            async with self._openings:
                if self.lost:
                    raise HostLost(self.lost, where=self.spec.name)
                channel = await self._open_on_one(argv)
                if channel is None:
                    async with self._dialling:  # whoever waited finds room on the connection made meanwhile
                        channel = await self._open_on_one(argv) or await self._open_on_another(argv)
                return channel
        except (asyncssh.Error, OSError, TimeoutError) as error:
            raise HostLost(f"cannot start {what}: {error}", where=self.spec.name) from error

    async def _open_on_another(self, argv: Sequence[str]) -> Channel:
        try:
            wire = await self.begin()
        except HostError as error:
            raise HostLost(f"no further connection for {argv[0]}: {error}", where=self.spec.name) from error
        try:
            return await wire.open(argv)
        except asyncssh.ChannelOpenError as error:
            raise HostError(
                "its sshd allows one session on each connection (MaxSessions 1), and linewatt needs two or "
                "more: set MaxSessions 10 in sshd_config there, and reload sshd",
                where=self.spec.name,
            ) from error

    async def _open_on_one(self, argv: Sequence[str]) -> Channel | None:
        """A channel on one of the connections there are; ``None``: all are full."""
        for wire in self._wires:
            if not wire.is_full:
                with suppress(asyncssh.ChannelOpenError):
                    return await wire.open(argv)
        return None

    async def _begin(
        self, words: Sequence[str], argv: Sequence[str], on_line: Callable[[Line], None] | None
    ) -> LeashedProcess:
        pipes = _SshPipes(await self._open(words, argv[0]), self)
        return LeashedProcess(self.spec.name, argv, pipes, on_line, self.pace)

    async def forward(self, port: int) -> int:
        """What ``Host.forward`` says; traffic of the port goes through the first connection."""
        if self.lost:
            raise HostLost(self.lost, where=self.spec.name)
        try:
            return await within_limit(
                self._wires[0].forward(port), self.limits.login_s, f"{self.spec.name}: a forwarded port"
            )
        except asyncssh.ChannelListenError as error:
            raise HostError(
                "its sshd forwards no port to this machine; "
                "allow it in sshd_config: AllowTcpForwarding remote (or yes), no DisableForwarding",
                where=self.spec.name,
            ) from error
        except (asyncssh.Error, OSError) as error:
            raise HostLost(f"the connection ended: {error}", where=self.spec.name) from error

    async def close(self) -> None:
        """One whose connection ended says so ever after, also of those that were closed with it."""
        why = (self.lost,) if self.lost else ()
        await asyncio.gather(*(wire.close(*why) for wire in self._wires))


async def connect(spec: HostSpec, openings: asyncio.Semaphore, pace: Pace | None = None) -> SshHost:
    """Open the connection to a host. Raises HostError: what failed, where, what to do."""
    host = SshHost(spec, openings, pace)
    async with openings:
        await host.begin()
    return host


def _one_line(data: bytes) -> str:
    """What a host said, for a message."""
    return one_line(" ".join(entered(data[:MOST_SAID_BYTES]).split()))
