# SPDX-License-Identifier: Apache-2.0
"""What is asked of an SNMP agent, with pysnmp on the event loop of one session."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from linewatt.errors import HostError, InvalidInput
from linewatt.sensors.power.calls import library

if TYPE_CHECKING:  # which imports this when a meter is opened
    from linewatt.sensors.power.snmp.meter import SnmpConfig

WAIT_S = 1.0
RETRIES = 2
OBJECTS = 10
"""How many are asked for at once: PDUs answer in one small packet."""
MOST_ROWS = 128
MIN_PASSPHRASE = 8  # RFC 3414 section 11.2

_AUTH = {
    "none": "usmNoAuthProtocol",
    "md5": "usmHMACMD5AuthProtocol",
    "sha": "usmHMACSHAAuthProtocol",
    "sha224": "usmHMAC128SHA224AuthProtocol",
    "sha256": "usmHMAC192SHA256AuthProtocol",
    "sha384": "usmHMAC256SHA384AuthProtocol",
    "sha512": "usmHMAC384SHA512AuthProtocol",
}
_PRIVACY = {
    "none": "usmNoPrivProtocol",
    "des": "usmDESPrivProtocol",
    "aes": "usmAesCfb128Protocol",
    "aes192": "usmAesCfb192Protocol",
    "aes256": "usmAesCfb256Protocol",
}
_RANGES = {"Counter32": 2**32, "Gauge32": 2**32, "Unsigned32": 2**32, "Counter64": 2**64}
_ABSENT = {
    "NoSuchObject": "no such object",
    "NoSuchInstance": "no such instance",
    "EndOfMibView": "no such object",
    "Null": "no such object",
}


@dataclass(frozen=True, slots=True)
class Value:
    """What an agent says of an object: a number, or ``text`` why it is none."""

    number: float | None
    text: str = ""
    absent: bool = False
    range: int | None = None
    """it wraps there, if it is a counter"""


class Agent:
    """One agent, and the community or passphrase it is asked with."""

    def __init__(self, cfg: SnmpConfig, password: str | None) -> None:
        self.who = f"snmp at {cfg.address}:{cfg.port}"
        self._api = library("pysnmp.hlapi.v3arch.asyncio")
        self._errors = library("pysnmp.error")
        self._cfg = cfg
        self._password = password
        self._auth = self._authentication()
        self._engine: Any = None
        self._target: Any = None

    def awaited(self) -> str:
        return f"{self.who}: an answer"

    def _authentication(self) -> Any:
        cfg, api = self._cfg, self._api
        if cfg.version != "3":
            return api.CommunityData(self._password or "public", mpModel=0 if cfg.version == "1" else 1)
        auth = privacy = self._password
        if auth is not None and cfg.privacy_separator is not None:
            auth, separator, privacy = auth.partition(cfg.privacy_separator)
            if not separator:
                raise InvalidInput(f"{self.who}: the password has no {cfg.privacy_separator!r} in it")
        if auth is not None and min(len(auth), len(privacy or "")) < MIN_PASSPHRASE:
            raise InvalidInput(f"{self.who}: a passphrase of SNMP 3 has {MIN_PASSPHRASE} characters or more")
        return api.UsmUserData(
            cfg.user,
            authKey=auth,
            privKey=privacy if cfg.privacy != "none" else None,
            authProtocol=getattr(api, _AUTH[cfg.auth]),
            privProtocol=getattr(api, _PRIVACY[cfg.privacy]),
        )

    async def get(self, oids: list[str]) -> dict[str, Value]:
        """What the agent says of these objects. Raises HostError."""
        # version 1 refuses all of them for one that it has not
        size = 1 if self._cfg.version == "1" else OBJECTS
        values: dict[str, Value] = {}
        for start in range(0, len(oids), size):
            part = oids[start : start + size]
            rows = await self._ask("get_cmd", part)
            if rows is None:
                values.update({oid: Value(None, "no such object", absent=True) for oid in part})
            else:
                values.update({oid: _value(row) for oid, row in zip(part, rows.values(), strict=False)})
        return {oid: values.get(oid, Value(None, "is not in the answer")) for oid in oids}

    async def indices(self, column: str) -> list[int]:
        """The numbers that follow a column's object identifier. Raises HostError."""
        indices: list[int] = []
        prefix, at = f"{column}.", column
        for _ in range(MOST_ROWS):
            rows = await self._ask("next_cmd", [at])
            following, value = next(iter(rows.items())) if rows else ("", None)
            if not following.startswith(prefix) or following == at or _value(value).absent:
                break
            number = int(following.removeprefix(prefix).partition(".")[0])
            if number not in indices:
                indices.append(number)
            at = following
        return indices

    async def _ask(self, command: str, oids: list[str]) -> dict[str, Any] | None:
        """Object identifier → value; None where version 1 says that there is no such object."""
        api = self._api
        try:
            if self._engine is None:
                self._engine = api.SnmpEngine()
                transport = api.Udp6TransportTarget if ":" in self._cfg.address else api.UdpTransportTarget
                place = (self._cfg.address, self._cfg.port)
                self._target = await transport.create(place, timeout=WAIT_S, retries=RETRIES)
            failure, status, _, rows = await getattr(api, command)(
                self._engine,
                self._auth,
                self._target,
                api.ContextData(),
                *(api.ObjectType(api.ObjectIdentity(oid)) for oid in oids),
                lookupMib=False,
            )
        except (self._errors.PySnmpError, OSError) as error:
            raise HostError(f"{self.who}: {self._error_text(error)}") from error
        if failure:
            raise HostError(f"{self.who}: {self._error_text(failure)}")
        if int(status) == 2:  # noSuchName
            return None
        if int(status):
            raise HostError(f"{self.who}: answers {self._error_text(status.prettyPrint())}")
        return {str(row[0]): row[1] for row in rows}

    def _error_text(self, error: object) -> str:
        """One line without the secret, and what to look at."""
        text = " ".join(str(error).split()) or type(error).__name__
        if type(error).__name__ == "RequestTimedOut":
            who = "user" if self._cfg.version == "3" else "community (a wrong one is not answered)"
            return f"no answer within {WAIT_S * (1 + RETRIES):g} s; check address, port and {who}"
        password, between = self._password or "", self._cfg.privacy_separator
        for secret in (password, *(password.split(between) if between else ())):
            text = text.replace(secret, "…") if secret else text
        return f"{text}; check user, password, auth and privacy" if self._cfg.version == "3" else text

    def close(self) -> None:
        if self._engine is not None:
            self._engine.close_dispatcher()


def _value(value: Any) -> Value:
    kind = type(value).__name__
    if kind in _ABSENT:
        return Value(None, _ABSENT[kind], absent=True)
    try:
        number = float(str(value)) if kind == "OctetString" else float(int(value))
    except (TypeError, ValueError, OverflowError):
        return Value(None, f"is {str(value)[:40]!r}, not a number")
    if abs(number) == float("inf") or number != number:
        return Value(None, f"is {number}, not a number")
    return Value(number, range=_RANGES.get(kind))
