# SPDX-License-Identifier: Apache-2.0
"""Answers of meters, damaged: their sessions make of them readings, reasons, or an error of their own."""

from __future__ import annotations

import json
import math
import random
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import cache, partial
from typing import Any

import httpx
import pytest
from hypothesis import strategies as st
from pymodbus import exceptions
from pymodbus.exceptions import ModbusIOException
from pymodbus.pdu import DecodePDU
from pysnmp.proto import rfc1902, rfc1905  # type: ignore[import-untyped]  # has no types
from tests.fuzz.conftest import check_reason, fuzz, survived
from tests.fuzz.mutate import CAPTURES, WORDS, changed
from tests.redfish_server import SESSIONS, capture, complete
from tests.unit.sensors.test_ipmi import CFG, Bmc

from linewatt.engine.live.meters import plausible
from linewatt.errors import HostError
from linewatt.foreign import contained
from linewatt.model import Channel
from linewatt.sensors.power import calls, modbus
from linewatt.sensors.power.base import MeterRecord
from linewatt.sensors.power.http import HttpConfig, HttpMeter
from linewatt.sensors.power.ipmi import link as ipmi_link
from linewatt.sensors.power.ipmi.lan import Ipmi
from linewatt.sensors.power.modbus import Modbus, ModbusConfig
from linewatt.sensors.power.redfish.meter import Redfish, RedfishConfig
from linewatt.sensors.power.snmp import agent as snmp_agent
from linewatt.sensors.power.snmp.meter import Snmp, SnmpConfig

seeds = st.integers(0, 2**48)
_opened: list[calls.Calls] = []


class Bytes:
    """Changes answers now and then, one after the other, from one seed."""

    def __init__(self, seed: int) -> None:
        self._draw = random.Random(seed)  # noqa: S311 - the same again, no secret
        self._often = self._draw.choice((0.0, 0.05, 0.3, 1.0))

    def __call__(self, answer: bytes) -> bytes:
        return changed(answer, self._draw, self._draw.choice((1, 1, 2))) if self.now() else answer

    def now(self) -> bool:
        return self._draw.random() < self._often

    def one(self, values: Sequence[Any]) -> Any:
        return self._draw.choice(values)


def check_meter(what: str, meter: Any) -> None:
    """Opened, read twice, closed as the engine does; nothing is left open, whatever it answered."""
    _opened.clear()
    session = None
    with survived(what), contained("its answer"):
        session = meter.open("correct horse")
        check_channels(session.channels.values())
        for _ in range(2):
            values, reasons = plausible(session.read(), session.reasons)
            for name, value in values.items():
                assert name in session.channels
                assert value is None or math.isfinite(value)
                assert (value is None) == (name in reasons)
            for reason in reasons.values():
                check_reason(reason)
            MeterRecord(1e9, 1e9, values, reasons).line().encode()
    if session is not None:
        session.close()
    assert all(one._loop.is_closed() for one in _opened)


def check_channels(channels: Any) -> None:
    for one in channels:
        assert isinstance(one, Channel)
        numbers = [one.step, one.wraps_at]
        json.dumps([one.name, one.unit, one.scope, numbers], allow_nan=False).encode()


@pytest.fixture(autouse=True)
def _calls(monkeypatch: pytest.MonkeyPatch) -> None:
    class Kept(calls.Calls):
        def __init__(self) -> None:
            super().__init__()
            _opened.append(self)

    monkeypatch.setattr(calls, "Calls", Kept)


class DamagedBmc(Bmc):
    """Its answers are cut, changed and put in one another's place."""

    def __init__(self, damage: Bytes) -> None:
        super().__init__(dcmi=bytes.fromhex("dc0a00050020000f000000000040e80300"), most=damage.one((255, 20)))
        self.damage = damage

    def request(self, netfn: int, command: int, data: Sequence[int] = (), lun: int = 0) -> tuple[int, bytes]:
        try:
            code, answer = super().request(netfn, command, data, lun)
        except (LookupError, IndexError):
            code, answer = 0xCB, b""
        if self.time_s < -1:
            raise HostError("bmc1: no answer")
        if self.damage.now():
            code = self.damage.one((0, 0, 0xC5, 0xCA, 0xCB, 0xFF))
        return code, self.damage(answer)


