# SPDX-License-Identifier: Apache-2.0
"""Access control: every request passes this guard before a page handles it, and every response afterwards.

A request must name this server in its Host header (against DNS rebinding), must not come from a page of
another origin (a click on a link may), must have the token if there is one, and must only read. A POST
request, which may write, must come from a page of this server.
"""

from __future__ import annotations

import base64
import binascii
import hmac
import re
from typing import Final

from starlette.datastructures import MutableHeaders
from starlette.responses import PlainTextResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from linewatt.features.serve.settings import EVERY_ADDRESS, Settings, allowed_names
from linewatt.hosts import is_ip

CONTENT_SECURITY_POLICY: Final = "; ".join(
    (
        "default-src 'none'",
        "script-src 'self'",
        "style-src 'self'",
        "style-src-attr 'unsafe-inline'",  # the length of a bar; allows no style sheet
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
"""headers of every response, unless the page sets them"""
_HOST = re.compile(r"(\[[0-9a-f:.]+\]|[a-z0-9._-]+)(?::[0-9]{1,5})?", re.ASCII)
_READS = ("GET", "HEAD")
HEAD = "linewatt.head"
"""scope key of a HEAD request: a stream must end at once"""


class Refused(Exception):
    """A refused request; its response has the reason in one line, and ends the connection."""

    def __init__(self, status: int, why: str, **headers: str) -> None:
        super().__init__(why)
        named_headers = {name.replace("_", "-"): value for name, value in headers.items()}
        self.response = PlainTextResponse(
            f"linewatt: {why}\n",
            status,
            {"cache-control": "no-store", "connection": "close", **named_headers},
        )


class Guard:
    """The outermost layer of the application (ASGI)."""

    def __init__(self, app: ASGIApp, settings: Settings) -> None:
        self._app = app
        self._names = allowed_names(settings)
        self._any_number = settings.host in EVERY_ADDRESS
        self._token = None if settings.token is None else settings.token.encode()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan":
            await self._app(scope, receive, send)
            return
        if scope["type"] != "http":
            return  # no page uses websockets: the server closes it
        is_head = scope["method"] == "HEAD"

        async def guarded(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(raw=[*message.get("headers", ())])
                for name, value in HEADERS.items():
                    headers.setdefault(name, value)
                message = {**message, "headers": headers.raw}
            elif is_head and message["type"] == "http.response.body":
                message = {**message, "body": b""}
            await send(message)

        try:
            self._check(scope)
        except Refused as error:
            await error.response(scope, receive, guarded)
            return
        inner = {**scope, "method": "GET", HEAD: True} if is_head else scope
        await self._app(inner, receive, guarded)

    def _check(self, scope: Scope) -> None:
        """Check host, method, origin and token. Raises Refused."""
        headers = _request_headers(scope)
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
        if name in self._names or (self._any_number and is_ip(name)):
            return host
        raise Refused(421, "this server is not called so; --name NAME of 'linewatt serve' adds a name")


def _check_origin(headers: dict[str, str], host: str, *, reads: bool) -> None:
    """Refuse requests from other origins, except links. Raises Refused.

    http and https both count as the same origin: a TLS proxy may run in front of this server.
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
    """Whether the request is a top-level navigation of a browser."""
    return headers.get("sec-fetch-mode") == "navigate" and headers.get("sec-fetch-dest") == "document"


def _check_token(authorization: str, token: bytes) -> None:
    """Accept ``Bearer TOKEN``, or the token as the Basic password of any user. Raises Refused."""
    kind, _, credentials = authorization.partition(" ")
    sent_token = b""
    if kind.lower() == "bearer":
        sent_token = credentials.strip().encode()
    elif kind.lower() == "basic":
        try:
            sent_token = base64.b64decode(credentials.strip(), validate=True).partition(b":")[2]
        except (binascii.Error, ValueError):
            sent_token = b""
    if not hmac.compare_digest(sent_token, token):
        raise Refused(
            401,
            "this server asks for its token, as the password of any user; the URL that 'linewatt serve' "
            "printed has it, or the file of --token-file",
            www_authenticate='Basic realm="linewatt", charset="UTF-8"',
        )


def _request_headers(scope: Scope) -> dict[str, str]:
    """Request headers by lower-case name; repeated headers are joined, which no check accepts."""
    by_name: dict[str, str] = {}
    for raw_name, raw_value in scope["headers"]:
        name, value = raw_name.decode("latin-1").lower(), raw_value.decode("latin-1")
        by_name[name] = f"{by_name[name]}, {value}" if name in by_name else value
    return by_name
