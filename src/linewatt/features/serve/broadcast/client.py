# SPDX-License-Identifier: Apache-2.0
"""Looking at runs from another process of the same user."""

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
    """A snapshot of each run that can be watched. One that does not answer in time has only its ``id``."""
    names = sockets.ids(state)
    found = await asyncio.gather(*(_looked(state, name) for name in names))
    return [one for one in found if one is not None]


async def look(state: Path, result_id: str) -> Document:
    """A snapshot of a run. Raises NotRunning."""
    async with _asked(state, result_id, {"ask": "look"}) as reader:
        return await _first(reader, result_id)


async def watch(state: Path, result_id: str) -> AsyncGenerator[Document, None]:
    """A snapshot, and then what the run tells, until it ends or cuts us off. Raises NotRunning."""
    async with _asked(state, result_id, {"ask": "watch"}) as reader:
        yield await _first(reader, result_id)
        while (line := await _line(reader)) is not None:
            yield _document(line, result_id)


async def stop(state: Path, result_id: str, by: str) -> tuple[bool, str]:
    """Ask a run to end as an interrupt ends it: whether it does, and in words. Raises NotRunning.

    ``by``: who asks, in words.
    """
    async with _asked(state, result_id, {"ask": "stop", "by": by}) as reader:
        answer = await _first(reader, result_id)
        return answer.get("accepted") is True, str(answer.get("text", ""))


async def _looked(state: Path, result_id: str) -> Document | None:
    try:
        return {**await look(state, result_id), "id": result_id}
    except NotRunning:
        return {"id": result_id} if sockets.path_of(state, result_id).is_socket() else None


@asynccontextmanager
async def _asked(state: Path, result_id: str, what: dict[str, Any]) -> AsyncIterator[asyncio.StreamReader]:
    """What a run answers. Raises NotRunning."""
    if result_id not in sockets.ids(state):
        raise NotRunning(f"{result_id}: does not run, or cannot be watched")
    try:
        made = sockets.connected(sockets.path_of(state, result_id))
    except OSError as error:
        raise NotRunning(f"{result_id}: cannot be watched: {error.strerror}") from error
    reader, writer = await asyncio.open_unix_connection(sock=made, limit=MOST_LINE_BYTES)
    try:
        writer.write(json.dumps(what).encode() + b"\n")
        yield reader
    finally:
        writer.transport.abort()


async def _first(reader: asyncio.StreamReader, result_id: str) -> Document:
    """The answer. Raises NotRunning where there is none, or a refusal."""
    try:
        async with asyncio.timeout(ANSWER_LIMIT_S):
            line = await _line(reader)
    except TimeoutError as error:
        raise NotRunning(f"{result_id}: waited {ANSWER_LIMIT_S:g} s for its run to answer") from error
    if line is None:
        raise NotRunning(f"{result_id}: its run ended")
    answer = _document(line, result_id)
    if answer.get("event") == "refused":
        raise NotRunning(f"{result_id}: cannot be watched: {answer.get('text')}")
    return answer


async def _line(reader: asyncio.StreamReader) -> bytes | None:
    """The next whole line; ``None`` at the end, or where it is longer than any that a run tells."""
    try:
        line = await reader.readline()
    except (ValueError, OSError):
        return None
    return line if line.endswith(b"\n") else None


def _document(line: bytes, result_id: str) -> Document:
    """Raises NotRunning for what no run tells."""
    try:
        found = read_json(entered(line), "what the run tells")
    except ParseError as error:
        raise NotRunning(f"{result_id}: {error}") from error
    if not isinstance(found, dict):
        raise NotRunning(f"{result_id}: what it tells is no object")
    return found
