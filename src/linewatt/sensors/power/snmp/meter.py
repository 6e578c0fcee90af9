# SPDX-License-Identifier: Apache-2.0
"""Watts from rack PDUs and other meters over SNMP v1, v2c or v3, read from the controller.

What a PDU calls its readings is in :mod:`~linewatt.sensors.power.snmp.profiles`, for four makers; anything
else is named by its object identifiers. Checked against net-snmp's agent with what PDUs said
(tests/captures/snmp).

PDUs are coarse: many show steps of 10 W and 0.1 kWh, and renew them every few seconds.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Annotated, ClassVar, Literal

from pydantic import AfterValidator, Field, model_validator

from linewatt.errors import InvalidInput
from linewatt.missing import Missing
from linewatt.model import Channel
from linewatt.sensors.power.base import (
    Account,
    MeterSession,
    NetworkAddress,
    PowerConfig,
    Secret,
    as_configured,
    each_once,
)
from linewatt.sensors.power.quantity import ChannelName, Quantity
from linewatt.sensors.power.session import Answer, Session
from linewatt.sensors.power.snmp.profiles import PROFILES, ProfileName

if TYPE_CHECKING:  # what is slow to import is imported when a meter is opened
    from linewatt.sensors.power.calls import Calls
    from linewatt.sensors.power.snmp.agent import Agent, Value

MOST_DIGITS = 9


class SnmpChannel(Quantity):
    """A reading by its object identifier."""

    oid: Annotated[
        str, Field(pattern=r"^\.?[0-9]+(\.[0-9]+)+$", examples=["1.3.6.1.4.1.318.1.1.12.1.16.0"])
    ] = Field(description="Object identifier of the reading, with its index.")


class SnmpConfig(PowerConfig, Secret):
    """How the meter is reached, and which of its readings are the host's."""

    address: NetworkAddress = Field(description="Name or address of the meter.")
    port: int = Field(default=161, ge=1, le=65535, description="UDP port.")
    version: Literal["1", "2c", "3"] = Field(
        default="2c",
        description="Version of SNMP. Before 3 the password is the community; without one it is `public`.",
    )
    user: Account | None = Field(default=None, description="User of SNMP 3.")
    auth: Literal["none", "md5", "sha", "sha224", "sha256", "sha384", "sha512"] = Field(
        default="sha", description="How SNMP 3 authenticates."
    )
    privacy: Literal["none", "des", "aes", "aes192", "aes256"] = Field(
        default="aes", description="How SNMP 3 encrypts."
    )
    privacy_separator: str | None = Field(
        default=None,
        pattern=r"^[/:,;|+#@~=]{1,4}$",
        examples=["/"],
        description="The password is two, for authentication and encryption, with this between them; left "
        "out: it serves for both.",
    )
    profile: ProfileName | None = Field(
        default=None, description="The kind of PDU, if `channels` is not given."
    )
    outlet: int | None = Field(default=None, ge=1, le=999, description="Outlet that feeds the host.")
    phase: int | None = Field(default=None, ge=1, le=99, description="Phase or infeed that feeds it alone.")
    pdu: int | None = Field(default=None, ge=0, le=99, description="PDU in a chain; left out: the first.")
    inlet: int = Field(default=1, ge=1, le=99, description="Inlet or cord of the PDU.")
    channels: Annotated[dict[ChannelName, SnmpChannel], AfterValidator(each_once)] = Field(
        default_factory=dict, description="Readings by names of your own, if there is no `profile`."
    )

    @model_validator(mode="after")
    def _consistent(self) -> SnmpConfig:
        if (self.profile is None) != bool(self.channels):
            raise ValueError("needs profile or channels, one of them")
        if self.profile is None and (self.outlet or self.phase or self.pdu is not None):
            raise ValueError("has outlet, phase or pdu without a profile")
        if self.outlet is not None and self.phase is not None:
            raise ValueError("has outlet and phase; name one of them")
        if self.profile is not None and not PROFILES[self.profile].columns(self.outlet, self.phase)[2]:
            raise ValueError(f"{self.profile} has no {'outlets' if self.outlet else 'phases'} with a reading")
        if self.version != "3" and self.user is not None:
            raise ValueError("has a user, which only version 3 knows")
        if self.version == "3" and (self.user is None or self.has_password == (self.auth == "none")):
            raise ValueError(
                "version 3 needs user, and unless auth is none one of password_env, password_file, "
                "password_keyring"
            )
        if self.version == "3" and self.auth == "none" and self.privacy != "none":
            raise ValueError("cannot encrypt without authentication; set privacy: none as well")
        return self


