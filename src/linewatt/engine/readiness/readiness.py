# SPDX-License-Identifier: Apache-2.0
"""Whether hosts are ready for a campaign: what is asked of them, what they answered, what follows. Pure.

A check is one sentence about one host. It *fails* where a result would be wrong or none, *warns* where a
reader of the result should know, and is *unknown* where a host does not tell: what is not known is never ok.
docs/check.md has them all.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Literal

from linewatt.analysis.power import Shown
from linewatt.core.feature import host_checks
from linewatt.hosts import HostSpec, Offset
from linewatt.hosts.facts import NOT_KNOWN, Facts, facts_at_interface
from linewatt.model import Case, Family
from linewatt.tuning import Change

Status = Literal["ok", "warn", "fail", "unknown"]

WORST_FIRST: tuple[Status, ...] = ("fail", "warn", "unknown", "ok")
CONTROLLER = "controller"
"""the machine linewatt runs on, where a check is about that"""

TITLES: Mapping[str, str] = {
    "ssh": "SSH",
    "tools": "tools",
    "root": "root's rights",
    "settings": "settings",
    "clock": "clock",
    "tick": "CPU accounting",
    "cpus": "CPUs",
    "irqs": "irqbalance",
    "tuned": "TuneD",
    "freq": "CPU frequency",
    "sleep": "idle states",
    "load": "other load",
    "link": "link",
    "pcie": "PCI Express",
    "route": "route",
    "mtu": "packet size",
    "ports": "ports",
    "power": "power",
    "undo": "earlier changes",
}
"""what each check of the core is about, in the order of the table"""


def check_titles() -> dict[str, str]:
    """The same with the checks of features, which stand before what earlier runs left."""
    *first, last = TITLES.items()
    return dict([*first, *((check.name, check.title) for check in host_checks()), last])


@dataclass(frozen=True, slots=True)
class Check:
    """One finding. ``advice`` says what to do and is empty where nothing is to be done.

    ``fix`` is a change that helps, disturbs no network and can be taken back.
    """

    host: str
    name: str
    status: Status
    found: str
    advice: str = ""
    fix: Change | None = None


@dataclass(frozen=True, slots=True)
class Wants:
    """What a campaign asks of one host.

    ``knobs`` are the kinds of settings that a run makes there by itself. ``app_cpus`` are those that run its
    load processes. ``cases`` are those it takes part in.
    """

    spec: HostSpec
    cases: tuple[Case, ...] = ()
    knobs: frozenset[str] = frozenset()
    app_cpus: tuple[int, ...] = ()
    needs_root: bool = False
    mtus_bytes: Mapping[str, frozenset[int]] = field(default_factory=dict)
    """interface → the MTUs that a run gives it"""

    @property
    def paced(self) -> bool:
        return any(case.paced for case in self.cases)


@dataclass(frozen=True, slots=True)
class Root:
    """Whether root's rights can be had; ``problem`` is what sudo said."""

    granted: bool | None
    problem: str = ""


@dataclass(frozen=True, slots=True)
class Live:
    """What a host answered beyond its facts. ``None``: it did not tell.

    ``tools``: whether each is found. ``idle``: CPU → part of the last second that it was idle (0..1).
    ``card_ports`` are the interfaces with a link on the data interface's card.
    """

    tools: Mapping[str, bool] = field(default_factory=dict)
    idle: Mapping[int, float] | None = None
    card_ports: tuple[str, ...] | None = None


@dataclass(frozen=True, slots=True)
class HostAnswer:
    """One host's answers. ``problem`` is why it cannot be used at all; then there is nothing else."""

    wants: Wants
    facts: Facts = field(default_factory=dict)
    live: Live = Live()
    root: Root = Root(None)
    clock: Offset | None = None
    problem: str | None = None
    interface_advice: str = ""
    """which interfaces to name instead, where the host was asked"""
    slow: str = ""
    """what was learned of its connection, where that is not as of any host"""

    @property
    def name(self) -> str:
        return self.wants.spec.name

    @property
    def at_ports(self) -> tuple[HostAnswer, ...]:
        """The same, as the host is at each of its data ports."""
        return tuple(
            replace(
                self, wants=replace(self.wants, spec=port), facts=facts_at_interface(self.facts, port.data)
            )
            for port in self.wants.spec.data_ports
        )

    def fact(self, section: str, name: str) -> Any:
        return self.facts.get(section, {}).get(name)

    def why_not(self, section: str, name: str) -> str:
        """Why a fact is not known, in the host's words."""
        reasons = self.facts.get(NOT_KNOWN, {})
        return str(reasons.get(f"{section}.{name}") or "the host does not tell")


@dataclass(frozen=True, slots=True)
class PathAnswer:
    """What a host found on the way to a peer's data address.

    ``device`` carries it, ``gateway`` if there is one on the way. ``replies``: any packet came back.
    ``full``: one of the size of the interface's MTU did; ``largest_bytes`` is what did otherwise.
    ``problem`` is why nothing could be asked.
    """

    host: str
    peer: str
    family: Family
    mtu: int | None = None
    device: str | None = None
    gateway: str | None = None
    replies: bool | None = None
    full: bool | None = None
    largest_bytes: int | None = None
    problem: str | None = None
    interface: str | None = None
    """the one of several data ports that is to carry it"""
    neighbours: tuple[str, ...] = ()
    """the host's interfaces in whose subnets the peer's address is"""

    def is_crossed(self, interface: str, ports: Collection[str]) -> bool:
        """Whether another data port of the host carries it because both are in the peer's subnet."""
        return (
            self.gateway is None and self.device in ports and {self.device, interface} <= {*self.neighbours}
        )


@dataclass(frozen=True, slots=True)
class PortAnswer:
    """One real exchange from a client to a port of a server; without a ``problem`` it went well.

    ``asked`` is False where the exchange could not be tried.
    """

    client: str
    server: str
    port: int
    protocol: Literal["TCP", "UDP"]
    problem: str | None = None
    asked: bool = True


@dataclass(frozen=True, slots=True)
class TakenPort:
    """A port of the campaign's range that something else listens on at a server."""

    server: str
    port: int
    by: str


@dataclass(frozen=True, slots=True)
class PowerAnswer:
    """One reading of a source of power: its channels, or why there is none."""

    host: str
    source: str
    driver: str
    channels: tuple[str, ...] = ()
    simulated: bool = False
    problem: str | None = None
    asked: bool = True
    shown: tuple[Shown, ...] = ()
    """its readings of power that are no estimates"""


def worst_status(checks: Iterable[Check]) -> Status | None:
    """The worst status among these; ``None`` where there are none."""
    statuses = {check.status for check in checks}
    return next((status for status in WORST_FIRST if status in statuses), None)


def fixes_of_checks(checks: Iterable[Check]) -> tuple[Change, ...]:
    """The changes that would help, each once: a profile first, because it sets much of the rest."""
    unique = dict.fromkeys(check.fix for check in checks if check.fix is not None)
    return tuple(sorted(unique, key=lambda change: (change.knob != "tuned", change.host, change.knob)))
