# SPDX-License-Identifier: Apache-2.0
"""Watts from a BMC over Redfish, read from the controller; the host itself is not asked.

What there is is found once, when the session opens; a sweep then asks only for the resources with readings,
some of them at a time. What counts as a reading is in :mod:`linewatt.sensors.power.redfish.readings`. Checked
against what iDRAC9, iLO 5, Supermicro's X10 and GB NVL say (tests/captures/redfish).
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace
from typing import TYPE_CHECKING, Annotated, ClassVar, Literal

from pydantic import BeforeValidator, Field, model_validator

from linewatt.errors import HostError, InvalidInput
from linewatt.missing import Missing
from linewatt.sensors.power.base import (
    CALL_LIMIT_S,
    Account,
    FilePath,
    MeterSession,
    NetworkAddress,
    PowerConfig,
    Secret,
    as_configured,
    is_here,
    no_login,
)
from linewatt.sensors.power.redfish.readings import Resource, Source, clean, problems, sources
from linewatt.sensors.power.session import Answer, Session

if TYPE_CHECKING:  # what is slow to import is imported when a meter is opened
    from linewatt.sensors.power.calls import Calls, Reply
    from linewatt.sensors.power.redfish.service import Service

LOGOUT_S = 1.0
"""The part of a call that is kept to give the session back: BMCs have few."""


class RedfishConfig(PowerConfig, Secret):
    """How the service is reached, and what of it is the host."""

    url: Annotated[str | None, BeforeValidator(no_login)] = Field(
        default=None,
        pattern=r"^https?://[^/@\s?#]+/?$",
        examples=["https://192.0.2.110"],
        description="Where the service is, if `address` does not say it: `https://` or `http://`, no path.",
    )
    address: NetworkAddress | None = Field(
        default=None,
        description="Name or address of the BMC.",
    )
    port: int | None = Field(default=None, ge=1, le=65535, description="TCP port, with `address`.")
    user: Account | None = Field(default=None, description="User; left out: no login.")
    chassis: str | None = Field(
        default=None,
        pattern=r"^[A-Za-z0-9_*?\[][A-Za-z0-9_.*?\[\]:-]*$",
        max_length=100,
        examples=["1", "System.*"],
        description="Id of the enclosure, or a pattern with `*`; left out: that of the only system.",
    )
    parts: list[Literal["processors", "memory"]] = Field(
        default=["processors"],
        description="Parts of the system whose power is read where it is offered; each is a request.",
    )
    verify: bool = Field(default=True, description="Whether the certificate is checked.")
    ca_file: FilePath | None = Field(
        default=None, description="PEM file with the certificate's authority, or itself."
    )

    @model_validator(mode="after")
    def _consistent(self) -> RedfishConfig:
        if (self.url is None) == (self.address is None):
            raise ValueError("needs url or address, one of them")
        if self.port is not None and self.url is not None:
            raise ValueError("has port beside url; write it into the url")
        if (self.user is not None) != self.has_password:
            raise ValueError("needs user and one of password_env, password_file, password_keyring together")
        if self.user is not None and self.base_url.startswith("http://") and not is_here(self.base_url):
            raise ValueError("would send the password unencrypted; use https:// (verify: false if need be)")
        if self.ca_file is not None and not self.verify:
            raise ValueError("has ca_file and verify: false; leave one out")
        return self

    @property
    def base_url(self) -> str:
        """Scheme, host and port."""
        if self.url is not None:
            return self.url.rstrip("/")
        host = f"[{self.address}]" if ":" in str(self.address) else self.address
        return f"https://{host}:{self.port}" if self.port else f"https://{host}"


class Redfish:
    """Power supplies, enclosure and CPUs of a host by the Redfish service of its BMC."""

    name: ClassVar[str] = "redfish"
    Config: ClassVar[type[PowerConfig]] = RedfishConfig

    def __init__(self, cfg: RedfishConfig) -> None:
        self._cfg = cfg
        self._known: dict[str, Resource] = {}

    def open(self, password: str | None) -> MeterSession:
        """Log in and find what there is. Raises HostError, InvalidInput.

        What a slow service had said before time ran out is kept for the next try.
        """
        from linewatt.sensors.power.calls import Calls, JsonClient
        from linewatt.sensors.power.redfish.service import Service

        cfg = self._cfg
        who = f"redfish at {cfg.base_url}"
        client = JsonClient(who, cfg.base_url, verify=cfg.verify, ca_file=cfg.ca_file)
        service = Service(who, client, self._known)
        session = RedfishSession(cfg, Calls(), service).started(password)
        self._known.clear()
        return session


class RedfishSession(Session):
    """A login at a service."""

    def __init__(self, cfg: RedfishConfig, calls: Calls, service: Service) -> None:
        super().__init__()
        self._cfg = cfg
        self._calls = calls
        self._service = service
        self._sources: dict[str, Source] = {}

    def start(self, password: str | None) -> None:
        """Log in, choose the enclosures, find their readings. Raises HostError, InvalidInput."""
        self._calls.run(self._discover(password), self._service.awaited, CALL_LIMIT_S - LOGOUT_S)

    async def _discover(self, password: str | None) -> None:
        await self._service.login(self._cfg.user, password)
        chosen = await self._service.chosen(self._cfg.chassis)
        reasons = []
        for chassis in chosen:
            enclosure = await self._service.survey(chassis, self._cfg.parts)
            prefix = f"{clean(enclosure.name)}." if len(chosen) > 1 else ""
            for source in sources(enclosure):
                self._add(prefix, source)
            reasons += problems(enclosure) or [f"chassis {enclosure.name} reports no power"]
        if not self._sources:
            if self._service.failed:
                raise HostError(f"{self._service.who}: no reading of power: {self._service.failed[0]}")
            raise InvalidInput(
                f"{self._service.who}: this server has no power meter: no reading of power: {reasons[0]}; "
                "leave this source out, or name another enclosure with chassis"
            )

    def _add(self, prefix: str, source: Source) -> None:
        kind, _, part = source.channel.scope.partition(":")
        scope = f"{kind}:{prefix}{part}" if prefix and kind != "system" else source.channel.scope
        name = prefix + source.channel.name
        while name in self._sources:
            name += "_"
        channel = as_configured(self._cfg, replace(source.channel, name=name, scope=scope))
        self._sources[name] = replace(source, channel=channel)
        self._channels[name] = channel

    def readings(self, names: Sequence[str]) -> dict[str, Answer]:
        """Ask for the resources of these channels."""
        source_by_name = {name: self._sources[name] for name in names}
        paths = list(dict.fromkeys(source.path for source in source_by_name.values()))
        replies = self._calls.run(self._service.replies(paths), self._service.awaited)
        return {name: _value(source, replies[source.path]) for name, source in source_by_name.items()}

    def abandon(self) -> None:
        """A service that is slow to answer may be slow to let go."""
        self.close(LOGOUT_S)

    def close(self, limit_s: float = 2 * LOGOUT_S) -> None:
        """Give the login back, as far as the service still answers."""
        with suppress(HostError):  # it ends by itself when its time is over
            self._calls.run(self._service.logout(), self._service.awaited, limit_s)
        self._calls.close()


def _value(source: Source, reply: Reply) -> Answer:
    if reply.status != 200 or reply.problem is not None:
        return Missing(f"{source.path}: {reply.problem or f'status {reply.status}'}")
    return source.reading(reply.document)


DRIVER = Redfish
