# SPDX-License-Identifier: Apache-2.0
"""The kinds of values a campaign file holds: each checks itself and says what would be right.

Every text that could reach a host has a pattern of its own, so that quotes, ``$(…)``, line breaks and a
leading ``-`` never get further than this file. The checks raise ``ValueError("must be …")``.
"""

from __future__ import annotations

import re
import unicodedata
from typing import TYPE_CHECKING, Annotated, Any, Literal, TypeVar

from pydantic import (
    AfterValidator,
    BeforeValidator,
    Discriminator,
    Field,
    GetJsonSchemaHandler,
    Tag,
    WithJsonSchema,
)

from linewatt.campaign.campaign import AUTO
from linewatt.campaign.entries.addresses import IPv4, IPv6
from linewatt.campaign.entries.quantities import text_schema
from linewatt.campaign.port_choice import PortName
from linewatt.errors import InvalidInput
from linewatt.hosts.facts import MAX_CPUS, format_cpulist, parse_cpulist
from linewatt.sensors.power import FilePath as FilePath
from linewatt.sensors.power import text_matching
from linewatt.sizes import OTHER_TESTS, SIZED, checked_test
from linewatt.units import parse_rate

if TYPE_CHECKING:  # a fiftieth of a second
    from pydantic.json_schema import JsonSchemaValue
    from pydantic_core import CoreSchema

T = TypeVar("T")

FIRST_PORT = 1024
"""ports below need root, which no load has"""
LAST_PORT = 65535
MAX_INSTANCES = 1024
MAX_STREAMS = 128
"""of one load process; a load may have fewer"""
MAX_DATA_PORTS = 16
MAX_WEIGHT = 100
"""of a data port"""
PORT_SPAN = 1024
"""how many ports a single number stands for"""

HOST_NAME = r"[A-Za-z0-9][A-Za-z0-9._-]{0,62}"
_PORTS = r"([0-9]{1,5})\s*-\s*([0-9]{1,5})"


CampaignName: Any = text_matching(
    r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}",
    "must be 1 to 64 letters, digits, dots, underscores and dashes, a letter or digit first",
    "vxlan-cost",
)
HostName: Any = text_matching(
    HOST_NAME,
    "a host name must be 1 to 63 letters, digits, dots, underscores and dashes, a letter or digit first",
    "dut",
)
UserName: Any = text_matching(
    r"[A-Za-z0-9_][A-Za-z0-9._@-]{0,63}",
    "must be a login name of letters, digits, dots, underscores, dashes and @",
    "perf",
)
InterfaceName: Any = text_matching(
    r"[A-Za-z0-9_][A-Za-z0-9_.-]{0,14}",
    "must be an interface name: at most 15 letters, digits, dots, underscores and dashes",
    "enp1s0f0np0",
)
GroupName: Any = text_matching(
    r"[A-Za-z0-9_][A-Za-z0-9_.-]{0,63}", "must be the name of an inventory group", "lab"
)
SysctlKey: Any = text_matching(
    r"[A-Za-z][A-Za-z0-9_-]*(?:[./][A-Za-z0-9_-]+)+",
    "must be a kernel parameter such as net.core.rmem_max",
    "net.core.rmem_max",
)

FactorName: Any = text_matching(
    r"[A-Za-z][A-Za-z0-9_.-]{0,63}",
    "must be the name of a factor: letters, digits, dots, underscores and dashes, a letter first",
    "mtu",
)
FactName: Any = text_matching(
    r"[a-z]+\.[a-z0-9_.]+",
    "must be a fact by section and name, as in the report's configuration",
    "kernel.release",
)


ResultId: Any = text_matching(
    r"[A-Za-z0-9][A-Za-z0-9._-]{0,127}",
    "must be the id of a stored result, its beginning, or last",
    "20261122-215421-preliminary",
)


Test = Annotated[
    str,
    BeforeValidator(checked_test),
    Field(json_schema_extra={"anyOf": [{"enum": [*OTHER_TESTS]}, {"pattern": f"^{SIZED}$"}]}),
]


