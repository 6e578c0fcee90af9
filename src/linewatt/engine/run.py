# SPDX-License-Identifier: Apache-2.0
"""A run from its first connection to its last undo, of trials or of a soak: each protection is here, once.

Hosts are locked and put back where a part was killed, facts learned, what is asked of them refused where they
cannot show it; then changes are journaled, measured with, and undone whatever happens in between.
"""

from __future__ import annotations

import asyncio
import gc
from abc import ABC, abstractmethod
from collections.abc import AsyncIterator, Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager, contextmanager, suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from linewatt import __version__
from linewatt.campaign import Campaign, campaign_as_dict, missing_packages
from linewatt.campaign.planning import Round, Site
from linewatt.campaign.reading import read_topologies, site_of_host
from linewatt.engine import events
from linewatt.engine.background_imports import ImportStep, importing
from linewatt.engine.live.current_readings import CpuNow, cpu_now
from linewatt.engine.live.interfaces import shared_lines
from linewatt.engine.live.secrets import read_passwords
from linewatt.engine.live.session import Session, identity
from linewatt.engine.live.shared_cpus import find_shared_cpus, with_shared_cpus
from linewatt.engine.observers import Observers
from linewatt.engine.undo.leftover import refuse_leftovers
from linewatt.engine.undo.restore import FirstPart, Undoer, undo_and_tell
from linewatt.errors import HostError, InvalidInput, LinewattError, StoreError
from linewatt.hosts import finish_before_cancel, now_s
from linewatt.hosts.facts import Facts
from linewatt.hosts.facts import read as fact_queries
from linewatt.hosts.journal import Journal, journal_path
from linewatt.records import SCHEMA_VERSION, NotReady
from linewatt.tuning import Change

if TYPE_CHECKING:  # what is done with hosts that are connected to is imported while they answer
    from linewatt.engine.live.connections import ConnectionBook
    from linewatt.engine.networks.proof import Leg
    from linewatt.engine.undo.settings import Settings
    from linewatt.store import Result

OF_EVERY_RUN = (
    "linewatt.engine.networks.open_ports",
    "linewatt.engine.networks.port_routes",
    "linewatt.engine.networks.ports",
    "linewatt.engine.networks.reach",
    "linewatt.engine.readiness.congestion",
    "linewatt.engine.readiness.at_start",
    "linewatt.store.write",
    "linewatt.engine.live.connections",
    "linewatt.engine.undo.knobs",
    "linewatt.engine.undo.settings",
)
"""modules, as a run comes to need them"""
NAMED = 8
"""hosts that are all named; of more the first ones are"""

E_co = TypeVar("E_co", bound=events.RunEnded, covariant=True)


@dataclass(frozen=True, slots=True)
class Places:
    """Where results go, and where the journal is kept."""

    results: Path
    state: Path


