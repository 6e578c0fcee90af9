# SPDX-License-Identifier: Apache-2.0
"""Calls to meters on the network: each bounded in total, whatever the other end does or leaves undone.

A limit for each read of a socket is none for the call: a meter that sends a byte a second never runs into it,
nor does a name with ten addresses. So calls are coroutines on an event loop that belongs to one session, and
the whole call has one limit. What a call awaited is in the message.
"""

from __future__ import annotations

import asyncio
import json
import logging
import ssl
from collections.abc import Callable, Coroutine, Mapping
from dataclasses import dataclass
from importlib import import_module
from typing import Any, TypeVar

from linewatt.errors import HostError, InvalidInput, NoJson, ParseError
from linewatt.extras import install_command
from linewatt.foreign import read_json
from linewatt.sensors.power.base import CALL_LIMIT_S

END_S = 0.25
"""How long a call that ran out of time may take to end."""

MAX_BODY_BYTES = 8 << 20
MAX_REDIRECTS = 3
CONNECTIONS = 4
"""How many requests a service is asked at once: BMCs are small computers."""

_SILENCE = logging.NullHandler()

T = TypeVar("T")


def library(name: str) -> Any:
    """A library of the extra ``meters``. Raises InvalidInput when it is not installed."""
    top = name.partition(".")[0]
    logging.getLogger(top).addHandler(_SILENCE)  # what fails is said once, by the error
    try:
        return import_module(name)
    except ImportError as error:
        raise InvalidInput(f"{top} is not installed here; {install_command('meters')}") from error


class Calls:
    """An event loop of one session. It runs only while a call does."""

    def __init__(self) -> None:
        self._loop = asyncio.new_event_loop()

    def run(
        self, work: Coroutine[Any, Any, T], awaited: Callable[[], str], limit_s: float = CALL_LIMIT_S
    ) -> T:
        """What ``work`` returns or raises. Raises HostError when that takes longer than the limit.

        ``awaited`` says for the message what was asked of whom.
        """
        return self._loop.run_until_complete(_bounded(work, awaited, limit_s))

    def close(self) -> None:
        """End what still runs."""
        if self._loop.is_closed():
            return
        unfinished = asyncio.all_tasks(self._loop)
        for task in unfinished:
            task.cancel()
        if unfinished:
            self._loop.run_until_complete(asyncio.wait(unfinished, timeout=END_S))
        self._loop.run_until_complete(asyncio.sleep(0))  # connections end on the next turn of the loop
        self._loop.close()


async def _bounded(work: Coroutine[Any, Any, T], awaited: Callable[[], str], limit_s: float) -> T:
    task = asyncio.ensure_future(work)
    done, _ = await asyncio.wait({task}, timeout=max(0.0, limit_s - END_S))
    if not done:
        task.cancel()
        await asyncio.wait({task}, timeout=END_S)
        raise HostError(f"{awaited()}: no answer within {limit_s:g} s")
    return task.result()


async def caught_up() -> None:
    """Until what happened to connections between two calls is known."""
    for _ in range(2):  # the end of a connection is seen on a turn of the loop, and told on the next
        await asyncio.sleep(0)


@dataclass(frozen=True, slots=True)
class Reply:
    """A reply of a service: ``document`` is its JSON, ``problem`` why there is none."""

    status: int
    headers: Mapping[str, str]
    document: Any = None
    problem: str | None = None


