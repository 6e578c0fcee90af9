# SPDX-License-Identifier: Apache-2.0
"""Watts from plugs and meters that answer HTTP with JSON, read from the controller.

Profiles for Tasmota and Shelly; for anything else, an address and where the numbers are in its answer.
Checked against a local server with what such plugs answered (tests/captures/http).

Energy totals of a first-generation Shelly begin at 0 after each of its restarts.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal

from pydantic import AfterValidator, BeforeValidator, Field, model_validator

from linewatt.errors import HostError, InvalidInput
from linewatt.missing import Missing
from linewatt.model import Channel
from linewatt.sensors.power.base import (
    Account,
    FilePath,
    MeterSession,
    NetworkAddress,
    PowerConfig,
    Secret,
    as_configured,
    each_once,
    is_here,
    no_login,
)
from linewatt.sensors.power.quantity import ChannelName, Quantity
from linewatt.sensors.power.session import Answer, Session

if TYPE_CHECKING:  # what is slow to import is imported when a meter is opened
    from linewatt.sensors.power.calls import Calls, JsonClient

KWH_J, WH_J, WATT_MINUTE_J = 3.6e6, 3600.0, 60.0

_KEY = r"[A-Za-z0-9_@#:][A-Za-z0-9_@#:%/ -]*(\[[0-9]+\])*"
_SECRETS = re.compile(
    r"[?&](user|password|passwd|pass|pwd|token|access_token|api_?key|auth_?key|secret)=", re.IGNORECASE
)
MOST_KEYS = 12


class HttpChannel(Quantity):
    """A reading by where it is in the answer."""

    path: Annotated[str, Field(pattern=rf"^{_KEY}(\.{_KEY})*$", examples=["meters[0].power"])] = Field(
        description="Keys to the number, with dots between them, and `[n]` for members of a list, from 0."
    )


@dataclass(frozen=True, slots=True)
class Reading:
    """Where a number is, and what it is; ``{meter}`` is the number of the device's meter."""

    name: str
    unit: Literal["W", "J"]
    path: str
    scale: float = 1.0
    step: float | None = None
    valid: str | None = None
    """where the device says whether the number is one"""


@dataclass(frozen=True, slots=True)
class Profile:
    """What a kind of device is asked, and what it answers: the first alternative that is there."""

    request: str
    alternatives: tuple[tuple[Reading, ...], ...]
    auth: Literal["basic", "digest"] = "basic"


PROFILES: Mapping[str, Profile] = {
    "tasmota": Profile(
        "/cm?cmnd=Status%208",
        (
            (  # devices with several meters answer with lists
                Reading("wall_w", "W", "StatusSNS.ENERGY.Power[{meter}]"),
                Reading("wall_j", "J", "StatusSNS.ENERGY.Total[{meter}]", KWH_J, step=WH_J),
            ),
            (
                Reading("wall_w", "W", "StatusSNS.ENERGY.Power"),
                Reading("wall_j", "J", "StatusSNS.ENERGY.Total", KWH_J, step=WH_J),
            ),
        ),
    ),
    "shelly-gen1": Profile(
        "/status",
        (
            (
                Reading("wall_w", "W", "meters[{meter}].power", valid="meters[{meter}].is_valid"),
                Reading("wall_j", "J", "meters[{meter}].total", WATT_MINUTE_J, WATT_MINUTE_J),
            ),
            (
                Reading("wall_w", "W", "emeters[{meter}].power", valid="emeters[{meter}].is_valid"),
                Reading("wall_j", "J", "emeters[{meter}].total", WH_J),
            ),
        ),
    ),
    "shelly-gen2": Profile(
        "/rpc/Switch.GetStatus?id={meter}",
        ((Reading("wall_w", "W", "apower"), Reading("wall_j", "J", "aenergy.total", WH_J)),),
        auth="digest",
    ),
}


