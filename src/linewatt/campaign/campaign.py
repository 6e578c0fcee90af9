# SPDX-License-Identifier: Apache-2.0
"""The campaign as the rest of the house sees it: checked, resolved, frozen."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from linewatt.campaign.design import Design
from linewatt.campaign.port_choice import PortName
from linewatt.core.feature import FeatureLoad, campaign_keys, feature_loads
from linewatt.hosts import HostSpec, goes_with_its_command
from linewatt.loads import DEFAULT_LOAD
from linewatt.model import Case, Direction, Family, Shape, TestName
from linewatt.network import HostNetwork
from linewatt.power_source_keys import SourceValues
from linewatt.records import Component, InstanceRule, RateRule, Supplies
from linewatt.sensors import POWER_DRIVERS, SensorConfig
from linewatt.sensors.power import PowerConfig

Order = Literal["interleaved", "mirrored", "sequential", "random"]
Policy = Literal["pinned", "auto", "neighbour", "remote", "none"]
AUTO: Literal["auto"] = "auto"
"""a rate, or instances, that are searched"""
_LEAST_COUNTS = 3
"""numbers of instances that a search tries at least, where there may be so many: two doublings"""
PLACEMENT_FACTOR = "placement"
"""the factor whose levels are policies"""


@dataclass(frozen=True, slots=True)
class TestSpec:
    """A test with its own or the campaign's settings; ``rate_bps`` is of one instance, None: unlimited, or
    ``auto``: searched, as ``instances`` may be."""

    test: TestName
    instances: tuple[int, ...] | Literal["auto"]
    streams: tuple[int, ...]
    rate_bps: float | Literal["auto"] | None
    zerocopy: bool
    data: tuple[PortName, ...] = ()
    """the data ports that carry it; none: all of its hosts'"""


@dataclass(frozen=True, slots=True)
class Group:
    """Pairs of hosts, (sender, receiver) each, that run at once and are one case."""

    shape: Shape
    flows: tuple[tuple[str, str], ...]


@dataclass(frozen=True, slots=True)
class EnergySweep:
    """Frames of several sizes at several rates, in random order, with idle windows between.

    ``idle_ratio`` is the least part of load and idle windows together that is idle; ``packet_j`` what
    somebody expects a packet to cost.
    """

    idle_ratio: float
    packet_j: float | None = None


@dataclass(frozen=True, slots=True)
class Rest:
    """Before each trial hosts are let cool down to what they were idle, for ``limit_s`` at most."""

    limit_s: float


@dataclass(frozen=True, slots=True)
class PowerSource:
    """Where watts of a host are read: the driver's name and its settings. No secret is among them."""

    driver: str
    cfg: PowerConfig
    feature_values: SourceValues = field(default_factory=dict)
    """what features have of their keys of it"""


def feature_values_of(campaign: Campaign) -> dict[tuple[str, str], SourceValues]:
    """(host, source) → what features have of their keys of it."""
    return {
        (host, name): source.feature_values
        for host, sources in campaign.power.items()
        for name, source in sources.items()
    }


def power_config(driver: str, settings: Mapping[str, Any]) -> PowerConfig:
    """Settings of a driver from plain values. Raises KeyError, pydantic's ValidationError."""
    cfg: PowerConfig = POWER_DRIVERS[driver].Config.model_validate_json(json.dumps(settings))
    return cfg


@dataclass(frozen=True, slots=True)
class Label:
    """A factor that hands, or a program of the user's on this machine, set.

    ``hook`` is an argument list; ``fact`` (section.name) must differ between levels, which proves the change.
    """

    hook: tuple[str, ...] | None
    fact: str | None
    timeout_s: float


