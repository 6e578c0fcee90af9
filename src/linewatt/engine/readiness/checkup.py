# SPDX-License-Identifier: Apache-2.0
"""Asking the hosts of a campaign whether they are ready, all at once. Nothing on them is changed.

A host that cannot be reached leaves the others' checks. Every wait has a limit, so that the whole has one.
"""

from __future__ import annotations

import asyncio
import shutil
from collections.abc import Awaitable, Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import TypeVar

from linewatt.campaign import Campaign, missing_packages
from linewatt.campaign.planning import PlannedTrial, Site, plan_campaign
from linewatt.campaign.reading import read_topologies, site_of_host
from linewatt.core.feature import host_checks
from linewatt.engine.live.interfaces import advise_interface, why_no_loopback
from linewatt.engine.live.secrets import read_passwords
from linewatt.engine.live.session import Connector, learn_further_nics
from linewatt.engine.plan_kinds import plan_kind
from linewatt.engine.readiness import checkup_power, readiness_cpu, readiness_host, readiness_net
from linewatt.engine.readiness.at_start import wants
from linewatt.engine.readiness.checkup_paths import Paths
from linewatt.engine.readiness.checkup_probes import live_command, parse_live
from linewatt.engine.readiness.checkup_settings import check_settings
from linewatt.engine.readiness.readiness import (
    CONTROLLER,
    Check,
    HostAnswer,
    Live,
    PowerAnswer,
    Root,
    Wants,
)
from linewatt.engine.undo.leftover import leftovers
from linewatt.errors import HostError, HostRefused, InvalidInput, ParseError
from linewatt.foreign import contained, last_line
from linewatt.hosts import Host, Pace
from linewatt.hosts.facts import Facts
from linewatt.hosts.facts import read as facts
from linewatt.loads import LOADS
from linewatt.model import Case
from linewatt.tuning import Change

FACTS_LIMIT_S = 20.0
LIVE_LIMIT_S = 10.0
_CAUSES_OF_REFUSALS = frozenset({"cpus", "link", "root", "tools"})
"""checks whose failure makes settings fail"""
_NAME_CPUS = "name app_cpus and irq_cpus of this host with placement: pinned, or write placement: none"

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class AskedHost:
    """What checks of features are asked with: a host that answers, and what is known of it so far."""

    host: Host
    campaign: Campaign
    facts: Facts
    root: bool
    """whether it has root's rights"""


AskHost = Callable[[AskedHost], Awaitable[Check | None]]


@dataclass(slots=True)
class _Found:
    """What one host answered so far."""

    facts: Facts = field(default_factory=dict)
    root: Root = field(default_factory=lambda: Root(None))
    problem: str | None = None
    interface_advice: str = ""


@dataclass(frozen=True, slots=True)
class _Planned:
    """What a run would do on these hosts; of a plan without tests no case."""

    cases: tuple[Case, ...] = ()
    trials: tuple[PlannedTrial, ...] = ()
    changes: frozenset[Change] = frozenset()
    refused: bool = False
    """these hosts cannot have the plan, so that this is that of any hosts"""


