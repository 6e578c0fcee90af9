# SPDX-License-Identifier: Apache-2.0
"""Who may ask what: every request passes here before any page sees it, and every answer on its way back.

A request must be for a name that this server has (else a foreign page could read it through DNS rebinding),
must not come from a page of another origin (but a click on a link may), must have the token where there is
one, and only reads. A route that writes says so by its method POST, and then the request must come from one
of our own pages.
"""

from __future__ import annotations

import base64
import binascii
import hmac
import re
from collections.abc import Awaitable, Callable, Iterable, MutableMapping
from typing import Any, Final

from linewatt.features.serve.settings import EVERY_ADDRESS, Settings, allowed_names, is_number

Scope = MutableMapping[str, Any]
Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
App = Callable[[Scope, Receive, Send], Awaitable[None]]

CONTENT_SECURITY_POLICY: Final = "; ".join(
    (
        "default-src 'none'",
        "script-src 'self'",
        "style-src 'self'",
        "style-src-attr 'unsafe-inline'",  # the length of a bar; no style sheet can be slipped in by it
        "img-src 'self' data:",
        "connect-src 'self'",
        "base-uri 'none'",
        "form-action 'self'",
        "frame-ancestors 'none'",
    )
)
HEADERS: Final = {
    "content-security-policy": CONTENT_SECURITY_POLICY,
    "x-content-type-options": "nosniff",
    "x-frame-options": "DENY",
    "referrer-policy": "same-origin",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "permissions-policy": "camera=(), geolocation=(), microphone=()",
    "cache-control": "private, no-cache",
}
"""of every answer, unless the page sets one of them itself"""
_HOST = re.compile(r"(\[[0-9a-f:.]+\]|[a-z0-9._-]+)(?::[0-9]{1,5})?", re.ASCII)
_READS = ("GET", "HEAD")
HEAD = "linewatt.head"
"""in the scope of a request that wants no body: what would not end by itself has to end at once"""


class Refused(Exception):
    """A request that goes no further: its status and why, in one line."""

    def __init__(self, status: int, why: str, **headers: str) -> None:
        super().__init__(why)
        self.status = status
        self.headers = {name.replace("_", "-"): value for name, value in headers.items()}


class Guard:
    """The outermost layer of the application (ASGI)."""

    def __init__(self, app: App, settings: Settings) -> None:
        self._app = app
        self._names = allowed_names(settings)
        self._any_number = settings.host in EVERY_ADDRESS
        self._token = None if settings.token is None else settings.token.encode()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan":
            await self._app(scope, receive, send)
            return
        if scope["type"] != "http":
            return  # a websocket, which nothing here has: the server closes it
        is_head = scope["method"] == "HEAD"

        async def guarded(message: Message) -> None:
            if message["type"] == "http.response.start":
                message = {**message, "headers": list(_with_ours(message.get("headers", ())))}
            elif is_head and message["type"] == "http.response.body":
                message = {**message, "body": b""}
            await send(message)

        try:
            self._check(scope)
        except Refused as error:
            await _answer(guarded, error)
            return
        inner = {**scope, "method": "GET", HEAD: True} if is_head else scope
        await self._app(inner, receive, guarded)

    def _check(self, scope: Scope) -> None:
        """Raises Refused."""
        headers = _headers(scope)
        host = self._checked_host(headers)
        method = scope["method"]
        if method not in (*_READS, "POST"):
            raise Refused(405, "this server only reads", allow="GET, HEAD")
        _check_origin(headers, host, reads=method in _READS)
        if self._token is not None:
            _check_token(headers.get("authorization", ""), self._token)

    def _checked_host(self, headers: dict[str, str]) -> str:
        """The Host header. Raises Refused for a name that is not ours."""
        host = headers.get("host", "").lower()
        match = _HOST.fullmatch(host)
        name = match[1].strip("[]").rstrip(".") if match else ""
        if name in self._names or (self._any_number and is_number(name)):
            return host
        raise Refused(421, "this server is not called so; --name NAME of 'linewatt serve' adds a name")


def _check_origin(headers: dict[str, str], host: str, *, reads: bool) -> None:
    """A page elsewhere may lead a reader here, and nothing else. Raises Refused.

    Whether pages are of http or https is not looked at: before this server may stand one that speaks TLS.
    """
    origin, site = headers.get("origin"), headers.get("sec-fetch-site")
    if origin is not None and origin.lower() not in (f"http://{host}", f"https://{host}"):
        raise Refused(403, "the request comes from a page of another origin")
    if not reads:
        if origin is None and site != "same-origin":
            raise Refused(403, "a request that changes something must come from a page of this server")
        return
    if site in ("cross-site", "same-site") and not _is_click(headers):
        raise Refused(403, "the request comes from a page of another site")


def _is_click(headers: dict[str, str]) -> bool:
    """Whether a browser follows a link into a page of its own."""
    return headers.get("sec-fetch-mode") == "navigate" and headers.get("sec-fetch-dest") == "document"


def _check_token(said: str, token: bytes) -> None:
    """``Bearer TOKEN``, or the password of any user, which browsers ask for. Raises Refused."""
    kind, _, rest = said.partition(" ")
    given = b""
    if kind.lower() == "bearer":
        given = rest.strip().encode()
    elif kind.lower() == "basic":
        try:
            given = base64.b64decode(rest.strip(), validate=True).partition(b":")[2]
        except (binascii.Error, ValueError):
            given = b""
    if not hmac.compare_digest(given, token):
        raise Refused(
            401,
            "this server asks for its token, as the password of any user",
            www_authenticate='Basic realm="linewatt", charset="UTF-8"',
        )


def _headers(scope: Scope) -> dict[str, str]:
    """By name in small letters; of a header that is there twice both, which nothing here allows."""
    found: dict[str, str] = {}
    for raw_name, raw_value in scope["headers"]:
        name, value = raw_name.decode("latin-1").lower(), raw_value.decode("latin-1")
        found[name] = f"{found[name]}, {value}" if name in found else value
    return found


def _with_ours(headers: Iterable[tuple[bytes, bytes]]) -> Iterable[tuple[bytes, bytes]]:
    given = [(name.lower(), value) for name, value in headers]
    yield from given
    there = {name for name, _ in given}
    for name, value in HEADERS.items():
        if name.encode() not in there:
            yield name.encode(), value.encode()


async def _answer(send: Send, refused: Refused) -> None:
    body = f"linewatt: {refused}\n".encode()
    headers = {
        "content-type": "text/plain; charset=utf-8",
        "content-length": str(len(body)),
        "cache-control": "no-store",
        **refused.headers,
    }
    start = {
        "type": "http.response.start",
        "status": refused.status,
        "headers": [(name.encode(), value.encode()) for name, value in headers.items()],
    }
    await send(start)
    await send({"type": "http.response.body", "body": body})