def _description(text: str) -> str:
    if len(text) > 10_000:
        raise ValueError("must be at most 10000 characters")
    if any(unicodedata.category(character) == "Cc" and character not in "\n\t" for character in text):
        raise ValueError("must not hold control characters")
    return text


Description = Annotated[str, AfterValidator(_description), Field(json_schema_extra={"maxLength": 10_000})]


def _cpus(value: object) -> tuple[int, ...]:
    if isinstance(value, str):
        try:
            value = parse_cpulist(value)
        except InvalidInput as error:
            raise ValueError(str(error)) from None
    elif isinstance(value, int) and not isinstance(value, bool):
        value = [value]
    if not isinstance(value, (list, tuple)):
        raise ValueError("must be CPUs: a list such as 0-3,8 or [0, 1, 2, 3, 8], or one number")
    if not value:
        raise ValueError("names no CPU; leave the key out for no choice")
    for cpu in value:
        if not isinstance(cpu, int) or isinstance(cpu, bool) or not 0 <= cpu < MAX_CPUS:
            raise ValueError(f"CPU {cpu!r} is impossible; a CPU is a whole number from 0 to {MAX_CPUS - 1}")
    if len(set(value)) < len(value):
        repeated = next(cpu for cpu in value if value.count(cpu) > 1)
        raise ValueError(f"names CPU {repeated} twice; name it once")
    return tuple(sorted(value))


_CPU_SCHEMA = {"type": "integer", "minimum": 0, "maximum": MAX_CPUS - 1}
CpuSet = Annotated[
    tuple[int, ...],
    BeforeValidator(_cpus),
    WithJsonSchema(
        {
            "anyOf": [
                text_schema(r"[0-9]+(-[0-9]+)?(\s*,\s*[0-9]+(-[0-9]+)?)*", "must be CPUs, such as 0-3,8"),
                {"type": "array", "items": _CPU_SCHEMA, "minItems": 1, "uniqueItems": True},
                _CPU_SCHEMA,
            ],
            "examples": ["0-3,8"],
        }
    ),
]


def _rate_or_auto(value: object) -> float | Literal["auto"]:
    return AUTO if value == AUTO else parsed_rate(value)


RATE_EXPECTED = 'must be a rate above 0 with its unit, such as "500M" or "3.5G" (bit/s)'


def parsed_rate(value: object) -> float:
    """Bit/s of a rate with its unit. Raises ValueError with what would be right."""
    if not isinstance(value, str):
        raise ValueError(RATE_EXPECTED)
    try:
        rate_bps = parse_rate(value)
    except InvalidInput:
        raise ValueError(RATE_EXPECTED) from None
    if value.strip()[-1:].isdigit():
        raise ValueError('must have a unit, such as "500M" or "3.5G" (bit/s)')
    if not 1e3 <= rate_bps <= 1e13:
        raise ValueError("must be from 1 kbit/s to 10 Tbit/s")
    return rate_bps


RATE_PATTERN = r"[0-9]+(\.[0-9]+)?\s*([kKmMgGtT]|[kKmMgGtT]?(bps|bit/s))"
Rate = Annotated[
    float, BeforeValidator(parsed_rate), WithJsonSchema(text_schema(RATE_PATTERN, RATE_EXPECTED))
]
RateOrAuto = Annotated[
    float | Literal["auto"],
    BeforeValidator(_rate_or_auto),
    WithJsonSchema(text_schema(f"(auto|{RATE_PATTERN})", f"{RATE_EXPECTED}, or auto")),
]


def _ports(value: object) -> tuple[int, int]:
    match = re.fullmatch(_PORTS, value, re.ASCII) if isinstance(value, str) else None
    if match:
        first, last = int(match[1]), int(match[2])
    elif isinstance(value, int) and not isinstance(value, bool):
        first, last = value, max(value, min(value + PORT_SPAN - 1, LAST_PORT))
    else:
        raise ValueError('must be a port range such as "5201-5264", or the first of 1024 ports')
    if min(first, last) < FIRST_PORT or max(first, last) > LAST_PORT:
        raise ValueError(f"must lie within {FIRST_PORT}-{LAST_PORT} (lower ports need root)")
    if last < first:
        raise ValueError(f'runs backwards; write "{last}-{first}"')
    return first, last


