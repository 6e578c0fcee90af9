# SPDX-License-Identifier: Apache-2.0
"""The live hosts of a campaign: connections, facts and sensors, lost and found again."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from linewatt.campaign import Campaign
from linewatt.campaign.reading import Ways
from linewatt.engine.background_imports import Beside
from linewatt.engine.live.feed import LiveFeed
from linewatt.engine.live.interfaces import NO_JSON, advise_interface, why_no_loopback
from linewatt.engine.live.line_rate import (
    LineLimit,
    PortLine,
    all_lines,
    line_limit,
    line_of_group,
    pcie_goodput_bps,
)
from linewatt.engine.live.meters import MeterFeed
from linewatt.engine.live.secrets import Passwords
from linewatt.engine.live.sensor_feed import SensorFeed
from linewatt.engine.undo import host_lock as lock
from linewatt.engine.undo.host_lock import OnText
from linewatt.engine.undo.strays import end_strays
from linewatt.errors import HostError, InvalidInput, ParseError
from linewatt.foreign import last_line
from linewatt.hosts import Host, HostSpec, Offset, Pace, connect_to_host, slow_start
from linewatt.hosts.facts import read as facts
from linewatt.loads import LOADS, Load
from linewatt.missing import Missing
from linewatt.model import Case, Family
from linewatt.network import Framing
from linewatt.sensors import POWER_DRIVERS, SENSORS
from linewatt.sensors.power import PowerConfig

FACTS_LIMIT_S = 20.0
HOSTS_AT_ONCE = 32
"""that are logged in to, and asked what they are: most of that time each waits for its host"""
CHANNELS_AT_ONCE = 8
"""that are opened: what costs the controller most, and heartbeats must come through meanwhile"""
FIRST_READING_LIMIT_S = 5.0
OPENING_LIMIT_S = 25.0
"""more for a source that says that it is still finding out what there is"""
READINGS_A_WINDOW = 30
LEAST_INTERVAL_S = 0.2
READINGS_A_S = 100
"""of all sources of power together, where users name no interval: an eighth of a core with BMCs, and
heartbeats of all hosts go through the same process"""


@dataclass(frozen=True, slots=True)
class End:
    """One end of a way of data: its interface and address, and how its packets come to the wire."""

    interface: str
    address: str
    framing: Framing


class _NoInterface(InvalidInput):
    """A host has no interface of this name; whoever can ask it says which it has."""


class Connector:
    """Connects to hosts, as many at once as the controller can answer meanwhile."""

    def __init__(self) -> None:
        self.few = asyncio.Semaphore(HOSTS_AT_ONCE)
        self._channels = asyncio.Semaphore(CHANNELS_AT_ONCE)

    async def connect(self, spec: HostSpec, pace: Pace | None = None) -> Host:
        """``pace``: what is known of how slowly it answers. Raises HostError."""
        async with self.few:
            return await connect_to_host(spec, self._channels, pace)


class Session:
    """Hosts by name, with what is known of each and the sensors that run on it."""

    def __init__(self, campaign: Campaign, secrets: Passwords) -> None:
        self.specs = dict(campaign.hosts)
        self.ways = Ways(campaign)
        self._settings = campaign.settings
        self._ways_of_data = campaign.ways
        self._paired = {name for pair in self._ways_of_data for name in pair}
        self._runs_mpstat = "mpstat" in campaign.sensors
        self.load = LOADS[campaign.load]
        self.hosts: dict[str, Host] = {}
        self.paces = {name: Pace(spec.limits, raises=spec.raise_session) for name, spec in self.specs.items()}
        """how slowly each host answers, over all connections to it"""
        self._told_pace: dict[str, object] = {}
        self.holder = lock.Holder(campaign.name)
        self._held: dict[str, lock.Held] = {}
        self._tell: OnText = lambda _: None
        self._connector = Connector()
        self._starting: asyncio.Task[None] | None = None
        self.beside = Beside()
        """what is imported while hosts are waited for, and while nothing is measured on them"""
        self.facts: dict[str, dict[str, dict[str, Any]]] = {}
        self.versions: dict[str, tuple[int, ...]] = {}
        self.feeds: dict[str, list[LiveFeed]] = {
            name: [
                *(SensorFeed(name, SENSORS[sensor], cfg) for sensor, cfg in campaign.sensors.items()),
                *_power_feeds(campaign, name, secrets),
            ]
            for name in self.specs
        }

    async def open(self) -> None:
        """Connect to every host, keep others away, learn its facts. Raises HostError, the first by name."""
        await self.connect(self._tell)
        await self.learn()

    async def connect(self, tell: OnText, on_busy: OnText | None = None) -> None:
        """Connect to every host; from then on nobody else works there, and no change is being made.

        ``tell`` is told what is waited for, and what cannot be had; ``on_busy``: other controllers are waited
        for. Raises HostInUse, HostError.
        """
        self._tell = tell
        await wait_for_all(self._connect(name) for name in sorted(self.specs))
        await self._take([self.hosts[name] for name in self.specs], on_busy)

    async def _connect(self, name: str) -> None:
        self.hosts[name] = await self._connector.connect(self.specs[name], self.paces[name])
        if start_s := self.paces[name].used.start_s:
            self._tell(f"{name}: {slow_start(start_s)}")

    async def _take(self, hosts: Sequence[Host], on_busy: OnText | None = None) -> None:
        for host, held in await lock.take_all(hosts, self.holder, on_busy):
            self._held[host.spec.name] = held
            if held.note is not None:
                self._tell(held.note)
        await wait_for_all(lock.writers_ended(host, self._tell) for host in hosts)

    async def learn(self) -> None:
        """What every host says of itself. Raises HostError, InvalidInput, the first by name."""
        await wait_for_all(self._learn(name) for name in sorted(self.specs))

    async def _learn(self, name: str) -> None:
        async with self._connector.few:
            self.facts[name] = await read_facts(self.hosts[name], self.load)
        try:
            self._check(name)
        except _NoInterface as error:
            advice = await advise_interface(self.hosts[name])
            if advice == NO_JSON:
                raise HostError(f"{name}: {advice}") from None
            raise InvalidInput(f"{error}; {advice}") from None

    async def refuse_loopback(self) -> None:
        """Raises InvalidInput where data is to leave a machine by its loopback interface."""
        for name, peer in (ends for way in self._ways_of_data for ends in (way, way[::-1])):
            why = why_no_loopback(self.specs[name], self.facts[name], peer, self.facts[peer])
            if why is not None:
                raise InvalidInput(f"{name}: {why}; {await advise_interface(self.hosts[name])}")

    def _check(self, name: str) -> None:
        """What must be there before anything is started. Raises HostError, InvalidInput."""
        host_facts, spec = self.facts[name], self.specs[name]
        text = host_facts["tools"].get(self.load.name)
        if text is not None:
            try:
                self.versions[name] = self.load.parse_version(str(text))
            except ParseError as error:
                raise HostError(f"{name}: {error}; reinstall {self.load.package} there") from error
            if wrong := self.load.too_old(self.versions[name]):
                raise HostError(f"{name}: {wrong}; install it there")
        elif name in self._paired:
            self._refuse_broken(name, self.load.name, self.load.package)
            install = f"apt-get or dnf install {self.load.package}"
            raise HostError(f"{name}: no {self.load.name}; install it ({install})")
        if self._runs_mpstat and not host_facts["tools"].get("mpstat"):
            self._refuse_broken(name, "mpstat", "sysstat")
            raise HostError(f"{name}: no mpstat; install sysstat")
        online = set(host_facts["cpus"].get("online") or ())
        for key in ("cpus", "app_cpus", "irq_cpus"):
            impossible = set(getattr(spec, key) or ()) - online
            if online and impossible:
                raise InvalidInput(
                    f"{name}: {key} names CPU {min(impossible)}, "
                    f"but CPUs {min(online)} to {max(online)} are what is online there"
                )
        for interface in spec.interfaces:
            self._check_nic(name, interface)

    def _refuse_broken(self, name: str, tool: str, package: str) -> None:
        """Raises HostError for a tool that is there and does not start."""
        why = self.facts[name].get(facts.NOT_KNOWN, {}).get(f"tools.{tool}", "")
        if facts.is_of_broken_tool(why):
            raise HostError(f"{name}: {why}; mend it, or reinstall {package} there")

    def _check_nic(self, name: str, interface: str) -> None:
        """Raises InvalidInput, HostError."""
        nic = self.nic(name, interface)
        if nic.get("mtu") is None:
            raise _NoInterface(f"no interface {interface}", where=name)
        first = self.facts[name]["nic"]
        if nic is first:
            return
        if nic.get("state") not in ("UP", "UNKNOWN"):
            raise HostError(
                f"{name}: data port {interface} is {nic.get('state')}; look at cable and `ip link`"
            )
        if bool(nic.get("irqs")) != bool(first.get("irqs")):
            raise InvalidInput(
                f"{name}: of {self.specs[name].data} and {interface} only one has interrupts of its own; "
                "name data ports that are alike"
            )

    def may_change(self, name: str) -> bool:
        """Whether linewatt has the right to change a host."""
        return self.specs[name].sudo or self.facts[name]["system"].get("uid") == 0

    def nic(self, name: str, interface: str) -> Mapping[str, Any]:
        """Facts of one of a host's data ports."""
        return facts.facts_at_interface(self.facts[name], interface)["nic"]

    def ends(self, case: Case, port: int = 0) -> dict[str, End]:
        """Host → where the data of a case leaves and enters it, at one of its data ports.

        Raises HostError without an address.
        """
        way = self.ways.of(case)
        if way is None:
            return {name: self._bare_end(name, case, port) for name in case.hosts}
        if isinstance(way, Missing):
            raise HostError(f"network {case.network}: {way}")
        return {
            name: End(
                end.interface,
                end.address,
                self.ways.framing(
                    case.network, name, end.interface, self._mtu(name, case, self.specs[name].data)
                ),
            )
            for name, end in ((case.sender, way.sender), (case.receiver, way.receiver))
        }

    def port_lines(self, case: Case) -> tuple[PortLine, ...]:
        """The ends of each data port that a case uses, and its line. Raises HostError."""
        return tuple(
            PortLine({name: end.interface for name, end in ends.items()}, self._line_limit(case, ends))
            for ends in (self.ends(case, port) for port in case.ports_used)
        )

    def line_of_group(self, case: Case, lines: Sequence[LineLimit | None]) -> LineLimit | None:
        """What the lines of a group's pairs carry together. Raises HostError."""
        shared = [name for name in case.hosts if case.taking_part(name) == len(case.flows)]
        if len(shared) != 1:
            return line_of_group(case, lines, None)
        pair = case.pairs[0]
        shared_ends = {name: end for name, end in self.ends(pair).items() if name in shared}
        return line_of_group(case, lines, self._line_limit(pair, shared_ends))

    def _line_limit(self, case: Case, ends: Mapping[str, End]) -> LineLimit | None:
        framings = {name: end.framing for name, end in ends.items()}
        facts_by_host = {
            name: facts.facts_at_interface(self.facts[name], end.interface) for name, end in ends.items()
        }
        return line_limit(case, framings, facts_by_host)

    def line_limit(self, case: Case) -> LineLimit | None:
        """The most payload that the lines between the hosts of a case can carry. Raises HostError."""
        return all_lines([port.line for port in self.port_lines(case)])

    def pcie_goodput_bps(self, case: Case) -> dict[str, float | None]:
        """Host → the most payload of a case that the slots of its NICs carry. Raises HostError."""
        ports = [self.ends(case, port) for port in case.ports_used]
        return {name: self._slots_bps(case, name, [ends[name] for ends in ports]) for name in case.hosts}

    def _slots_bps(self, case: Case, name: str, ends: Sequence[End]) -> float | None:
        """Ports of one card share its slot."""
        slots: dict[str, float | None] = {}
        for end in ends:
            port_facts = facts.facts_at_interface(self.facts[name], end.interface)
            card = str(port_facts["nic"].get("bus") or end.interface).rpartition(".")[0] or end.interface
            slots[card] = pcie_goodput_bps(case, end.framing, port_facts)
        known_bps = [slot_bps for slot_bps in slots.values() if slot_bps is not None]
        return sum(known_bps) if len(known_bps) == len(slots) else None

    def _bare_end(self, name: str, case: Case, port: int) -> End:
        spec = self.specs[name].data_ports[port]
        return End(
            spec.data, self.data_address(name, case.family, port), Framing(self._mtu(name, case, spec.data))
        )

    def _mtu(self, name: str, case: Case, interface: str) -> int:
        """Of a host's data interface: as the campaign sets it, else as the host had it."""
        mtu = dict(case.factors).get("mtu") or self._settings.get("mtu")
        return int(mtu or self.nic(name, interface)["mtu"])

    def data_address(self, name: str, family: Family, port: int = 0) -> str:
        """Address of a host's data interface. Raises HostError when it has none of the family."""
        spec = self.specs[name].data_ports[port]
        nic = self.nic(name, spec.data)
        address = spec.known_address(family) or next(iter(nic.get(f"{family}_addresses") or ()), None)
        if address is None:
            raise HostError(f"{name}: {spec.data} has no {family} address; give it one or name data_{family}")
        return str(address)

    def clocks(self, case: Case) -> dict[str, Offset]:
        return {name: self.hosts[name].clock for name in case.hosts}

    def begin_sensors(self) -> None:
        """Have every sensor start beside what hosts are asked: on hosts that are ours, which have no other
        controller and on which no change is being made. :meth:`start_sensors` tells what comes of it."""
        self._starting = asyncio.create_task(self._start(None))

    async def start_sensors(self, names: Iterable[str] | None = None) -> None:
        """Start every sensor, or wait until those that were begun are; readings come later.

        Raises HostError, WaitTimeout.
        """
        begun, self._starting = self._starting, None
        await (self._start(names) if begun is None else begun)

    async def _start(self, names: Iterable[str] | None) -> None:
        await wait_for_all(feed.start(self.hosts[feed.host]) for feed in self.all_feeds(names))

    async def first_readings(self, names: Iterable[str] | None = None, *, ever: bool = False) -> None:
        """Wait until every sensor has delivered once since its start; sources of power may be down.

        ``ever``: one that delivered before it was started again is not waited for. Raises HostError,
        WaitTimeout.
        """
        feeds = [
            feed for feed in self.all_feeds(names) if feed.essential and not (ever and feed.latest_s > 0)
        ]
        await wait_for_all(_first_reading(feed) for feed in feeds)

    def all_feeds(self, names: Iterable[str] | None = None) -> list[LiveFeed]:
        """The sensors of these hosts; ``None``: of all."""
        return [feed for name in names or self.specs for feed in self.feeds[name]]

    async def silent(self) -> list[tuple[LiveFeed, str]]:
        """Sources of power that deliver no number after their first reading, and why."""
        feeds = [feed for feed in self.all_feeds() if not feed.essential]
        waits = (feed.silent(FIRST_READING_LIMIT_S, OPENING_LIMIT_S) for feed in feeds)
        whys = await asyncio.gather(*waits)
        return [(feed, why) for feed, why in zip(feeds, whys, strict=True) if why is not None]

    def slower(self) -> list[str]:
        """What was learned of hosts that answer slowly, since this was asked last."""
        new = []
        for name, pace in self.paces.items():
            text, pace_document = pace.said(), pace.document() | {"slowest_answer_s": None}
            if text and pace_document != self._told_pace.get(name):
                self._told_pace[name] = pace_document
                new.append(f"{name}: {text}")
        return new

    def late_s(self, names: Iterable[str]) -> float:
        """How much later than what other hosts say that of these may come."""
        return max((self.paces[name].used.late_s for name in names), default=0.0)

    def lost(self) -> dict[str, str]:
        """Hosts that can no longer be reached, and why."""
        return {name: host.lost for name, host in self.hosts.items() if host.lost}

    async def reopen(self, name: str) -> None:
        """Connect again to a host that was lost, and start its sensors again. Raises HostError."""
        await self.connect_again(name)
        await self.start_sensors([name])
        await self.first_readings([name])

    async def connect_again(self, name: str) -> None:
        """Connect to a host that was lost, and keep others away from it. Raises HostError."""
        await self.hosts[name].close()
        await self._connect(name)
        self._held[name] = await lock.take(self.hosts[name], self.holder, again=True)

    async def close(self) -> None:
        """Stop the sensors, let others work on the hosts, and close the connections."""
        begun, self._starting = self._starting, None
        if begun is not None:  # the way to where they are wanted has failed
            begun.cancel()
            await asyncio.gather(begun, return_exceptions=True)
        await asyncio.gather(*(feed.stop() for feed in self.all_feeds()))
        suspects = [host for name in self._held if (host := self.hosts[name]).may_have_strays]
        await asyncio.gather(*(end_strays(host, self._tell) for host in suspects))
        await asyncio.gather(*(held.release() for held in self._held.values()))
        self._held.clear()
        await asyncio.gather(*(host.close() for host in self.hosts.values()))


