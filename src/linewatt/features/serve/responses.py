# SPDX-License-Identifier: Apache-2.0
"""HTTP responses: compressed, cached by entity tag, or to be saved as a file."""

from __future__ import annotations

import gzip
import hashlib
from urllib.parse import quote

from fastapi import Request
from starlette.responses import Response

SMALL = 1400
"""bytes that fit into one packet anyway"""
_LEVEL = 5


def text_response(request: Request, text: str, status: int = 200, media: str = "text/html") -> Response:
    """A text as a response: gzip if the browser accepts it, 304 if the browser has this version."""
    return body_response(request, Body(text.encode(), media), status)


class Body:
    """The body of a response with its entity tag; compressed at most once."""

    __slots__ = ("_packed", "data", "media", "tag")

    def __init__(self, data: bytes, media: str) -> None:
        self.data = data
        self.media = media
        self.tag = f'"{hashlib.sha256(data).hexdigest()[:32]}"'
        self._packed: bytes | None = None

    def pack(self) -> bytes:
        """The body, compressed with gzip."""
        if self._packed is None:
            self._packed = gzip.compress(self.data, _LEVEL, mtime=0)
        return self._packed

    @property
    def size(self) -> int:
        """Approximate size in memory, bytes."""
        return len(self.data) + len(self._packed or b"")


def body_response(request: Request, body: Body, status: int = 200, **headers: str) -> Response:
    """A body as a response."""
    common = {
        "etag": body.tag,
        "vary": "Accept-Encoding",
        **{name.replace("_", "-"): value for name, value in headers.items()},
    }
    if status == 200 and body.tag in _known_tags(request):
        return Response(status_code=304, headers=common)
    content = body.data
    if len(content) > SMALL and "gzip" in request.headers.get("accept-encoding", ""):
        content = body.pack()
        common["content-encoding"] = "gzip"
    return Response(content, status, common, media_type=body.media)


def _known_tags(request: Request) -> list[str]:
    return [tag.strip().removeprefix("W/") for tag in request.headers.get("if-none-match", "").split(",")]


def attachment(name: str) -> str:
    """The Content-Disposition header that makes a browser save a file under ``name`` (RFC 6266)."""
    plain = "".join(sign if sign.isascii() and (sign.isalnum() or sign in "._-") else "_" for sign in name)
    return f"attachment; filename=\"{plain}\"; filename*=UTF-8''{quote(name, safe='')}"
