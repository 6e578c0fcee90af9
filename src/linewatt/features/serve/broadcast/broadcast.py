# SPDX-License-Identifier: Apache-2.0
"""What a run tells those who watch it, in the run's own loop.

The controller may be a host that is measured, and heartbeats of all hosts go through this loop. So nothing is
read or made for watchers while there are none; nothing here waits; heartbeats that are due go first; who
does not read is cut off; and whatever goes wrong ends the view of the run, and never the run.

Who connects asks one thing in a line of JSON: ``{"ask": "look"}`` is answered with a snapshot, ``watch`` with
a snapshot and then what happens, ``stop`` ends the run as an interrupt does.
"""

from __future__ import annotations

import asyncio
import json
import os
import socket
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager, suppress
from pathlib import Path
from typing import Any, cast

from linewatt.engine import events
from linewatt.engine.observers import CpuOf
from linewatt.errors import LinewattError, ParseError
from linewatt.features.serve.broadcast import sockets
from linewatt.features.serve.broadcast.telling import told
from linewatt.features.serve.broadcast.view import Document, View
from linewatt.foreign import entered, read_json, shortened
from linewatt.hosts.clock import now_s
from linewatt.hosts.ssh.beats import beats
from linewatt.model import document_of

MOST_READERS = 8
"""that are connected at once: each web server is one, however many browsers it serves"""
MOST_WAITING_BYTES = 1 << 19
"""that one who watches has not read yet; with more it is cut off"""
KERNEL_BYTES = 1 << 16
"""that the kernel keeps for it beside that"""
MOST_ENDS = 48
"""of which CPU use is told: a page shows no more, and for hundreds of hosts it would hold up the loop"""
ASK_BYTES = 4096
ASK_LIMIT_S = 5.0
"""for who connects to say what it wants"""


class Broadcast:
    """Passes events on to whoever watches, from other processes; a ``RunObserver``."""

    def __init__(self, show: events.OnEvent, cpu_of: CpuOf) -> None:
        """``cpu_of`` tells what CPUs of running ends do now; it is asked while somebody watches only."""
        self.view = View()
        self.soak_ends: tuple[events.Placed, ...] = ()
        """of a load that is no trial: its hosts"""
        self._show = show
        self._cpu_of = cpu_of
        self._running: dict[int, tuple[events.Placed, ...]] = {}
        self._connected: set[Reader] = set()
        self._watching: set[Reader] = set()
        self._run: asyncio.Task[Any] | None = None
        self._seq = 0

    def hear(self, event: events.Event) -> None:
        """An event of the run."""
        with self._harmless():
            self._tell(event)

    @asynccontextmanager
    async def during(self, result: Path, state: Path, *, resumable: bool) -> AsyncIterator[None]:
        """Can be watched meanwhile, under the name of its result. Where that cannot be, it is said once.

        ``resumable``: whether a result that is not complete can be gone on with.
        """
        self.view.state |= {
            "id": result.name,
            "path": _absolute(result),
            "pid": os.getpid(),
            "began_s": now_s(),
            "resumable": resumable,
        }
        self._run = asyncio.current_task()
        server = await self._server(result.name, state)
        closed: Document = {"event": "closed", "how": "done", "reason": None}
        try:
            yield
        except asyncio.CancelledError:
            closed["how"] = "stopped"
            raise
        except BaseException as error:
            reason = str(error) if isinstance(error, LinewattError) else type(error).__name__
            closed |= {"how": "failed", "reason": shortened(reason)}
            raise
        finally:
            self._run = None
            with self._harmless():
                self._add(closed)
                self._close(server, sockets.path_of(state, result.name))

    async def _server(self, name: str, state: Path) -> asyncio.Server | None:
        try:
            made = sockets.listening(state, name)
            loop = asyncio.get_running_loop()
            return await loop.create_unix_server(lambda: Reader(self), sock=made, backlog=sockets.WAITING)
        except OSError as error:
            what = error.strerror or type(error).__name__
            self._show(events.Phase(f"this run cannot be watched: {error.filename or state}: {what}"))
            return None

    def _close(self, server: asyncio.Server | None, path: Path) -> None:
        for reader in tuple(self._connected):
            reader.close()
        if server is not None:
            with suppress(OSError):
                path.unlink()
            server.close()

    # --- what is told --------------------------------------------------------------------------------------

    def _tell(self, event: events.Event) -> None:
        match event:
            case events.TrialStarted():
                self._running[event.number] = event.ends
            case events.TrialStored():
                self._running.pop(event.trial.number, None)
            case events.Phase():  # one that was cut off, too
                self._running.clear()
            case _:
                pass
        document = told(event)
        if document["event"] == "now" and self._watching:
            ends = dict.fromkeys(end for ends in self._running.values() for end in ends)
            every = tuple(ends) or self.soak_ends
            document["ends"] = len(every)
            document["cpu"] = [document_of(one) for one in self._cpu_of(every[:MOST_ENDS])]
        self._add(document)

    def _add(self, document: Document) -> None:
        self._seq += 1
        document |= {"seq": self._seq, "at_s": now_s()}
        self.view.take(document)
        if self._watching:
            beats().send_due()
            line = _line(document)
            for reader in tuple(self._watching):
                reader.send(line)

    @contextmanager
    def _harmless(self) -> Iterator[None]:
        """Around what is done for watchers: nothing of it may end a run."""
        try:
            yield
        except Exception as error:  # noqa: BLE001  whatever it is
            self._give_up(error)

    def _give_up(self, error: Exception) -> None:
        """Let nobody watch any more."""
        watched, self._connected, self._watching = tuple(self._connected), set(), set()
        for reader in watched:
            reader.cut()
        if watched:
            self._show(events.Phase(f"this run cannot be watched any more: {shortened(repr(error))}"))

    # --- who watches ---------------------------------------------------------------------------------------

    def admits(self, reader: Reader) -> str | None:
        """Why one more cannot be connected."""
        if len(self._connected) >= MOST_READERS:
            return f"{MOST_READERS} others watch it already"
        self._connected.add(reader)
        return None

    def leaves(self, reader: Reader) -> None:
        self._connected.discard(reader)
        self._watching.discard(reader)

    def answer(self, reader: Reader, asked: Document) -> None:
        """What one asked."""
        with self._harmless():
            self._answer(reader, asked)

    def _answer(self, reader: Reader, asked: Document) -> None:
        match asked.get("ask"):
            case "watch":
                beats().send_due()
                self._watching.add(reader)
                reader.send(_line(self._snapshot()))
            case "look":
                beats().send_due()
                reader.send(_line(self._snapshot()))
                reader.close()
            case "stop":
                reader.send(_line(self._stopped(shortened(str(asked.get("by", ""))), reader.pid)))
                reader.close()
            case _:
                reader.refuse("ask is look, watch or stop")

    def _snapshot(self) -> Document:
        return {**self.view.snapshot(), "seq": self._seq, "at_s": now_s()}

    def _stopped(self, by: str, pid: int) -> Document:
        """End the run as an interrupt does: the task that is cancelled is the one that a signal cancels."""
        answer: Document = {"event": "answer", "accepted": False, "text": "all of it was run already"}
        if self._run is None or self.view.is_over:
            return answer
        if self._run.cancelling():
            return answer | {"accepted": True, "text": "it is stopping already"}
        who = f"{by} (process {pid})" if by else f"process {pid}"
        self._show(events.Phase(f"stopped by {who}: stopping the load and undoing every change"))
        self._run.cancel()
        self._add({"event": "stopping", "by": who})
        return answer | {"accepted": True, "text": "it is stopping"}


