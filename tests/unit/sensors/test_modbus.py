# SPDX-License-Identifier: Apache-2.0
"""Modbus TCP against pymodbus's own server."""

from __future__ import annotations

import logging
import math
import socket
import struct
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError
from tests.clock import Stopwatch
from tests.modbus_server import Meter

from linewatt.errors import HostError, InvalidInput
from linewatt.missing import Missing
from linewatt.sensors.power.base import CALL_LIMIT_S
from linewatt.sensors.power.modbus import Modbus, ModbusConfig, ModbusRegister

CAPTURES = Path(__file__).parents[2] / "captures" / "modbus"
WATTS = {"wall_w": {"address": 10, "scope": "wall"}}


def config(meter: Meter | int, **more: Any) -> ModbusConfig:
    port = meter if isinstance(meter, int) else meter.port
    return ModbusConfig(**{"address": "127.0.0.1", "port": port, "channels": WATTS, **more})


@contextmanager
def silent() -> Iterator[int]:
    """A port that accepts and never answers."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        yield server.getsockname()[1]


def test_readings_follow_the_meter_and_only_what_is_asked_for_is_read() -> None:
    with Meter({"holding": {"10": [200, 7]}}) as meter:
        more = {**WATTS, "fan": {"address": 11, "unit": "rpm", "scope": "fan"}}
        session = Modbus(config(meter, channels=more, simulated=True)).open(None)
        assert session.read() == {"wall_w": 200, "fan": 7}
        meter.registers["holding"][10] = 210
        assert session.read(["wall_w"]) == {"wall_w": 210}
        assert {one.provenance for one in session.channels.values()} == {"simulated"}
        session.close()


def test_a_connection_that_the_meter_ended_is_made_anew() -> None:
    with Meter({"holding": {"10": [200]}}) as meter:
        session = Modbus(config(meter)).open(None)
        assert session.read() == {"wall_w": 200}
        meter.hang_up()
        assert session.read() == {"wall_w": 200}
        session.close()


def test_a_register_that_is_not_there_is_refused() -> None:
    with Meter({"holding": {"10": [200]}}) as meter:
        channels = {"wall_w": {"address": 40011, "scope": "wall"}}
        with pytest.raises(InvalidInput) as caught:
            Modbus(config(meter, channels=channels)).open(None)
    assert (
        f"modbus at 127.0.0.1:{meter.port}, unit 1: has no holding register 40011 (wall_w: illegal data "
        in str(caught.value)
    )
    assert "addresses begin with 0" in str(caught.value)


def test_a_unit_that_is_not_there_is_an_error_within_five_seconds() -> None:
    with Meter({"holding": {"10": [200]}}) as meter:
        watch = Stopwatch()
        with pytest.raises((HostError, InvalidInput), match="unit 7"):
            Modbus(config(meter, unit_id=7)).open(None)
    assert watch.took_s <= CALL_LIMIT_S


def test_a_refusal_while_it_is_read_is_none_with_a_reason() -> None:
    with Meter({"holding": {"10": [200]}}) as meter:
        session = Modbus(config(meter)).open(None)
        meter.registers["holding"].clear()
        assert session.read() == {"wall_w": None}
        assert session.reasons["wall_w"].startswith("holding register 10: exception 2 (illegal data address)")
        session.close()


def test_a_meter_that_accepts_and_never_answers_costs_five_seconds_at_most() -> None:
    with silent() as port:
        meter = Modbus(config(port))
        watch = Stopwatch()
        with pytest.raises(HostError, match=f"^modbus at 127.0.0.1:{port}, unit 1: "):
            meter.open(None)
        assert watch.took_s <= CALL_LIMIT_S


def test_a_meter_that_goes_away_is_an_error_and_a_later_open_works() -> None:
    registers = {"holding": {"10": [200]}}
    with Meter(registers) as first:
        session = Modbus(config(first)).open(None)
    watch = Stopwatch()
    with pytest.raises(
        HostError, match=r"cannot be reached; check address and port|No response|[Cc]onnection"
    ):
        session.read()
    assert watch.took_s <= CALL_LIMIT_S
    session.close()
    with Meter(registers) as second:
        again = Modbus(config(second)).open(None)
        assert again.read() == {"wall_w": 200}
        again.close()


def test_a_failure_is_said_once_by_the_error_and_not_by_the_library_too(
    capfd: pytest.CaptureFixture[str],
) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
    handlers = logging.getLogger().handlers[:]
    for handler in handlers:
        logging.getLogger().removeHandler(handler)
    try:
        with pytest.raises(HostError, match="cannot be reached; check address and port"):
            Modbus(config(port)).open(None)
    finally:
        for handler in handlers:
            logging.getLogger().addHandler(handler)
    assert capfd.readouterr() == ("", "")


def test_without_its_library_the_meter_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pymodbus.client", None)
    with pytest.raises(
        InvalidInput, match=r"pymodbus is not installed here; .*python\S* -m pip install '.*\[meters\]'"
    ):
        Modbus(config(1)).open(None)


def test_unsigned_totals_wrap_where_their_registers_do() -> None:
    def wraps_at(kind: str, unit: str = "J") -> float | None:
        register = ModbusRegister.model_validate(
            {"address": 0, "type": kind, "unit": unit, "scale": 3600.0, "scope": "wall"}
        )
        return register.described("x").wraps_at

    assert [wraps_at(kind) for kind in ("uint16", "uint32", "int32", "float32")] == [
        2**16 * 3600.0,
        2**32 * 3600.0,
        None,
        None,
    ]
    assert wraps_at("uint16", "W") is None, "only totals wrap"


@given(st.floats(width=32, allow_nan=False, allow_infinity=False), st.sampled_from(["big", "little"]))
def test_any_float_is_read_as_it_was_written(value: float, order: Any) -> None:
    words = list(struct.unpack(">2H", struct.pack(">f", value)))
    register = ModbusRegister(address=0, type="float32", word_order=order, scope="wall")
    assert register.reading(words if order == "big" else words[::-1]) == value


@given(st.lists(st.integers(0, 65535), max_size=6))
def test_an_answer_of_any_length_is_a_number_or_a_reason(words: list[int]) -> None:
    value = ModbusRegister(address=0, type="float32", scope="wall").reading(words)
    assert value.reason if isinstance(value, Missing) else math.isfinite(value)


@pytest.mark.parametrize(
    ("given_settings", "said"),
    [
        ({"channels": {}}, "at least 1"),
        ({"channels": {"w": {"address": 65535, "type": "uint32", "scope": "wall"}}}, "beyond register 65535"),
        ({"channels": {"w": {"address": -1, "scope": "wall"}}}, "greater than or equal to 0"),
        ({"channels": {"w": {"address": 1, "type": "bcd", "scope": "wall"}}}, "uint16"),
        ({"channels": {"w": {"address": 1}}}, "scope"),
        ({"channels": WATTS, "password_env": "X"}, "Extra inputs"),
        ({"channels": WATTS, "address": "a b"}, "IP address or a DNS name"),
    ],
)
def test_settings_that_cannot_be_are_refused(given_settings: dict[str, Any], said: str) -> None:
    with pytest.raises(ValidationError, match=said):
        ModbusConfig(**{"address": "192.0.2.1", **given_settings})
