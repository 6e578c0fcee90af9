# SPDX-License-Identifier: Apache-2.0
"""What every source of power readings has in common: settings, scopes, channels, secrets.

A campaign names sources of power per host (``power: {bmc: {driver: ipmi, …}}``). A driver is one file with a
class that is made from its settings. There are two kinds:

- **streams** run on the host like any other sensor (:class:`linewatt.sensors.base.Sensor`): an argument list,
  and a pure parser of one record. Their readings cost the host CPU time, so it is stated in their docstring.
- **meters** are read from the controller (:class:`Meter`): a session in a thread of its own.
"""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace
from typing import Annotated, Any, ClassVar, Literal, Protocol, Self, get_args
from urllib.parse import urlsplit

from pydantic import AfterValidator, Field, model_validator

from linewatt.document import Part
from linewatt.errors import ParseError
from linewatt.foreign import read_json
from linewatt.hosts import check_address, is_loopback
from linewatt.model import Channel

CALL_LIMIT_S = 5.0
"""No call of a meter may wait longer."""

PowerScope = Literal[
    "wall",  # AC or DC into the whole host, from a meter or a PDU outlet
    "psu-in",  # into one power supply
    "psu-out",  # DC out of one power supply
    "system",  # all of the host as its firmware says it (DCMI, Redfish), input side unless it says otherwise
    "cpu",  # all CPUs as the board measures them
    "memory",
    "fan",
    "psys",  # RAPL platform
    "package",  # RAPL: one socket; contains its core and uncore
    "core",
    "uncore",
    "dram",
    "gpu",
    "nic",
    "other",
]


def text_matching(pattern: str, expectation: str, example: str) -> Any:
    """A type for text that matches ``pattern`` from end to end; the schema shows the same pattern."""
    compiled = re.compile(pattern, re.ASCII)

    def check(text: str) -> str:
        if not compiled.fullmatch(text):
            raise ValueError(expectation)
        return text

    for_editors: dict[str, Any] = {"pattern": f"^(?:{pattern})$", "patternErrorMessage": expectation}
    return Annotated[str, AfterValidator(check), Field(examples=[example], json_schema_extra=for_editors)]


FilePath = text_matching(
    r"(?![-\s])[^\x00-\x1f\x7f-\x9f\u2028\u2029\x22'`$;&|<>*?\\]{1,1024}",
    "must be a path without quotes, $ and other shell characters, and no dash first",
    "~/.ssh/id_ed25519",
)
NetworkAddress = Annotated[
    str,
    AfterValidator(lambda text: check_address(text, "must be an IP address or a DNS name")),
    Field(
        examples=["192.0.2.110"],
        json_schema_extra={"pattern": "^(?:[A-Za-z0-9_:][A-Za-z0-9_.:-]{0,252})$"},
    ),
]
Account = text_matching(
    r"[A-Za-z0-9_][A-Za-z0-9 ._@\\+-]{0,63}",
    "must be a user of the device: letters, digits, dots, underscores, dashes, + and @",
    "admin",
)


def no_login(url: object) -> object:
    """An address as it is written; raises ValueError, which does not repeat it, where a login is in it."""
    if isinstance(url, str) and "@" in url.partition("?")[0]:
        raise ValueError("has a user or password in it; use user, and password_env or password_file")
    return url


def is_here(url: str) -> bool:
    """Whether a URL is of this machine, so that nothing of it goes over a wire."""
    return is_loopback(urlsplit(url).hostname or "")


ScopeName = Annotated[
    str,
    Field(
        pattern=rf"^({'|'.join(get_args(PowerScope))})(:[A-Za-z0-9_.:#/+ -]{{1,60}})?$",
        examples=["psu-in:PSU1"],
    ),
]
"""A scope as a user writes it: ``<PowerScope>`` or ``<PowerScope>:<part>``."""


class PowerConfig(Part):
    """Settings that every source of power has; a driver's own ``Config`` extends it."""

    interval_s: float = Field(default=1.0, ge=0.1, le=60.0, description="Seconds between readings.")
    tolerance_percent: float | None = Field(
        default=None,
        ge=0,
        le=100,
        description="Accuracy of the readings, ± % of the value; left out: the driver's.",
    )
    refresh_s: float | None = Field(
        default=None,
        gt=0,
        le=600,
        description="Seconds between refreshes of the meter itself, where known; left out: learned.",
    )
    averaging_s: float | None = Field(
        default=None,
        ge=0,
        le=600,
        description="Seconds that each of its readings is the mean of, where known; left out: learned.",
    )
    simulated: bool = Field(
        default=False,
        description="Readings come from a simulator, and are marked so wherever they are shown.",
    )