class Reader(asyncio.Protocol):
    """One who connected, and has asked, or is about to."""

    def __init__(self, broadcast: Broadcast) -> None:
        self._broadcast = broadcast
        self._transport: asyncio.Transport | None = None
        self._late: asyncio.TimerHandle | None = None
        self._heard = b""
        self._why: str | None = None
        """it is refused, once it has asked: an answer before is lost with what it still sends"""
        self.pid = 0

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Only one of our own may ask, and within a limit."""
        self._transport = cast("asyncio.Transport", transport)
        made: socket.socket = transport.get_extra_info("socket")
        with suppress(OSError):
            made.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, KERNEL_BYTES)
        try:
            self.pid, uid = sockets.peer(made)
        except OSError:
            self.cut()
            return
        if not sockets.is_ours(uid):
            self.cut()
        else:
            self._why = self._broadcast.admits(self)
            self._late = asyncio.get_running_loop().call_later(ASK_LIMIT_S, self.cut)

    def data_received(self, data: bytes) -> None:
        """The line in which it asks; whatever follows is of no interest."""
        if self._late is None:
            return
        self._heard += data
        line, end, _ = self._heard.partition(b"\n")
        if not end and len(line) <= ASK_BYTES:
            return
        self._late.cancel()
        self._late = None
        if self._why is not None:
            self.refuse(self._why)
            return
        try:
            asked = read_json(entered(line[:ASK_BYTES]), "what was asked")
        except ParseError as error:
            self.refuse(str(error))
            return
        if isinstance(asked, dict):
            self._broadcast.answer(self, asked)
        else:
            self.refuse("what is asked is an object")

    def connection_lost(self, _: Exception | None) -> None:
        if self._late is not None:
            self._late.cancel()
        self._broadcast.leaves(self)

    def send(self, line: bytes) -> None:
        """Write without waiting; one who has too much to read already is cut off."""
        transport = self._transport
        if transport is None or transport.is_closing():
            return
        if transport.get_write_buffer_size() + len(line) > MOST_WAITING_BYTES:
            self.cut()
        else:
            transport.write(line)

    def refuse(self, why: str) -> None:
        self.send(_line({"event": "refused", "text": why}))
        self.close()

    def close(self) -> None:
        """Once all is sent that was written."""
        self._broadcast.leaves(self)
        if self._transport is not None:
            self._transport.close()

    def cut(self) -> None:
        """Now, whatever was not sent."""
        self._broadcast.leaves(self)
        if self._transport is not None:
            self._transport.abort()


def _absolute(path: Path) -> str:
    return str(path.absolute())


def _line(document: Document) -> bytes:
    return json.dumps(document, allow_nan=False, separators=(",", ":")).encode() + b"\n"