class Run(ABC, Generic[E_co]):
    """One run, new or resumed. What is measured in it, and by which plan, is its subclass's business."""

    def __init__(
        self,
        campaign: Campaign,
        places: Places,
        on_event: events.OnEvent,
        *,
        waits: bool = False,
        later: Iterable[str] = (),
    ) -> None:
        """``waits``: for other controllers. ``later``: modules that are wanted when it is over.

        Raises InvalidInput for a password or Python package that is not there.
        """
        if missing := missing_packages(campaign):
            raise InvalidInput(str(missing[0]))
        self._campaign = campaign
        self._places = places
        self._observers = Observers(on_event, self._cpu_now)
        self._say: events.OnEvent = self._observers.tell
        self._waits = waits
        self._later = tuple(later)
        self._topologies = read_topologies(campaign)
        self._session = Session(campaign, read_passwords(campaign))
        self._settings: Settings | None = None
        self._connections: ConnectionBook | None = None
        self._rounds_planned: tuple[Round, ...] = ()
        self._good: frozenset[Leg] = frozenset()
        """ways of data that were good before anything was changed"""

    async def start(self) -> E_co:
        """Run it from its beginning. Raises LinewattError; what was changed is undone first."""
        return await self._run(None)

    @abstractmethod
    async def resume(self, result: Result) -> E_co:
        """Run what ``result`` lacks. Raises StoreError if its hosts are not what they were."""

    @abstractmethod
    def _place(self, sites: Mapping[str, Site]) -> tuple[Sequence[Round], Iterable[Change]]:
        """Plan with what hosts are like: its rounds, and all that hosts are to show in any of them."""

    def _set_apart(self, changes: Sequence[Change]) -> None:
        """Have these in force, too, as long as anything is measured: data ports of one subnet."""

    @abstractmethod
    def _planned(self) -> Mapping[str, Any]:
        """The parts of a manifest that a plan makes."""

    @abstractmethod
    async def _measure(self, path: Path, settings: Settings, journal: Journal, result: Result | None) -> E_co:
        """With hosts that are ours, and put back after it."""

    def _needs_cpus(self) -> bool:
        """Whether its plan is none on a host whose CPUs cannot be chosen."""
        return self._campaign.chooses_cpus

    def _needed(self) -> list[ImportStep]:
        """What it needs from its first look at the hosts to its end, in that order."""
        return importing(OF_EVERY_RUN)

    def _tell(self, text: str) -> None:
        self._say(events.Phase(text))

    def _cpu_now(self, ends: Iterable[events.Placed]) -> Sequence[CpuNow]:
        """How busy the CPUs of these are."""
        placed_ends = tuple(ends)
        feeds = self._session.all_feeds({end.host for end in placed_ends}) if placed_ends else []
        return cpu_now(placed_ends, feeds, self._session.specs)

    async def _run(self, result: Result | None) -> E_co:
        session = self._session
        session.beside.begin(self._needed(), [_warm_up, *importing(self._later)])
        try:
            await self._open(result.id if result else None)
            session.begin_sensors()
            await session.learn()
            await session.refuse_loopback()
            self._note_shared_cpus()
            for name, spec in self._campaign.hosts.items():
                for line in shared_lines(spec, session.facts[name]):
                    self._say(events.Warned(f"{name}: {line.text}: {line.advice}"))
            changes = await self._to_change()
            if result is not None:
                refuse_other_hosts(self._campaign, session.facts, result)
                return await self._offered(result.path, changes, result)
            with _kept_if_measured(self._new_result(changes), self._tell) as path:
                return await self._offered(path, changes, None)
        finally:
            await finish_before_cancel(session.close())
            await finish_before_cancel(session.beside.close())

    def _note_shared_cpus(self) -> None:
        """Hosts that turn out to be one machine are so on record, and trials are marked."""
        specs = self._campaign.hosts
        shared = [*find_shared_cpus(self._session.facts, specs)]
        if not shared:
            return
        for pair in shared:
            self._say(events.Warned(f"{pair.text}: {pair.effect}"))
        self._campaign = replace(self._campaign, hosts=with_shared_cpus(specs, shared))
        self._session.specs |= with_shared_cpus(self._session.specs, shared)

    async def _to_change(self) -> list[Change]:
        """Plan with what the hosts are like: all that they are to show. Raises what they cannot show."""
        from linewatt.engine.networks.open_ports import refuse_closed_ports, try_data_ports
        from linewatt.engine.networks.port_routes import port_changes
        from linewatt.engine.networks.ports import refuse_shared_ports
        from linewatt.engine.networks.proof import refuse_wrong_ways
        from linewatt.engine.networks.reach import check_reach
        from linewatt.engine.readiness.congestion import check_congestion

        session = self._session
        await check_reach(self._campaign.described, session.hosts)
        rounds, campaign_changes = self._place(dict(self._sites()))
        self._rounds_planned = tuple(rounds)
        changes: list[Change] = list(dict.fromkeys(campaign_changes))
        await check_congestion(changes, session.hosts)
        untried = bool(self._campaign.labels)  # somebody may have to plug in a cable first
        trying = asyncio.ensure_future(try_data_ports(session, () if untried else rounds))
        try:
            self._good, crossed = await refuse_wrong_ways(session, rounds)
            opened = f"{self._campaign.first_port}-{self._campaign.last_port}"
            await refuse_closed_ports(session, await trying, self._good, opened)
        finally:
            trying.cancel()
            await asyncio.gather(trying, return_exceptions=True)
        route_changes: tuple[Change, ...] = port_changes(session, rounds, crossed, changes)
        self._set_apart(route_changes)
        routed = {change.host for change in route_changes}
        await refuse_shared_ports(session, [round_ for round_ in rounds if not routed & round_.hosts])
        return [*changes, *route_changes]

    async def _offered(self, path: Path, changes: Iterable[Change], result: Result | None) -> E_co:
        """With whoever wants to watch it told what happens."""
        resumable = not self._campaign.is_passing
        async with self._observers.during(path, self._places.state, resumable=resumable):
            return await self._changed(path, changes, result)

    async def _open(self, resumed: str | None) -> None:
        """Connect to the hosts, keep other controllers away, and put back what a killed part left.

        Raises HostInUse, ChangeError, HostError; an interrupt puts back what a first part left.
        """
        specs, session = self._campaign.hosts, self._session
        refuse_leftovers(self._places.state, specs.values(), resumed, waits=self._waits)
        first = FirstPart(self._places.state, resumed, Undoer(session.holder, self._tell))
        try:
            self._tell(f"connecting to {_names(list(specs))}")
            await session.connect(self._tell, self._tell if self._waits else None)
            refuse_leftovers(self._places.state, specs.values(), resumed)  # nobody changes them from here on
            await finish_before_cancel(first.undo(session.hosts))
        except asyncio.CancelledError as interrupt:
            if isinstance(interrupt.__cause__, LinewattError):
                self._say(events.LeftChanged((str(interrupt.__cause__),)))
            await finish_before_cancel(first.undo_after_all(self._say))
            raise

    def _sites(self) -> Iterator[tuple[str, Site]]:
        for name, spec in self._campaign.hosts.items():
            try:
                yield name, site_of_host(spec, self._session.facts[name], self._topologies.get(name))
            except InvalidInput as error:
                if self._needs_cpus():
                    raise InvalidInput(f"{name}: {error}") from error

    async def _changed(self, path: Path, changes: Iterable[Change], result: Result | None) -> E_co:
        """With every change made before, and undone after, whatever happens in between."""
        from linewatt.engine.live.connections import ConnectionBook
        from linewatt.engine.undo.knobs import ALL_KNOBS
        from linewatt.engine.undo.settings import Settings

        session = self._session
        journal = Journal(journal_path(self._places.state, path.name), create=True)
        journal.begin(self._campaign.hosts.values())
        try:
            self._settings = settings = Settings(session.hosts, ALL_KNOBS, journal)
            await settings.check(changes)
            self._connections = ConnectionBook(path, session)
            self._note_slow_hosts()
            ended = await self._measure(path, settings, journal, result)
            self._note_slow_hosts()
            return ended
        finally:
            await finish_before_cancel(undo_and_tell(journal, session.hosts, session.holder, self._say))

    @asynccontextmanager
    async def _measuring(self) -> AsyncIterator[None]:
        """From before the first load until after the last: all that it needs is there, and no more comes."""
        await self._session.beside.ready()
        async with self._session.beside.still():
            gc.freeze()  # looking at what is there by now would take 50 ms of a load's time
            yield

    async def _reopened(self, name: str) -> None:
        """Connect to a lost host again and have its settings in force. Raises LinewattError."""
        await self._session.reopen(name)
        if self._settings is not None:
            await self._settings.reassert(name)

    def _note_slow_hosts(self) -> None:
        """Say, and have on record, what was learned of hosts that answer slowly. Raises StoreError."""
        for text in self._session.slower():
            self._say(events.Warned(text))
        if self._connections is not None:
            self._connections.note()

    def _not_ready(self, changes: Sequence[Change]) -> tuple[NotReady, ...]:
        """What ``linewatt check`` would call a failure, which is said, too."""
        from linewatt.engine.readiness.at_start import failures, title_of_check

        clocks = {}
        for name, host in self._session.hosts.items():
            with suppress(HostError):
                clocks[name] = host.clock
        trials = [trial for round_ in self._rounds_planned for trial in round_.trials]
        failed_checks = failures(self._campaign, self._session.facts, clocks, trials, changes)
        for failed_check in failed_checks:
            do = f"; {failed_check.advice}" if failed_check.advice else ""
            title = title_of_check(failed_check)
            self._say(events.Warned(f"{failed_check.host}: not ready ({title}): {failed_check.found}{do}"))
        return failed_checks

    def _new_result(self, changes: Sequence[Change]) -> Path:
        """Make the result with its manifest. Raises StoreError."""
        from linewatt.store import new_result

        campaign, facts = self._campaign, self._session.facts
        manifest = {
            "schema_version": SCHEMA_VERSION,
            "name": campaign.name,
            "linewatt_version": __version__,
            "created_s": now_s(),
            "campaign_text": campaign.text,
            "campaign": campaign_as_dict(campaign),
            **self._planned(),
            "hosts": {
                name: {**spec.as_document(), "facts": fact_queries.without_ssh(facts[name])}
                for name, spec in campaign.hosts.items()
            },
        }
        if failed_checks := self._not_ready(changes):
            manifest["not_ready"] = [failed_check.as_written() for failed_check in failed_checks]
        return new_result(self._places.results, campaign.name, now_s(), manifest)