@dataclass(frozen=True, slots=True)
class Item:
    """A channel and the object it is read from; ``digits`` is the object that says its decimal digits."""

    channel: Channel
    oid: str
    scale: float
    digits: str | None = None
    optional: bool = False
    signed: bool = True
    """whether a negative value is a reading, and not the word for none"""

    def reading(self, value: Value) -> Answer:
        """The value."""
        if value.number is None:
            return Missing(f"{self.oid}: {value.text}")
        if value.number < 0 and not self.signed:
            return Missing(f"{self.oid}: {value.number:g}, which this meter returns for no reading")
        return value.number * self.scale


def items(cfg: SnmpConfig) -> list[Item]:
    """What the settings ask for (pure)."""
    if cfg.profile is None:
        return [
            Item(
                quantity.channel(name, f"SNMP {quantity.oid}", quantity.scale),
                quantity.oid.lstrip("."),
                quantity.scale,
            )
            for name, quantity in cfg.channels.items()
        ]
    profile = PROFILES[cfg.profile]
    part, scope, columns = profile.columns(cfg.outlet, cfg.phase)
    numbers = {
        "pdu": profile.first_pdu if cfg.pdu is None else cfg.pdu,
        "inlet": cfg.inlet,
        "outlet": cfg.outlet or 0,
        "phase": cfg.phase or 0,
    }
    return [
        Item(
            Quantity(scope=scope, unit=column.unit, scale=column.scale).channel(
                f"{part}_{column.unit.lower()}", f"SNMP {column.object_name}", column.scale
            ),
            column.oid.format(**numbers),
            column.scale,
            digits=column.digits.format(**numbers) if column.digits else None,
            optional=column.unit == "J",
            signed=False,
        )
        for column in columns
    ]


class Snmp:
    """Outlets and inlets of rack PDUs, and other meters, over SNMP."""

    name: ClassVar[str] = "snmp"
    Config: ClassVar[type[PowerConfig]] = SnmpConfig

    def __init__(self, cfg: SnmpConfig) -> None:
        self._cfg = cfg

    def open(self, password: str | None) -> MeterSession:
        """Ask for everything once. Raises HostError, InvalidInput."""
        from linewatt.sensors.power.calls import Calls
        from linewatt.sensors.power.snmp.agent import Agent

        return SnmpSession(self._cfg, Calls(), Agent(self._cfg, password)).started()


class SnmpSession(Session):
    """An agent and what is read of it."""

    def __init__(self, cfg: SnmpConfig, calls: Calls, agent: Agent) -> None:
        super().__init__()
        self._cfg = cfg
        self._calls = calls
        self._agent = agent
        self._items: dict[str, Item] = {}

    def start(self, password: str | None) -> None:
        """Find out what there is. Raises HostError, InvalidInput."""
        self._calls.run(self._discover(), self._agent.awaited)

    async def _discover(self) -> None:
        wanted_items = items(self._cfg)
        oids = [oid for item in wanted_items for oid in (item.oid, item.digits) if oid is not None]
        values = await self._agent.get(oids)
        for item in wanted_items:
            value = values[item.oid]
            if item.optional and isinstance(item.reading(value), Missing):
                continue
            if value.absent:
                raise InvalidInput(f"{self._agent.who}: has no {await self._what_there_is(item)}")
            scale = item.scale * 10.0 ** -_digits(values.get(item.digits or ""))
            channel = replace(item.channel, step=item.channel.step if self._cfg.channels else scale)
            if channel.unit == "J" and value.range is not None:
                channel = replace(channel, wraps_at=value.range * scale)
            configured = as_configured(self._cfg, channel)
            self._items[configured.name] = replace(item, channel=configured, scale=scale)
            self._channels[configured.name] = configured

    async def _what_there_is(self, item: Item) -> str:
        """What is missing, and which there are instead."""
        outlet, phase = self._cfg.outlet, self._cfg.phase
        word, number = ("phase", phase) if outlet is None else ("outlet", outlet)
        if number is None:
            return f"{item.oid} ({item.channel.name}); see snmpwalk for what it has"
        column = item.oid.rpartition(".")[0] if item.digits is None else item.oid.rsplit(".", 2)[0]
        indices = await self._agent.indices(column)
        listed = (
            f"{word}s {', '.join(map(str, indices))}" if indices else f"no {word} with a reading of power"
        )
        return f"{word} {number} ({item.oid}); it has {listed}"

    def readings(self, names: Sequence[str]) -> dict[str, Answer]:
        """Ask for these objects."""
        item_by_name = {name: self._items[name] for name in names}
        values = self._calls.run(
            self._agent.get([item.oid for item in item_by_name.values()]), self._agent.awaited
        )
        return {name: item.reading(values[item.oid]) for name, item in item_by_name.items()}

    def close(self) -> None:
        """Nothing is left at the meter: SNMP knows no sessions."""
        self._agent.close()
        self._calls.close()


def _digits(value: Value | None) -> int:
    """Decimal digits of a reading, as its meter says them."""
    if value is None or value.number is None or not 0 <= value.number <= MOST_DIGITS:
        return 0
    return int(value.number)


DRIVER = Snmp
