# SPDX-License-Identifier: Apache-2.0
"""A campaign of trials: order, resume, and hosts lost on the way."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any

from linewatt.campaign import Campaign, setting_of_hosts
from linewatt.campaign.planning import Plan, PlannedTrial, Round, Site, plan_campaign, remaining_s
from linewatt.campaign.planning import plan_as_dict as plan_dict
from linewatt.core.feature import FurtherTrials, further_trials
from linewatt.engine import events, labels
from linewatt.engine.background_imports import ImportStep, importing
from linewatt.engine.further import FurtherRunner, lacking_trials
from linewatt.engine.live.sensing import Restarts, try_until_it_works
from linewatt.engine.refused_settings import RefusedSettings
from linewatt.engine.run import Places, Run
from linewatt.errors import ChangeError, HostError, LinewattError, SettingRefused
from linewatt.hosts import finish_before_cancel
from linewatt.hosts.journal import Journal
from linewatt.model import Case
from linewatt.records import PlaceLine
from linewatt.store import (
    Result,
    known_meters,
    load_manifest,
    load_result,
    looked_too_slow,
    read_meters,
    read_trial,
    trial_dirs,
    with_meters,
)
from linewatt.tuning import Change
from linewatt.units import first_of

if TYPE_CHECKING:  # the others are imported while hosts answer
    from linewatt.engine.feature_load import TrialMaker, TrialOpener
    from linewatt.engine.idle import Setting
    from linewatt.engine.repeats import Remaining
    from linewatt.engine.rounds import RoundRunner
    from linewatt.engine.stage import Stage, ToCome
    from linewatt.engine.undo.settings import Settings

PAUSES_S = (0.0, 1.0, 1.0, 1.0, 1.0)
"""before each attempt at a host that was lost"""
READY_ATTEMPTS = 3
"""at what is done before a round, while hosts that went away meanwhile come back"""
OF_TRIALS = (
    "linewatt.engine.repeats",
    "linewatt.engine.stage",
    "linewatt.engine.live.trial",
    "linewatt.engine.measuring.measure",
    "linewatt.engine.rounds",
    "duckdb",
)
"""modules that rounds are run, measured and stored with, those first that others of them import"""
_FOR_RESUME = "left for `linewatt resume`"
_MOST_HOSTS = 4
"""that are named in a line"""


class CampaignRun(Run[events.Ended]):
    """One run of a campaign of trials."""

    def __init__(
        self,
        campaign: Campaign,
        plan: Plan,
        places: Places,
        on_event: events.OnEvent,
        ask: labels.Ask | None = None,
        *,
        waits: bool = False,
        later: Iterable[str] = (),
    ) -> None:
        """``ask`` has somebody set what only hands can. Raises InvalidInput where it is needed and None."""
        labels.check(campaign, ask)
        super().__init__(campaign, places, on_event, waits=waits, later=later)
        self._labels = labels.Labels(campaign, ask)
        self._plan = self._first_plan = plan
        self._restarts = Restarts(
            self._session, lambda host, text: self._say(events.Warned(f"{host}: {text}"))
        )
        self._path: Path | None = None
        self._maker: TrialMaker | None = None
        self._gone: set[str] = set()
        self._given_up: set[frozenset[str]] = set()
        self._refused = RefusedSettings(campaign.labels)

    async def resume(self, result: Result) -> events.Ended:
        """Run the trials that ``result`` lacks. Raises StoreError if its hosts are not what they were."""
        from linewatt.engine.repeats import Remaining

        remaining = Remaining(self._campaign, self._plan, result.trials, result.manifest.hosts)
        if not remaining.to_run and not lacking_trials(result.path, self._plan.further):
            return await self._ended(result.path, remaining)
        return await self._run(result)

    def _note_shared_cpus(self) -> None:
        """The stored plan is that of the campaign as it is stored, or nobody could resume it."""
        as_asked = self._campaign
        super()._note_shared_cpus()
        if self._campaign is not as_asked:
            self._first_plan = plan_campaign(self._campaign, self._first_plan.seed or 0)

    def _needed(self) -> list[ImportStep]:
        load = self._campaign.feature_load
        paths = () if load is None else (load.trials_path, load.measuring_path)
        modules = (*OF_TRIALS, *(path.partition(":")[0] for path in paths))
        return [*super()._needed(), *importing(modules), partial(_warm_up, self._campaign)]

    def _place(self, sites: Mapping[str, Site]) -> tuple[Sequence[Round], Iterable[Change]]:
        self._plan = plan_campaign(self._campaign, self._first_plan.seed or 0, sites)
        for text in place_notices(self._plan.places):
            self._tell(text)
        return self._plan.rounds, self._plan.every_change

    def _set_apart(self, changes: Sequence[Change]) -> None:
        from linewatt.engine.networks.port_routes import place_lines

        lines, current_plan = place_lines(changes), self._plan
        for line in lines:
            self._tell(str(line))
        self._plan = replace(
            current_plan, changes=(*current_plan.changes, *changes), places=(*current_plan.places, *lines)
        )

    def _planned(self) -> Mapping[str, Any]:
        return {
            "plan": plan_dict(self._first_plan),
            "places": [str(line) for line in self._plan.places],
            "place_lines": [line.as_written() for line in self._plan.places],
            "order": self._plan.order,
            "seed": self._plan.seed,
            "trials_planned": sum(1 for _ in self._plan.trials),
        }

    async def _measure(
        self, path: Path, settings: Settings, journal: Journal, result: Result | None
    ) -> events.Ended:
        from linewatt.engine.repeats import Remaining
        from linewatt.engine.stage import Stage

        self._path = path
        if load := self._campaign.feature_load:
            opener: TrialOpener = load.load(load.trials_path)
            self._maker = await opener(self._session, self._campaign, journal, self._say)
        stage = Stage(self._session, self._campaign, self._plan, settings, self._labels, path, self._say)
        stage.good = self._good
        hosts = load_manifest(path).hosts
        remaining = Remaining(self._campaign, self._plan, result.trials if result else (), hosts)
        rounds = remaining.rounds()
        try:
            further = lacking_trials(path, self._plan.further)
            await self._opened(stage, next(chain(rounds, *further.values())))
            async with self._measuring():
                self._say_started(path, remaining, self._duration_s(result, rounds, further))
                await self._rounds(path, rounds, stage, remaining)
                for trials in further_trials():
                    await self._further(trials, path, further.get(trials.name, ()), stage)
            return await self._ended(path, remaining)
        except HostError as error:
            if self._campaign.is_passing or not any(trial_dirs(path)):
                raise
            raise HostError(f"{error}; continue with: linewatt resume {path.name}") from error

    def _duration_s(
        self, result: Result | None, rounds: Sequence[Round], further: Mapping[str, Sequence[Round]]
    ) -> float:
        """How long what is left takes: of a new result all of the plan."""
        if result is None:
            return self._plan.duration_s
        begun_settings = {setting_of_hosts(trial.case) for trial in result.trials}
        return remaining_s(self._campaign, rounds, further, begun_settings)

    def _say_started(self, path: Path, remaining: Remaining, duration_s: float) -> None:
        stored = remaining.total - remaining.to_run
        at_most = self._plan.least_s is not None
        self._say(events.Started(path.name, str(path), remaining.total, stored, duration_s, at_most=at_most))

    async def _rounds(self, path: Path, rounds: Sequence[Round], stage: Stage, remaining: Remaining) -> None:
        from linewatt.engine.rounds import RoundRunner

        def say(event: events.Event) -> None:
            if isinstance(event, events.TrialStored):
                remaining.learn(event.trial)
            self._say(event)

        result = load_result(path)
        runner = RoundRunner(self._session, self._campaign, stage, result, remaining.total, say, self._maker)
        try:
            for position, planned in enumerate(rounds):
                round_ = remaining.round(planned)
                if round_.trials:
                    later_rounds = map(remaining.round, rounds[position + 1 :])
                    following = next((later for later in later_rounds if later.trials), None)
                    if following is not None and remaining.follows(following, round_):
                        following = None
                    remaining_rounds = min(len(rounds) - position, remaining.to_run)
                    to_come = partial(_to_come, remaining, rounds[position:])
                    await self._round(runner, stage, round_, following, remaining_rounds, to_come)
            await finish_before_cancel(runner.close())
            await stage.end(self._gone)
        finally:
            await finish_before_cancel(runner.close())
            stage.meters.write()

    async def _further(
        self, trials: FurtherTrials, path: Path, rounds: Sequence[Round], stage: Stage
    ) -> None:
        """After all that is measured; none of its failures is one of the campaign's. Raises StoreError."""
        if not rounds:
            return
        from linewatt.engine.rounds import RoundRunner

        bench = RoundRunner(self._session, self._campaign, stage, load_result(path), len(rounds), self._say)
        make_runner = trials.load(trials.run_path)
        runner: FurtherRunner = make_runner(self._session, self._campaign, stage, bench, self._say)
        outcome = "not made" if self._campaign.is_passing else _FOR_RESUME
        try:
            for round_ in rounds:
                await self._restarts.look(self._gone)
                await self._find_lost_hosts()
                if not self._possible(round_.trials):
                    continue
                try:
                    await runner.run(path, round_)
                except labels.LabelError as error:
                    self._say(events.Warned(f"{error}; {trials.name} are {outcome}"))
                    return
                except HostError as error:
                    self._say(events.Warned(f"{error}; its {trials.noun} is {outcome}"))
        finally:
            await finish_before_cancel(bench.close())

    async def _ended(self, path: Path, remaining: Remaining) -> events.Ended:
        """How it ended; why each case stopped is on disk, and what is said to be done. Raises StoreError."""
        load_manifest(path)
        remaining.record(path)
        stored_trials = [read_trial(directory) for directory in trial_dirs(path)]
        if any(map(looked_too_slow, with_meters(stored_trials, known_meters(read_meters(path))))):
            await self._settled(path)
        gone = remaining.stored - {trial.number for trial in stored_trials}
        if gone:
            self._say(events.Warned(f"{path}: {len(gone)} trials that were stored are not there any more"))
        failed = sum(trial.status == "failed" for trial in stored_trials)
        done = len(stored_trials) - failed
        ended = events.Ended(path.name, str(path), done, failed, remaining.to_run + len(gone))
        self._say(ended)
        return ended

    async def _settled(self, path: Path) -> None:
        """Power that only later loads show to be known, made; all else is stored, whatever becomes of it."""
        from linewatt.engine.rederive.run import settle

        try:
            settled_trials = await asyncio.get_running_loop().run_in_executor(None, settle, path)
        except LinewattError as error:
            self._say(events.Warned(f"power of a first load is not made: {error}; rederive --write does it"))
            return
        if settled_trials:
            self._tell(
                f"power made again in {_trials(settled_trials)}: later loads show its meter quick enough"
            )

    async def _opened(self, stage: Stage, first: Round) -> None:
        """What all rounds have in common, made. Raises what ``stage.open`` does."""
        for retries_remaining in reversed(range(READY_ATTEMPTS)):
            try:
                await stage.open(first)
            except (ChangeError, HostError):
                if not retries_remaining or not await self._mended() or self._gone:
                    raise
            else:
                return

    async def _made_ready(
        self, runner: RoundRunner, stage: Stage, round_: Round, to_come: ToCome
    ) -> list[PlannedTrial]:
        """Trials that can begin now; what cannot be made ready fails, and waits where its hosts are gone.

        Raises HostError.
        """
        round_ = replace(round_, trials=tuple(await self._not_refused(runner, round_)))
        for retries_remaining in reversed(range(READY_ATTEMPTS)):
            possible = self._possible(round_.trials)
            if not possible:
                break
            try:
                await stage.ready(replace(round_, trials=tuple(possible)), to_come)
            except (ChangeError, HostError) as error:
                if retries_remaining and await self._mended():
                    continue
                if len(possible) > 1:  # what is wrong on the hosts of one is no harm to the others
                    half = len(possible) // 2
                    parts = [
                        replace(round_, trials=tuple(half_trials))
                        for half_trials in (possible[:half], possible[half:])
                    ]
                    ready = [await self._made_ready(runner, stage, part, to_come) for part in parts]
                    return [trial for trials in ready for trial in trials]
                if isinstance(error, HostError):
                    self._give_up(possible[0].case, error)
                else:
                    if isinstance(error, SettingRefused):
                        self._refused.add(self._plan, round_, possible[0], error)
                    await runner.fail(possible, str(error))
                break
            return possible
        return []

    async def _not_refused(self, runner: RoundRunner, round_: Round) -> list[PlannedTrial]:
        """Trials whose hosts can be worked with; those fail whose setting a host refused before."""
        possible = self._possible(round_.trials)
        reasons = {trial.number: self._refused.reason(self._plan, round_, trial) for trial in possible}
        for reason in dict.fromkeys(filter(None, reasons.values())):
            await runner.fail([trial for trial in possible if reasons[trial.number] == reason], reason)
        return [trial for trial in possible if reasons[trial.number] is None]

    def _give_up(self, case: Case, error: HostError) -> None:
        """Leave trials between hosts that cannot be worked with for later, while there are others.

        Raises ``error`` where there are none.
        """
        self._given_up.add(frozenset(case.hosts))
        if not any(self._possible(round_.trials) for round_ in self._plan.rounds):
            raise error
        names = " and ".join(sorted(case.hosts))
        outcome = "not run" if self._campaign.is_passing else _FOR_RESUME
        self._say(events.Warned(f"{error}; trials of {names} are {outcome}"))

    async def _mended(self) -> bool:
        """Whether something was away, a host or a sensor, and is there again or known to be gone."""
        lost = set(self._session.lost()) - self._gone
        await self._find_lost_hosts()
        return await self._restarts.look(self._gone) or bool(lost)

    async def _round(
        self,
        runner: RoundRunner,
        stage: Stage,
        round_: Round,
        following: Round | None,
        rounds_left: int,
        to_come: ToCome,
    ) -> None:
        await self._restarts.look(self._gone)
        possible = await self._made_ready(runner, stage, round_, to_come)
        if not possible:
            return
        warm = await stage.rested(replace(round_, trials=tuple(possible)))
        ahead: list[PlannedTrial] = []
        if (
            following is not None
            and self._campaign.rest is None
            and self._plan.ports_alternate
            and _may_overlap(possible, following.trials)
        ):
            ahead = self._possible(following.trials) if stage.as_it_is(following) else []
        await runner.run(possible, ahead, rounds_left, warm)
        stage.ran(replace(round_, trials=tuple(possible)))
        self._note_slow_hosts()
        await self._find_lost_hosts()

    def _possible(self, trials: Sequence[PlannedTrial]) -> list[PlannedTrial]:
        """Trials whose hosts are all there, and can be worked with."""
        return [
            trial
            for trial in trials
            if not self._gone.intersection(trial.case.hosts)
            and frozenset(trial.case.hosts) not in self._given_up
        ]

    async def _find_lost_hosts(self) -> None:
        lost = {name: why for name, why in self._session.lost().items() if name not in self._gone}
        for name, why in lost.items():
            self._say(events.Warned(f"{name}: lost ({why}); connecting again"))
        problems = await asyncio.gather(
            *(try_until_it_works(partial(self._reopened, name), PAUSES_S) for name in lost)
        )
        for name, problem in zip(lost, problems, strict=True):
            if problem is not None:
                self._gone.add(name)
                self._say(events.Warned(f"{name}: gone ({problem}); {self._left()}"))

    def _left(self) -> str:
        """What becomes of the trials of a host that is gone: a result without any is not kept, and one whose
        hosts go with its command is not resumed."""
        is_resumable = (
            self._path is not None and any(trial_dirs(self._path)) and not self._campaign.is_passing
        )
        return f"its trials are {_FOR_RESUME if is_resumable else 'not run'}"


