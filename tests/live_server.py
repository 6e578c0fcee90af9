# SPDX-License-Identifier: Apache-2.0
"""The web server in a thread of the test's process, on a port of its own."""

from __future__ import annotations

import http.client
import json
import re
import socket
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any
from urllib.parse import urlencode

from linewatt.features.serve.app import create_app
from linewatt.features.serve.serving import make_server
from linewatt.features.serve.settings import USER, Settings

LIMIT_S = 60.0
"""for an answer, where how soon is not what is tested"""


class Served:
    """Where it is, and requests to it, with its token if it has one."""

    def __init__(self, port: int, token: str | None = None) -> None:
        self.port = port
        self.url = f"http://127.0.0.1:{port}"
        self.token = token
        self.authorization = {} if token is None else {"authorization": f"Bearer {token}"}

    @classmethod
    def at(cls, login_url: str) -> Served | None:
        """The server whose printed URL this is."""
        match = re.fullmatch(rf"http://{USER}:([\w-]{{32}})@127\.0\.0\.1:([0-9]+)/login", login_url)
        return None if match is None else cls(int(match[2]), match[1])

    def ask(
        self, path: str, form: Mapping[str, str] | None = None, **headers: str
    ) -> tuple[int, str, Mapping[str, str]]:
        """Status, body and headers; a form is posted as a page of this server would."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=LIMIT_S)
        named = self.authorization | {name.replace("_", "-"): value for name, value in headers.items()}
        try:
            if form is None:
                connection.request("GET", path, headers=named)
            else:
                kind = {"content-type": "application/x-www-form-urlencoded", "origin": self.url}
                connection.request("POST", path, urlencode(form), {**kind, **named})
            answer = connection.getresponse()
            return answer.status, answer.read().decode(), {k.lower(): v for k, v in answer.getheaders()}
        finally:
            connection.close()

    @contextmanager
    def events(self, path: str) -> Iterator[Iterator[tuple[str, dict[str, Any]]]]:
        """Server-sent events: name and data."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=LIMIT_S)
        connection.request("GET", path, headers=self.authorization)
        answer = connection.getresponse()
        assert answer.status == 200
        assert answer.getheader("content-type", "").startswith("text/event-stream")

        def told() -> Iterator[tuple[str, dict[str, Any]]]:
            name = ""
            for line in answer:
                word, _, rest = line.decode().strip().partition(": ")
                if word == "event":
                    name = rest
                elif word == "data":
                    yield name, json.loads(rest)

        try:
            yield told()
        finally:
            connection.close()


@contextmanager
def serving(settings: Settings) -> Iterator[Served]:
    """The application behind a real server."""
    listening = socket.create_server(("127.0.0.1", 0), backlog=1024)
    server = make_server(create_app(settings), settings)
    server.config.timeout_graceful_shutdown = 1
    thread = threading.Thread(target=server.run, kwargs={"sockets": [listening]}, name="server", daemon=True)
    thread.start()
    try:
        yield Served(listening.getsockname()[1], settings.token)
    finally:
        server.should_exit = True
        thread.join(LIMIT_S)
        listening.close()
        assert not thread.is_alive(), f"waited {LIMIT_S:g} s for the server to end"
