# SPDX-License-Identifier: Apache-2.0
"""A small Redfish service over HTTP or HTTPS on a loopback port: sessions, and resources from a capture."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler
from pathlib import Path
from typing import Any

from tests.certificates import Certificate
from tests.http_server import send, serving

SESSIONS = "/redfish/v1/SessionService/Sessions"


class RedfishServer:
    """What it serves may be changed while it runs; it counts what it was asked."""

    def __init__(self, resources: Mapping[str, Any]) -> None:
        self.resources: dict[str, Any] = complete(resources)
        self.user, self.password = "admin", "correct horse"
        self.offers_sessions = True
        self.needs_login = True
        self.tokens: dict[str, str] = {}
        self.logins = self.logouts = 0
        self.asked: list[str] = []
        self.override: Callable[[BaseHTTPRequestHandler], bool] | None = None
        """answers itself and returns True, or returns False"""
        self.url = ""

    def answer(self, handler: BaseHTTPRequestHandler, method: str) -> None:
        self.asked.append(f"{method} {handler.path}")
        length = int(handler.headers.get("Content-Length") or 0)
        body = json.loads(handler.rfile.read(length)) if length else None
        if self.override is not None and self.override(handler):
            return
        path = handler.path.rstrip("/")
        if method == "POST" and path == SESSIONS:
            self._login(handler, body)
        elif path != "/redfish/v1" and self.needs_login and not self._known(handler):
            refuse(handler, 401, "The authentication credentials included with this request are missing.")
        elif method == "DELETE" and path in self.tokens.values():
            self.logouts += 1
            self.tokens = {token: own for token, own in self.tokens.items() if own != path}
            send(handler, 204, None)
        elif method == "GET" and path in self.resources:
            send(handler, 200, self.resources[path])
        else:
            refuse(handler, 404, f"The resource at the URI {handler.path} was not found.")

    def _login(self, handler: BaseHTTPRequestHandler, body: Any) -> None:
        if not self.offers_sessions:
            refuse(handler, 404, "There are no sessions.")
        elif (body["UserName"], body["Password"]) != (self.user, self.password):
            refuse(handler, 401, "The user name or password is wrong.")
        else:
            self.logins += 1
            token, own = f"token{self.logins}", f"{SESSIONS}/{self.logins}"
            self.tokens[token] = own
            send(handler, 201, {"@odata.id": own}, {"X-Auth-Token": token, "Location": f"{self.url}{own}"})

    def _known(self, handler: BaseHTTPRequestHandler) -> bool:
        basic = handler.headers.get("Authorization", "").startswith("Basic ") and not self.offers_sessions
        return basic or handler.headers.get("X-Auth-Token") in self.tokens


def complete(resources: Mapping[str, Any]) -> dict[str, Any]:
    """With the collections that a capture left out."""
    found = {path.rstrip("/"): value for path, value in resources.items()}
    for kind in ("Systems", "Chassis"):
        base = f"/redfish/v1/{kind}"
        own = [path for path in found if path.startswith(f"{base}/") and path.count("/") == 4]
        found.setdefault(base, {"@odata.id": base, "Members": [{"@odata.id": path} for path in own]})
    links = {kind: {"@odata.id": f"/redfish/v1/{kind}"} for kind in ("Systems", "Chassis")}
    found.setdefault("/redfish/v1", {"@odata.id": "/redfish/v1", **links})
    return found


def capture(folder: Path) -> dict[str, Any]:
    """The resources of a capture, by path."""
    found: dict[str, Any] = json.loads((folder / "resources.json").read_text())
    return found


def refuse(handler: BaseHTTPRequestHandler, status: int, message: str) -> None:
    send(handler, status, {"error": {"@Message.ExtendedInfo": [{"Message": message}]}})


@contextmanager
def redfish(resources: Mapping[str, Any], certificate: Certificate | None = None) -> Iterator[RedfishServer]:
    """A running :class:`RedfishServer`."""
    server = RedfishServer(resources)
    with serving(server.answer, certificate) as server.url:
        yield server