def place_notices(places: Iterable[PlaceLine]) -> Iterator[str]:
    """What a start says of where processes and interrupts go; the report has the CPUs, and why these."""
    places = list(places)
    if hosts := list(dict.fromkeys(place.host for place in places if place.chosen is not None)):
        names = first_of(hosts, _MOST_HOSTS, between=", ")
        yield f"CPUs are chosen for {names}; the report says which and why"
    yield from (str(place) for place in places if place.chosen is None)


def _trials(numbers: Sequence[int]) -> str:
    """``trial 1``, ``trials 1, 2``."""
    return f"trial{'' if len(numbers) == 1 else 's'} {', '.join(map(str, numbers))}"


def _warm_up(campaign: Campaign) -> None:
    """Load what is not loaded yet and is used once a trial has ended, while nothing is measured."""
    from linewatt.analysis.cases import warm_up_rate_search
    from linewatt.analysis.statistics import warm_up_change_points
    from linewatt.store import warm_up_samples

    warm_up_change_points()
    if campaign.search is not None:
        warm_up_rate_search()
    warm_up_samples()


def _to_come(remaining: Remaining, rounds: Sequence[Round]) -> set[tuple[str, Setting]]:
    return {
        (host, setting_of_hosts(trial.case))
        for round_ in rounds
        for trial in remaining.round(round_).trials
        for host in trial.case.hosts
    }


def _may_overlap(trials: Sequence[PlannedTrial], following: Sequence[PlannedTrial]) -> bool:
    """Whether the next round can be prepared while this one runs: not if it is to learn its level from it."""
    calibrates = any(trial.case.load_level is None for trial in trials)
    if calibrates and any(trial.case.load_level is not None for trial in following):
        return False
    return not _ports(trials) & _ports(following)


def _ports(trials: Sequence[PlannedTrial]) -> set[tuple[str, int]]:
    """Where servers of these trials listen; rounds that were left out may leave two on the same ports."""
    return {
        (pair.case.server, instance.port)
        for trial in trials
        for pair in trial.pairs
        for instance in pair.instances
    }
