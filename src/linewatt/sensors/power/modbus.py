# SPDX-License-Identifier: Apache-2.0
"""Watts from power meters that speak Modbus TCP, read from the controller by a map of their registers.

Addresses are as they go over the wire, from 0: what a manual calls holding register 40001 is address 0, input
register 30013 is input address 12. Checked against pymodbus's own server.
"""

from __future__ import annotations

import math
import struct
from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal

from pydantic import AfterValidator, Field, model_validator

from linewatt.errors import HostError, InvalidInput
from linewatt.missing import Missing
from linewatt.model import Channel
from linewatt.sensors.power.base import (
    CALL_LIMIT_S,
    MeterSession,
    NetworkAddress,
    PowerConfig,
    as_configured,
    each_once,
)
from linewatt.sensors.power.quantity import ChannelName, Quantity
from linewatt.sensors.power.session import Answer, Session

if TYPE_CHECKING:  # what is slow to import is imported when a meter is opened
    from linewatt.sensors.power.calls import Calls

WAIT_S = 2.0
RETRIES = 1

FORMATS = {
    "uint16": "H",
    "int16": "h",
    "uint32": "I",
    "int32": "i",
    "float32": "f",
    "uint64": "Q",
    "int64": "q",
}
REFUSALS = {  # Modbus Application Protocol 1.1b3, section 7
    1: "illegal function",
    2: "illegal data address",
    3: "illegal data value",
    4: "device failure",
    6: "device busy",
    10: "gateway path unavailable",
    11: "gateway target does not respond",
}
NOT_THERE = (1, 2, 3)


class ModbusRegister(Quantity):
    """A reading by where it is in the meter's registers."""

    address: int = Field(ge=0, le=65535, examples=[12], description="Address of its first register, from 0.")
    kind: Literal["holding", "input"] = Field(default="holding", description="Which registers.")
    type: Literal["uint16", "int16", "uint32", "int32", "float32", "uint64", "int64"] = Field(
        default="uint16", description="How the number is written."
    )
    word_order: Literal["big", "little"] = Field(
        default="big", description="Which of several registers comes first: `big`, the high one."
    )
    missing: int | None = Field(
        default=None, examples=[65535], description="A value, before `scale`, that means no reading."
    )

    @model_validator(mode="after")
    def _inside(self) -> ModbusRegister:
        if self.address + self.words > 65536:
            raise ValueError(f"{self.type} at address {self.address} goes beyond register 65535")
        return self

    @property
    def words(self) -> int:
        """How many registers it takes."""
        return struct.calcsize(f">{FORMATS[self.type]}") // 2

    @property
    def place(self) -> str:
        """Which registers, for messages."""
        last = self.address + self.words - 1
        return f"{self.kind} register {self.address}" + (f" to {last}" if self.words > 1 else "")

    def described(self, name: str) -> Channel:
        """The channel; whole numbers have a step, and unsigned ones wrap."""
        is_integer = self.type != "float32"
        wraps_at = 2 ** (16 * self.words) * self.scale if self.type.startswith("uint") else None
        return self.channel(name, f"Modbus {self.place}", self.scale if is_integer else None, wraps_at)

    def reading(self, registers: Sequence[int]) -> Answer:
        """The value (pure)."""
        if len(registers) != self.words:
            return Missing(f"{self.place}: {len(registers)} registers in the answer, {self.words} requested")
        ordered = registers if self.word_order == "big" else list(reversed(registers))
        packed = struct.pack(f">{self.words}H", *ordered)
        (value,) = struct.unpack(f">{FORMATS[self.type]}", packed)
        if not math.isfinite(value):
            return Missing(f"{self.place}: {value}, not a number")
        if value == self.missing:
            return Missing(f"{self.place}: {value:g}, which this meter returns for no reading")
        return float(value * self.scale)


class ModbusConfig(PowerConfig):
    """How the meter is reached, and its registers."""

    address: NetworkAddress = Field(description="Name or address of the meter.")
    port: int = Field(default=502, ge=1, le=65535, description="TCP port.")
    unit_id: int = Field(default=1, ge=0, le=255, description="Unit behind a gateway.")
    channels: Annotated[dict[ChannelName, ModbusRegister], AfterValidator(each_once)] = Field(
        min_length=1, description="Readings by names of your own."
    )