class Checkup:
    """The hosts of a campaign, asked as often as is wanted."""

    def __init__(
        self, campaign: Campaign, state: Path, results: Path, *, allow_commands: bool = False
    ) -> None:
        """``allow_commands``: programs that the campaign names may be run.

        Raises InvalidInput for a plan that is impossible, or a password that is not there.
        """
        self._allows = allow_commands
        self.campaign = campaign
        self.hosts: dict[str, Host] = {}
        self._state = state
        self._results = results
        self._secrets = read_passwords(campaign)
        self._topologies = read_topologies(campaign)
        self._load = LOADS[campaign.load]
        self._connector = Connector()
        self._found: dict[str, _Found] = {}
        self._paces: dict[str, Pace] = {}
        _plan(campaign)

    async def open(self) -> None:
        """Connect to every host that can be reached."""
        await asyncio.gather(*(self._open_one(name) for name in self.campaign.hosts))

    async def _open_one(self, name: str) -> None:
        host_state = self._found[name] = _Found()
        try:
            spec = self.campaign.hosts[name]
            pace = self._paces[name] = Pace(spec.limits, raises=spec.raise_session)
            self.hosts[name] = await self._connector.connect(spec, pace)
        except (HostError, InvalidInput) as error:
            host_state.problem = error.without(name)

    async def close(self) -> None:
        await asyncio.gather(*(host.close() for host in self.hosts.values()))

    async def checks(self) -> tuple[Check, ...]:
        """Everything, the hosts in the order of the file and their checks in the order of the table."""
        power = asyncio.ensure_future(checkup_power.ask_meters(self.campaign, self._secrets))
        try:
            undo_leftovers = [*leftovers(self._state, self.campaign.hosts.values())]
            await self._each(self._ask_facts)
            await self._each(self._ask_interfaces)
            checks: list[Check] = []
            planned = self._planned(checks)
            wants_by_host = wants(self.campaign, planned.cases, planned.trials, planned.changes)
            changes = frozenset[Change]() if planned.refused else planned.changes
            settings = await self._each(partial(self._ask_settings, changes))
            streams = await self._each(self._ask_streams)
            lives = await self._each(self._ask_live)
            answers = {
                name: self._answer(name, wants_by_host[name], lives.get(name, Live()))
                for name in wants_by_host
            }
            checks += [check for name in answers for check in self._of_host(answers[name], answers)]
            in_order = (settings.get(name) for name in answers)
            checks += [check for check in in_order if check and self._is_of_settings(check, checks)]
            paths = Paths(self.campaign, self.hosts, answers, self._load)
            checks += [*await paths.checks()]
            for check in host_checks():
                if check.campaign_key in self.campaign.feature_values:
                    ask = partial(self._ask_feature, check.load())
                    checks += filter(None, (await self._each(ask)).values())
            checks += readiness_host.power([*await power, *self._stream_answers(streams)])
        finally:
            power.cancel()
        checks += readiness_host.undo(self.campaign.hosts, undo_leftovers)
        checks += readiness_host.controller(*_room(self._results), str(self._results))
        checks += self._of_packages()
        return tuple(checks)

    def _of_packages(self) -> Iterator[Check]:
        """Python packages that linewatt itself lacks for the campaign."""
        for lack in missing_packages(self.campaign):
            problem = f"{lack.problem} ({lack.key})"
            yield Check(CONTROLLER, "tools", "fail", problem, f"run there: {lack.command}")

    async def _each(self, ask: Callable[[Host], Awaitable[T]]) -> dict[str, T]:
        """The answers of all hosts that are there; one that fails is not there from then on."""

        async def one(name: str) -> tuple[str, T] | None:
            try:
                with contained("what it says"):
                    return name, await ask(self.hosts[name])
            except (HostError, ParseError) as error:
                self._found[name].problem = error.without(name)
                return None

        reachable = [name for name in self.hosts if self._found[name].problem is None]
        return dict(answer for answer in await asyncio.gather(*map(one, reachable)) if answer is not None)

    async def _ask_facts(self, host: Host) -> None:
        """Facts and rights. Raises HostError when there is no shell that answers."""
        spec, host_state = host.spec, self._found[host.spec.name]
        fact_queries = facts.with_tool(self._load.name, self._load.version_command)
        command = facts.command(spec.data, fact_queries)
        async with self._connector.few:
            done = await host.run(command, timeout_s=FACTS_LIMIT_S, root=True)
            error_line = last_line(done.stderr, f"status {done.status}")
            if facts.MARK in done.stdout:
                host_state.root = Root(True) if spec.sudo else Root(None)
            elif spec.sudo:
                host_state.root = Root(False, error_line)
                done = await host.run(command, timeout_s=FACTS_LIMIT_S)
        if facts.MARK not in done.stdout:
            raise HostError(f"login works, but no command does: {error_line}; is bash there?")
        host_state.facts = host_facts = facts.parse_all(done.stdout, fact_queries)
        await learn_further_nics(host, host_facts, root=host_state.root.granted is not False)
        if not spec.sudo:
            uid = host_state.facts["system"].get("uid")
            host_state.root = Root(None if uid is None else uid == 0)

    async def _ask_interfaces(self, host: Host) -> None:
        """Which interfaces there are, where its data goes over none of them, or not off its machine."""
        spec, host_state = host.spec, self._found[host.spec.name]
        nics = [facts.facts_at_interface(host_state.facts, name)["nic"] for name in spec.interfaces]
        peers = ((name, peer.facts) for name, peer in self._found.items() if name != spec.name)
        no_loopback = any(why_no_loopback(spec, host_state.facts, *peer) for peer in peers)
        if no_loopback or any(nic.get("mtu") is None for nic in nics):
            host_state.interface_advice = await advise_interface(host)

    async def _ask_live(self, host: Host) -> Live:
        done = await host.run(live_command(host.spec.data), timeout_s=LIVE_LIMIT_S)
        return parse_live(done.stdout)

    async def _ask_streams(self, host: Host) -> list[PowerAnswer]:
        return await checkup_power.ask_streams(self.campaign, host, allow_commands=self._allows)

    @staticmethod
    def _is_of_settings(check: Check, checks: Iterable[Check]) -> bool:
        """Whether it tells more than the checks of its host do.

        A setting fails, too, without its interface, its CPUs, its tool or root's rights.
        """
        failures = {
            failure.name for failure in checks if failure.host == check.host and failure.status == "fail"
        }
        return "ssh" not in failures and (check.status != "fail" or not failures & _CAUSES_OF_REFUSALS)

    async def _ask_settings(self, changes: Iterable[Change], host: Host) -> Check | None:
        """Without root's rights nothing can be set, which is a check of its own."""
        if self._found[host.spec.name].root.granted is False:
            return None
        async with self._connector.few:
            return await check_settings(host, self.campaign, changes)

    async def _ask_feature(self, ask: AskHost, host: Host) -> Check | None:
        answer = self._found[host.spec.name]
        async with self._connector.few:
            return await ask(AskedHost(host, self.campaign, answer.facts, answer.root.granted is True))

    def _stream_answers(self, streams: dict[str, list[PowerAnswer]]) -> list[PowerAnswer]:
        answers = []
        for name in self.campaign.hosts:
            why = "its host cannot be asked"
            answers += streams.get(name) or checkup_power.not_asked(self.campaign, name, why)
        return answers

    def _planned(self, checks: list[Check]) -> _Planned:
        """The plan as a run would make it; a policy that these hosts cannot meet is a finding."""
        sites = {}
        for name, host_state in self._found.items():
            if host_state.problem is None:
                try:
                    spec = self.campaign.hosts[name]
                    sites[name] = site_of_host(spec, host_state.facts, self._topologies.get(name))
                except ParseError as error:
                    checks.append(Check(name, "cpus", "fail", error.without(name), _NAME_CPUS))
                except InvalidInput as error:
                    if _needs_cpus(self.campaign):
                        checks.append(Check(name, "cpus", "fail", error.without(name), _NAME_CPUS))
        try:
            return _plan(self.campaign, sites)
        except InvalidInput as error:
            where, what = (
                (error.where, error.problem) if isinstance(error, HostRefused) else (CONTROLLER, str(error))
            )
            checks.append(Check(where, "cpus", "fail", what, "choose another placement"))
            return replace(_plan(self.campaign), refused=True)

    def _answer(self, name: str, host_wants: Wants, live: Live) -> HostAnswer:
        host_state = self._found[name]
        if host_state.problem is not None:
            return HostAnswer(host_wants, problem=host_state.problem)
        try:
            clock = self.hosts[name].clock
        except HostError:
            clock = None
        return HostAnswer(
            host_wants,
            host_state.facts,
            live,
            host_state.root,
            clock,
            interface_advice=host_state.interface_advice,
            slow=self._paces[name].said(),
        )

    def _of_host(self, answer: HostAnswer, answers: dict[str, HostAnswer]) -> Sequence[Check]:
        checks = [*readiness_host.host_checks(answer, self._load)]
        if answer.problem is not None:
            return checks
        names = {name for case in answer.wants.cases for name in case.hosts} - {answer.name}
        peers = [answers[name] for name in sorted(names) if answers[name].problem is None]
        alike = readiness_host.alike([answer, *peers], self._load)
        checks += [check for check in alike if check.host == answer.name]
        checks += [*readiness_cpu.cpu_checks(answer), *readiness_cpu.one_machine(answer, peers)]
        return [*checks, *readiness_net.net_checks(answer, peers)]


