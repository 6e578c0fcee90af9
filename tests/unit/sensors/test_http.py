# SPDX-License-Identifier: Apache-2.0
"""Plugs over HTTP against a local server that says what real ones said, with their ways to log in."""

from __future__ import annotations

import base64
import hashlib
import json
import logging
import re
import socket
import sys
import traceback
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError
from tests.certificates import self_signed
from tests.clock import Stopwatch
from tests.http_server import send, serving

from linewatt.errors import HostError, InvalidInput
from linewatt.sensors.power.base import CALL_LIMIT_S, MeterRecord
from linewatt.sensors.power.http import HttpConfig, HttpMeter, at

CAPTURES = Path(__file__).parents[2] / "captures" / "http"
GEN2 = json.loads((CAPTURES / "shelly-gen2-plug" / "answer.json").read_text())
CANARY = "c4nary-Zq"
SECRET = {"password_env": "PLUG_PASSWORD"}


class Device:
    """Answers with ``document`` to whoever is let in."""

    def __init__(self, document: Any) -> None:
        self.document = document
        self.asked: list[str] = []
        self.lets_in: Callable[[BaseHTTPRequestHandler], bool] = lambda _: True
        self.override: Callable[[BaseHTTPRequestHandler], bool] | None = None
        self.url = ""

    @property
    def port(self) -> int:
        return int(self.url.rpartition(":")[2])

    def answer(self, handler: BaseHTTPRequestHandler, method: str) -> None:
        self.asked.append(f"{method} {handler.path}")
        if self.override is not None and self.override(handler):
            return
        if self.lets_in(handler):
            send(handler, 200, self.document)

    def shelly(self, **more: Any) -> HttpMeter:
        return HttpMeter(HttpConfig(profile="shelly-gen2", address="127.0.0.1", port=self.port, **more))


@contextmanager
def device(document: Any) -> Iterator[Device]:
    served = Device(document)
    with serving(served.answer) as served.url:
        yield served


@pytest.fixture
def plug() -> Iterator[Device]:
    with device(GEN2) as served:
        yield served


def with_basic(handler: BaseHTTPRequestHandler) -> bool:
    wanted = "Basic " + base64.b64encode(f"admin:{CANARY}".encode()).decode()
    if handler.headers.get("Authorization") == wanted:
        return True
    send(handler, 401, None, {"WWW-Authenticate": 'Basic realm="plug"'})
    return False


def with_digest(handler: BaseHTTPRequestHandler) -> bool:
    """RFC 7616 with SHA-256, as Shelly's second generation wants it."""
    said = dict(re.findall(r'(\w+)="?([^",]*)"?', handler.headers.get("Authorization", "")))

    def digest(*parts: str) -> str:
        return hashlib.sha256(":".join(parts).encode()).hexdigest()

    if said.get("username") == "admin":
        mine = digest("admin", "shelly", CANARY)
        asked = digest(handler.command, handler.path)
        if said["response"] == digest(mine, "n0nce", said["nc"], said["cnonce"], "auth", asked):
            return True
    challenge = 'Digest qop="auth", realm="shelly", nonce="n0nce", algorithm=SHA-256'
    send(handler, 401, None, {"WWW-Authenticate": challenge})
    return False


def test_readings_follow_the_device_and_only_what_is_asked_for_is_given(plug: Device) -> None:
    session = plug.shelly(simulated=True).open(None)
    assert session.read(["wall_w"]) == {"wall_w": 4.1}
    plug.document = {**GEN2, "apower": 213.7}
    assert session.read(["wall_w"]) == {"wall_w": 213.7}
    assert {one.provenance for one in session.channels.values()} == {"simulated"}
    session.close()


def test_a_device_without_totals_gives_power_alone() -> None:
    with device({"apower": 12.5}) as served:
        session = served.shelly().open(None)
        assert session.read() == {"wall_w": 12.5}
        session.close()


@pytest.mark.parametrize(
    ("lets_in", "auth"), [(with_basic, "basic"), (with_digest, "digest"), (with_digest, None)]
)
def test_a_password_lets_in(plug: Device, lets_in: Any, auth: Any) -> None:
    plug.lets_in = lets_in
    session = plug.shelly(**SECRET, auth=auth).open(CANARY)
    assert session.read(["wall_w"]) == {"wall_w": 4.1}
    session.close()