@dataclass(frozen=True, slots=True)
class Campaign:
    """A campaign file, checked.

    ``hosts`` are those of pairs and of features' keys; ``pairs`` are (sender, receiver). A trial's load
    runs ``omit_s + window_s + tail_s``. A case has ``trials`` of them at most. Ports ``first_port`` to
    ``last_port``, both included. ``sensors`` maps the name of each sensor that is on to its settings.
    ``text`` is the file as it was read, ``inventory`` the Ansible inventory the hosts came from.
    """

    name: str
    description: str
    hosts: Mapping[str, HostSpec]
    pairs: tuple[tuple[str, str], ...]
    directions: tuple[Direction, ...]
    tests: tuple[TestSpec, ...]
    families: tuple[Family, ...]
    networks: tuple[str, ...]
    trials: int
    order: Order
    seed: int | None
    window_s: float
    omit_s: float
    tail_s: float
    idle_s: float
    first_port: int
    last_port: int
    placement: Policy
    concurrent_pairs: bool
    sysctl: Mapping[str, str]
    sensors: Mapping[str, SensorConfig]
    text: str
    path: Path
    described: Mapping[str, Mapping[str, HostNetwork]] = field(default_factory=dict)
    """network → host → what the host shows in it; ``bare`` is in none"""
    min_trials: int | None = None
    """runs after which a case may stop; None: every case has ``trials``"""
    until_ratio: float | None = None
    """a case stops when the CI half-width of its throughput is at most so much of the mean"""
    load_levels: tuple[float, ...] = ()
    """parts (0..1) of each case's calibrated maximum"""
    power: Mapping[str, Mapping[str, PowerSource]] = field(default_factory=dict)
    """host → the user's name of a source → the source"""
    components: Mapping[str, tuple[Component, ...]] = field(default_factory=dict)
    """host → what the file says of parts that nothing measures"""
    psus: Mapping[str, Supplies] = field(default_factory=dict)
    """host → its power supplies"""
    smt: bool = False
    """whether placement counts hardware threads in the place of cores"""
    steer: bool = False
    """whether each instance's packets are sent to a receive queue of its own"""
    factors: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    """factor → its levels, the base first"""
    design: Design = "one-at-a-time"
    labels: Mapping[str, Label] = field(default_factory=dict)
    """those of the factors that linewatt cannot set"""
    topologies: Mapping[str, Path] = field(default_factory=dict)
    """host → file of its topology"""
    settings: Mapping[str, str] = field(default_factory=dict)
    """factor → the one level that every host shows throughout"""
    load: str = DEFAULT_LOAD
    """the program that makes the load of its tests"""
    search: RateRule | None = None
    """of tests whose rate is ``auto``; None: there are none"""
    instance_search: InstanceRule | None = None
    """of tests whose instances are"""
    inventory: Path | None = None
    unused_hosts: tuple[str, ...] = ()
    groups: tuple[Group, ...] = ()
    """of ``pairs`` those that run at once"""
    energy: EnergySweep | None = None
    """its tests are a sweep for the energy of bits and packets; None: they are not"""
    rest: Rest | None = None
    """None: trials follow each other at once"""
    feature_values: Mapping[str, Any] = field(default_factory=dict)
    """key that a feature adds → what the campaign has of it; without those that have their default"""

    @property
    def ways(self) -> tuple[tuple[str, str], ...]:
        """From whom to whom data goes: its pairs, and those of its groups."""
        return (*self.pairs, *(flow for group in self.groups for flow in group.flows))

    @property
    def has_trials(self) -> bool:
        """Whether it has cases and trials: no key of a feature has something in their place."""
        return not any(key.replaces_trials and key.key in self.feature_values for key in campaign_keys())

    @property
    def feature_load(self) -> FeatureLoad | None:
        """The load of its trials that a feature brings; None: load processes make it."""
        return self._named_load if self.has_trials else None

    @property
    def _named_load(self) -> FeatureLoad | None:
        if not self.feature_values:
            return None
        return next((load for load in feature_loads() if load.name in self.feature_values), None)

    @property
    def is_passing(self) -> bool:
        """Whether hosts of it are gone once its command has ended, so that nothing can continue it."""
        return any(goes_with_its_command(spec.lab) for spec in self.hosts.values())

    @property
    def server_host(self) -> str | None:
        """The host of a server that linewatt starts for a load of a feature."""
        load = self._named_load
        server: str | None = None if load is None else load.load(load.planning_path).server(self)
        return server

    @property
    def load_s(self) -> float:
        """Seconds of load in one trial."""
        return self.omit_s + self.window_s + self.tail_s

    def most_trials(self, case: Case) -> int:
        """How often a case runs at most."""
        if self.instance_search is not None and case.search == "instances":
            return self.instance_search.counts * self.trials
        return self.search.trials if self.search is not None and case.search == "rate" else self.trials

    def fewest_trials(self, case: Case) -> int:
        """How often it does at least: a search of a rate may end with its first trial."""
        if self.instance_search is not None and case.search == "instances":
            search = self.instance_search
            return (min(search.most, _LEAST_COUNTS) if search.named else 1) * self.trials
        return 1 if case.search else self.min_trials or self.trials

    @property
    def measures_power(self) -> bool:
        """Whether any host has a source of power."""
        return any(self.power.values())

    @property
    def chooses_cpus(self) -> bool:
        """Whether a policy chooses CPUs on hosts, for which it must know their topology."""
        return not {"pinned", "none"}.issuperset(self.factors.get(PLACEMENT_FACTOR, (self.placement,)))

    @property
    def ports(self) -> int:
        """How many ports there are."""
        return self.last_port - self.first_port + 1
