# SPDX-License-Identifier: Apache-2.0
"""Rounds: the trials that start at one barrier, prepared, run, measured and stored.

The next round's servers and held clients are started in the tail of the running one, when the readings that
close its window have arrived, so that a trial costs little beyond its load.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass, replace
from types import MappingProxyType

from linewatt.analysis.cases import whole_sum
from linewatt.analysis.limits import SOCKET_SETTINGS
from linewatt.campaign import Campaign, feature_values_of, setting_of_hosts
from linewatt.campaign.planning import PlannedTrial
from linewatt.engine import events
from linewatt.engine.feature_load import TrialMaker
from linewatt.engine.live.current_readings import is_current, watts_now
from linewatt.engine.live.feed import LiveFeed, Reading
from linewatt.engine.live.host_queries import Asking, Configuration
from linewatt.engine.live.readback import ReadBack
from linewatt.engine.live.session import Session
from linewatt.engine.live.trial import Levels, Live, LiveTrial, LoadTime
from linewatt.engine.live.trial_run import TrialRun, together
from linewatt.engine.measuring.cut import Setup
from linewatt.engine.measuring.ends import cpu_shares
from linewatt.engine.measuring.measure import Measured, measure
from linewatt.engine.stage import Stage
from linewatt.hosts import now_s
from linewatt.hosts.facts import Facts, core_groups
from linewatt.model import Trial, Window
from linewatt.power_source_keys import correct_trial
from linewatt.store import Result, write_trial

SENSOR_LIMIT_S = 4.0
WRITERS = 4
"""threads: while one waits for the disk another computes"""
SHORT_WINDOW_S = 10.0
"""loads say more often what they did in a window that is shorter"""
TICK_S = 1.0


@dataclass(frozen=True, slots=True)
class Prepared:
    """Trials ready at the barrier, and those whose preparation failed."""

    ready: tuple[Live, ...]
    failed: tuple[TrialRun, ...]


class RoundRunner:
    """Runs rounds one after the other and keeps the next one ready."""

    def __init__(
        self,
        session: Session,
        campaign: Campaign,
        stage: Stage,
        result: Result,
        total: int,
        on_event: events.OnEvent,
        maker: TrialMaker | None = None,
    ) -> None:
        """``maker``: of trials of a load that a feature brings."""
        self._session = session
        self._stage = stage
        self._campaign = campaign
        self._result = result.path
        self._levels = Levels(result.trials)
        self._maker = maker
        self._total = total
        self._say = on_event
        self._load_time = LoadTime(campaign.load_s, 1.0 if campaign.window_s >= SHORT_WINDOW_S else 0.2)
        self._configuration = Configuration()
        self._ahead: asyncio.Task[Prepared] | None = None
        self._ahead_numbers: list[int] = []
        self._last_end_s = now_s()
        self._setup = setup_of(session, campaign)
        self._writers = ThreadPoolExecutor(WRITERS, thread_name_prefix="store")

    async def run(
        self,
        trials: Sequence[PlannedTrial],
        following: Sequence[PlannedTrial],
        rounds_left: int,
        warm: Mapping[str, str] = MappingProxyType({}),
    ) -> None:
        """One round: every trial of it is on disk when this returns. Raises StoreError.

        ``warm``: host → what was awaited of it in vain before.
        """
        prepared = await self._prepared(trials)
        started_s = now_s()
        for live in prepared.ready:
            live.release()
        asking = Asking(
            self._session, self._campaign, self._stage.settings, self._configuration, prepared.ready
        )
        remaining_s = rounds_left * self._campaign.load_s
        self._announce(trials, prepared, remaining_s)
        ticker = asyncio.create_task(self._tick(prepared.ready, started_s, remaining_s))
        self._prepare_ahead(following, asking.closed)
        readbacks: dict[str, ReadBack] = {}
        try:
            collected = self.together(
                trials, await asyncio.gather(*(live.collect() for live in prepared.ready))
            )
            if any(run.failure is None for run in collected):
                readbacks = await asking.answers
            else:
                asking.cancel()
                readbacks = await asking.behind()
        except BaseException:
            asking.cancel()
            raise
        finally:
            ticker.cancel()
        runs = [*prepared.failed, *(self._with_evidence(run, readbacks, warm) for run in collected)]
        ended_s = max((run.ended_s for run in runs), default=now_s())
        overhead_s = ended_s - self._last_end_s - self._campaign.load_s
        self._last_end_s = ended_s
        await self._store(runs, overhead_s)

    def together(self, trials: Sequence[PlannedTrial], runs: Sequence[TrialRun]) -> list[TrialRun]:
        """What pairs left behind, trial by trial; one of which nothing is there is not among them."""
        joined_runs = []
        for trial in trials:
            pair_runs = [run for run in runs if run.planned.number == trial.number]
            lines = [run.line for run in pair_runs]
            with_line = len(pair_runs) > 1 and all(lines) and not any(run.failure for run in pair_runs)
            line = self._session.line_of_group(trial.case, lines) if with_line else None
            joined_runs += [together(trial, pair_runs, line)] if pair_runs else []
        return joined_runs

    def _with_evidence(
        self, run: TrialRun, readbacks: Mapping[str, ReadBack], warm: Mapping[str, str]
    ) -> TrialRun:
        problem = self._stage.proofs.problem(run.planned.case)
        warm_reasons = {name: why for name, why in warm.items() if name in run.planned.case.hosts}
        return replace(
            run, readback=readbacks, path_problem=problem.text if problem else None, warm=warm_reasons
        )

    async def fail(self, trials: Sequence[PlannedTrial], reason: str) -> None:
        """Store trials that cannot begin. Raises StoreError."""
        runs = [live.failed(reason) for live in self.lives(trials)]
        await self._store(self.together(trials, runs), 0.0)

    def lives(self, trials: Iterable[PlannedTrial]) -> list[Live]:
        """Trials on live hosts, those of groups pair by pair, of which nothing is started yet."""
        if self._maker is not None:
            return [self._maker.trial(trial, self._load_time) for trial in trials]
        pairs = (pair for trial in trials for pair in trial.pairs)
        return [LiveTrial(self._session, pair, self._load_time, self._levels) for pair in pairs]

    async def _prepared(self, trials: Sequence[PlannedTrial]) -> Prepared:
        """The round made ready ahead, if it is this one and came to no harm; else made ready now."""
        numbers = [trial.number for trial in trials]
        if self._ahead is not None:
            ahead, self._ahead = self._ahead, None
            prepared = await ahead
            if self._ahead_numbers == numbers and not prepared.failed and not self._session.lost():
                return prepared
            await _stop(prepared)
        return await self._prepare(trials)

    def _prepare_ahead(self, trials: Sequence[PlannedTrial], closed: asyncio.Future[None]) -> None:
        if trials:
            self._ahead_numbers = [trial.number for trial in trials]
            self._ahead = asyncio.create_task(self._prepare(trials, closed))

    async def _prepare(
        self, trials: Sequence[PlannedTrial], after: asyncio.Future[None] | None = None
    ) -> Prepared:
        if after is not None:
            await asyncio.wait({after})
        lives = self.lives(trials)
        try:
            problems = await asyncio.gather(*(live.prepared() for live in lives))
        except asyncio.CancelledError:
            await asyncio.gather(*(live.stop() for live in lives))
            raise
        failed = [
            live.failed(problem) for live, problem in zip(lives, problems, strict=True) if problem is not None
        ]
        numbers = {run.planned.number for run in failed}
        # a group begins with all of its pairs, or not at all
        await asyncio.gather(*(live.stop() for live in lives if live.planned.number in numbers))
        ready = tuple(live for live in lives if live.planned.number not in numbers)
        return Prepared(ready, tuple(self.together(trials, failed)))

    def _announce(self, trials: Sequence[PlannedTrial], prepared: Prepared, remaining_s: float) -> None:
        numbers = {live.planned.number for live in prepared.ready}
        for planned in (trial for trial in trials if trial.number in numbers):
            self._say(
                events.TrialStarted(
                    planned.number,
                    self._total,
                    planned.case,
                    planned.repetition,
                    self._campaign.load_s,
                    remaining_s,
                    _ends(planned),
                )
            )

    async def _tick(self, lives: Sequence[Live], started_s: float, remaining_s: float) -> None:
        receivers = {live.case.receiver for live in lives}
        hosts = dict.fromkeys(name for live in lives for name in live.case.hosts)
        while True:
            await asyncio.sleep(TICK_S)
            left_s = max(0.0, remaining_s - (now_s() - started_s))
            rate_bps = whole_sum(self._rate_bps(name, started_s) for name in receivers)
            self._say(events.Throughput(rate_bps, left_s, watts_now(self._session.all_feeds(hosts))))

    def _rate_bps(self, host: str, since_s: float) -> float | None:
        """What a host's data interface counts of the load, from its newest two readings."""
        for feed in self._session.feeds[host]:
            if feed.counts_bytes:
                of_now = is_current(feed) and feed.latest(2)[0].received_s >= since_s
                ways = ("nic.rx_bytes",) if self._maker is None else self._maker.counted
                return feed.rate_bps(*ways) if of_now else None
        return None

    async def _store(self, runs: Sequence[TrialRun], overhead_s: float) -> None:
        """Measure and store all trials of a round. Raises StoreError; WaitTimeout: a sensor never spoke."""
        if any(run.failure is None for run in runs):
            names = {name for run in runs for name in run.planned.case.hosts}
            await self._session.first_readings(names, ever=True)
        await asyncio.gather(*(self._store_one(run, overhead_s) for run in runs))
        oldest_s = min(run.started_s for run in runs)
        for feed in self._session.all_feeds():
            feed.forget_before(oldest_s)

    async def _store_one(self, run: TrialRun, overhead_s: float) -> None:
        """Measure and store a trial as soon as its sensors cover it."""
        feeds = [feed for name in run.planned.case.hosts for feed in self._session.feeds[name]]
        readings = await self._readings(run, feeds)
        book = self._stage.meters
        meters = [feed.later(book.seen_s(feed.host, feed.source)) for feed in feeds if not feed.essential]
        loop = asyncio.get_running_loop()
        writing = loop.run_in_executor(self._writers, self._write, run, readings, meters, overhead_s)
        try:
            await asyncio.shield(writing)
        finally:  # who stops the campaign breaks off no write, and is told of what is on disk
            trial = await writing
            self._levels.learn(trial)
            self._say(events.TrialStored(trial, self._total))

    async def _readings(self, run: TrialRun, feeds: Sequence[LiveFeed]) -> dict[str, list[Reading]]:
        """What sensors of its hosts said during a trial, once they cover it."""
        if run.failure is None:
            await asyncio.gather(*(_wait_past(feed, self._window_end_s(run)) for feed in feeds))
        readings: dict[str, list[Reading]] = {}
        for feed in feeds:
            readings.setdefault(feed.host, []).append(feed.reading(run.started_s, run.ended_s))
        return readings

    def _begun_s(self, run: TrialRun) -> float:
        """When its load can first be seen in power."""
        return run.started_s + self._session.load.lead_s

    def _window_end_s(self, run: TrialRun) -> float:
        return self._begun_s(run) + self._campaign.omit_s + self._campaign.window_s

    async def unstored(self, run: TrialRun) -> Trial:
        """A trial as it is measured, of which nothing is stored or learned."""
        feeds = [feed for name in run.planned.case.hosts for feed in self._session.feeds[name]]
        readings = await self._readings(run, feeds)
        return measure(run, readings, self._setup, self._session.load, 0.0).trial

    def _write(
        self,
        run: TrialRun,
        readings: Mapping[str, list[Reading]],
        meters: Sequence[Reading],
        overhead_s: float,
    ) -> Trial:
        book, hosts = self._stage.meters, run.planned.case.hosts
        book.take(meters)
        if (
            run.failure is None
        ):  # behind its window hosts are asked, and the next round is made ready: no load's power
            begun_s, window_end_s = self._begun_s(run), min(run.ended_s, self._window_end_s(run))
            is_sudden = bool(run.planned.instances)  # other loads begin bit by bit
            ended_s = min(run.ended_s, begun_s + run.load_s) if is_sudden else None
            window = Window(begun_s + self._campaign.omit_s, window_end_s)
            cores = {
                name: self._cores(name, readings, window) if book.has_course_to_come(name) else None
                for name in hosts
            }
            book.load(cores, begun_s, window_end_s, ended_s)
        setting = setting_of_hosts(run.planned.case)
        idle = self._stage.idle
        setup = replace(
            self._setup,
            idle_cores=idle.cores(setting, hosts),
            idle_w=idle.power(setting, hosts),
            meters={name: book.of(name) for name in hosts},
        )
        measured: Measured = measure(run, readings, setup, self._session.load, overhead_s)
        trial = correct_trial(measured.trial, feature_values_of(self._campaign))
        write_trial(self._result, trial, measured.series, measured.raw)
        return trial

    def _cores(self, name: str, readings: Mapping[str, list[Reading]], window: Window) -> float | None:
        """How many cores of a host were in use; None: not known."""
        shares = cpu_shares(self._setup.hosts[name], readings.get(name, ()), window).values()
        return whole_sum(None if share is None else share.busy_ratio for share in shares)

    async def close(self) -> None:
        """Stop what was made ready for a round that will not come."""
        if self._ahead is not None:
            self._ahead.cancel()
            with suppress(asyncio.CancelledError):
                await _stop(await self._ahead)
            self._ahead = None
        self._writers.shutdown()