def test_no_message_record_log_or_address_holds_the_password(
    plug: Device, caplog: pytest.LogCaptureFixture
) -> None:
    said = []
    plug.lets_in = with_basic
    with caplog.at_level(logging.DEBUG):
        session = plug.shelly(**SECRET, auth="basic").open(CANARY)
        said += [repr(session), MeterRecord(0, 1, session.read(), session.reasons).line()]
        session.close()
        with pytest.raises(HostError, match=r"refuses \(401\); check user and password$") as caught:
            plug.shelly(**SECRET, auth="basic").open(f"{CANARY}-wrong")
    said += [*traceback.format_exception(caught.value), *plug.asked]
    assert [text for text in [*said, caplog.text] if CANARY in text] == []


def test_tasmota_that_wants_a_password_is_an_error_with_its_own_words() -> None:
    with device({"WARNING": "Need user=<username>&password=<password>"}) as served:
        cfg = HttpConfig(profile="tasmota", address="127.0.0.1", port=served.port)
        with pytest.raises(HostError, match="says 'Need user=<username>&password=<password>'; check user"):
            HttpMeter(cfg).open(None)


@pytest.mark.parametrize(
    ("body", "why"),
    [
        (b'{"apower": 4.', "is no JSON"),
        (b"<html>", "is no JSON"),
        (b"", "is empty"),
        (b"[" * 100_000, "nests values too deeply"),
        (b'{"apower": 1e999}', "'1e999' is too large for a number"),
        (b'{"apower": NaN}', "holds NaN, which is not a number"),
    ],
)
def test_an_answer_that_is_no_json_is_none_with_a_reason_and_the_next_one_counts(
    plug: Device, body: bytes, why: str
) -> None:
    session = plug.shelly().open(None)

    def other(handler: BaseHTTPRequestHandler) -> bool:
        handler.send_response(200)
        handler.send_header("Content-Length", str(len(body)))
        handler.end_headers()
        handler.wfile.write(body)
        return True

    plug.override = other
    assert session.read() == {"wall_w": None, "wall_j": None}
    assert set(session.reasons.values()) == {why}
    with pytest.raises(HostError, match=why):
        plug.shelly().open(None)
    plug.override = None
    assert session.read(["wall_w"]) == {"wall_w": 4.1}
    assert session.reasons == {}
    session.close()


def test_an_answer_that_breaks_off_is_an_error_and_a_later_open_works(plug: Device) -> None:
    def cut(handler: BaseHTTPRequestHandler) -> bool:
        handler.send_response(200)
        handler.send_header("Content-Length", "500")
        handler.end_headers()
        handler.wfile.write(b'{"apower"')
        handler.close_connection = True
        return True

    plug.override = cut
    with pytest.raises(HostError, match="peer closed connection"):
        plug.shelly().open(None)
    plug.override = None
    session = plug.shelly().open(None)
    assert session.read(["wall_w"]) == {"wall_w": 4.1}
    session.close()


def test_an_answer_without_end_is_cut() -> None:
    def flood(handler: BaseHTTPRequestHandler, _: str) -> None:
        handler.send_response(200)
        handler.end_headers()
        try:
            for _megabyte in range(64):
                handler.wfile.write(b" " * (1 << 20))
        except OSError:
            handler.close_connection = True

    with serving(flood) as url, pytest.raises(HostError, match=r"sends more than 8 MiB|no answer within"):
        HttpMeter(HttpConfig(url=f"{url}/x", channels={"w": {"path": "w", "scope": "wall"}})).open(None)  # type: ignore[dict-item]


@pytest.mark.parametrize(
    ("found", "said"),
    [({"w": 3, "v": 230}, "is not a number but has w, v"), ([7], "but [7]"), (True, "but True")],
    ids=["mapping", "list", "switch"],
)
def test_a_path_to_what_is_no_number_is_refused_at_first(found: Any, said: str) -> None:
    served = Device({"a": found})
    with serving(served.answer) as url, pytest.raises(InvalidInput) as caught:
        HttpMeter(HttpConfig.model_validate({"url": f"{url}/x", "channels": CHANNELS})).open(None)
    assert said in str(caught.value)


