# SPDX-License-Identifier: Apache-2.0
"""What Redfish resources say of power, and where in them. Pure.

Per quantity the first of these that gives a number is taken (DMTF DSP0268, Redfish Schema Supplement):

- energy of the enclosure: EnvironmentMetrics EnergyJoules, EnergykWh (running totals)
- power of the enclosure: EnvironmentMetrics PowerWatts, Power PowerControl[] PowerConsumedWatts
- into and out of each power supply: its Metrics (PowerSubsystem), Power PowerSupplies[]
- what a maker's part of these resources says: Huawei's and xFusion's supplies, Fujitsu's iRMC
- CPUs, memory, GPUs: EnvironmentMetrics of processors and modules, PowerControl[] of that name, HPE's
  PowerMetric

A power supply without a reading beside one with a reading stays a channel without numbers, since a sum
without it would be too small. Not all is what its name says:

- 0 W for the enclosure is no reading: boards without a power meter say it, such as Supermicro's X10.
- A supply's input or output power may be its rating (iDRAC: influxdata/telegraf issue 9575); that is no
  reading, nor is input beyond what a supply takes in at its full output (900 W of 750 W).
- Where supplies' outputs add up to what the system consumes, nobody can say which side of them is meant, so
  they are ``other``, which is in no total. iLO's do at every load, whatever two readings of different moments
  say, so they are ``other`` by their maker and the same server always has the same scopes.
- Where each of several supplies repeats what the system consumes (HPE XL675d: 4 times 894 W), the sum is a
  multiple of the truth; they are ``other``, too.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from typing import Any

from linewatt.missing import Missing, value_or_none
from linewatt.model import Channel

_KWH_J = 3.6e6
_WH_J, _WH_DECIMALS = 3600.0, 3
_MOST = 1e18
MOST_LOSSLESS = 0.02
"""No power supply loses less than this part, and none of a server less than rounding to whole watts hides."""
REPEATED = 0.05
"""A supply of several within this part of the system's power repeats it: all together give no more."""
_RATINGS = re.compile(
    "(PowerCapacity|Capacity|Range[0-9]*MaxInputPower|MaxInputPower|RatedInput|RatedOutput|Rated)Watts"
)
"""properties of a supply, and of what is in its Oem, that are ratings in W"""
_OUTPUT_RATINGS = ("OutputWattage", "CapacityWatts")
"""of its InputRanges (Power, PowerSupply)"""
BEYOND = 1.1
"""A supply at its full output takes in less than so many times that; its largest input by its label
is more: 598 W of 495 W, 2,235 W of 2,000 W."""
FAR_MORE = 1.5
"""Supplies that say so many times what the system consumes do not feed this system, or say their ratings."""
_KINDS = {
    "cpu": re.compile("cpu|processor", re.IGNORECASE),
    "memory": re.compile("mem|dimm", re.IGNORECASE),
    "gpu": re.compile("gpu|accelerator", re.IGNORECASE),
    "fan": re.compile("fan|cooling", re.IGNORECASE),
}
_OF_HPE = re.compile("Hpe?(Server|$)")
"""the names of HPE's supplies (iLO 4: HpServerPowerSupply), and of its part of a resource"""
_IRMC_WATTS = "CurrentPowerConsumptionW"
_HPE = {"cpu": "CpuWatts", "memory": "DimmWatts", "gpu": "GpuWatts"}

_TEXT_NUMBER = re.compile(r"-?[0-9]{1,19}(\.[0-9]{1,19})?", re.ASCII)

Step = str | int | tuple[str, str]
"""A key, a position, or the member of a list whose key has a value: ``("MemberId", "0")``."""


@dataclass(frozen=True, slots=True)
class Source:
    """A channel, the resource its readings are in, and the steps to them in its JSON."""

    channel: Channel
    path: str
    steps: tuple[Step, ...]
    scale: float = 1.0
    ratings_w: frozenset[float] = frozenset()
    """the supply's ratings, which are no readings"""
    most_w: float | None = None
    """the most that can be a reading, by a rating"""

    def reading(self, document: Any) -> float | Missing:
        """The value."""
        raw_value = _at(document, self.steps)
        if raw_value is None:
            return Missing(f"{self.path}: no reading of {_format_path(self.steps)}")
        value = _number(raw_value)
        if value is None:
            return Missing(
                f"{self.path}: {_format_path(self.steps)} is {str(raw_value)[:40]!r}, not a number"
            )
        if value in self.ratings_w or (self.most_w is not None and value > self.most_w):
            return Missing(
                f"{self.path}: {_format_path(self.steps)} is the supply's rating of {value:g} W, not "
                "a reading"
            )
        if value == 0 and self.channel.scope.startswith("system") and self.channel.unit == "W":
            return Missing(
                f"{self.path}: {_format_path(self.steps)} is 0 W, which no host draws: it is not measured"
            )
        return value * self.scale