class Secret(Part):
    """Where a password comes from: an environment variable, a file or a keyring, never the campaign."""

    password_env: Annotated[str, Field(pattern=r"^[A-Za-z_][A-Za-z0-9_]*$")] | None = Field(
        default=None, description="Environment variable of the controller that holds the password."
    )
    password_file: FilePath | None = Field(  # type: ignore[valid-type]  # made at run time
        default=None,
        description="File that holds the password in its first line, relative to the file that names it.",
    )
    password_keyring: Annotated[str, Field(pattern=r"^[^/]+/[^/]+$")] | None = Field(
        default=None, description="`service/user` in the controller's keyring."
    )

    @model_validator(mode="after")
    def _one_password(self) -> Self:
        named = [name for name in Secret.model_fields if getattr(self, name) is not None]
        if len(named) > 1:
            raise ValueError(f"names {' and '.join(named)}; name the password once")
        return self

    @property
    def has_password(self) -> bool:
        """Whether a password is named anywhere."""
        return any(getattr(self, name) is not None for name in Secret.model_fields)


@dataclass(frozen=True, slots=True)
class MeterRecord:
    """One reading of a meter: when it began and ended (Unix seconds), and what it said, by channel."""

    begin_s: float
    end_s: float
    values: Mapping[str, float | None]
    reasons: Mapping[str, str]

    def line(self) -> str:
        """As it is kept in ``raw/``: one line of JSON."""
        return json.dumps(
            {
                "begin_s": round(self.begin_s, 6),
                "end_s": round(self.end_s, 6),
                "values": dict(self.values),
                "reasons": dict(self.reasons),
            }
        )


def parse_record(line: str) -> MeterRecord:
    """What :meth:`MeterRecord.line` wrote. Raises ParseError."""
    try:
        document = read_json(line, "a reading")
        values = {
            str(name): None if value is None else float(value) for name, value in document["values"].items()
        }
        return MeterRecord(
            float(document["begin_s"]), float(document["end_s"]), values, dict(document["reasons"])
        )
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise ParseError(f"a reading cannot be read: {line[:60]!r}: {error}") from error


class MeterSession(Protocol):
    """An open session with a meter. It is used by one thread; every call returns within CALL_LIMIT_S."""

    @property
    def channels(self) -> Mapping[str, Channel]:
        """What it delivers, by name; known once it is open."""

    def read(self, names: Collection[str] | None = None) -> dict[str, float | None]:
        """Read all channels, or some. A single reading that is not available is None (see ``reasons``).

        Raises HostError when the meter does not answer or ends the session.
        """

    @property
    def reasons(self) -> Mapping[str, str]:
        """Why channels of the last reading were None."""

    def close(self) -> None:
        """End the session; never raises."""


class Meter(Protocol):
    """A source that is read from the controller; made from its settings."""

    name: ClassVar[str]
    Config: ClassVar[type[PowerConfig]]

    def __init__(self, cfg: Any) -> None: ...

    def open(self, password: str | None) -> MeterSession:
        """Connect and find out what there is.

        Raises HostError (what failed, where, what to do; never with the password in it) when it cannot be
        reached, and InvalidInput when the settings ask for what it does not have: the message lists what
        there is.
        """


_ALWAYS_DRAWS = ("wall", "psu-in", "psu-out", "system", "cpu", "package")


def no_meter(channels: Mapping[str, Channel], values: Mapping[str, float | None]) -> str | None:
    """Why a source measures nothing: all its power of a host that runs is 0 W; ``None`` if it does."""
    readings = [
        (channels[name], value) for name, value in values.items() if name in channels and value is not None
    ]
    watts = [
        (channel.scope.partition(":")[0], value) for channel, value in readings if channel.unit in ("W", "J")
    ]
    if any(value for _, value in watts) or not any(scope in _ALWAYS_DRAWS for scope, _ in watts):
        return None
    return "this server has no power meter: every reading of power is 0 W; leave this source out"


def each_once(channels: dict[str, Any]) -> dict[str, Any]:
    """Channels that a user describes; raises ValueError where two of them would count the same watts."""
    seen: dict[tuple[str, str], str] = {}
    for name, channel in channels.items():
        first_name = seen.setdefault((channel.scope, channel.unit), name)
        if channel.unit in ("W", "J") and first_name != name:
            kind = channel.scope.partition(":")[0]
            raise ValueError(
                f"{first_name} and {name} are both {channel.scope} in {channel.unit}, of which only one "
                f"would count; give each a scope of its own, such as {kind}:{first_name} and {kind}:{name}"
            )
    return channels


def as_configured(cfg: PowerConfig, channel: Channel) -> Channel:
    """A driver's channel with what the settings say of it: simulated, and its accuracy.

    Drivers name the scope as ``<PowerScope>:<part>`` (``psu-out:PSU1``), and give unit W for power, J for a
    running total of energy (kind counter), or rpm, V, A for what stands beside.
    """
    percent = cfg.tolerance_percent
    return replace(
        channel,
        provenance="simulated" if cfg.simulated else channel.provenance,
        tolerance_ratio=channel.tolerance_ratio if percent is None else percent / 100,
    )