class HttpConfig(PowerConfig, Secret):
    """Which device, or which address, is asked, and what of the answer is the host's."""

    profile: Literal["tasmota", "shelly-gen1", "shelly-gen2"] | None = Field(
        default=None, description="The kind of device, if `url` and `channels` are not given."
    )
    address: NetworkAddress | None = Field(
        default=None, description="Name or address of the device, with `profile`."
    )
    port: int = Field(default=80, ge=1, le=65535, description="TCP port, with `address`.")
    meter: int = Field(default=0, ge=0, le=99, description="Which of the device's meters, from 0.")
    url: Annotated[str | None, BeforeValidator(no_login)] = Field(
        default=None,
        pattern=r"^https?://[A-Za-z0-9_.:%\[\]-]+(/[A-Za-z0-9_.~:/?@!&()*+,=%\[\]-]*)?$",
        examples=["http://192.0.2.140/api/v1/data"],
        description="What is asked, if there is no `profile`.",
    )
    channels: Annotated[dict[ChannelName, HttpChannel], AfterValidator(each_once)] = Field(
        default_factory=dict, description="Readings by names of your own, with `url`."
    )
    user: Account | None = Field(
        default=None, description="User; left out: `admin` where there is a password."
    )
    auth: Literal["basic", "digest"] | None = Field(
        default=None, description="How the password is sent; left out: the profile's way, else `basic`."
    )
    insecure: bool = Field(
        default=False,
        description="Whether a password may go unencrypted (http), which everybody on the way can read.",
    )
    verify: bool = Field(default=True, description="Whether the certificate is checked.")
    ca_file: FilePath | None = Field(
        default=None, description="PEM file with the certificate's authority, or itself."
    )

    @model_validator(mode="after")
    def _consistent(self) -> HttpConfig:
        if (self.profile is None) != (self.address is None) or (self.url is None) != (not self.channels):
            raise ValueError("needs profile and address, or url and channels")
        if (self.profile is None) == (self.url is None):
            raise ValueError("needs profile and address, or url and channels; one of the two")
        if self.url is not None and _SECRETS.search(self.url):
            raise ValueError(
                "has a user, password or token in url; use user and password_env or password_file"
            )
        if self.user is not None and not self.has_password:
            raise ValueError("has a user without password_env, password_file or password_keyring")
        if self.ca_file is not None and not self.verify:
            raise ValueError("has ca_file and verify: false; leave one out")
        return self

    @property
    def way(self) -> Literal["basic", "digest"]:
        """How a password is sent."""
        return self.auth or (PROFILES[self.profile].auth if self.profile else "basic")

    @property
    def shows_password(self) -> bool:
        """Whether a password goes over a wire unencrypted, and nobody said that it may."""
        if not self.has_password or self.way == "digest" or self.insecure:
            return False
        return self.base_url.startswith("http://") and not is_here(self.base_url)

    @property
    def base_url(self) -> str:
        """Scheme, host and port."""
        if self.url is not None:
            return "/".join(self.url.split("/", 3)[:3])
        host = f"[{self.address}]" if ":" in str(self.address) else self.address
        return f"http://{host}:{self.port}"

    @property
    def request(self) -> str:
        """Path and query."""
        if self.profile is not None:
            return PROFILES[self.profile].request.format(meter=self.meter)
        return "/" + (self.url or "").partition("://")[2].partition("/")[2]


@dataclass(frozen=True, slots=True)
class Item:
    """A channel, and where its number is in the answer."""

    channel: Channel
    path: str
    scale: float
    valid: str | None = None
    needed: bool = True

    def reading(self, document: Any) -> Answer:
        """The value (pure)."""
        value, missing = at(document, self.path)
        if missing:
            return Missing(missing)
        number = _number(value)
        if number is None:
            shown = "null" if value is None else repr(str(value)[:40])
            return Missing(f"{self.path}: is {shown}, not a number")
        if self.valid is not None and at(document, self.valid)[0] is False:
            return Missing(f"{self.valid}: the device says that its reading is not valid")
        return number * self.scale


def items(cfg: HttpConfig) -> list[list[Item]]:
    """What the settings ask for (pure): alternatives, of which the first that is there counts."""
    if cfg.profile is None:
        return [
            [
                Item(reading.channel(name, f"HTTP {reading.path}"), reading.path, reading.scale)
                for name, reading in cfg.channels.items()
            ]
        ]
    profile = PROFILES[cfg.profile]
    return [
        [_profiled(cfg.meter, reading) for reading in alternative]
        for alternative in profile.alternatives
        if cfg.meter == 0 or "{meter}" in profile.request + alternative[0].path
    ]


def _profiled(meter: int, reading: Reading) -> Item:
    path = reading.path.format(meter=meter)
    quantity = Quantity(scope="wall", unit=reading.unit, scale=reading.scale, step=reading.step)
    valid = reading.valid.format(meter=meter) if reading.valid else None
    channel = quantity.channel(reading.name, f"HTTP {path}")
    return Item(channel, path, reading.scale, valid, needed=reading.unit == "W")