def _ends(planned: PlannedTrial) -> tuple[events.Placed, ...]:
    """Its hosts, and the CPUs that its processes and its receive work are put on there."""
    return tuple(
        events.Placed(host, role, planned.app_cpus(host), planned.irq_cpus(host))
        for host, role in planned.case.ends
    )


def setup_of(session: Session, campaign: Campaign) -> Setup:
    """What is known of the hosts for the whole campaign."""
    names, facts = list(session.specs), session.facts
    return Setup(
        omit_s=campaign.omit_s,
        steer=campaign.steer,
        window_s=campaign.window_s,
        hosts=session.specs,
        base_frequency_hz={
            name: spec.base_frequency_hz or facts[name]["cpu"].get("base_frequency_hz")
            for name, spec in session.specs.items()
        },
        tick_accounting={name: facts[name]["kernel"].get("tick_accounting") for name in names},
        package_limit_w={name: facts[name]["cpu"].get("package_limit_w") for name in names},
        concurrent_pairs=campaign.concurrent_pairs,
        supplies=campaign.psus,
        cores={name: core_groups(facts[name]) for name in names},
        sysctls={name: _of_sockets(facts[name]) for name in names},
    )


def _of_sockets(facts: Facts) -> dict[str, str]:
    sysctls = facts.get("sysctl", {})
    return {name: str(sysctls[name]) for name in SOCKET_SETTINGS if sysctls.get(name) is not None}


async def _wait_past(feed: LiveFeed, time_s: float) -> None:
    """A sensor that stays silent shows in the result as a reading that is missing."""
    if not await feed.heard(time_s, SENSOR_LIMIT_S):
        feed.notice_silence()


async def _stop(prepared: Prepared) -> None:
    await asyncio.gather(*(live.stop() for live in prepared.ready))
