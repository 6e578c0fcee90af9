# SPDX-License-Identifier: Apache-2.0
"""What a campaign file says under ``energy``: frame sizes at rates, with idle between them."""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Annotated, Any

from pydantic import AfterValidator, BeforeValidator, Field, WithJsonSchema

from linewatt.campaign.campaign import AUTO, Campaign, EnergySweep
from linewatt.campaign.entries import fields as f
from linewatt.campaign.entries.quantities import text_schema
from linewatt.campaign.entries.trials import PERCENTAGE, TrialsEntry, ratio_of
from linewatt.campaign.planning.cases import impossible
from linewatt.document import KeyPath, Part
from linewatt.energy_model import resolution
from linewatt.missing import Missing
from linewatt.model import Family
from linewatt.sizes import LARGEST_FRAME_BYTES, MINIMUM_FRAME_BYTES, datagram_bytes, frame_bytes

MOST_SIZES = MOST_RATES = 10
_PACKETS = r"([0-9]{1,9}(?:\.[0-9]{1,9})?)\s*([kM]?)pps"
_PREFIX = {"": 1.0, "k": 1e3, "M": 1e6}


@dataclass(frozen=True, slots=True)
class PacketRate:
    """Packets/s of one instance."""

    packets_per_s: float

    def __str__(self) -> str:
        return f"{self.packets_per_s:g}pps"


def _rate(value: object) -> float | PacketRate:
    match = re.fullmatch(_PACKETS, value.strip(), re.ASCII) if isinstance(value, str) else None
    if match is None:
        try:
            return f.parsed_rate(value)
        except ValueError as error:
            raise ValueError(f'{error}, or packets/s such as "20kpps"') from None
    packets_per_s = float(match[1]) * _PREFIX[match[2]]
    if not 10 <= packets_per_s <= 1e9:
        raise ValueError("must be from 10 pps to 1000 Mpps")
    return PacketRate(packets_per_s)


def _several(values: tuple[Any, ...]) -> tuple[Any, ...]:
    if len(values) < 2:
        raise ValueError("must be two or more, and different: one cannot tell bits from packets")
    return values


Several = AfterValidator(_several)

EnergyRate = Annotated[
    Any,
    BeforeValidator(_rate),
    WithJsonSchema(text_schema(f"({f.RATE_PATTERN}|{_PACKETS})", f"{f.RATE_EXPECTED}, or packets/s")),
]


class EnergyEntry(Part):
    """A sweep for what bits and packets cost: UDP frames of each size at each rate, with idle between."""

    sizes: Annotated[
        tuple[Annotated[int, Field(ge=MINIMUM_FRAME_BYTES, le=LARGEST_FRAME_BYTES)], ...],
        Field(max_length=MOST_SIZES, json_schema_extra={"minItems": 2}),
        f.AsTuple,
        f.Unique,
        Several,
    ] = Field(
        examples=["[60, 512, 1500]"],
        description="Sizes of frames, bytes, each the number of a test `udp-<bytes>`.",
    )
    rates: Annotated[
        tuple[EnergyRate, ...],
        Field(max_length=MOST_RATES, json_schema_extra={"minItems": 2}),
        f.AsTuple,
        f.Unique,
        Several,
    ] = Field(
        examples=["[20kpps, 60kpps, 120kpps]"],
        description="Rates of one instance, each for all sizes: packets/s (`20kpps`, `1.5Mpps`) or bit/s of "
        "payload (`500M`).",
    )
    idle_share: Annotated[float, ratio_of("load and idle windows together"), PERCENTAGE] = Field(
        default="20%",
        validate_default=True,
        examples=["20%"],
        description="How much of load and idle windows together is idle, at least: with power, idle windows "
        "stand between trials of a setting, too.",
    )
    packet_nj: float | None = Field(
        default=None,
        gt=0,
        le=1e9,
        description="What a packet is expected to cost, nJ; `plan` then says whether each meter can tell it.",
    )


def sweep_of(entry: EnergyEntry | None) -> EnergySweep | None:
    """What the rest of the campaign has to know of a sweep."""
    if entry is None:
        return None
    return EnergySweep(entry.idle_share, None if entry.packet_nj is None else 1e-9 * entry.packet_nj)


def tests_of(entry: EnergyEntry, family: Family) -> Iterator[tuple[str, float]]:
    """Each test with the rate of one instance, bit/s of payload: size after size, at all rates each."""
    for size, rate in itertools.product(entry.sizes, entry.rates):
        test = f"udp-{size}"
        payload = max(1, datagram_bytes(test, family) or 0)
        yield test, 8 * payload * rate.packets_per_s if isinstance(rate, PacketRate) else rate