Resource = Mapping[str, Any]
"""The JSON of a resource; its ``@odata.id`` is the path it was read from."""


@dataclass(frozen=True, slots=True)
class Enclosure:
    """An enclosure and what of its resources there is: ``power`` is the older one for all of it."""

    chassis: Resource
    environment: Resource | None = None
    supplies: Sequence[tuple[Resource, Resource]] = ()
    """power supplies with their metrics"""
    parts: Sequence[tuple[Resource, Resource]] = ()
    """processors and memory modules with their metrics"""
    power: Resource | None = None

    @property
    def name(self) -> str:
        return identity(self.chassis)


def sources(enclosure: Enclosure) -> list[Source]:
    """What an enclosure delivers: of each quantity, what is first to give a number.

    Totals come first, for they miss nothing between readings; those in Wh or kWh last, for they miss much of
    a trial, or all of it.
    """
    group_of_quantity: dict[tuple[str, ...], list[Source]] = {}
    documents = _documents(enclosure)
    for group in _groups(enclosure):
        first_channel = group[0].channel
        kind = first_channel.scope.partition(":")[0]
        quantity = (
            (kind, first_channel.unit, first_channel.name) if kind == "other" else (kind, first_channel.unit)
        )
        if quantity not in group_of_quantity and any(_tells(source, documents) for source in group):
            group_of_quantity[quantity] = group
    chosen = [source for group in group_of_quantity.values() for source in group]
    return sorted(chosen, key=lambda source: (source.channel.step or 0.0) >= _WH_J)


def _tells(source: Source, documents: Mapping[str, Resource]) -> bool:
    """Whether it has a number now; 0 W is what services without a meter say."""
    value = source.reading(documents[source.path])
    return not isinstance(value, Missing) and not (value == 0 and source.channel.unit == "W")


def problems(enclosure: Enclosure) -> list[str]:
    """Why there is no number where one could be, and which are 0 W."""
    documents = _documents(enclosure)
    candidates = [source for group in _groups(enclosure) for source in group]
    outcomes = [(source, source.reading(documents[source.path])) for source in candidates]
    return [
        str(value) if isinstance(value, Missing) else f"{source.path}: {_format_path(source.steps)} is 0 W"
        for source, value in outcomes
        if isinstance(value, Missing) or not value
    ]


def _groups(enclosure: Enclosure) -> list[list[Source]]:
    """Channels that belong together, for each quantity in the order in which they are preferred."""
    system, supplies, parts = _environment(enclosure), _supplies(enclosure.supplies), _parts(enclosure.parts)
    if enclosure.power is not None:
        control = _control(enclosure.name, enclosure.power)
        irmc = _irmc(enclosure.name, enclosure.power)
        system += control[:1] + irmc[:1]
        supplies += _old_supplies(enclosure.power)
        parts += control[1:] + irmc[1:] + _hpe(enclosure.power)
    consumed_w = _consumed_w(system, _documents(enclosure))
    return system + [_doubted(group, consumed_w, enclosure) for group in supplies] + parts


def _documents(enclosure: Enclosure) -> dict[str, Resource]:
    metrics = [unit_metrics for _, unit_metrics in (*enclosure.supplies, *enclosure.parts)]
    resources = (enclosure.environment, enclosure.power, *metrics)
    return {resource["@odata.id"]: resource for resource in resources if resource is not None}


def identity(resource: Resource) -> str:
    """A resource's Id; else the last word of its path."""
    return str(resource.get("Id") or str(resource["@odata.id"]).rstrip("/").rpartition("/")[2])


