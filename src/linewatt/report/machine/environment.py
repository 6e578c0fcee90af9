# SPDX-License-Identifier: Apache-2.0
"""What is on record of the hosts, side by side, with what differs marked."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

from linewatt.analysis.comparison import CONNECTION, HIDDEN, IDENTITY, is_secret, leaves_of
from linewatt.errors import InvalidInput
from linewatt.hosts.facts import CORE_WORDS as CORE_WORDS
from linewatt.hosts.facts import NOT_KNOWN, CoreKind, Facts, core_is, format_cpulist, parse_cpulist
from linewatt.records import Connection, Host, Idle, IdleHost
from linewatt.report.machine.connections import connection_text
from linewatt.report.section import Section
from linewatt.report.series import plural
from linewatt.report.table import Cell, Head, Row, RowGroup, Table, text_cells
from linewatt.units import MISSING, format_rate, format_significant, ghz_from_hz, percent_from_cores

_WRITTEN = {
    name.lower(): name
    for name in ("CPU", "CPUs", "NIC", "NICs", "BIOS", "OS", "DIMMs", "PSUs", "NUMA", "IRQs")
}
_GROUPS = {"cores": ("core", "thread"), "packages": ("package", "CPU"), "caches": ("cache", "CPU")}
"""facts of the section ``cpus`` that are lists of CPU lists: what one is called, and what it has"""


@dataclass(frozen=True, slots=True)
class FactRow:
    """One fact of every host; ``differs`` when at least two hosts have different known values."""

    name: str
    values: tuple[str, ...]
    differs: bool


@dataclass(frozen=True, slots=True)
class FactGroup:
    """Facts that belong together; ``unread`` are those that are known of no host."""

    name: str
    rows: tuple[FactRow, ...]
    unread: tuple[str, ...] = ()

    @property
    def differing(self) -> int:
        """How many of the facts differ between hosts."""
        return sum(row.differs for row in self.rows)


def environment_groups(
    hosts: Mapping[str, Host], idle: Idle | None = None, connections: Mapping[str, Connection] | None = None
) -> tuple[FactGroup, ...]:
    """Groups of facts, hosts in columns: the campaign's settings, what was read, the idle window, and the
    limits of connections to slow hosts."""
    in_campaign = {name: _without_connection(host) for name, host in hosts.items()}
    sections = [_section("In the campaign", in_campaign)] if any(in_campaign.values()) else []
    facts = {name: _in_short(host.facts) for name, host in hosts.items()}
    titles = dict.fromkeys(title for sections_of in facts.values() for title in sections_of)
    for title in (title for title in titles if title != NOT_KNOWN):
        sections.append(_section(_title(title), {name: facts[name].get(title) for name in hosts}))
    if idle and idle.hosts:
        values = tuple(_idle_text(idle.hosts.get(name, IdleHost())) for name in hosts)
        sections.append(FactGroup("Idle, before any load", (FactRow("CPU used", values, differs=False),)))
    if connections:
        connection_texts = {name: connection_text(connection) for name, connection in connections.items()}
        texts = tuple(connection_texts.get(name, "as any host") for name in hosts)
        sections.append(FactGroup("Connections", (FactRow("limits", texts, differs=False),)))
    return tuple(section for section in sections if section.rows or section.unread)


def cores_are(hosts: Mapping[str, Host]) -> dict[str, CoreKind | None]:
    """Host → what one CPU of it is; ``None`` where its facts do not tell."""
    return {name: core_is(host.facts) for name, host in hosts.items()}


def core_words(hosts: Mapping[str, Host]) -> str:
    """What a core of CPU use and Mbps/core is on each host, in one sentence."""
    hosts_by_kind: dict[CoreKind | None, list[str]] = {}
    for name, kind in cores_are(hosts).items():
        hosts_by_kind.setdefault(kind, []).append(name)
    kinds = [
        f"on {', '.join(names)} {CORE_WORDS[kind] if kind else 'it is not known what that is'}"
        for kind, names in hosts_by_kind.items()
    ]
    return f"A core of CPU use and Mbps/core is what the system counts as a CPU: {'; '.join(kinds)}."


def _without_connection(host: Host) -> dict[str, Any]:
    return {
        key: value
        for key, value in host.said.items()
        if key not in CONNECTION and value not in (None, [], (), {})
    }


def _in_short(facts: Facts) -> Facts:
    """Facts with the section ``cpus`` in a few words; on large machines it is hundreds of numbers."""
    if "cpus" not in facts:
        return facts
    return {**facts, "cpus": {name: _cpus_text(name, value) for name, value in facts["cpus"].items()}}


def _cpus_text(name: str, value: Any) -> Any:
    """A list of CPUs as Linux writes it; groups of CPUs as their numbers and the first of them."""
    if not isinstance(value, list) or not value:
        return value
    if all(type(cpu) is int for cpu in value):
        return format_cpulist(value)
    if name not in _GROUPS or not all(isinstance(group, str) for group in value):
        return value
    noun, member = _GROUPS[name]
    try:
        sizes = Counter(len(parse_cpulist(group)) for group in value)
    except InvalidInput:  # damaged: shown as it is
        return value
    counts = [f"{plural(count, noun)} of {plural(size, member)}" for size, count in sizes.items()]
    return f"{', '.join(counts)} (the first: CPU {value[0]})"


def _idle_text(reading: IdleHost) -> str:
    """CPU used in the idle window in the field's %, or why it is unknown."""
    if reading.cpu_cores is None:
        return f"{MISSING} ({reading.reason or 'not recorded'})"
    return f"{percent_from_cores(reading.cpu_cores):,.1f} %"


