# SPDX-License-Identifier: Apache-2.0
"""What a BMC's sensor measures, told from its name. Pure.

IPMI has a field for input or output, which vendors leave empty. The names are those of real boards
(tests/unit/sensors/test_ipmi_names.py says of which, and where from). A name that says no direction, such as
HPE's `Power Supply 1`, is not guessed at. Patterns are Python's regular expressions and POSIX extended ones,
so that bash can choose by them, too; they are put to a name as :func:`normal` makes it.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated

from pydantic import BeforeValidator, Field

from linewatt.sensors.power.base import text_matching

DCMI = "dcmi"
DCMI_SCOPE = "system:DCMI"

_SensorName = text_matching(
    r"[A-Za-z0-9_*?\[#+(][A-Za-z0-9_ .,+/*?\[\]!#()%:-]{0,63}",
    "must be a sensor's name, a pattern such as PSU* Power In, or a number such as 94h",
    "PSU1 Power In",
)
SensorNames = Annotated[
    tuple[_SensorName, ...],  # type: ignore[valid-type]  # made at run time
    BeforeValidator(lambda value: tuple(value) if isinstance(value, list) else value),
    Field(min_length=1, max_length=255),
]
"""names, patterns (`*`, `?`, `[…]`) and numbers (`94h`) of sensors"""


@dataclass(frozen=True, slots=True)
class Row:
    """Names of one kind: the scope they have, and the part of it.

    ``part`` is a template: ``{number}`` is the second group of the pattern, ``{name}`` the sensor's own name.
    ``is_total`` marks a reading that contains all others of its scope.
    """

    unit: str
    scope: str
    part: str
    pattern: str
    is_total: bool = False


_SUPPLY = "(psu|ps|pws|power supply) *([0-9]+|[a-d]) *"
_CPU = "(cpu|p|proc|processor) *([0-9]+) *"
_POWER = "(total |package |pkg |socket )?(power|pwr)"

# Names have 16 characters, some BMCs' 14: "PSU1 Output Power" has lost its last one, or more.
_IN = (
    "(power in|pwr in|in power|in pwr|input|input pow(er?)?|input pwr|ac in|ac in power|ac in pwr"
    "|ac input pow(er?)?|pin|p in)"
)
_OUT = (
    "(power out|pwr out|out power|out pwr|output|output po(we?r?)?|output pwr|dc out|dc out power"
    "|dc out pwr|dc output po(we?r?)?|pout|p out)"
)

_PLACE = "([0-9]+ )?((bb|mb|front|rear) )?"
_TEMP = "( *(temp|temperature))?"

TABLE = (
    Row("W", "psu-in", "PSU", f"(psu|ps) {_IN}", is_total=True),
    Row("W", "psu-out", "PSU", f"(psu|ps) {_OUT}", is_total=True),
    Row(
        "W",
        "psu-in",
        "PSU{number}",
        f"{_SUPPLY}{_IN}",
    ),
    Row(
        "W",
        "psu-out",
        "PSU{number}",
        f"{_SUPPLY}{_OUT}",
    ),
    # AMI MegaRAC (ASUS and others): what PMBus says of a supply; it is taken for what the supply takes in.
    Row("W", "psu-in", "PSU{number}", "(pmb|pmbus) *([0-9]+) *(power|pwr)"),
    Row("W", "psu-in", "PSU{number}", "(pmb *power|pmbus *power) *([0-9]+)"),
    # A node is this host; a chassis may hold others, and comes last of all.
    Row("W", "system", "{name}", "node *(power|pwr)", is_total=True),
    Row("W", "system", "{name}", "(system|sys) *(total )?(power|pwr)( consumption)?", is_total=True),
    Row("W", "system", "{name}", "(power|pwr|pw) consumption", is_total=True),
    Row("W", "system", "{name}", "(total|tot|server) *(power|pwr)", is_total=True),
    Row("W", "system", "{name}", "system level", is_total=True),
    Row("W", "system", "{name}", "(current|present) (power|pwr)", is_total=True),
    Row("W", "system", "{name}", "power( meter)?", is_total=True),
    Row("W", "system", "{name}", "pwr *meter( output)?", is_total=True),
    # A hot-swap controller: what the whole board takes
    Row("W", "system", "{name}", "(mb )?hsc (input|in) (power|pwr)", is_total=True),
    Row("W", "system", "{name}", "(avg|average) (power|pwr)", is_total=True),
    Row("W", "system", "{name}", "(power|pwr) usage", is_total=True),
    Row("W", "system", "{name}", "chassis *(power|pwr)", is_total=True),
    Row("W", "cpu", "CPU", f"(total )?(cpu|cpus|processor|processors) *{_POWER}", is_total=True),
    Row("W", "cpu", "CPU{number}", f"{_CPU}{_POWER}"),
    Row("W", "memory", "Memory", f"(total )?(memory|mem|dimm|dimms|dram) *{_POWER}", is_total=True),
    Row("W", "memory", "CPU{number}", f"{_CPU}(memory|mem|dimm|dimms|dram) *{_POWER}"),
    Row("W", "memory", "CPU{number}", "(memory|mem) proc *([0-9]+) *(power|pwr)"),
    Row("W", "memory", "Cache", "(memory|mem) cache *(power|pwr)"),  # POWER8's memory buffers
    Row("W", "gpu", "GPU", "(total )?(gpu|gpus) *(power|pwr)", is_total=True),
    Row("W", "fan", "fans", f"(total )?(fan|fans) *{_POWER}", is_total=True),
    Row("W", "fan", "{name}", "(fan|fans) *(power|pwr) [a-d]"),
    Row("rpm", "fan", "{name}", ".*"),
    # HPE has no rpm. It says the same again as "Fan 1 DutyCycle".
    Row("ratio", "fan", "{name}", "fan( block)? *[0-9]+[a-z]?"),
    # Of dozens of temperatures the air and the CPUs: each one more is a request. Margins are no temperatures.
    Row(
        "°C",
        "temperature",
        "{name}",
        f"{_PLACE}(inlet|ambient|exhaust|outlet|intake|system)( ambient)?{_TEMP}",
    ),
    Row("°C", "temperature", "{name}", f"{_PLACE}(cpu|p|proc|processor) *[0-9]*{_TEMP}"),
    Row("°C", "temperature", "{name}", "temp"),  # Dell: a CPU
)
"""Which comes first is preferred where two mean the same; a whole comes before its parts."""


def normal(name: str) -> str:
    """A name without what vendors write differently: case, and `_`, `.`, `-` for a space."""
    return re.sub("[_.-]", " ", name).lower().strip()


def patterns(unit: str) -> str:
    """One pattern for all names of a unit that :func:`scope_of_sensor` knows, for bash: :func:`normal`."""
    return "^(" + "|".join(row.pattern for row in TABLE if row.unit == unit) + ")$"


def scope_of_sensor(name: str, unit: str) -> str | None:
    """What a sensor of this name and unit covers (``psu-in:PSU1``), or ``None`` if its name does not say."""
    row = _table_row(name, unit)
    return row[1] if row else None


def scopes_of_sensors(sensors: Sequence[tuple[str, str]], dcmi: bool) -> list[str]:
    """The scope of each of some (name, unit), such that no watt is counted twice when a scope is summed.

    Of several readings of the whole, or of the whole and its parts (`CPU_Power`, `CPU0_Power`), one keeps the
    scope; the others are ``other:``, as is what has no known name. DCMI, if read, is the system's power.
    """
    rows = [_table_row(name, unit) for name, unit in sensors]
    assigned = [row[1] if row else f"other:{name}" for row, (name, _) in zip(rows, sensors, strict=True)]
    watts = [(row[0], at) for at, row in enumerate(rows) if row and sensors[at][1] == "W"]
    complete = {"system"} if dcmi else set()
    taken: set[str] = set()
    for rank, at in sorted(watts):
        if TABLE[rank].scope in complete or assigned[at] in taken:
            assigned[at] = f"other:{sensors[at][0]}"
            continue
        taken.add(assigned[at])
        if TABLE[rank].is_total:
            complete.add(TABLE[rank].scope)
    return assigned


def _table_row(name: str, unit: str) -> tuple[int, str] | None:
    """The rank of the first row of TABLE that a name matches, and its scope."""
    plain = normal(name)
    for rank, row in enumerate(TABLE):
        match = re.fullmatch(row.pattern, plain) if row.unit == unit else None
        if match:
            number = match[2].upper() if "{number}" in row.part else ""
            return rank, f"{row.scope}:{row.part.format(number=number, name=name)}"
    return None
