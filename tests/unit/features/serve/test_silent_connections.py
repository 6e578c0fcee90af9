# SPDX-License-Identifier: Apache-2.0
"""Clients that connect to ``linewatt serve`` and send nothing, or half a request, keep nobody else out."""

from __future__ import annotations

import asyncio
import http.client
import resource
import socket
import ssl
from collections.abc import Iterator
from contextlib import ExitStack, closing
from pathlib import Path

import pytest
from tests.live_server import LIMIT_S, Served, serving
from tests.served import certificate_in
from tests.silent_clients import outnumbered

from linewatt.features.serve import connections
from linewatt.features.serve import serving as server_module
from linewatt.features.serve.settings import Settings

TOKEN = "a-token-of-more-than-sixteen"  # noqa: S105
SILENT, HONEST = 400, 100


@pytest.fixture(autouse=True)
def open_files() -> Iterator[None]:
    """Server and clients are one process here."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = 4 * (SILENT + HONEST)
    if hard != resource.RLIM_INFINITY and hard < wanted:
        pytest.skip(f"{wanted} open files are needed; ulimit -Hn is {hard}")
    resource.setrlimit(resource.RLIMIT_NOFILE, (max(soft, wanted), hard))
    yield
    resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


@pytest.fixture
def settings(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Settings:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    (tmp_path / "results").mkdir()
    return Settings(tmp_path / "results", tmp_path / "state", token=TOKEN)


def connect(served: Served) -> socket.socket:
    return socket.create_connection(("127.0.0.1", served.port), timeout=LIMIT_S)


def answer_to(connection: socket.socket, served: Served, *, authorized: bool = True) -> bytes:
    """The beginning of the answer to a request on a connection that is there already."""
    headers = {"host": "localhost", **(served.authorization if authorized else {})}
    lines = ["GET /static/icon.svg HTTP/1.1", *(f"{name}: {value}" for name, value in headers.items())]
    connection.sendall("\r\n".join([*lines, "", ""]).encode())
    return connection.recv(12)


def is_closed_after_a_byte(connection: socket.socket) -> bool:
    try:
        connection.sendall(b"a")
        return connection.recv(1) == b""
    except TimeoutError:
        return False
    except ConnectionError:
        return True


def is_closed(connection: socket.socket) -> bool:
    """Wait for the end of a connection; whether it came without an answer."""
    try:
        return connection.recv(1) == b""
    except ConnectionResetError:
        return True


@pytest.mark.parametrize(("most", "duration_s"), [(connections.MOST_CONNECTIONS, 5.0), (SILENT // 2, 0.0)])
def test_400_silent_connections_keep_no_honest_request_from_its_answer(
    settings: Settings, monkeypatch: pytest.MonkeyPatch, most: int, duration_s: float
) -> None:
    """Where there is room for all of them, and where they have to make room."""
    monkeypatch.setattr(connections, "MOST_CONNECTIONS", most)
    with serving(settings) as served:
        outcome = asyncio.run(
            outnumbered(
                served.port,
                ("/list.json", "/static/web.css", "/live"),
                served.authorization,
                silent=SILENT,
                honest=HONEST,
                duration_s=duration_s,
            )
        )
    assert outcome.failures == []
    assert len(outcome.answers_s) >= HONEST
    assert outcome.silent_connections >= SILENT


@pytest.mark.parametrize(
    "beginning", [b"", b"GET / HTTP/1.1\r\nHost: localhost\r\n"], ids=["nothing", "half"]
)
def test_a_connection_without_a_request_ends_at_its_limit(
    settings: Settings, monkeypatch: pytest.MonkeyPatch, beginning: bytes
) -> None:
    monkeypatch.setattr(connections, "REQUEST_LIMIT_S", 0.2)
    with serving(settings) as served, connect(served) as silent:
        silent.sendall(beginning)
        assert is_closed(silent)


def test_a_request_that_drips_ends_at_the_same_limit(
    settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(connections, "REQUEST_LIMIT_S", 0.5)
    with serving(settings) as served, connect(served) as dripping:
        dripping.settimeout(0.05)
        dripping.sendall(b"GET / HTTP/1.1\r\nx: ")
        assert any(is_closed_after_a_byte(dripping) for _ in range(int(LIMIT_S / 0.05)))


def test_a_tls_handshake_that_never_comes_ends_at_the_same_limit(
    settings: Settings, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(connections, "REQUEST_LIMIT_S", 1.0)
    cert, key = certificate_in(tmp_path)
    made = Settings(settings.results, settings.state, token=TOKEN, tls_cert=cert, tls_key=key)
    with serving(made) as served, connect(served) as silent:
        assert is_closed(silent)
        context = ssl.create_default_context(cafile=str(cert))
        honest = http.client.HTTPSConnection("localhost", served.port, timeout=LIMIT_S, context=context)
        with closing(honest):
            honest.request("GET", "/list.json", headers=served.authorization)
            assert honest.getresponse().status == 200


def test_the_oldest_connection_without_a_request_makes_room_and_idle_ones_stay(
    settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(connections, "MOST_CONNECTIONS", 3)
    monkeypatch.setattr(server_module, "_KEPT_S", LIMIT_S)
    with serving(settings) as served, ExitStack() as stack:
        idle = stack.enter_context(connect(served))
        assert answer_to(idle, served) == b"HTTP/1.1 200"
        first = stack.enter_context(connect(served))
        second = stack.enter_context(connect(served))
        third = stack.enter_context(connect(served))
        assert is_closed(first)
        assert answer_to(third, served) == b"HTTP/1.1 200"
        assert answer_to(second, served) == b"HTTP/1.1 200"
        fourth = stack.enter_context(connect(served))
        assert is_closed_after_answers(idle), "only where no connection without a request is there"
        assert answer_to(fourth, served) == b"HTTP/1.1 200"


def is_closed_after_answers(connection: socket.socket) -> bool:
    """Read what is still to come of an answer; whether the connection ends then."""
    while data := connection.recv(65536):
        assert data
    return True


def test_the_address_with_most_silent_connections_loses_one() -> None:
    dropped: list[str] = []

    async def fill() -> None:
        group = connections.Connections()
        for name in ("quiet", *(f"crowd {number}" for number in range(connections.MOST_CONNECTIONS))):
            group._add(Stub(name, dropped, group), name.partition(" ")[0])  # type: ignore[arg-type]

    asyncio.run(fill())
    assert dropped == ["crowd 0"], "although another address has the oldest"


class Stub:
    """A connection that notes when it is dropped."""

    def __init__(self, name: str, dropped: list[str], group: connections.Connections) -> None:
        self._name = name
        self._dropped = dropped
        self._group = group

    def drop(self) -> None:
        self._group.remove(self)  # type: ignore[arg-type]
        self._dropped.append(self._name)


def test_who_has_no_token_keeps_no_connection(settings: Settings) -> None:
    with serving(settings) as served, connect(served) as stranger:
        assert answer_to(stranger, served, authorized=False) == b"HTTP/1.1 401"
        assert is_closed_after_answers(stranger)