@fuzz(seeds)
def test_a_bmc_that_answers_anything_over_ipmi_is_read_or_said_to_be_unreadable(seed: int) -> None:
    with pytest.MonkeyPatch.context() as patch:
        bmc = DamagedBmc(Bytes(seed))
        patch.setattr(ipmi_link, "connect", lambda *_: bmc)
        check_meter("meter: ipmi", Ipmi(CFG.model_copy(update={"sensors": None, "dcmi": "auto"})))


@cache
def _registers() -> list[tuple[dict[str, Any], dict[str, Any]]]:
    return [
        (
            json.loads((path / "expected.json").read_text())["settings"],
            json.loads((path / "registers.json").read_text()),
        )
        for path in sorted((CAPTURES / "modbus").iterdir())
    ]


class DamagedRegisters:
    """A client of pymodbus whose answers were bytes, decoded by its own decoder."""

    connected = True

    def __init__(self, damage: Bytes) -> None:
        self.damage = damage

    async def read(self, function: int, address: int, *, count: int, device_id: int) -> Any:
        answer = bytes([function, 2 * count]) + self.damage.one((b"\x43\x55", b"\0\0")) * count
        refusal = bytes([function | 0x80, self.damage.one((1, 2, 4, 11, 99))])
        said = self.damage(refusal if self.damage.now() else answer)
        try:
            decoded = DecodePDU(False).decode(said)
        except Exception as error:
            raise ModbusIOException(str(error)) from error
        if decoded is None:
            raise ModbusIOException("no answer")
        return decoded

    def __getattr__(self, name: str) -> Any:
        return partial(self.read, {"read_input_registers": 4, "read_holding_registers": 3}[name])

    def close(self) -> None: ...


@fuzz(seeds, st.integers(0, 9))
def test_a_meter_that_answers_anything_over_modbus_is_read_or_said_to_be_unreadable(
    seed: int, which: int
) -> None:
    settings, _ = _registers()[which % len(_registers())]

    async def connected(session: Any) -> Any:
        session._errors = exceptions
        session._client = session._client or DamagedRegisters(Bytes(seed))
        return session._client

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(modbus.ModbusSession, "_connected", connected)
        check_meter("meter: modbus", Modbus(ModbusConfig(address="192.0.2.1", **settings)))


SNMP = sorted(path.parent for path in (CAPTURES / "snmp").glob("*/expected.json"))
_MOST_ASKED = 3000


def _odd(damage: Bytes) -> Any:
    """A value that an agent may give in place of another."""
    text = damage.one((*WORDS, b"217", b"1_000", b"21.7"))
    return damage.one(
        (
            lambda: rfc1902.Integer32(damage.one((0, -1, 2**31 - 1, -(2**31)))),
            lambda: rfc1902.Counter64(damage.one((0, 2**64 - 1))),
            lambda: rfc1902.Gauge32(2**32 - 1),
            lambda: rfc1902.OctetString(text),
            lambda: rfc1902.ObjectIdentifier("1.3.6.1"),
            lambda: rfc1902.IpAddress("192.0.2.1"),
            lambda: rfc1902.Opaque(b"\x9f\x78\x04\x7f\xf0\0\0"),
            lambda: rfc1905.NoSuchObject(b""),
            lambda: rfc1905.EndOfMibView(b""),
            lambda: rfc1905.UnSpecified(b""),
        )
    )()