class Modbus:
    """Power meters by their registers, over Modbus TCP."""

    name: ClassVar[str] = "modbus"
    Config: ClassVar[type[PowerConfig]] = ModbusConfig

    def __init__(self, cfg: ModbusConfig) -> None:
        self._cfg = cfg

    def open(self, password: str | None) -> MeterSession:
        """Connect and read every register once; Modbus knows no password. Raises HostError, InvalidInput."""
        from linewatt.sensors.power.calls import Calls

        return ModbusSession(self._cfg, Calls()).started()


class ModbusSession(Session):
    """A connection to a meter."""

    def __init__(self, cfg: ModbusConfig, calls: Calls) -> None:
        super().__init__()
        self._cfg = cfg
        self._calls = calls
        self._who = f"modbus at {cfg.address}:{cfg.port}, unit {cfg.unit_id}"
        self._errors: Any = None
        self._client: Any = None
        self._channels |= {
            name: as_configured(cfg, register.described(name)) for name, register in cfg.channels.items()
        }

    def start(self, password: str | None) -> None:
        """Connect, and see that the registers are there. Raises HostError, InvalidInput."""
        self._calls.run(self._discover(), self._awaited)

    def _awaited(self) -> str:
        return f"{self._who}: its registers"

    async def _discover(self) -> None:
        for name, register in self._cfg.channels.items():
            _, refusal = await self._registers(register)
            if refusal in NOT_THERE:
                raise InvalidInput(
                    f"{self._who}: has no {register.place} ({name}: {REFUSALS[refusal]}); "
                    "addresses begin with 0"
                )
            if refusal:
                raise HostError(f"{self._who}: {register.place}: {_refusal_text(refusal)}")

    def readings(self, names: Sequence[str]) -> dict[str, Answer]:
        """Ask for these registers, one after the other."""
        return self._calls.run(self._values(names), self._awaited, CALL_LIMIT_S)

    async def _values(self, names: Sequence[str]) -> dict[str, Answer]:
        return {name: await self._value(self._cfg.channels[name]) for name in names}

    async def _value(self, register: ModbusRegister) -> Answer:
        registers, refusal = await self._registers(register)
        if refusal:
            return Missing(f"{register.place}: {_refusal_text(refusal)}")
        return register.reading(registers)

    async def _registers(self, register: ModbusRegister) -> tuple[list[int], int]:
        """What they hold, and 0; or nothing, and the number of the meter's refusal."""
        client = await self._connected()
        ask = client.read_input_registers if register.kind == "input" else client.read_holding_registers
        try:
            answer = await ask(register.address, count=register.words, device_id=self._cfg.unit_id)
        except self._errors.ModbusException as error:
            raise HostError(f"{self._who}: {register.place}: {_one_line(error)}") from error
        if answer.isError():
            return [], int(answer.exception_code)
        return list(answer.registers), 0

    async def _connected(self) -> Any:
        """The client; connected anew where the meter had ended the connection for want of questions."""
        from linewatt.sensors.power.calls import caught_up, library

        await caught_up()
        if self._client is None:
            self._errors = library("pymodbus.exceptions")
            self._client = library("pymodbus.client").AsyncModbusTcpClient(
                self._cfg.address, port=self._cfg.port, timeout=WAIT_S, retries=RETRIES, reconnect_delay=0
            )
        if not self._client.connected and not await self._client.connect():
            raise HostError(f"{self._who}: cannot be reached; check address and port")
        return self._client

    def close(self) -> None:
        """End the connection."""
        if self._client is not None:
            self._client.close()
        self._calls.close()


def _refusal_text(refusal: int) -> str:
    return f"exception {refusal} ({REFUSALS.get(refusal, 'of the meter’s own')})"


def _one_line(error: Exception) -> str:
    return " ".join(str(error).split()) or type(error).__name__


DRIVER = Modbus