async def _first_reading(feed: LiveFeed) -> None:
    if feed.latest_s >= feed.started_s > 0:
        return
    await feed.wait_past(feed.started_s, FIRST_READING_LIMIT_S + feed.interval_s)
    if feed.failure is not None and feed.latest_s < feed.started_s:
        raise HostError(f"{feed.host}: {feed.source} {feed.failure}")


def _power_feeds(campaign: Campaign, host: str, secrets: Passwords) -> Iterator[LiveFeed]:
    """Sources of power: streams that run on the host, and meters that are read from here."""
    sources = sum(len(named) for named in campaign.power.values())
    for name, source in campaign.power.get(host, {}).items():
        cfg = _in_time(source.cfg, campaign.window_s, sources)
        driver = POWER_DRIVERS[source.driver](cfg)
        if hasattr(driver, "open"):
            yield MeterFeed(host, name, driver, cfg, secrets[host, name])
        else:
            yield SensorFeed(host, driver, cfg, name, essential=False)


def _in_time(cfg: PowerConfig, window_s: float, sources: int) -> PowerConfig:
    """Settings with an interval that gives a short window some readings, unless the user names one.

    Many sources share what one controller can read beside all else, and none is read less than by default.
    """
    if "interval_s" in cfg.model_fields_set:
        return cfg
    quickest_s = max(LEAST_INTERVAL_S, window_s / READINGS_A_WINDOW, sources / READINGS_A_S)
    return cfg.model_copy(update={"interval_s": min(cfg.interval_s, quickest_s)})