@contextmanager
def _kept_if_measured(path: Path, tell: Callable[[str], None]) -> Iterator[Path]:
    """A new result, which does not stay where something ended the run before anything was measured."""
    try:
        yield path
    except BaseException:
        from linewatt.store import remove_if_empty

        if remove_if_empty(path):
            tell(f"nothing was measured, so {path.name} is not kept")
        raise


def _warm_up() -> None:
    """What trials are stored with, and read at the end."""
    import numpy  # noqa: F401  whoever stores first would import it

    from linewatt.store import warm_up_reading

    warm_up_reading()


def refuse_other_hosts(campaign: Campaign, facts: Mapping[str, Facts], result: Result) -> None:
    """Raises StoreError if a host is not what it was when the result began."""
    if campaign.labels:  # what hands change is what such a campaign is about
        return
    for name, host_facts in facts.items():
        if name not in result.manifest.hosts:
            raise StoreError(
                f"{result.path / 'manifest.json'}: damaged: hosts: {name} of its campaign is missing"
            )
        now = identity(host_facts, campaign.load)
        for what, value in identity(result.manifest.hosts[name].facts, campaign.load).items():
            if now[what] != value:
                raise StoreError(
                    f"{name}: {what} was {value!r} when {result.id} began and is {now[what]!r} now; "
                    "what was measured then and now does not belong together, start a new run"
                )


def _names(names: list[str]) -> str:
    if len(names) <= NAMED:
        return ", ".join(names)
    return f"{', '.join(names[: NAMED - 2])} and {len(names) - NAMED + 2} more hosts"