def at(document: Any, path: str) -> tuple[Any, str]:
    """What is there, or why nothing is: which key is missing, and which there are."""
    seen = ""
    for word in re.findall(r"[^.\[\]]+|\[\d+\]", path):
        if word.startswith("["):
            number = int(word[1:-1])
            if not isinstance(document, list) or number >= len(document):
                count = len(document) if isinstance(document, list) else "no"
                return None, f"{path}: {seen or 'the answer'} has {count} members, from [0]"
            document = document[number]
        else:
            if not isinstance(document, dict) or word not in document:
                keys = ", ".join(list(document)[:MOST_KEYS]) if isinstance(document, dict) else ""
                return None, f"{path}: no {word} in {seen or 'the answer'}; there is {keys or 'nothing'}"
            document = document[word]
        seen += word if word.startswith("[") or not seen else f".{word}"
    return document, ""


def _number(value: Any) -> float | None:
    """A number; some devices write it as a text."""
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        return None
    try:
        number = float(value)
    except (ValueError, OverflowError):
        return None
    return number if math.isfinite(number) else None


class HttpMeter:
    """Plugs and meters that answer HTTP with JSON: Tasmota, Shelly, or any by its address."""

    name: ClassVar[str] = "http"
    Config: ClassVar[type[PowerConfig]] = HttpConfig

    def __init__(self, cfg: HttpConfig) -> None:
        self._cfg = cfg

    def open(self, password: str | None) -> MeterSession:
        """Ask once, and see what there is. Raises HostError, InvalidInput."""
        from linewatt.sensors.power.calls import Calls, JsonClient, library

        cfg = self._cfg
        auth = None
        if password is not None:
            httpx = library("httpx")
            kind = httpx.DigestAuth if cfg.way == "digest" else httpx.BasicAuth
            auth = kind(cfg.user or "admin", password)
        who = f"http at {cfg.base_url}"
        client = JsonClient(who, cfg.base_url, verify=cfg.verify, ca_file=cfg.ca_file, auth=auth)
        return HttpSession(cfg, Calls(), client).started()


class HttpSession(Session):
    """A device and what is read of it."""

    def __init__(self, cfg: HttpConfig, calls: Calls, client: JsonClient) -> None:
        super().__init__()
        self._cfg = cfg
        self._calls = calls
        self._client = client
        self._who = f"http at {cfg.base_url}"
        self._items: dict[str, Item] = {}

    def start(self, password: str | None) -> None:
        """See what there is. Raises HostError, InvalidInput."""
        document, problem = self._ask()
        if problem:
            raise HostError(f"{self._awaited()}: {problem}")
        missing = ""
        for alternative in items(self._cfg):
            needed = [at(document, item.path)[1] for item in alternative if item.needed]
            missing = next(filter(None, needed), "")
            if not missing:
                self._take(alternative, document)
                return
        raise InvalidInput(f"{self._awaited()}: {missing}")

    def _take(self, alternative: list[Item], document: Any) -> None:
        for item in alternative:
            value, why = at(document, item.path)
            if why:
                continue  # a device without totals
            if isinstance(value, bool | dict | list):
                inside = (
                    f"has {', '.join(list(value)[:MOST_KEYS])}" if isinstance(value, dict) else repr(value)
                )
                raise InvalidInput(f"{self._awaited()}: {item.path}: is not a number but {inside[:200]}")
            is_integer = isinstance(value, int) and item.channel.step is None
            channel = replace(item.channel, step=item.scale) if is_integer else item.channel
            configured = as_configured(self._cfg, channel)
            self._items[configured.name] = replace(item, channel=configured)
            self._channels[configured.name] = configured

    def readings(self, names: Sequence[str]) -> dict[str, Answer]:
        """Ask once; all readings are in one answer."""
        document, problem = self._ask()
        return {name: Missing(problem) if problem else self._items[name].reading(document) for name in names}

    def _awaited(self) -> str:
        return f"{self._who}: {self._cfg.request}"

    def _ask(self) -> tuple[Any, str]:
        """The answer, or why it is none. Raises HostError when none comes, or the user is refused."""
        reply = self._calls.run(self._client.get(self._cfg.request), self._awaited)
        warning = reply.document.get("WARNING") if isinstance(reply.document, dict) else None
        if reply.status in (401, 403) or warning is not None:
            warning_text = f" and says {' '.join(str(warning).split())[:80]!r}" if warning is not None else ""
            raise HostError(
                f"{self._awaited()}: refuses ({reply.status}){warning_text}; check user and password"
            )
        if reply.status != 200:
            return None, f"status {reply.status}"
        return reply.document, reply.problem or ""

    def close(self) -> None:
        """End the connection."""
        try:
            self._calls.run(self._client.close(), self._awaited, 1.0)
        except HostError:
            return
        finally:
            self._calls.close()


DRIVER = HttpMeter
