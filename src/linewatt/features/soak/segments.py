# SPDX-License-Identifier: Apache-2.0
"""The load in segments, one round after the other for as long as a soak runs: its output grows with time."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial

from linewatt.campaign.planning import PlannedTrial, Round
from linewatt.engine.live import InstanceOutput, Levels, LiveTrial, LoadTime, Session, TrialRun
from linewatt.engine.measuring import place_load
from linewatt.engine.undo import Settings
from linewatt.errors import ChangeError, HostError, ParseError
from linewatt.features.soak.plan import SoakPlan, segment_s
from linewatt.foreign import understood
from linewatt.hosts import finish_before_cancel, now_s
from linewatt.loads import Load, LoadEnd
from linewatt.missing import Missing
from linewatt.model import Channel, Sample
from linewatt.store import Series

PAUSE_S = 2.0
"""after a segment that failed, so that a host that is away is not asked without end"""
LONGEST_PAUSE_S = 60.0
"""it doubles from one to the next that fails, up to this"""
LEAST_S = 1.0
"""a rest of the time that is shorter is no test"""
CHANNELS = {
    name: Channel(name, unit, "counter", scope="host")
    for name, unit in (
        ("load.sent_bytes", "B"),
        ("load.received_bytes", "B"),
        ("load.retransmits", "count"),
        ("load.packets", "count"),
        ("load.lost_packets", "count"),
    )
}
Say = Callable[[str, str, str], None]


@dataclass(slots=True)
class Totals:
    """What loads counted on each host, over all segments of one part."""

    source: str
    by_host: dict[str, Counter[str]] = field(default_factory=dict)
    owed: dict[str, Counter[str]] = field(default_factory=dict)
    """what an interval took off, which the next ones make up for: a total never goes back"""

    def series(self, ends: Mapping[str, Sequence[tuple[float, LoadEnd]]]) -> list[Series]:
        """The totals of hosts after another segment; ``ends``: host → (its start, what it counted)."""
        return [Series(host, self.source, CHANNELS, self._samples(host, end)) for host, end in ends.items()]

    def _samples(self, host: str, ends: Sequence[tuple[float, LoadEnd]]) -> list[Sample]:
        total = self.by_host.setdefault(host, Counter())
        parts: list[tuple[float, str, int]] = []
        for start_s, end in ends:
            way = "sent" if end.is_sender else "received"
            for interval in end.intervals:
                counted = {
                    f"load.{way}_bytes": interval.transferred_bytes,
                    "load.retransmits": interval.retransmits,
                    "load.packets": None if end.is_sender else interval.packets,
                    "load.lost_packets": interval.lost_packets,
                }
                parts += [
                    (start_s + interval.end_s, name, count)
                    for name, count in counted.items()
                    if count is not None
                ]
        first_s = min((start_s for start_s, _ in ends), default=0.0)
        samples = [Sample(first_s, name, float(total[name])) for name in {name for _, name, _ in parts}]
        for time_s, name, count in sorted(parts):
            total[name] += self._grown(host, name, count)
            samples.append(Sample(time_s, name, float(total[name])))
        return samples

    def _grown(self, host: str, name: str, count: int) -> int:
        """By how much a total grows; ``count`` is less than 0 where datagrams came late."""
        owed = self.owed.setdefault(host, Counter())
        growth = count - owed[name]
        owed[name] = max(0, -growth)
        return max(0, growth)


class Segments:
    """Rounds in turn until the time is over. ``keep`` takes their samples."""

    def __init__(
        self,
        session: Session,
        planned: SoakPlan,
        settings: Settings,
        keep: Callable[[list[Series]], None],
        say: Say,
    ) -> None:
        self._session, self._planned, self._settings = session, planned, settings
        self._keep, self._say = keep, say
        self._totals = Totals(session.load.name)
        self._levels = Levels(())

    async def run(self, until_s: float) -> None:
        """Raises what is none of a segment's business; a segment that fails is told, and the next begins."""
        rounds, number, last_failures, pause_s = self._planned.rounds, 0, [""], PAUSE_S
        while rounds and (left_s := until_s - now_s()) >= LEAST_S:
            round_ = rounds[number % len(rounds)]
            number += 1
            try:
                await self._settings.to(self._planned.changes_in(round_), self._session.hosts)
                failures = await self._segment(round_, min(left_s, segment_s(self._planned.soak)))
            except (ChangeError, HostError) as error:
                failures = [str(error)]
            for failure in failures if failures != last_failures else ():
                self._say("segment-failed", "", f"segment {number}: {failure}")
            last_failures = failures
            if failures:
                await asyncio.sleep(min(pause_s, max(0.0, until_s - now_s())))
            pause_s = min(2 * pause_s, LONGEST_PAUSE_S) if failures else PAUSE_S

    async def _segment(self, round_: Round, seconds: float) -> list[str]:
        lives = [self._live(trial, seconds) for trial in round_.trials]
        try:
            outcomes = await asyncio.gather(*(live.prepared() for live in lives))
            ready = [live for live, why in zip(lives, outcomes, strict=True) if why is None]
            for live in ready:
                live.release()
            runs = await asyncio.gather(*(live.collect() for live in ready))
        finally:
            await finish_before_cancel(asyncio.gather(*(live.stop() for live in lives)))
        failures = [why for why in outcomes if why is not None]
        for run in runs:
            failures += self._take(run)
        return failures

    def _live(self, trial: PlannedTrial, seconds: float) -> LiveTrial:
        return LiveTrial(self._session, trial, LoadTime(float(int(seconds)), 1.0), self._levels)

    def _take(self, run: TrialRun) -> list[str]:
        """Keep what a segment counted, also of one that failed as far as it can be read."""
        ends: dict[str, list[tuple[float, LoadEnd]]] = {}
        failures = [] if run.failure is None else [run.failure]
        for output in run.outputs:
            for host, end in _ends(output, run, self._session.load):
                if isinstance(end, Missing):
                    failures += [end.reason] if run.failure is None else []
                else:
                    ends.setdefault(host, []).append(end)
        self._keep(self._totals.series(ends))
        return failures


def _ends(
    output: InstanceOutput, run: TrialRun, load: Load
) -> list[tuple[str, tuple[float, LoadEnd] | Missing]]:
    """Each end of an instance: its host, and its start with what it counted, or why that is not known."""
    case = run.planned.case
    ends: list[tuple[str, tuple[float, LoadEnd] | Missing]] = []
    for host, ended in ((case.client, output.client), (case.server, output.server)):
        if ended is None or ended.ended_s is None or host not in run.clocks:
            ends.append((host, Missing(f"{host}: instance {output.planned.instance} left no output")))
            continue
        ended_s = run.clocks[host].to_controller(ended.ended_s)
        try:
            parsed = understood(partial(load.parse, ended.stdout), "its output")
        except ParseError as error:
            ends.append((host, Missing(f"{host}: {error}")))
            continue
        ends.append((host, (place_load(parsed, run.started_s, ended_s).start_s, parsed)))
    return ends
