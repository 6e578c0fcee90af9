# SPDX-License-Identifier: Apache-2.0
"""What must be so before a round begins: labels set, settings in force, idle measured in that state."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from contextlib import suppress
from itertools import chain, repeat, takewhile
from pathlib import Path

from linewatt.campaign import Campaign, setting_of_hosts
from linewatt.campaign.entries import BARE_NETWORK
from linewatt.campaign.planning import Between, Plan, Round, rounds_between
from linewatt.engine import events
from linewatt.engine.idle import IdleBook, Measured, Setting, measure
from linewatt.engine.labels import LabelError, Labels
from linewatt.engine.live.meter_book import MeterBook
from linewatt.engine.live.sensing import start_sensors, try_until_it_works
from linewatt.engine.live.session import Session
from linewatt.engine.networks.port_routes import routed_hosts
from linewatt.engine.networks.ports import refuse_shared_ports
from linewatt.engine.networks.proof import Leg, Proofs
from linewatt.engine.resting import cooled, refuse_without_temperature
from linewatt.engine.undo.settings import Settings
from linewatt.errors import ChangeError, HostError, LinewattError, WaitTimeout
from linewatt.hosts import now_s
from linewatt.model import Case
from linewatt.store import write_json

AGAIN_AFTER_S = 2.0

_WHEN = ", when the hosts are quiet"

ToCome = Callable[[], Collection[tuple[str, Setting]]]
"""hosts (their names) with the settings that they have still to have trials with"""


class Stage:
    """Brings the hosts to where a round can begin, and knows which rounds can as things are."""

    def __init__(
        self,
        session: Session,
        campaign: Campaign,
        plan: Plan,
        settings: Settings,
        labels: Labels,
        path: Path,
        on_event: events.OnEvent,
    ) -> None:
        self.idle = IdleBook(path)
        self.meters = MeterBook(path, campaign.power)
        self.settings = settings
        self.proofs = Proofs(session, on_event, self._asks_mtu, self._known_good)
        self.good: frozenset[Leg] = frozenset()
        """ways of which that was known before anything was changed"""
        self._session = session
        self._campaign = campaign
        self._plan = plan
        self._labels = labels
        self._path = path
        self._say = on_event
        self._began = self._sensing = False
        self._between = Between(rounds_between(campaign))
        self._loaded: dict[str, Setting] = {}
        """host → the setting that it had trials with, and no idle window since"""

    async def open(self, first: Round) -> None:
        """Start with the labels of the first round and what all have in common.

        Raises HostError, ChangeError, LabelError, InvalidInput.
        """
        missing = self._labels.missing(first.trials[0].case.factors)
        if missing:
            await self._relabel(missing)
        else:
            await self._common()

    async def _common(self) -> None:
        await self._sensors()
        if self._plan.changes:
            count = len(self._plan.changes)
            self._say(events.Phase(f"making up to {count} change{'' if count == 1 else 's'}"))
        await self.settings.to(self._plan.changes, self._session.hosts)
        routed = routed_hosts(self._plan)
        await refuse_shared_ports(
            self._session, [round_ for round_ in self._plan.rounds if routed & round_.hosts]
        )
        for rounds in self._networks():
            case = rounds[0].trials[0].case
            try:
                await self._show(rounds)
                await self.proofs.of(rounds)
            except ChangeError:
                if case.network != BARE_NETWORK:
                    raise
                continue  # a level that cannot be set: the rounds that need it say so
            await self._measure_idle(_hosts(rounds), setting_of_hosts(case))

    def _networks(self) -> list[list[Round]]:
        """The rounds of each network with the first levels of all factors, as labels stand now."""
        rounds_by_network: dict[str, list[Round]] = {}
        for round_ in self._plan.rounds:
            case = round_.trials[0].case
            if self._labels.missing(case.factors):
                continue
            network_rounds = rounds_by_network.setdefault(case.network, [])
            if not network_rounds or network_rounds[0].trials[0].case.factors == case.factors:
                network_rounds.append(round_)
        return list(rounds_by_network.values())

    async def _show(self, rounds: Sequence[Round]) -> None:
        """Have every host of these rounds show what it does in its first of them. Raises ChangeError."""
        first = {name: round_ for round_ in reversed(rounds) for name in round_.hosts}
        host_changes = ((name, self._plan.changes_in(first_round)) for name, first_round in first.items())
        await self.settings.to(
            [change for name, changes in host_changes for change in changes if change.host == name], first
        )

    async def _sensors(self) -> None:
        if not self._sensing:
            await start_sensors(self._session, self._say, refuses=not self._began)
            if self._campaign.rest is not None and not self._began:
                refuse_without_temperature(self._session)
        self._began = self._sensing = True

    def _asks_mtu(self, case: Case) -> bool:
        return "mtu" in self._campaign.settings or "mtu" in dict(case.factors)

    def _known_good(self) -> frozenset[Leg]:
        """The ways that need not be tried again, because nothing was changed since; for the first proof only,
        as others may change them later."""
        good_legs, self.good = self.good, frozenset()
        return good_legs if self.settings.untouched else frozenset()

    def as_it_is(self, round_: Round) -> bool:
        """Whether a round can begin without any change."""
        case = round_.trials[0].case
        return (
            not self._labels.missing(case.factors)
            and self.settings.shows(self._plan.changes_in(round_), round_.hosts)
            and self.proofs.proven(round_)
            and not self._idle_lacks(round_.hosts, setting_of_hosts(case))
        )

    async def ready(self, round_: Round, to_come: ToCome) -> None:
        """Have a round's labels set, its settings in force and idle measured with them, where it is due.

        Before a setting is left for good, and is not ``to_come``, its hosts are idle once more.
        Raises ChangeError when a host does not take a setting or full packets do not pass with it, LabelError
        when a label was not set.
        """
        if not self.as_it_is(round_):
            await self._made_so(round_, to_come)
        self._between.ran(round_.hosts, setting_of_hosts(round_.trials[0].case))

    async def _made_so(self, round_: Round, to_come: ToCome) -> None:
        case = round_.trials[0].case
        missing = self._labels.missing(case.factors)
        if not missing:
            self.proofs.refuse_failed([round_])
        setting = setting_of_hosts(case)
        changing = {
            name: loaded_setting
            for name, loaded_setting in self._loaded.items()
            if missing or (name in round_.hosts and loaded_setting != setting)
        }
        later = to_come() if changing else ()
        await self._idle_after(
            {
                name: loaded_setting
                for name, loaded_setting in changing.items()
                if (name, loaded_setting) not in later
            }
        )
        await self.in_force(round_)
        lacking = self._idle_lacks(round_.hosts, setting)
        if lacking:
            await self._measure_idle(lacking, setting)

    async def in_force(self, round_: Round) -> None:
        """Have a round's labels set and its settings in force, whatever is known of idle.

        Raises what ``ready`` does.
        """
        missing = self._labels.missing(round_.trials[0].case.factors)
        if missing:
            await self._relabel(missing)
        await self.settings.to(self._plan.changes_in(round_), round_.hosts)
        await self.proofs.of([round_])

    async def rested(self, round_: Round) -> dict[str, str]:
        """Let the hosts of a round cool down, where the campaign says so; host → what was awaited in vain."""
        if self._campaign.rest is None:
            return {}
        setting, limit_s = setting_of_hosts(round_.trials[0].case), self._campaign.rest.limit_s
        self._say(events.Phase(f"resting until as cool as idle, at most {limit_s:g} s"))
        idle = {name: self.idle.before(setting, name) for name in self._session.specs if name in round_.hosts}
        warm = await cooled(self._session, idle, limit_s)
        for name, why in warm.items():
            self._say(events.Warned(f"{name}: not as cool as idle: {why}"))
        return warm

    def ran(self, round_: Round) -> None:
        """Remember which settings were loaded: idle with them is to be measured once more."""
        setting = setting_of_hosts(round_.trials[0].case)
        self._loaded |= {name: setting for name in self._session.specs if name in round_.hosts}

    async def end(self, gone: Iterable[str]) -> None:
        """The last idle windows, of hosts that are still there."""
        gone_hosts = set(gone)
        await self._idle_after(
            {name: loaded_setting for name, loaded_setting in self._loaded.items() if name not in gone_hosts}
        )

    async def _idle_after(self, settings: Mapping[str, Setting]) -> None:
        """Idle of hosts whose settings had their last trials."""
        if not self._campaign.measures_power or self._campaign.idle_s <= 0 or not settings:
            return
        self._loaded = {
            name: loaded_setting for name, loaded_setting in self._loaded.items() if name not in settings
        }
        reachable = {name: setting for name, setting in settings.items() if name not in self._session.lost()}
        self._say(events.Phase(f"idle window of {self._campaign.idle_s:g} s after the load{_WHEN}"))
        try:
            measured = await self._idle_window(reachable)
        except (HostError, WaitTimeout) as error:
            self._say(events.Warned(f"no idle window after the load: {error}"))
            return
        self._take_meters(reachable)
        for measured_idle in measured:
            self._tell(measured_idle.moving)
            self.idle.add(measured_idle, after=True)
            for name, what in self.idle.drifted(measured_idle.setting, measured_idle.window.hosts).items():
                self._say(events.Warned(f"{name}: {what}; watts above idle are withheld for this setting"))

    def _take_meters(self, names: Iterable[str]) -> None:
        """What meters showed behind the last load."""
        for name in names:
            feeds = [feed for feed in self._session.feeds[name] if not feed.essential]
            self.meters.take([feed.later(self.meters.seen_s(feed.host, feed.source)) for feed in feeds])

    async def _idle_window(self, settings: Mapping[str, Setting]) -> list[Measured]:
        """Of these hosts, as ``idle.measure`` does. Raises HostError, WaitTimeout.

        What is known of their meters says how long to wait for quiet, and what their readings mean.
        """
        campaign, meters = self._campaign, {name: self.meters.of(name) for name in settings}
        return await measure(
            self._session, campaign.idle_s, settings, self._powered, meters, campaign.server_host
        )

    def _tell(self, moving: Mapping[str, str]) -> None:
        for name, what in moving.items():
            if name in self._powered:
                self._say(events.Warned(f"{name}: idle is measured although {what}"))

    @property
    def _powered(self) -> set[str]:
        return {name for name, sources in self._campaign.power.items() if sources}

    def _idle_lacks(self, names: Collection[str], setting: Setting) -> set[str]:
        """Those of the hosts that have no idle window with a setting, or had many rounds since the last; none
        where the campaign measures no idle."""
        if self._campaign.idle_s <= 0:
            return set()
        return self.idle.lacking(names, setting) | self._between.due(names, setting)

    async def _measure_idle(self, names: set[str], setting: Setting) -> None:
        if not self._idle_lacks(names, setting):
            return
        shown = "".join(f" {name}={level}" for name, level in setting)
        self._say(events.Phase(f"idle window of {self._campaign.idle_s:g} s{shown}{_WHEN}"))
        settings = {name: setting for name in self._session.specs if name in names}
        for measured_idle in await self._idle_window(settings):
            self._tell(measured_idle.moving)
            self.idle.add(measured_idle)
        self._between.measured(names, setting)

    async def _relabel(self, levels: dict[str, str]) -> None:
        """Everything put back, connections closed, the label set, and all made again."""
        shown = " ".join(f"{name}={level}" for name, level in levels.items())
        self._say(events.Phase(f"setting {shown}"))
        await self.settings.to((), self._session.hosts)
        self.settings.forget()
        self.proofs.forget()
        self.good = frozenset()
        await self._session.close()
        self._sensing = False
        await self._labels.set(levels)
        await self._connect_again(max(self._campaign.labels[name].timeout_s for name in levels))
        self._labels.prove(self._session.facts)
        number = 1 + len(list(self._path.glob("labels-*.json")))
        seen = {"schema_version": 1, "labels": self._labels.now()}
        write_json(self._path / f"labels-{number}.json", seen)
        await self._common()

    async def _connect_again(self, limit_s: float) -> None:
        """The hosts may be rebooting. Raises LabelError with the last reason."""
        until_s = now_s() + limit_s

        async def opened() -> None:
            try:
                await self._session.open()
            except LinewattError:
                with suppress(LinewattError):
                    await self._session.close()
                raise

        pauses_s = takewhile(lambda _: now_s() < until_s, chain((0.0,), repeat(AGAIN_AFTER_S)))
        problem = await try_until_it_works(opened, pauses_s)
        if problem is not None:
            raise LabelError(f"waited {limit_s:g} s for the hosts to be there again after a label: {problem}")


def _hosts(rounds: Iterable[Round]) -> set[str]:
    return {name for round_ in rounds for name in round_.hosts}
