# SPDX-License-Identifier: Apache-2.0
"""Client of running campaigns, for other processes of the same user."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from linewatt.errors import LinewattError, ParseError
from linewatt.features.serve.broadcast import sockets
from linewatt.features.serve.broadcast.view import Document
from linewatt.foreign import entered, read_json

ANSWER_LIMIT_S = 10.0
"""for a run to answer: its loop may be busy with the hosts of a round"""
MOST_LINE_BYTES = 4 << 20


class NotRunning(LinewattError):
    """No run of this result can be watched."""


async def running(state: Path) -> list[Document]:
    """A snapshot of each running campaign; a run that does not answer in time has only its ``id``."""
    names = sockets.ids(state)
    snapshots = await asyncio.gather(*(_snapshot_or_id(state, name) for name in names))
    return [snapshot for snapshot in snapshots if snapshot is not None]


async def look(state: Path, result_id: str) -> Document:
    """A snapshot of a run. Raises NotRunning."""
    async with _connect_and_ask(state, result_id, {"ask": "look"}) as reader:
        return await _first_answer(reader, result_id)


async def watch(state: Path, result_id: str) -> AsyncGenerator[Document, None]:
    """A snapshot, then events until the run ends or disconnects us. Raises NotRunning."""
    async with _connect_and_ask(state, result_id, {"ask": "watch"}) as reader:
        yield await _first_answer(reader, result_id)
        while (line := await _read_line(reader)) is not None:
            yield _parse_document(line, result_id)


async def stop(state: Path, result_id: str, by: str) -> tuple[bool, str]:
    """Stop a run like an interrupt; returns whether it accepts, and a message. Raises NotRunning.

    ``by``: text that names the requester.
    """
    async with _connect_and_ask(state, result_id, {"ask": "stop", "by": by}) as reader:
        answer = await _first_answer(reader, result_id)
        return answer.get("accepted") is True, str(answer.get("text", ""))


async def _snapshot_or_id(state: Path, result_id: str) -> Document | None:
    try:
        return {**await look(state, result_id), "id": result_id}
    except NotRunning:
        return {"id": result_id} if sockets.path_of(state, result_id).is_socket() else None


@asynccontextmanager
async def _connect_and_ask(
    state: Path, result_id: str, what: dict[str, Any]
) -> AsyncIterator[asyncio.StreamReader]:
    """Connect to a run and send a request; yields the reader of its answers. Raises NotRunning."""
    if result_id not in sockets.ids(state):
        raise NotRunning(f"{result_id}: does not run, or cannot be watched")
    try:
        connection = sockets.connect(sockets.path_of(state, result_id))
    except OSError as error:
        raise NotRunning(f"{result_id}: cannot be watched: {error.strerror}") from error
    reader, writer = await asyncio.open_unix_connection(sock=connection, limit=MOST_LINE_BYTES)
    try:
        writer.write(json.dumps(what).encode() + b"\n")
        yield reader
    finally:
        writer.transport.abort()


async def _first_answer(reader: asyncio.StreamReader, result_id: str) -> Document:
    """The first document. Raises NotRunning for a timeout, the end or a refusal."""
    try:
        async with asyncio.timeout(ANSWER_LIMIT_S):
            line = await _read_line(reader)
    except TimeoutError as error:
        raise NotRunning(f"{result_id}: waited {ANSWER_LIMIT_S:g} s for its run to answer") from error
    if line is None:
        raise NotRunning(f"{result_id}: its run ended")
    answer = _parse_document(line, result_id)
    if answer.get("event") == "refused":
        raise NotRunning(f"{result_id}: cannot be watched: {answer.get('text')}")
    return answer


async def _read_line(reader: asyncio.StreamReader) -> bytes | None:
    """The next line; ``None`` at the end, or if it is longer than the limit."""
    try:
        line = await reader.readline()
    except (ValueError, OSError):
        return None
    return line if line.endswith(b"\n") else None


def _parse_document(line: bytes, result_id: str) -> Document:
    """Parse a line. Raises NotRunning for invalid JSON."""
    try:
        document = read_json(entered(line), "what the run tells")
    except ParseError as error:
        raise NotRunning(f"{result_id}: {error}") from error
    if not isinstance(document, dict):
        raise NotRunning(f"{result_id}: its answer is not a JSON object")
    return document