def _needs_cpus(campaign: Campaign) -> bool:
    """Whether a run ends where the CPUs of a host are not known."""
    kind = plan_kind(campaign)
    return campaign.chooses_cpus and (kind is None or kind.plan(campaign).load_plan is not None)


def _plan(campaign: Campaign, sites: Mapping[str, Site] | None = None) -> _Planned:
    """What a run would do, be it trials or a plan of a feature's kind. Raises InvalidInput."""
    further: tuple[Change, ...] = ()
    kind = plan_kind(campaign)
    if kind is None:
        planned = plan_campaign(campaign, campaign.seed or 0, sites)
        if campaign.feature_load is not None:  # its feature's checks look at what it needs
            round_changes = {change for round_ in planned.rounds for change in round_.changes}
            return _Planned(changes=frozenset(round_changes.union(planned.changes)))
    else:
        kind_plan = kind.plan(campaign, sites)
        if kind_plan.load_plan is None:
            return _Planned(changes=frozenset(kind_plan.changes))
        planned, further = kind_plan.load_plan, kind_plan.changes
    changes = {change for round_ in planned.rounds for change in round_.changes}
    return _Planned(planned.cases, tuple(planned.trials), frozenset(changes.union(planned.changes, further)))


def _room(results: Path) -> tuple[int | None, int | None]:
    """Bytes free for results, and of memory, on the controller."""
    existing_path = next(
        (path for path in (results.absolute(), *results.absolute().parents) if path.exists()), None
    )
    try:
        disk = None if existing_path is None else shutil.disk_usage(existing_path).free
    except OSError:
        disk = None
    try:
        lines = Path("/proc/meminfo").read_text(encoding="ascii").splitlines()
    except OSError:
        return disk, None
    memory = [int(line.split()[1]) * 1024 for line in lines if line.startswith("MemAvailable:")]
    return disk, memory[0] if memory else None