def _environment(enclosure: Enclosure) -> list[list[Source]]:
    environment = enclosure.environment
    if environment is None:
        return []
    scope = f"system:{enclosure.name}"
    return [
        [_source("system_j", "J", scope, environment, ("EnergyJoules", "Reading"))],
        [_source("system_j", "J", scope, environment, ("EnergykWh", "Reading"), scale=_KWH_J)],
        [_source("system_w", "W", scope, environment, ("PowerWatts", "Reading"))],
    ]


def _supplies(supplies: Sequence[tuple[Resource, Resource]]) -> list[list[Source]]:
    inputs: list[Source] = []
    outputs: list[Source] = []
    for position, (supply, metrics) in enumerate(supplies):
        if not _absent(supply):
            label = _label(identity(supply), position)
            for side, key, group in (("in", "InputPowerWatts", inputs), ("out", "OutputPowerWatts", outputs)):
                steps = (key, "Reading")
                source = _source(f"{label}_{side}_w", "W", f"psu-{side}:{label}", metrics, steps)
                group.append(_rated(source, supply))
    return [group for group in (inputs, outputs) if group]


def _control(name: str, power: Resource) -> list[list[Source]]:
    """PowerControl: the first entry is the enclosure's; others may be parts of it, by their names."""
    system: list[list[Source]] = []
    group_of_kind: dict[str, list[Source]] = {}
    for position, entry in enumerate(_list(power.get("PowerControl"))):
        words = f"{entry.get('Name', '')} {entry.get('PhysicalContext', '')}"
        kind = next((kind for kind, pattern in _KINDS.items() if pattern.search(words)), None)
        steps = ("PowerControl", _member(entry, position), "PowerConsumedWatts")
        if kind is None and not system:
            system.append([_source("system_w", "W", f"system:{name}", power, steps)])
        else:
            label = clean(str(entry.get("Name") or f"PowerControl{position}"))
            source = _source(f"{label}_w", "W", f"{kind or 'other'}:{label}", power, steps)
            group_of_kind.setdefault(kind or "other", []).append(source)
    return system + list(group_of_kind.values())


def _old_supplies(power: Resource) -> list[list[Source]]:
    by_supply: dict[tuple[str, ...], list[Source]] = {}
    for position, entry in enumerate(_list(power.get("PowerSupplies"))):
        if _absent(entry):
            continue
        label = _label(str(entry.get("MemberId", "")), position)
        member: tuple[Step, ...] = ("PowerSupplies", _member(entry, position))
        for side, steps in _sides(entry):
            source = _source(f"{label}_{side}_w", "W", f"psu-{side}:{label}", power, (*member, *steps))
            by_supply.setdefault((side, *map(str, steps)), []).append(_rated(source, entry))
    return list(by_supply.values())


def _sides(entry: Resource) -> Iterator[tuple[str, tuple[Step, ...]]]:
    """Where a supply says what goes in and out: itself, then its maker's part (Huawei, xFusion)."""
    yield "in", ("PowerInputWatts",)
    yield "out", ("PowerOutputWatts",)
    yield "out", ("LastPowerOutputWatts",)
    for maker, extension in _mapping(entry.get("Oem")).items():
        for side, key in (("in", "PowerInputWatts"), ("out", "PowerOutputWatts")):
            if key in _mapping(extension):
                yield side, ("Oem", maker, key)


def _rated(source: Source, supply: Resource) -> Source:
    """A reading of a supply, with the ratings that its resource has beside it."""
    ratings_w = frozenset(_ratings_w(supply))
    outputs_w = [_number(supply.get("PowerCapacityWatts")), *_output_ratings_w(supply)]
    output_w = max((rating_w for rating_w in outputs_w if rating_w), default=None)
    return replace(source, ratings_w=ratings_w, most_w=output_w * BEYOND if output_w else None)


def _ratings_w(supply: Any) -> Iterator[float]:
    """Every rating of a supply, W: its own and those of its makers' parts."""
    yield from _output_ratings_w(supply)
    for key, value in _mapping(supply).items():
        if isinstance(value, Mapping):
            yield from _ratings_w(value)
        elif isinstance(key, str) and _RATINGS.fullmatch(key) and (rating := _number(value)):
            yield rating


def _output_ratings_w(supply: Any) -> Iterator[float]:
    for input_range in _list(_mapping(supply).get("InputRanges")):
        yield from (rating for key in _OUTPUT_RATINGS if (rating := _number(input_range.get(key))))


