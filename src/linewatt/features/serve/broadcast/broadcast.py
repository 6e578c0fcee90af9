# SPDX-License-Identifier: Apache-2.0
"""Send events of a run to watchers, from the event loop of the run.

The controller may be a measured host, and heartbeats of all hosts use this loop. So nothing is read or
computed without watchers; nothing here waits; due heartbeats are sent first; a watcher that does not read is
disconnected; and an error here ends the broadcast, never the run.

A client sends one request as a line of JSON: ``{"ask": "look"}`` returns a snapshot, ``watch`` a snapshot and
then all events, ``stop`` ends the run like an interrupt.
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

from linewatt.engine import CpuOf, events
from linewatt.errors import LinewattError, ParseError
from linewatt.features.serve.broadcast import sockets
from linewatt.features.serve.broadcast.telling import document_of_event
from linewatt.features.serve.broadcast.view import Document, View
from linewatt.foreign import entered, read_json, shortened
from linewatt.hosts import now_s
from linewatt.hosts.ssh import beats_of_loop
from linewatt.json_document import document_of

MOST_READERS = 8
"""concurrent connections; a web server needs one for all its browsers"""
MOST_WAITING_BYTES = 1 << 19
"""unread bytes of a watcher; with more it is disconnected"""
KERNEL_BYTES = 1 << 16
"""socket send buffer of a watcher"""
MOST_ENDS = 48
"""ends whose CPU use is sent: a page shows no more, and hundreds would block the loop"""
ASK_BYTES = 4096
ASK_LIMIT_S = 5.0
"""for a client to send its request"""


class Broadcast:
    """Passes events to watchers in other processes; a ``RunObserver``."""

    def __init__(self, show: events.OnEvent, cpu_of: CpuOf) -> None:
        """``cpu_of`` returns the current CPU use of ends; it is called only while somebody watches."""
        self.view = View()
        self.soak_ends: tuple[events.Placed, ...] = ()
        """hosts of a soak"""
        self._show = show
        self._cpu_of = cpu_of
        self._running: dict[int, tuple[events.Placed, ...]] = {}
        self._connected: set[Reader] = set()
        self._watching: set[Reader] = set()
        self._run: asyncio.Task[Any] | None = None
        self._seq = 0

    def hear(self, event: events.Event) -> None:
        """Take an event of the run."""
        with self._harmless():
            self._send_event(event)

    @asynccontextmanager
    async def during(self, result: Path, state: Path, *, resumable: bool) -> AsyncIterator[None]:
        """Accept watchers under the name of the result; if the socket cannot be opened, report it once.

        ``resumable``: whether an incomplete result can be resumed.
        """
        self.view.state |= {
            "id": result.name,
            "path": _absolute(result),
            "pid": os.getpid(),
            "began_s": now_s(),
            "resumable": resumable,
        }
        self._run = asyncio.current_task()
        server = await self._start_server(result.name, state)
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

    async def _start_server(self, name: str, state: Path) -> asyncio.Server | None:
        try:
            listener = sockets.listen(state, name)
            loop = asyncio.get_running_loop()
            return await loop.create_unix_server(lambda: Reader(self), sock=listener, backlog=sockets.WAITING)
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

    # --- events --------------------------------------------------------------------------------------------

    def _send_event(self, event: events.Event) -> None:
        match event:
            case events.TrialStarted():
                self._running[event.number] = event.ends
            case events.TrialStored():
                self._running.pop(event.trial.number, None)
            case events.Phase():  # also ends interrupted trials
                self._running.clear()
            case _:
                pass
        document = document_of_event(event)
        if document["event"] == "now" and self._watching:
            document |= self._current_cpu()
        self._add(document)

    def _current_cpu(self) -> Document:
        """How many ends the load has, and how busy the CPUs of the first of them are."""
        ends = dict.fromkeys(end for ends in self._running.values() for end in ends)
        shown_ends = tuple(ends) or self.soak_ends
        cpu = [document_of(use) for use in self._cpu_of(shown_ends[:MOST_ENDS])]
        return {"ends": len(shown_ends), "cpu": cpu}

    def _add(self, document: Document) -> None:
        self._seq += 1
        document |= {"seq": self._seq, "at_s": now_s()}
        self.view.take(document)
        if self._watching:
            beats_of_loop().send_due()
            line = _line(document)
            for reader in tuple(self._watching):
                reader.send(line)

    @contextmanager
    def _harmless(self) -> Iterator[None]:
        """Catch errors of the broadcast: they must not end the run."""
        try:
            yield
        except Exception as error:  # noqa: BLE001  any error
            self._give_up(error)

    def _give_up(self, error: Exception) -> None:
        """Disconnect all clients and report the error."""
        watched, self._connected, self._watching = tuple(self._connected), set(), set()
        for reader in watched:
            reader.cut()
        if watched:
            self._show(events.Phase(f"this run cannot be watched any more: {shortened(repr(error))}"))

    # --- clients -------------------------------------------------------------------------------------------

    def admits(self, reader: Reader) -> str | None:
        """Register a client; return the reason if there are too many."""
        if len(self._connected) >= MOST_READERS:
            return f"{MOST_READERS} others watch it already"
        self._connected.add(reader)
        return None

    def leaves(self, reader: Reader) -> None:
        self._connected.discard(reader)
        self._watching.discard(reader)

    def answer(self, reader: Reader, request: Document) -> None:
        """Answer a request."""
        with self._harmless():
            self._answer(reader, request)

    def _answer(self, reader: Reader, request: Document) -> None:
        match request.get("ask"):
            case "watch":
                beats_of_loop().send_due()
                self._watching.add(reader)
                reader.send(_line(self._with_cpu(self._snapshot())))
            case "look":
                beats_of_loop().send_due()
                reader.send(_line(self._snapshot()))
                reader.close()
            case "stop":
                reader.send(_line(self._stopped(shortened(str(request.get("by", ""))), reader.pid)))
                reader.close()
            case _:
                reader.refuse("ask is look, watch or stop")

    def _snapshot(self) -> Document:
        return {**self.view.snapshot(), "seq": self._seq, "at_s": now_s()}

    def _with_cpu(self, snapshot: Document) -> Document:
        """A snapshot with the CPU use that nobody asked for while nobody watched."""
        now = snapshot["now"]
        if now is None or now["cpu"] is not None:
            return snapshot
        return snapshot | {"now": now | self._current_cpu()}

    def _stopped(self, by: str, pid: int) -> Document:
        """Stop the run like an interrupt, by cancelling the same task as the signal handler."""
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
    """A connected client."""

    def __init__(self, broadcast: Broadcast) -> None:
        self._broadcast = broadcast
        self._transport: asyncio.Transport | None = None
        self._late: asyncio.TimerHandle | None = None
        self._heard = b""
        self._why: str | None = None
        """reason of a refusal, sent after the request: an earlier answer would be lost"""
        self.pid = 0

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Accept processes of the same user or root, and limit the time until the request."""
        self._transport = cast("asyncio.Transport", transport)
        connection: socket.socket = transport.get_extra_info("socket")
        with suppress(OSError):
            connection.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, KERNEL_BYTES)
        try:
            self.pid, uid = sockets.peer(connection)
        except OSError:
            self.cut()
            return
        if not sockets.is_ours(uid):
            self.cut()
        else:
            self._why = self._broadcast.admits(self)
            self._late = asyncio.get_running_loop().call_later(ASK_LIMIT_S, self.cut)

    def data_received(self, data: bytes) -> None:
        """Read the request line; further data are ignored."""
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
            request = read_json(entered(line[:ASK_BYTES]), "what was asked")
        except ParseError as error:
            self.refuse(str(error))
            return
        if isinstance(request, dict):
            self._broadcast.answer(self, request)
        else:
            self.refuse("what is asked is an object")

    def connection_lost(self, _: Exception | None) -> None:
        if self._late is not None:
            self._late.cancel()
        self._broadcast.leaves(self)

    def send(self, line: bytes) -> None:
        """Write without waiting; disconnect a client with too many unread bytes."""
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
        """Disconnect after all written data are sent."""
        self._broadcast.leaves(self)
        if self._transport is not None:
            self._transport.close()

    def cut(self) -> None:
        """Disconnect at once; unsent data are lost."""
        self._broadcast.leaves(self)
        if self._transport is not None:
            self._transport.abort()


def _absolute(path: Path) -> str:
    return str(path.absolute())


def _line(document: Document) -> bytes:
    return json.dumps(document, allow_nan=False, separators=(",", ":")).encode() + b"\n"
