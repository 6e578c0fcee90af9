# SPDX-License-Identifier: Apache-2.0
"""The Locust master as a process on this machine: orders over a socket that only we can open, events back."""

from __future__ import annotations

import asyncio
import json
import shutil
import sys
import tempfile
from contextlib import suppress
from pathlib import Path
from typing import Any

import linewatt
from linewatt.errors import HostError, ParseError
from linewatt.features.users.worker.locust_commands import master_command
from linewatt.foreign import last_line, read_json
from linewatt.hosts import (
    LONGER_THAN_ANY_RUN_S,
    Ended,
    HostSpec,
    Line,
    Process,
    connect_to_host,
    within_limit,
)

START_LIMIT_S = 60.0
"""Locust's own start is a second of CPU time, on a busy machine many"""
END_LIMIT_S = 5.0


def last_words(ended: Ended) -> str:
    """The last line that a process wrote to standard error, for a message."""
    return last_line(ended.stderr, f"it ended with status {ended.status} and said nothing")


class MasterProcess:
    """What the orders and ``events`` are, says :mod:`linewatt.features.users.worker.locust_master`."""

    def __init__(self) -> None:
        self.events: asyncio.Queue[dict[str, Any]] = asyncio.Queue()
        self._process: Process | None = None
        self._folder: Path | None = None
        self._server: asyncio.Server | None = None
        self._orders: asyncio.StreamWriter | None = None
        self._called = asyncio.Event()

    async def start(self, users: int) -> None:
        """Returns once it takes orders. Raises HostError with its last words, WaitTimeout."""
        self._folder = Path(tempfile.mkdtemp(prefix="linewatt-"))  # of mode 0700
        control = self._folder / "orders"
        try:
            self._server = await asyncio.start_unix_server(self._call, control)
        except OSError as error:
            raise HostError(f"users: no socket at {control}: {error}; set TMPDIR to a short path") from error
        controller = await connect_to_host(HostSpec("controller", "local", ""))
        source = str(Path(linewatt.__file__).parents[1])
        argv = master_command(sys.executable, source, users, str(control))
        self._process = await controller.start(argv, on_line=self._take)
        called = asyncio.create_task(self._called.wait())
        ended = asyncio.create_task(self.ended())
        try:
            waiting = asyncio.wait((called, ended), return_when=asyncio.FIRST_COMPLETED)
            await within_limit(asyncio.shield(waiting), START_LIMIT_S, "users: the Locust master to start")
            if ended.done():
                raise HostError(f"users: the Locust master did not start: {last_words(ended.result())}")
        finally:
            called.cancel()
            ended.cancel()

    async def _call(self, _: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        if self._orders is None:
            self._orders = writer
            self._called.set()

    def _take(self, line: Line) -> None:
        self.events.put_nowait(_event(line.text))

    def order(self, do: str, **values: Any) -> None:
        """Give an order; one that has ended is given none, and its end is reported by :meth:`ended`."""
        if self._orders is not None and not self._orders.is_closing():
            self._orders.write(json.dumps({"do": do, **values}).encode() + b"\n")

    async def ended(self) -> Ended:
        """Wait for its end, as long as it takes; who calls bounds it."""
        assert self._process is not None  # noqa: S101
        return await self._process.wait(LONGER_THAN_ANY_RUN_S, "the end of the Locust master")

    async def stop(self) -> None:
        """Let it end, else end it; nothing of it is left."""
        if self._process is not None:
            with suppress(HostError):
                await self._process.wait(END_LIMIT_S, "the end of the Locust master")
            with suppress(HostError):
                await self._process.stop()
        if self._orders is not None:
            self._orders.close()
        if self._server is not None:
            self._server.close()
        if self._folder is not None:
            shutil.rmtree(self._folder, ignore_errors=True)


def _event(text: str) -> dict[str, Any]:
    with suppress(ParseError):
        event = read_json(text, "an event")
        if isinstance(event, dict):
            return event
    return {"is": "noise", "text": text}