def _consumed_w(system: Sequence[list[Source]], documents: Mapping[str, Resource]) -> float | None:
    """What the system draws now, W, by the first that says it."""
    values = [
        source.reading(documents[source.path]) for group in system for source in group if _is_watts(source)
    ]
    return next((value for value in values if not isinstance(value, Missing)), None)


def _is_watts(source: Source) -> bool:
    return source.channel.unit == "W" and source.channel.scope.startswith("system")


def _doubted(group: list[Source], consumed_w: float | None, enclosure: Enclosure) -> list[Source]:
    """A side of the power supplies, as ``other`` where it is not what its name says."""
    doubt = _doubt(group, consumed_w, enclosure)
    return (
        [replace(source, channel=_outside_totals(source.channel, doubt)) for source in group]
        if doubt
        else group
    )


def _doubt(group: list[Source], consumed_w: float | None, enclosure: Enclosure) -> str | None:
    """Why readings of supplies cannot be added up to what goes in or out."""
    documents = _documents(enclosure)
    values_w = [
        value_w for source in group if (value_w := value_or_none(source.reading(documents[source.path])))
    ]
    is_output = group[0].channel.scope.startswith("psu-out")
    if is_output and group[0].steps[-1] == "LastPowerOutputWatts" and _is_hpe(enclosure.power):
        return "which HPE's iLO makes of what the system consumes: in or out is not known"
    if consumed_w is None or not values_w:
        return None
    if len(values_w) > 1 and all(
        abs(value_w - consumed_w) <= max(1.0, REPEATED * consumed_w) for value_w in values_w
    ):
        return "each of which repeats what the system consumes"
    if sum(values_w) > FAR_MORE * consumed_w:
        return "which are far more than what the system consumes: ratings, or of more than this system"
    if is_output and abs(sum(values_w) - consumed_w) <= max(len(group), MOST_LOSSLESS * consumed_w):
        return "which add up to what the system consumes: in or out is not known"
    return None


def _is_hpe(power: Resource | None) -> bool:
    """Whether HPE's iLO made this resource."""
    entries = [] if power is None else [power, *_list(power.get("PowerSupplies"))]
    names = [name for entry in entries for name in (entry.get("Name"), *(_mapping(entry.get("Oem"))))]
    return any(isinstance(name, str) and _OF_HPE.match(name) for name in names)


def _outside_totals(channel: Channel, doubt: str) -> Channel:
    return replace(
        channel,
        name=re.sub("_(in|out)_w$", "_w", channel.name),
        scope=re.sub("^psu-(in|out)", "other", channel.scope),
        method=f"{channel.method}, {doubt}",
    )


def _hpe(power: Resource) -> list[list[Source]]:
    return [
        [_source(f"{kind}_w", "W", kind, power, ("Oem", "Hpe", "PowerMetric", key))]
        for kind, key in _HPE.items()
        if _at(power, ("Oem", "Hpe", "PowerMetric", key))  # 0: not measured
    ]


def _irmc(name: str, power: Resource) -> list[list[Source]]:
    """Fujitsu's iRMC: the enclosure first, then its sensors, whose side of a supply is not known."""
    for maker, extension in _mapping(power.get("Oem")).items():
        if "ChassisPowerConsumption" not in _mapping(extension):
            continue
        oem_steps: tuple[Step, ...] = ("Oem", maker)
        steps = (*oem_steps, "ChassisPowerConsumption", _IRMC_WATTS)
        groups = {"system": [_source("system_w", "W", f"system:{name}", power, steps)]}
        for position, entry in enumerate(_list(extension.get("ChassisPowerSensors"))):
            label = clean(str(entry.get("Designation") or f"sensor{position}"))
            words = f"{entry.get('EntityId', '')} {label}"
            kind = next((kind for kind, pattern in _KINDS.items() if pattern.search(words)), "other")
            steps = (*oem_steps, "ChassisPowerSensors", position, _IRMC_WATTS)
            source = _source(f"{label}_w", "W", f"{kind}:{label}", power, steps)
            groups.setdefault(kind if kind != "other" else label, []).append(source)
        return list(groups.values())
    return []