async def read_facts(host: Host, load: Load) -> dict[str, dict[str, Any]]:
    """What a host says of itself, and of each of its data ports. Raises HostError."""
    fact_queries = facts.with_tool(load.name, load.version_command)
    done = await host.run(facts.command(host.spec.data, fact_queries), timeout_s=FACTS_LIMIT_S, root=True)
    if not done.stdout.strip():
        why = last_line(done.stderr, f"status {done.status}")
        raise HostError(
            f"{host.spec.name}: cannot read its facts: {why}; are bash and (with sudo: true) sudo -n there?"
        )
    host_facts = facts.parse_all(done.stdout, fact_queries)
    await learn_further_nics(host, host_facts)
    return host_facts


async def learn_further_nics(host: Host, host_facts: dict[str, dict[str, Any]], *, root: bool = True) -> None:
    """Add to ``host_facts`` what a host says of its data ports behind the first. Raises HostError."""
    for port in host.spec.data_ports[1:]:
        command = facts.command(port.data, facts.OF_NIC)
        done = await host.run(command, timeout_s=FACTS_LIMIT_S, root=root)
        host_facts.setdefault(facts.FURTHER_NICS, {})[port.data] = facts.parse_nic(done.stdout)


async def wait_for_all(awaitables: Iterable[Awaitable[None]]) -> None:
    """Wait for all, then raise the first error: nothing is left running behind it."""
    for outcome in await asyncio.gather(*awaitables, return_exceptions=True):
        if isinstance(outcome, BaseException):
            raise outcome


def identity(host_facts: facts.Facts, load: str) -> dict[str, Any]:
    """The facts that must not differ between the parts of one campaign."""
    return {
        "kernel": host_facts.get("kernel", {}).get("release"),
        "CPU": host_facts.get("cpu", {}).get("model"),
        load: host_facts.get("tools", {}).get(load),
    }
