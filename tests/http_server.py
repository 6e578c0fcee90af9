# SPDX-License-Identifier: Apache-2.0
"""A small HTTP or HTTPS server on a loopback port, whose answers are a function."""

from __future__ import annotations

import json
import ssl
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from tests.certificates import Certificate


def send(
    handler: BaseHTTPRequestHandler, status: int, document: Any, headers: Mapping[str, str] | None = None
) -> None:
    body = b"" if document is None else json.dumps(document).encode()
    handler.send_response(status)
    for name, value in (headers or {}).items():
        handler.send_header(name, value)
    handler.send_header("Content-Type", "application/json")
    handler.send_header("Content-Length", str(len(body)))
    handler.end_headers()
    handler.wfile.write(body)


@contextmanager
def serving(
    answer: Callable[[BaseHTTPRequestHandler, str], None], certificate: Certificate | None = None
) -> Iterator[str]:
    """An HTTP(S) server on a loopback port that answers with ``answer(handler, method)``; its URL."""

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"
        disable_nagle_algorithm = True

        def log_message(self, *_: Any) -> None:
            """Quiet."""

        def do_GET(self) -> None:
            answer(self, "GET")

        def do_POST(self) -> None:
            answer(self, "POST")

        def do_DELETE(self) -> None:
            answer(self, "DELETE")

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    if certificate is not None:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(certificate.file, certificate.key_file)
        server.socket = context.wrap_socket(server.socket, server_side=True, do_handshake_on_connect=False)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)
    thread.start()
    try:
        yield f"{'https' if certificate else 'http'}://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
