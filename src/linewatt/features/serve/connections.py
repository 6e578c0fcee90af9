# SPDX-License-Identifier: Apache-2.0
"""Connections of the server. Clients that send no request cannot keep others out.

uvicorn has no time limit for the request of a new connection, and once ``limit_concurrency`` connections are
open, silent ones included, it answers all requests with 503. Here a new connection has to send a request
within :data:`REQUEST_LIMIT_S`, TLS handshake included, and makes room for a newer connection before that if
:data:`MOST_CONNECTIONS` are open.
"""

from __future__ import annotations

import asyncio
import socket
import ssl
from collections import Counter
from collections.abc import Callable
from contextlib import suppress

from uvicorn import Config
from uvicorn.protocols.http.h11_impl import H11Protocol
from uvicorn.server import ServerState

MOST_CONNECTIONS = 512
REQUEST_LIMIT_S = 10.0
_ACCEPT_AGAIN_S = 0.05
"""after an error of accept, such as too many open files"""


class Connection(H11Protocol):
    """HTTP over one connection; exists from the TLS handshake on."""

    def __init__(self, config: Config, server_state: ServerState, connections: Connections) -> None:
        super().__init__(config, server_state, app_state={})
        self._all = connections
        self.opening: asyncio.Task[None] | None = None

    def data_received(self, data: bytes) -> None:
        super().data_received(data)
        self._all.update(self)

    def on_response_complete(self) -> None:
        super().on_response_complete()
        self._all.update(self)

    def connection_lost(self, exc: Exception | None) -> None:
        super().connection_lost(exc)
        self._all.remove(self)

    @property
    def is_answering(self) -> bool:
        """Whether a request is being answered."""
        return self.cycle is not None and not self.cycle.response_complete

    @property
    def is_sending(self) -> bool:
        """Whether a part of a response is not sent yet."""
        return self.transport is not None and self.transport.get_write_buffer_size() > 0

    def drop(self) -> None:
        """End the connection now."""
        self._all.remove(self)
        if self.transport is not None:
            self.transport.abort()
        elif self.opening is not None:
            self.opening.cancel()


class Connections:
    """The open connections of a server, each group with the oldest first.

    ``_new``: have sent no request; their peer and time limit. ``_idle``: between requests that were allowed:
    a refused request ends its connection.
    """

    def __init__(self) -> None:
        self._new: dict[Connection, tuple[str, asyncio.TimerHandle]] = {}
        self._answering: dict[Connection, None] = {}
        self._idle: dict[Connection, None] = {}

    async def accept_all(
        self, listening: socket.socket, make: Callable[[], Connection], tls: ssl.SSLContext | None
    ) -> None:
        """Accept connections until cancelled."""
        loop = asyncio.get_running_loop()
        listening.setblocking(False)
        while True:
            try:
                accepted, address = await loop.sock_accept(listening)
            except OSError:
                self._make_room()
                await asyncio.sleep(_ACCEPT_AGAIN_S)
                continue
            connection = make()
            self._add(connection, str(address[0]))
            connection.opening = loop.create_task(_open(connection, accepted, tls))
            await asyncio.sleep(0)  # accept returns at once while there are more: let others work

    def update(self, connection: Connection) -> None:
        """Note whether the connection answers a request now."""
        if connection.is_answering:
            self.remove(connection)
            self._answering[connection] = None
        elif connection in self._answering:
            del self._answering[connection]
            self._idle[connection] = None

    def remove(self, connection: Connection) -> None:
        """Forget a connection that has ended."""
        _, timer = self._new.pop(connection, (None, None))
        if timer is not None:
            timer.cancel()
        self._answering.pop(connection, None)
        self._idle.pop(connection, None)

    def _add(self, connection: Connection, peer: str) -> None:
        if len(self._new) + len(self._answering) + len(self._idle) >= MOST_CONNECTIONS:
            self._make_room()
        timer = asyncio.get_running_loop().call_later(REQUEST_LIMIT_S, connection.drop)
        self._new[connection] = (peer, timer)

    def _make_room(self) -> None:
        """Drop the oldest connection without a request, of the address with most of these; else an idle one.

        If all connections answer requests, uvicorn answers a further request with 503.
        """
        if self._new:
            counts = Counter(peer for peer, _ in self._new.values())
            crowded = max(counts, key=counts.__getitem__)
            next(connection for connection, (peer, _) in self._new.items() if peer == crowded).drop()
            return
        for connection in self._idle:
            if not connection.is_sending:
                connection.drop()
                return


async def _open(connection: Connection, accepted: socket.socket, tls: ssl.SSLContext | None) -> None:
    """Shake hands and hand over to the protocol; a client that fails to is dropped."""
    loop = asyncio.get_running_loop()
    try:
        with suppress(OSError):  # ssl.SSLError is one
            await loop.connect_accepted_socket(lambda: connection, accepted, ssl=tls)
            return
    except asyncio.CancelledError:
        pass  # dropped
    connection.drop()