def test_a_connection_that_the_device_ended_is_made_anew(plug: Device) -> None:
    def last(handler: BaseHTTPRequestHandler) -> bool:
        handler.close_connection = True
        return False

    plug.override = last
    session = plug.shelly().open(None)
    for _ in range(3):
        assert session.read(["wall_w"]) == {"wall_w": 4.1}
    session.close()


def test_a_device_that_accepts_and_never_answers_costs_five_seconds_at_most() -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        served = Device(None)
        served.url = f"http://127.0.0.1:{server.getsockname()[1]}"
        watch = Stopwatch()
        with pytest.raises(HostError, match=r"/rpc/Switch\.GetStatus\?id=0: no answer within 5 s$"):
            served.shelly().open(None)
    assert watch.took_s <= CALL_LIMIT_S


def test_https_is_checked_unless_its_user_says_otherwise(tmp_path: Path) -> None:
    certificate = self_signed(tmp_path)
    served = Device({"watts": 7})
    channels = {"w": {"path": "watts", "scope": "wall"}}
    with serving(served.answer, certificate) as url:

        def meter(**how: Any) -> HttpMeter:
            return HttpMeter(HttpConfig.model_validate({"url": f"{url}/x", "channels": channels, **how}))

        with pytest.raises(HostError, match="certificate is not trusted"):
            meter().open(None)
        for how in ({"ca_file": str(certificate.file)}, {"verify": False}):
            session = meter(**how).open(None)
            assert session.read() == {"w": 7}
            session.close()


def test_without_its_library_the_meter_says_what_to_install(
    monkeypatch: pytest.MonkeyPatch, plug: Device
) -> None:
    monkeypatch.setitem(sys.modules, "httpx", None)
    with pytest.raises(
        InvalidInput, match=r"httpx is not installed here; .*python\S* -m pip install '.*\[meters\]'"
    ):
        plug.shelly().open(None)


@given(
    st.recursive(
        st.none() | st.booleans() | st.integers() | st.text(max_size=4),
        lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from("ab"), inner, max_size=2),
    ),
    st.sampled_from(["a", "a.b", "a[0]", "a[1].b", "a.b[0][1]"]),
)
def test_any_path_into_any_answer_is_something_or_says_what_is_missing(document: Any, path: str) -> None:
    found, missing = at(document, path)
    if missing:
        assert found is None
        assert missing.startswith(f"{path}: ")
    else:
        steps = [word.strip("[]") for word in re.findall(r"\w+", path)]
        for step in steps:
            document = document[int(step)] if isinstance(document, list) else document[step]
        assert found is document


CHANNELS = {"w": {"path": "a", "scope": "wall"}}


@pytest.mark.parametrize(
    ("given_settings", "said"),
    [
        ({}, "needs profile and address, or url and channels"),
        ({"profile": "tasmota"}, "needs profile and address"),
        ({"url": "http://a/b"}, "needs profile and address"),
        ({"profile": "tasmota", "address": "a", "url": "http://a/", "channels": CHANNELS}, "one of the two"),
        ({"profile": "shelly", "address": "a"}, "shelly-gen1"),
        ({"url": "http://admin:pw@a/b", "channels": CHANNELS}, "has a user or password in it"),
        ({"url": "http://a/cm?user=admin&password=pw", "channels": CHANNELS}, "password or token in url"),
        ({"url": "http://a/x?apiKey=pw", "channels": CHANNELS}, "password or token in url"),
        ({"url": "http://a/x", "channels": {"w": {"path": "a..b", "scope": "wall"}}}, "pattern"),
        ({"url": "http://a/x", "channels": {"w": {"path": "a[x]", "scope": "wall"}}}, "pattern"),
        ({"profile": "tasmota", "address": "a", "user": "u"}, "a user without password_env"),
        ({"profile": "tasmota", "address": "a", "verify": False, "ca_file": "x"}, "leave one out"),
    ],
)
def test_settings_that_cannot_be_are_refused(given_settings: dict[str, Any], said: str) -> None:
    with pytest.raises(ValidationError, match=said):
        HttpConfig(**given_settings)