def _parts(parts: Sequence[tuple[Resource, Resource]]) -> list[list[Source]]:
    groups: dict[str, list[Source]] = {}
    for part, metrics in parts:
        kind = _part_kind(part)
        scope = f"{kind}:{clean(identity(part))}"
        source = _source(f"{scope.replace(':', '.')}_w", "W", scope, metrics, ("PowerWatts", "Reading"))
        groups.setdefault(kind, []).append(source)
    return list(groups.values())


def _part_kind(part: Resource) -> str:
    processor = part.get("ProcessorType")
    if processor is None:
        return "memory"
    return {"CPU": "cpu", "GPU": "gpu", "Accelerator": "gpu"}.get(str(processor), "other")


def _source(
    name: str,
    unit: str,
    scope: str,
    resource: Resource,
    steps: tuple[Step, ...],
    *,
    scale: float = 1.0,
) -> Source:
    value = _at(resource, steps)
    channel = Channel(
        name=name,
        unit=unit,
        kind="counter" if unit == "J" else "gauge",
        scope=scope,
        method=_method(resource, steps),
        step=None
        if steps[0] == "EnergyJoules" or scale not in (1.0, _KWH_J)
        else _step(_number(value), scale),
    )
    return Source(channel, str(resource["@odata.id"]), steps, scale)


def _step(value: float | None, scale: float) -> float | None:
    """What one in the last place of a reading is: of whole numbers, and of kWh of three decimals or fewer.

    A last 0 is not written, so that it may be less.
    """
    if isinstance(value, int):
        return scale
    if scale != _KWH_J or value is None:
        return None
    exponent = Decimal(repr(value)).as_tuple().exponent
    return scale * 10.0**exponent if isinstance(exponent, int) and exponent >= -_WH_DECIMALS else None


def _method(resource: Resource, steps: tuple[Step, ...]) -> str:
    """How it is measured, as far as the service says it."""
    sensor_uri = _at(resource, (steps[0], "DataSourceUri"))
    sensor = f" of sensor {sensor_uri.rstrip('/').rpartition('/')[2]}" if isinstance(sensor_uri, str) else ""
    mean = ", a mean of the BMC's" if str(steps[-1]).startswith("Last") else ""
    return f"Redfish {_format_path(steps)}{sensor}{mean}"


def _at(document: Any, steps: tuple[Step, ...]) -> Any:
    """What the steps lead to, or None."""
    for step in steps:
        if isinstance(step, str):
            document = document.get(step) if isinstance(document, Mapping) else None
        elif isinstance(step, int):
            members = _list(document)
            document = members[step] if step < len(members) else None
        else:
            key, value = step
            document = next((member for member in _list(document) if member.get(key) == value), None)
    return document


def _number(value: Any) -> int | float | None:
    """A finite number, also one that is written as text (Cisco); else ``None``."""
    if isinstance(value, str) and _TEXT_NUMBER.fullmatch(value.strip()):
        value = float(value) if "." in value else int(value)
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    return value if abs(value) < _MOST and math.isfinite(value) else None


def _list(value: Any) -> list[Resource]:
    """Members of a list; an object in place of a list is its only member (Cisco), or has them by name."""
    if isinstance(value, Mapping) and value:
        members = list(value.values())
        return members if all(isinstance(member, Mapping) for member in members) else [value]
    return [member for member in value if isinstance(member, Mapping)] if isinstance(value, list) else []


def _mapping(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else {}


def _member(entry: Resource, position: int) -> Step:
    member = entry.get("MemberId")
    return ("MemberId", member) if isinstance(member, str) and member else position


def _format_path(steps: tuple[Step, ...]) -> str:
    return "".join(
        f".{step}" if isinstance(step, str) else f"[{step[1] if isinstance(step, tuple) else step}]"
        for step in steps
    ).lstrip(".")


def _absent(entry: Resource) -> bool:
    states = (_at(entry, ("Status", key)) for key in ("State", "state"))
    return any(isinstance(state, str) and state.lower() == "absent" for state in states)


def clean(text: str) -> str:
    return re.sub(r"[^A-Za-z0-9_.-]+", "_", text)[:40].strip("_")


def _label(name: str, position: int) -> str:
    """A power supply's own name; one that is only a number is counted from 1."""
    return f"PSU{position + 1}" if name.isdigit() or not name else clean(name)