def placed(entry: EnergyEntry | None, path: KeyPath) -> KeyPath:
    """Where what is wrong of a test stands in the file, whose sweep has made the test."""
    if entry is None or path[:1] != ("tests",):
        return path
    if len(path) < 2 or not isinstance(path[1], int):
        return ("energy",)
    size, rate = divmod(path[1], len(entry.rates))
    return ("energy", "rates", rate) if path[2:3] == ("rate",) else ("energy", "sizes", size)


def check_energy(entry: Any) -> Iterator[tuple[KeyPath, str]]:
    """What a sweep contradicts, and what it could tell nothing of: the first alone; ``entry`` is the whole
    file as it is written."""
    if entry.energy is not None:
        contradictions = itertools.chain(_contradictions(entry), _impossible(entry), _untold(entry))
        yield from itertools.islice(contradictions, 1)


_NOT_BESIDE: Mapping[str, str] = {
    "tests": "contradicts energy, which has tests of its own: its sizes at its rates; take one of them out",
    "users": "contradicts energy, whose load is datagrams; take one of them out",
    "soak": "contradicts energy, which is of cases and trials; take one of them out",
    "rate": "contradicts energy, which names rates of its own; take it out",
    "load_levels": "contradicts energy, which names rates of its own; take it out",
    "zerocopy": "is of TCP, and energy sends datagrams; take it out",
    "search": "has no effect: energy names its rates; take it out",
}


def _contradictions(entry: Any) -> Iterator[tuple[KeyPath, str]]:
    named = entry.model_fields_set
    for key, text in _NOT_BESIDE.items():
        if key in named and getattr(entry, key) not in (None, False, ()):
            yield (key,), text
    if "order" in named and entry.order != "random":
        text = "must be random with energy, or left out: a drift of the room would pass for that of a rate"
        yield ("order",), f"{text}, got {entry.order}"
    if entry.instances == AUTO:
        yield ("instances",), "auto cannot go with energy, which names rates; name numbers"
    if isinstance(entry.trials, TrialsEntry):
        yield ("trials",), "must be a number with energy: how sure a throughput is says nothing of watts"
    if entry.idle.seconds == 0:
        yield ("idle", "seconds"), "must be more than 0 with energy, which is told from idle on"
    if len(entry.families) > 1 and any(isinstance(rate, PacketRate) for rate in entry.energy.rates):
        text = "must be one with rates in packets/s: a frame of IPv6 has less payload; make two campaigns"
        yield ("families",), text
    for index, pair in enumerate(entry.pairs if isinstance(entry.pairs, tuple) else ()):
        if "<->" in pair:
            text = "goes both ways, and one figure of watts cannot be told apart by direction; name two pairs"
            yield ("pairs", index), text


def _impossible(entry: Any) -> Iterator[tuple[KeyPath, str]]:
    for index, size in enumerate(entry.energy.sizes):
        for family in entry.families:
            if why := impossible(f"udp-{size}", family, entry.load):
                yield ("energy", "sizes", index), why


def _untold(entry: Any) -> Iterator[tuple[KeyPath, str]]:
    """Sizes and rates from which nothing could be told, whatever the watts are."""
    family, states = entry.families[0], []
    for test, rate_bps in tests_of(entry.energy, family):
        packets = rate_bps / 8 / (datagram_bytes(test, family) or 1)
        states.append((8 * (frame_bytes(test) or 0) * packets, packets))
    why = resolution(states, 1)
    if isinstance(why, Missing):
        yield ("energy",), f"tells nothing: {why}"


def check_idle_share(campaign: Campaign) -> Iterator[tuple[KeyPath, str]]:
    """Whether anything is measured, and idle windows are long enough for their share."""
    sweep = campaign.energy
    if sweep is None:
        return
    if not campaign.measures_power:
        text = "takes watts, and no host that takes part has a source of power; name one under hosts.*.power"
        yield ("energy",), text
    needed_s, idle_s = idle_needed_s(sweep.idle_ratio, campaign.load_s), campaign.idle_s
    if idle_s < needed_s:
        text = f"must be {needed_s:.3g} or more for {100 * sweep.idle_ratio:g} % of idle beside loads of"
        yield ("idle", "seconds"), f"{text} {campaign.load_s:g} s, got {idle_s:g}; or lower energy.idle_share"


def idle_needed_s(idle_ratio: float, load_s: float) -> float:
    """The idle window that is its share beside each single load."""
    return idle_ratio * load_s / (1 - idle_ratio)
