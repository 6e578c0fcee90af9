# SPDX-License-Identifier: Apache-2.0
"""Clients that send no whole request and keep their connections, and honest ones beside them."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field

HONEST_LIMIT_S = 60.0
"""for an answer, where how soon is not what is tested"""
_BEGINNINGS = (b"", b"GET / HTTP/1.1\r\nHost: localhost\r\n", b"G")
_AGAIN_S = 0.2
"""before a silent client whose connection was closed connects again"""
_DRIP_S = 1.0
"""between two bytes of a request that never ends"""


@dataclass
class Outcome:
    """Seconds to the end of each answer to an honest client, and what went wrong."""

    answers_s: list[float] = field(default_factory=list)
    failures: list[str] = field(default_factory=list)
    silent_connections: int = 0


async def outnumbered(
    port: int,
    paths: Sequence[str],
    headers: Mapping[str, str],
    *,
    silent: int,
    honest: int,
    duration_s: float,
) -> Outcome:
    """Honest clients ask once a second for so long, at least once, while there are silent ones.

    A honest client has a connection of its own for each request. They begin when all silent ones have
    connected once.
    """
    outcome = Outcome()
    connected = asyncio.Semaphore(0)
    keeping = [asyncio.create_task(_silent(port, number, connected, outcome)) for number in range(silent)]
    try:
        async with asyncio.timeout(HONEST_LIMIT_S):
            for _ in range(silent):
                await connected.acquire()
        end_s = time.monotonic() + duration_s
        await asyncio.gather(
            *(
                _honest(port, paths[number % len(paths)], headers, number / honest, end_s, outcome)
                for number in range(honest)
            )
        )
    finally:
        for task in keeping:
            task.cancel()
        await asyncio.gather(*keeping, return_exceptions=True)
    return outcome


async def _silent(port: int, number: int, connected: asyncio.Semaphore, outcome: Outcome) -> None:
    """Connect, begin a request or none, and connect again when the connection is closed; some drip."""
    while True:
        with suppress(OSError):
            reader, writer = await asyncio.open_connection("127.0.0.1", port)
            outcome.silent_connections += 1
            connected.release()
            try:
                writer.write(_BEGINNINGS[number % len(_BEGINNINGS)])
                while not reader.at_eof():
                    with suppress(TimeoutError):
                        async with asyncio.timeout(_DRIP_S):
                            await reader.read(1)
                    if number % len(_BEGINNINGS) == 1 and not reader.at_eof():
                        writer.write(b"a")
                        await writer.drain()
            finally:
                writer.transport.abort()
        await asyncio.sleep(_AGAIN_S)


async def _honest(
    port: int, path: str, headers: Mapping[str, str], delay_s: float, end_s: float, outcome: Outcome
) -> None:
    lines = [f"GET {path} HTTP/1.1", f"host: localhost:{port}", "connection: close"]
    lines += [f"{name}: {value}" for name, value in headers.items()]
    request = "\r\n".join([*lines, "", ""]).encode()
    await asyncio.sleep(delay_s)
    while True:
        began_s = time.monotonic()
        try:
            async with asyncio.timeout(HONEST_LIMIT_S):
                reader, writer = await asyncio.open_connection("127.0.0.1", port)
                try:
                    writer.write(request)
                    answer = await reader.read(-1)
                finally:
                    writer.transport.abort()
        except OSError as error:  # TimeoutError is one
            outcome.failures.append(f"{path}: {type(error).__name__}: {error}")
        else:
            outcome.answers_s.append(time.monotonic() - began_s)
            if not answer.startswith(b"HTTP/1.1 200 "):
                outcome.failures.append(f"{path}: {answer[:60]!r}")
        if time.monotonic() >= end_s:
            return
        await asyncio.sleep(max(0.0, began_s + 1.0 - time.monotonic()))