class DamagedAgent:
    """What the agent of a PDU says to each question."""

    def __init__(self, damage: Bytes) -> None:
        self.damage = damage
        self.asked = 0

    async def ask(self, command: str, oids: list[str]) -> dict[str, Any] | None:
        self.asked += 1
        assert self.asked < _MOST_ASKED, "asks without end"
        if self.damage.one(range(40)) == 0:
            return self.damage.one((None, {}))  # type: ignore[no-any-return]
        if self.damage.one(range(60)) == 0:
            raise HostError("snmp: no answer")
        asked = [self._following(oid) if command == "next_cmd" else oid for oid in oids]
        asked = asked[: self.damage.one((len(asked), len(asked), 1))]
        return {oid: _odd(self.damage) if self.damage.now() else rfc1902.Gauge32(217) for oid in asked}

    def _following(self, oid: str) -> str:
        return self.damage.one((oid, f"{oid}.1", f"{oid}.4294967295", f"{oid}.x", "1.3", "", f"{oid}."))  # type: ignore[no-any-return]


@fuzz(seeds, st.sampled_from(SNMP))
def test_an_agent_that_answers_anything_over_snmp_is_read_or_said_to_be_unreadable(
    seed: int, case: Any
) -> None:
    settings = json.loads((case / "expected.json").read_text())["settings"]
    agent = DamagedAgent(Bytes(seed))

    async def ask(_: Any, command: str, oids: list[str]) -> Any:
        return await agent.ask(command, oids)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(snmp_agent.Agent, "_ask", ask)
        config = SnmpConfig(**{"address": "192.0.2.1", "password_env": "X", "version": "2c", **settings})
        check_meter("meter: snmp", Snmp(config))


@contextmanager
def served(answer: Callable[[httpx.Request], httpx.Response]) -> Iterator[None]:
    """HTTP without sockets: what is answered is bytes all the same."""
    own = httpx.AsyncClient
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(httpx, "AsyncClient", partial(own, transport=httpx.MockTransport(answer)))
        yield


def _damaged(damage: Bytes, status: int, body: bytes, headers: dict[str, str]) -> httpx.Response:
    if damage.now() and damage.one(range(6)) == 0:
        status = damage.one((200, 204, 301, 401, 403, 404, 500, 599))
        headers = headers | {
            "location": damage.one(("", "/", "//x", "http://[", "/redfish/v1/\x7f", "http://192.0.2.9/"))
        }
    if damage.now() and damage.one(range(12)) == 0:
        raise httpx.RemoteProtocolError("cut off\nin the middle")
    return httpx.Response(status, content=damage(body), headers=headers)


HTTP = sorted(path.parent for path in (CAPTURES / "http").glob("*/expected.json"))


@fuzz(seeds, st.sampled_from(HTTP))
def test_a_plug_that_answers_anything_over_http_is_read_or_said_to_be_unreadable(
    seed: int, case: Any
) -> None:
    settings = json.loads((case / "expected.json").read_text())["settings"]
    body, damage = (case / "answer.json").read_bytes(), Bytes(seed)
    where = {"url": "http://192.0.2.1/status"} if "profile" not in settings else {"address": "192.0.2.1"}
    with served(lambda _: _damaged(damage, 200, body, {})):
        check_meter("meter: http", HttpMeter(HttpConfig(**{**where, **settings})))


REDFISH = sorted(path.parent for path in (CAPTURES / "redfish").glob("*/expected.json"))


@cache
def _resources(case: Any) -> dict[str, bytes]:
    return {path: json.dumps(one).encode() for path, one in complete(capture(case)).items()}


@fuzz(seeds, st.sampled_from(REDFISH), share=0.5)
def test_a_service_that_answers_anything_over_redfish_is_read_or_said_to_be_unreadable(
    seed: int, case: Any
) -> None:
    settings = json.loads((case / "expected.json").read_text())["settings"]
    resources, damage = _resources(case), Bytes(seed)

    def answer(request: httpx.Request) -> httpx.Response:
        path = request.url.path.rstrip("/")
        if request.method == "POST":
            headers = {"X-Auth-Token": "t", "Location": f"{SESSIONS}/1"}
            return _damaged(damage, 201, b"{}", headers)
        body = resources.get(path)
        return _damaged(damage, 200 if body else 404, body or b"{}", {})

    config = RedfishConfig(**{"url": "https://192.0.2.1", "user": "admin", "password_env": "X", **settings})
    with served(answer):
        check_meter("meter: redfish", Redfish(config))