def _section(title: str, values: Mapping[str, Any]) -> FactGroup:
    flat = {name: dict(_flatten({} if value is None else value)) for name, value in values.items()}
    facts = dict.fromkeys(fact for host_facts in flat.values() for fact in host_facts)
    rows = {fact: [host_facts.get(fact) for host_facts in flat.values()] for fact in facts}
    read = [fact for fact, values in rows.items() if any(value is not None for value in values)]
    return FactGroup(
        title,
        tuple(_row(fact, rows[fact]) for fact in read),
        tuple(fact for fact in facts if fact not in read),
    )


def _row(fact: str, values: list[str | None]) -> FactRow:
    known_values = {value for value in values if value is not None}
    differs = len(known_values) > 1 and fact.rpartition(".")[2] not in IDENTITY
    return FactRow(fact, tuple(MISSING if value is None else value for value in values), differs)


def _title(section: str) -> str:
    """A section's name for people: ``cpu`` → ``CPU``, ``power_supplies`` → ``Power supplies``."""
    words = [_WRITTEN.get(word, word) for word in section.replace("_", " ").split(" ")]
    return " ".join([words[0][:1].upper() + words[0][1:], *words[1:]])


class _NamedFact(NamedTuple):
    """A fact's name, ``outer.inner``, and its text where it is known."""

    name: str
    text: str | None


def _flatten(value: Any) -> Iterator[_NamedFact]:
    """Leaves of nested facts; anything that looks like a secret stays out."""
    for at, leaf in leaves_of(value, "", lambda key: is_secret(key) and not key.endswith("_env")):
        yield _NamedFact(at, "(not shown)") if leaf is HIDDEN else _in_habit(at or "value", leaf)


def _in_habit(fact: str, value: Any) -> _NamedFact:
    """What is recorded in bit/s and Hz in the units people read."""
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        if fact.endswith("_bps"):
            return _NamedFact(fact.removesuffix("_bps"), format_rate(value))
        if fact.endswith("_frequency_hz"):
            return _NamedFact(fact.removesuffix("_hz"), f"{format_significant(ghz_from_hz(value))} GHz")
    return _NamedFact(fact, fact_text(value))


def fact_text(value: Any) -> str | None:
    """A fact for people; ``None`` when it is not known."""
    if value is None or value == "":
        return None
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, float):
        return f"{value:,.12g}" if value != int(value) else f"{value:,.0f}"
    if isinstance(value, (list, tuple)):
        return ", ".join(fact_text(item) or MISSING for item in value) or "none"
    return str(value)


def environment_section(
    hosts: Mapping[str, Host], idle: Idle | None, connections: Mapping[str, Connection]
) -> Section:
    """What is on record of the hosts: what differs between them, then everything, folded for several."""
    groups = environment_groups(hosts, idle, connections)
    heads = tuple(
        Head(name, kind="text", provenance="lab" if host.lab else "") for name, host in hosts.items()
    )
    differing = sum(group.differing for group in groups)
    rows = [_fact_row(row, f"{group.name}: ") for group in groups for row in group.rows if row.differs]
    row_groups = [
        RowGroup(group.name, (*(_fact_row(row, "") for row in group.rows), *_unread(group)))
        for group in groups
    ]
    folded = f"{plural(len(hosts), 'host')} side by side" if len(hosts) > 1 else ""
    tables = {
        "Differences": ((RowGroup("", tuple(rows)),), ""),
        "Hosts side by side": (tuple(row_groups), folded),
    }
    return Section(
        "Environment",
        "environment",
        tuple(
            Table(title, (Head("Fact", kind="text"),), heads, parts, style="facts", folded=until_opened)
            for title, (parts, until_opened) in tables.items()
            if any(part.rows for part in parts)
        ),
        intro=(_intro(differing, len(hosts)) if row_groups else "Nothing is on record of the hosts.",),
    )


def _intro(differing: int, hosts: int) -> str:
    legend = f"{MISSING} is not known."
    if hosts < 2:
        return legend
    if not differing:
        return f"No known fact differs between the hosts. {legend}"
    verb = "differs" if differing == 1 else "differ"
    return f"{plural(differing, 'fact')} {verb} between the hosts, marked ≠. {legend}"


def _fact_row(row: FactRow, group: str) -> Row:
    return Row((Cell(f"{group}{row.name}"),), text_cells(*row.values), style="differs" if row.differs else "")


def _unread(group: FactGroup) -> tuple[Row, ...]:
    unread_row = Row(text_cells("known of no host"), text_cells(", ".join(group.unread)), style="unread")
    return (unread_row,) if group.unread else ()
