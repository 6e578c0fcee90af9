# SPDX-License-Identifier: Apache-2.0
"""The server process: one socket, one application; ends at once on Ctrl-C or SIGTERM."""

from __future__ import annotations

import asyncio
import errno
import logging
import signal
import socket
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import uvicorn
from fastapi import FastAPI

from linewatt.errors import InvalidInput
from linewatt.features.serve.app import create_app
from linewatt.features.serve.connections import MOST_CONNECTIONS, Connection, Connections
from linewatt.features.serve.settings import Settings, tls_context

_BACKLOG = 1024
_KEPT_S = 5


def bind(settings: Settings) -> socket.socket:
    """Open the listening socket. Raises InvalidInput with the reason."""
    try:
        family, kind, _, _, address = socket.getaddrinfo(
            settings.host, settings.port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
        )[0]
    except OSError as error:
        raise InvalidInput(
            f"--listen {settings.host}: is not an address of this machine: {error.strerror}"
        ) from error
    opened = socket.socket(family, kind)
    try:
        opened.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        opened.bind(address)
        opened.listen(_BACKLOG)
    except OSError as error:
        opened.close()
        raise InvalidInput(_format_bind_error(settings, error)) from error
    return opened


def _format_bind_error(settings: Settings, error: OSError) -> str:
    if error.errno == errno.EADDRINUSE:
        return f"--port {settings.port}: another program listens there; name another, or 0 for any free one"
    if error.errno == errno.EACCES:
        return f"--port {settings.port}: ports below 1024 are for root; name another"
    return f"--listen {settings.host}: cannot be listened on: {error.strerror}"


class _LogHandler(logging.Handler):
    """Prints log records of libraries as messages of the program."""

    def __init__(self, say: Callable[[str], None]) -> None:
        super().__init__(logging.WARNING)
        self._say = say

    def emit(self, record: logging.LogRecord) -> None:
        self._say(self.format(record))


class Server(uvicorn.Server):
    """A server that accepts connections itself (:mod:`linewatt.features.serve.connections`).

    It has no signal handlers: linewatt does not wait for open requests.
    """

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        yield

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets=[])
        connections = Connections()

        def make() -> Connection:
            return Connection(self.config, self.server_state, connections)

        self._accepting = [
            asyncio.create_task(connections.accept_all(listening, make, self.config.ssl))
            for listening in sockets or ()
        ]

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        for accepting in self._accepting:
            accepting.cancel()
        await asyncio.wait(self._accepting)
        await super().shutdown(sockets)


def make_server(app: FastAPI, settings: Settings) -> Server:
    """The server of an application; it ends without waiting for open requests."""
    config = uvicorn.Config(
        app,
        http="h11",
        log_config=None,
        access_log=False,
        server_header=False,
        proxy_headers=False,
        lifespan="off",
        ws="none",
        limit_concurrency=MOST_CONNECTIONS + 1,
        timeout_keep_alive=_KEPT_S,
        timeout_graceful_shutdown=0,
        ssl_certfile=settings.tls_cert,
        ssl_keyfile=settings.tls_key,
    )
    if settings.tls_cert is not None and settings.tls_key is not None:
        config.load()
        config.ssl = tls_context(settings.tls_cert, settings.tls_key)
    return Server(config)


def run(
    settings: Settings,
    listening: socket.socket,
    say: Callable[[str], None],
    began: Callable[[], None],
    ended: Callable[[], None],
) -> None:
    """Call ``began`` once requests are answered, serve until Ctrl-C, TERM or HUP, and call ``ended``.

    ``ended`` may end the process: there is no unsaved data.
    """
    logging.getLogger().addHandler(_LogHandler(say))
    app = create_app(settings)
    server = make_server(app, settings)

    def end() -> None:
        app.state.site.page_pool.stop()
        ended()
        server.should_exit = server.force_exit = True

    async def until_ended() -> None:
        for signal_number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            asyncio.get_running_loop().add_signal_handler(signal_number, end)
        began()
        await server.serve(sockets=[listening])

    asyncio.run(until_ended())