def _levels(value: object) -> tuple[float, ...]:
    if not isinstance(value, (list, tuple)):
        raise ValueError("must be a list of percentages such as [100, 75, 50, 25, 0]")
    for level in value:
        if isinstance(level, bool) or not isinstance(level, (int, float)) or not 0 <= level <= 100:
            raise ValueError(f"level {level!r} is impossible; a level is a percentage from 0 to 100")
    if len(set(value)) < len(value):
        repeated = next(level for level in value if value.count(level) > 1)
        raise ValueError(f"names level {repeated:g} twice; name it once")
    return tuple(float(level) for level in value)


Levels = Annotated[
    tuple[float, ...],
    BeforeValidator(_levels),
    Field(max_length=101),
    WithJsonSchema(
        {
            "type": "array",
            "items": {"type": "number", "minimum": 0, "maximum": 100},
            "uniqueItems": True,
            "maxItems": 101,
        }
    ),
]


_PORT_NUMBER = {"type": "integer", "minimum": FIRST_PORT, "maximum": LAST_PORT}
Ports = Annotated[
    tuple[int, int],
    BeforeValidator(_ports),
    WithJsonSchema(
        {"anyOf": [text_schema(r"[0-9]+\s*-\s*[0-9]+", "must be ports, such as 5201-5210"), _PORT_NUMBER]}
    ),
]


def _sysctl_value(value: object) -> str:
    if isinstance(value, int) and not isinstance(value, bool) and abs(value) < 1 << 64:
        return str(value)
    if isinstance(value, str) and re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9 ._-]{0,255}", value, re.ASCII):
        return " ".join(value.split())
    raise ValueError("must be a number, or text of letters, digits, blanks and . _ -")


SysctlValue = Annotated[
    str,
    BeforeValidator(_sysctl_value),
    WithJsonSchema(
        {"anyOf": [{"type": "integer"}, {"type": "string", "pattern": "^[A-Za-z0-9][A-Za-z0-9 ._-]{0,255}$"}]}
    ),
]


def _to_tuple(value: object) -> object:
    return tuple(value) if isinstance(value, list) else value


def _one_to_tuple(value: object) -> object:
    if isinstance(value, int) and not isinstance(value, bool):
        return (value,)
    if not isinstance(value, (list, tuple)):
        raise ValueError("must be a whole number or a list of them")
    return tuple(value)


def _numbers_or_auto(value: object) -> object:
    if not isinstance(value, (int, list, tuple)) or isinstance(value, bool):
        raise ValueError("must be a whole number, a list of them, or auto")
    return value


def _not_a_host(value: object) -> object:
    if isinstance(value, dict):
        raise ValueError("a host cannot be called inventory; that key names an Ansible inventory")
    return value


def _not_a_path(value: object) -> object:
    if not isinstance(value, dict):
        raise ValueError("must be a mapping of host names to hosts, or the path of an Ansible inventory")
    return value


def _all(text: str) -> str:
    if text != "all":
        raise ValueError('must be all, or a list such as ["gen -> dut"]')
    return text


def _unique(values: tuple[T, ...]) -> tuple[T, ...]:
    seen: set[T] = set()
    for value in values:
        if value in seen:
            raise ValueError(f"names {value} twice; name it once")
        seen.add(value)
    return values


NotAHost = BeforeValidator(_not_a_host)
NotAPath = BeforeValidator(_not_a_path)
All = Annotated[str, AfterValidator(_all), Field(json_schema_extra={"const": "all"})]
AsTuple = BeforeValidator(_to_tuple)
"""a YAML list, kept as a tuple"""
OneOrMany = BeforeValidator(_one_to_tuple)
"""the same, where a single number may stand for a list of one"""
Unique = AfterValidator(_unique)


