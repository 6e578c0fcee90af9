# SPDX-License-Identifier: Apache-2.0
"""The profiles of a campaign: each a trial like those that are measured, with perf beside it in the window.

Nothing of it is in any figure: it runs after the last trial and the last idle window, and is stored beside
trials. What a host cannot do is said in its profile, and ends nothing.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from linewatt.campaign import Campaign
from linewatt.campaign.planning import PlannedTrial, Round
from linewatt.engine import RoundRunner, Stage, events
from linewatt.engine.live import Live, Session, TrialRun
from linewatt.errors import ChangeError, HostError, ParseError
from linewatt.features.profiles import store
from linewatt.features.profiles.perf import ability, recording
from linewatt.features.profiles.perf.ability import Ability
from linewatt.features.profiles.perf.model import HostProfile, Place, Profile
from linewatt.features.profiles.perf.parse import parse
from linewatt.features.profiles.perf.recording import Recording, one_each
from linewatt.foreign import last_line, understood
from linewatt.hosts import Ended, Process, now_s
from linewatt.model import Trial
from linewatt.records import SCHEMA_VERSION

ASK_LIMIT_S = 10.0
READY_LIMIT_S = 5.0
LATE_S = 0.05
"""that a recording may go on beyond the end of its load without a word: a tenth of the shortest slices"""


@dataclass(slots=True)
class _Recorder:
    """perf on one host, held until the window begins."""

    profile: HostProfile
    recording: Recording
    process: Process | None = None
    ended: Ended | None = None


class Profiler:
    """Runs the profiles of a plan, one after the other."""

    def __init__(
        self, session: Session, campaign: Campaign, stage: Stage, bench: RoundRunner, on_event: events.OnEvent
    ) -> None:
        self._session = session
        self._campaign = campaign
        self._stage = stage
        self._bench = bench
        self._say = on_event
        self._able: dict[str, Ability] = {}

    async def run(self, result: Path, round_: Round) -> None:
        """Make one profile and store it; a load that fails, too. Raises HostError for a host that is gone."""
        (planned,) = round_.trials
        self._say(events.Phase(f"profile {planned.number}: {planned.case.test}, {planned.case.way}"))
        try:
            await self._stage.in_force(round_)
            run, recorders = await self._recorded(planned)
        except ChangeError as error:
            self._store(result, _profile(planned, now_s(), reason=str(error)), {})
            return
        gone = [name for name in planned.case.hosts if name in self._session.lost()]
        if gone:
            raise HostError(f"{gone[0]}: lost while it was profiled ({self._session.lost()[gone[0]]})")
        trial = None if run.failure else await self._bench.unstored(run)
        # a host may say tens of megabytes, and heartbeats of all hosts go through this thread
        await asyncio.to_thread(self._kept, result, planned, run, trial, recorders)

    def _kept(
        self,
        result: Path,
        planned: PlannedTrial,
        run: TrialRun,
        trial: Trial | None,
        recorders: Sequence[_Recorder],
    ) -> None:
        """Make a profile of what perf said, and store it. Raises StoreError."""
        texts: dict[str, str] = {}
        for recorder in recorders:
            if recorder.ended is not None:
                texts[f"{recorder.profile.host}/{store.RECORDED}"] = recorder.ended.stdout
                texts[f"{recorder.profile.host}/perf.stderr"] = recorder.ended.stderr
        hosts = [_with_surroundings(self._found(recorder, run), trial) for recorder in recorders]
        why = run.failure or (trial.reason if trial is not None else None)
        if why is not None:
            hosts = [replace(host, reason=host.reason or f"its load failed: {why}") for host in hosts]
        throughput_bps = trial.throughput_bps if trial is not None else None
        profile = _profile(
            planned, run.started_s, hosts=tuple(hosts), throughput_bps=throughput_bps, reason=why
        )
        self._store(result, profile, texts)

    def _store(self, result: Path, profile: Profile, texts: Mapping[str, str]) -> None:
        store.write_profile(result, profile, texts)
        for host in profile.hosts:
            if host.reason is not None and profile.reason is None:
                self._say(events.Warned(f"{host.host}: no profile: {host.reason}"))
        if profile.reason is not None:
            self._say(events.Warned(f"profile {profile.number}: {profile.reason}"))

    async def _recorded(self, planned: PlannedTrial) -> tuple[TrialRun, list[_Recorder]]:
        """The load with perf beside it in its window. Raises HostError."""
        recorders, lives = await self._started(planned), self._bench.lives([planned])
        try:
            problems = [
                problem for problem in await asyncio.gather(*(live.prepared() for live in lives)) if problem
            ]
            if problems:
                await asyncio.gather(*(live.stop() for live in lives))
                failed_runs = [live.failed(problems[0]) for live in lives]
                return self._bench.together([planned], failed_runs)[0], recorders
            for live in lives:
                live.release()
            window_task = asyncio.create_task(self._in_window(recorders))
            try:
                runs = await asyncio.gather(*(live.collect() for live in lives))
                if not any(run.failure for run in runs):
                    await window_task
            finally:
                window_task.cancel()
            return self._bench.together([planned], runs)[0], recorders
        finally:
            await _all_stopped(lives, recorders)

    async def _started(self, planned: PlannedTrial) -> list[_Recorder]:
        """perf held on every host; where one is lost it is held on none. Raises HostError."""
        outcomes = await asyncio.gather(
            *(self._recorder(planned, name) for name in planned.case.hosts), return_exceptions=True
        )
        recorders = [outcome for outcome in outcomes if isinstance(outcome, _Recorder)]
        for problem in outcomes:
            if isinstance(problem, BaseException):
                await _all_stopped((), recorders)
                raise problem
        return recorders

    async def _in_window(self, recorders: Sequence[_Recorder]) -> None:
        """Let perf go when the window begins, and wait for what it says."""
        await asyncio.sleep(self._session.load.lead_s + self._campaign.omit_s)
        started = [(recorder, recorder.process) for recorder in recorders if recorder.process is not None]
        for _, process in started:
            process.release()
        await asyncio.gather(*(self._wait(recorder, process) for recorder, process in started))

    async def _wait(self, recorder: _Recorder, process: Process) -> None:
        limit_s = recorder.recording.limit_s + self._session.late_s([recorder.profile.host])
        try:
            recorder.ended = await process.wait(limit_s, f"perf to end, {limit_s:.0f} s after its start")
        except HostError as error:
            recorder.profile = replace(recorder.profile, reason=error.without(recorder.profile.host))

    async def _recorder(self, planned: PlannedTrial, name: str) -> _Recorder:
        """perf started and held on one host, or why it is not. Raises HostLost."""
        role = dict(planned.case.ends)[name]
        cpus = places(planned, name, self._cpus_of(name))
        profiled_cpus = one_each(*cpus.values())
        able = await self._ability(name, profiled_cpus[0] if profiled_cpus else 0)
        counted = () if able.no_counters else tuple(cpus.values())
        job = Recording(profiled_cpus, self._campaign.window_s, able.event, counted)
        empty = HostProfile(name, role, cpus, able.event, job.frequency_hz, notes=able.notes)
        empty = replace(empty, no_counters=able.no_counters or None)
        if able.problem:
            return _Recorder(replace(empty, reason=f"{able.problem}; {able.advice}"), job)
        host = self._session.hosts[name]
        try:
            process = await host.start(recording.command(job), held=True, root=True)
            process.bound(recording.MOST_BYTES)
            await process.ready(READY_LIMIT_S)
        except HostError as error:
            return _Recorder(replace(empty, reason=error.without(name)), job)
        return _Recorder(empty, job, process)

    async def _ability(self, name: str, cpu: int) -> Ability:
        if name not in self._able:
            done = await self._session.hosts[name].run(ability.command(cpu), timeout_s=ASK_LIMIT_S, root=True)
            self._able[name] = ability.parse(done.stdout)
        return self._able[name]

    def _cpus_of(self, name: str) -> tuple[int, ...]:
        spec = self._session.specs[name]
        return tuple(spec.cpus or self._session.facts[name]["cpus"].get("online") or (0,))

    def _found(self, recorder: _Recorder, run: TrialRun) -> HostProfile:
        """What perf said on a host, or why there is nothing."""
        if recorder.ended is None:
            return replace(recorder.profile, reason=recorder.profile.reason or "perf said nothing")
        if recorder.ended.status != 0:
            return replace(recorder.profile, reason=f"perf: {last_line(recorder.ended.stderr)}")
        try:
            job, text = recorder.recording, recorder.ended.stdout
            host_profile = understood(
                lambda: parse(text, recorder.profile, job.slices, job.slice_s), "what perf recorded"
            )
        except ParseError as error:
            return replace(recorder.profile, reason=f"{error} ({last_line(recorder.ended.stderr)})")
        return _on_time_line(host_profile, run)


def _profile(planned: PlannedTrial, started_s: float, **contents: Any) -> Profile:
    return Profile(SCHEMA_VERSION, planned.number, planned.case, planned.case.key, started_s, **contents)


def _on_time_line(host_profile: HostProfile, run: TrialRun) -> HostProfile:
    """Stamps of the host's clock as the controller's; what was recorded without load is said."""
    clock = run.clocks.get(host_profile.host)
    if clock is None or host_profile.start_s is None or host_profile.end_s is None:
        return replace(host_profile, start_s=None, end_s=None)
    start_s, end_s = clock.to_controller(host_profile.start_s), clock.to_controller(host_profile.end_s)
    notes = host_profile.notes
    if end_s > run.ended_s + clock.uncertainty_s + LATE_S:
        notes = (*notes, f"perf recorded for up to {end_s - run.ended_s:.1f} s beyond the end of the load")
    return replace(host_profile, start_s=start_s, end_s=end_s, notes=notes)


def _with_surroundings(host_profile: HostProfile, trial: Trial | None) -> HostProfile:
    """With what the trial says of its host: packets, and base clock, by which counters are told."""
    if trial is None or trial.window is None:
        return host_profile
    end = next((end for end in trial.ends if end.host == host_profile.host), None)
    if end is None:
        return host_profile
    ways = [end.counters.get(name) for name in ("nic.rx_packets", "nic.tx_packets")]
    packet_counts = [way for way in ways if way is not None]
    packets_hz = sum(packet_counts) / trial.window.seconds if len(packet_counts) == len(ways) else None
    return replace(host_profile, packets_hz=packets_hz, base_frequency_hz=end.base_frequency_hz)


async def _all_stopped(lives: Sequence[Live], recorders: Sequence[_Recorder]) -> None:
    """Nothing of it goes on, whatever happened."""
    await asyncio.gather(*(live.stop() for live in lives))
    processes = [
        recorder.process for recorder in recorders if recorder.process is not None and recorder.ended is None
    ]
    await asyncio.gather(*(process.stop() for process in processes), return_exceptions=True)


def places(planned: PlannedTrial, host: str, host_cpus: tuple[int, ...]) -> Mapping[Place, tuple[int, ...]]:
    """CPUs by what they are there for; ``host_cpus`` CPU of the host where the system places its load."""
    app = set(planned.app_cpus(host))
    irq = {cpu for pair in planned.pairs if host in pair.case.hosts for cpu in pair.irq_cpus(host)}
    if not app:
        return {"host": host_cpus}
    cpus_by_place: dict[Place, set[int]] = {"app": app - irq, "irq": irq - app, "app + irq": app & irq}
    return {place: tuple(sorted(cpus)) for place, cpus in cpus_by_place.items() if cpus}