class JsonClient:
    """Asks one service for JSON. ``who`` names it in messages.

    No proxy and no password of the environment is used, and no other service is ever asked: what is sent
    with a request may be a secret.
    """

    def __init__(
        self, who: str, base_url: str, *, verify: bool, ca_file: str | None, auth: Any = None
    ) -> None:
        """``verify``: whether the certificate is checked, against ``ca_file`` where that is named."""
        self._httpx = library("httpx")
        self._who = who
        self._origin = self._httpx.URL(base_url)
        self._client = self._httpx.AsyncClient(
            base_url=base_url,
            verify=_context(who, ca_file, verify=verify) if self._origin.scheme == "https" else False,
            auth=auth,
            timeout=None,
            trust_env=False,
            limits=self._httpx.Limits(max_connections=CONNECTIONS, keepalive_expiry=30.0),
            headers={"Accept": "application/json"},
        )

    def set_header(self, name: str, value: str) -> None:
        """Send it with every later request."""
        self._client.headers[name] = value

    def set_auth(self, auth: Any) -> None:
        """Send it with every later request."""
        self._client.auth = auth

    async def get(self, path: str) -> Reply:
        """What the service answers. Raises HostError when it does not."""
        for _ in range(MAX_REDIRECTS + 1):
            reply = await self._again("GET", path)
            if reply.status not in (301, 302, 303, 307, 308):
                return reply
            path = self._redirected(path, reply.headers.get("location", ""))
        raise HostError(f"{self._who}: {path}: redirects without end")

    async def post(self, path: str, document: Any) -> Reply:
        """What the service answers. Raises HostError when it does not."""
        return await self._request("POST", path, document)

    async def delete(self, path: str) -> Reply:
        """What the service answers. Raises HostError when it does not."""
        return await self._request("DELETE", path)

    async def close(self) -> None:
        await self._client.aclose()

    async def _again(self, method: str, path: str) -> Reply:
        """Once more where the connection had ended since it was last used, which only then is seen."""
        try:
            return await self._request(method, path)
        except HostError as error:
            if not isinstance(error.__cause__, (self._httpx.RemoteProtocolError, self._httpx.ReadError)):
                raise
        return await self._request(method, path)

    async def _request(self, method: str, path: str, document: Any = None) -> Reply:
        try:
            async with self._client.stream(method, path, json=document) as response:
                body = bytearray()
                async for chunk in response.aiter_bytes():
                    body += chunk
                    if len(body) > MAX_BODY_BYTES:
                        raise HostError(f"{self._who}: {path}: sends more than {MAX_BODY_BYTES >> 20} MiB")
                return _reply(response.status_code, response.headers, bytes(body))
        except (self._httpx.HTTPError, self._httpx.InvalidURL, OSError) as error:
            raise HostError(f"{self._who}: {_error_text(error)}") from error

    def _redirected(self, path: str, location: str) -> str:
        to = self._origin.join(path).join(location)
        if (to.scheme, to.host, to.port) != (self._origin.scheme, self._origin.host, self._origin.port):
            raise HostError(
                f"{self._who}: {path}: sends on to {to.scheme}://{to.host}; name that if it is meant"
            )
        return str(to.raw_path.decode())


def _context(who: str, ca_file: str | None, *, verify: bool) -> ssl.SSLContext:
    try:
        context = ssl.create_default_context(cafile=ca_file)
    except (OSError, ssl.SSLError) as error:
        raise InvalidInput(f"{who}: ca_file {ca_file}: holds no certificate: {error}") from error
    if not verify:
        context.check_hostname = False
        context.verify_mode = ssl.CERT_NONE
    return context


def _reply(status: int, headers: Mapping[str, str], body: bytes) -> Reply:
    try:
        return Reply(status, headers, read_json(body.decode(json.detect_encoding(body), "replace"), "it"))
    except ParseError as error:
        problem = "is no JSON" if isinstance(error, NoJson) else error.problem
        return Reply(status, headers, problem=problem if body else "is empty")


def _error_text(error: BaseException) -> str:
    """What went wrong in one line, with the next step where it is known."""
    text = " ".join(str(error).split()) or type(error).__name__
    seen: BaseException | None = error
    while seen is not None:
        if isinstance(seen, ssl.SSLCertVerificationError):
            return (
                f"its certificate is not trusted ({seen.verify_message}); name its authority with ca_file, "
                "or set verify: false"
            )
        if isinstance(seen, OSError) and seen.strerror:
            text = seen.strerror
        seen = seen.__cause__ or seen.__context__
    return text