def _counts(maximum: int) -> Any:
    """One number, or a list of different ones, from 1 to ``maximum``."""
    number = {"type": "integer", "minimum": 1, "maximum": maximum}
    numbers = {"type": "array", "items": number, "minItems": 1, "uniqueItems": True}
    return Annotated[
        tuple[Annotated[int, Field(ge=1, le=maximum)], ...],
        Field(min_length=1),
        OneOrMany,
        Unique,
        WithJsonSchema({"anyOf": [numbers, number]}),
    ]


def _or_auto(numbers: Any) -> Any:
    """The same, or the word auto."""
    return Annotated[
        Annotated[Literal["auto"], Tag("auto")]
        | Annotated[numbers, BeforeValidator(_numbers_or_auto), Tag("numbers")],
        Discriminator(lambda value: "auto" if value == AUTO and isinstance(value, str) else "numbers"),
    ]


def _one_or_several(value: object) -> object:
    return tuple(value) if isinstance(value, (list, tuple)) else (value,)


class _OneOrSeveral:
    """Shown as one text or a list of them; made where a schema is asked for, as a kind's own takes time."""

    def __get_pydantic_json_schema__(
        self, core_schema: CoreSchema, handler: GetJsonSchemaHandler
    ) -> JsonSchemaValue:
        item_schema = handler(core_schema)["items"]
        several = {"type": "array", "items": item_schema, "minItems": 1, "maxItems": MAX_DATA_PORTS}
        return {"anyOf": [item_schema, several | {"uniqueItems": True}]}


def _of_ports(kind: Any) -> Any:
    """One text, or a list of different ones: one for each data port."""
    return Annotated[
        tuple[kind, ...],
        Field(min_length=1, max_length=MAX_DATA_PORTS),
        BeforeValidator(_one_or_several),
        AfterValidator(_unique),
        _OneOrSeveral(),
    ]


def _port_choice(value: object) -> tuple[PortName, ...]:
    ports = tuple(value) if isinstance(value, (list, tuple)) else (value,)
    if not ports:
        raise ValueError("names no data port; leave the key out for all")
    for port in ports:
        if isinstance(port, bool) or not isinstance(port, (str, int)) or port == "":
            raise ValueError(f"must be interfaces, or positions from 1, of hosts.*.data, got {port!r}")
        if isinstance(port, int) and not 1 <= port <= MAX_DATA_PORTS:
            raise ValueError(f"data port {port} is impossible; positions are from 1 to {MAX_DATA_PORTS}")
    return _unique(ports)


_PORT_CHOICE_SCHEMA = {
    "anyOf": [
        {"type": "string", "minLength": 1},
        {"type": "integer", "minimum": 1, "maximum": MAX_DATA_PORTS},
    ]
}
PortChoice = Annotated[
    tuple[PortName, ...],
    BeforeValidator(_port_choice),
    WithJsonSchema(
        {
            "anyOf": [
                *_PORT_CHOICE_SCHEMA["anyOf"],
                {
                    "type": "array",
                    "items": _PORT_CHOICE_SCHEMA,
                    "minItems": 1,
                    "maxItems": MAX_DATA_PORTS,
                    "uniqueItems": True,
                },
            ]
        }
    ),
]
"""some of the data ports of hosts"""
Interfaces: Any = _of_ports(InterfaceName)
IPv4s: Any = _of_ports(IPv4)
IPv6s: Any = _of_ports(IPv6)
Weights = Annotated[
    tuple[Annotated[int, Field(ge=1, le=MAX_WEIGHT)], ...],
    Field(min_length=2, max_length=MAX_DATA_PORTS),
    AsTuple,
]
Instances: Any = _counts(MAX_INSTANCES)
InstancesOrAuto: Any = _or_auto(Instances)
Streams: Any = _counts(MAX_STREAMS)


def cpus_text(cpus: tuple[int, ...] | None) -> str:
    """A CPU set for people: ``0-3,8``, or ``all``."""
    return "all" if cpus is None else format_cpulist(cpus)
