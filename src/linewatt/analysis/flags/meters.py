# SPDX-License-Identifier: Apache-2.0
"""What a campaign as a whole shows of its meters: slow ones, averaging ones, one that hangs. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations

from linewatt.findings import (
    HUNG_CORES,
    HUNG_TWO_CORES,
    HUNG_TWO_STEPS,
    LEAST_W_PER_CORE,
    LONG_AVERAGING_S,
    SCOPES_THAT_FOLLOW_THE_CPU,
    SLOW_REFRESH_S,
    SLOWEST_REFRESH_S,
    STANDS_WINDOWS,
)
from linewatt.model import Flag, PowerResult, Trial
from linewatt.records import Idle, Meter
from linewatt.sensors.power import POLL_LIMITED


def meter_flags(meters: Iterable[Meter], idle: Iterable[Idle], trials: Sequence[Trial]) -> Iterator[Flag]:
    """Flags of the meters of a result; ``where`` begins with their host."""
    learned = list(meters)
    for meter in learned:
        yield from _slow(meter)
    yield from _hung(learned, trials, idle)


def _slow(meter: Meter) -> Iterator[Flag]:
    where = f"{meter.host}: {meter.source} {meter.channel}"
    refresh_s, averaging_s = meter.refresh_s, meter.averaging_s
    read_every_s = meter.read_every_s or 1.0
    if refresh_s is not None and refresh_s >= max(SLOW_REFRESH_S, POLL_LIMITED * read_every_s):
        yield Flag(
            "meter-refreshes-slowly",
            where,
            f"a new value every {refresh_s:.3g} s, read every {read_every_s:.3g} s",
            "make windows many refreshes long; a single reading may be older than it looks",
        )
    if averaging_s is not None and averaging_s >= LONG_AVERAGING_S:
        needs = (
            ""
            if meter.settle_s is None
            else f"; after a load begins it needs up to {meter.settle_s:.3g} s to settle"
        )
        yield Flag(
            "meter-averages",
            where,
            f"averages over {averaging_s:.3g} s{needs}",
            "make window.omit at least as long, or windows much longer",
        )

    if meter.peak_s is not None:
        yield Flag(
            "meter-shows-peaks",
            where,
            f"rises when a load begins, and stays high for {meter.peak_s:.3g} s after the load ends",
            "its watts are an upper limit; set the meter to averages, or use another meter",
        )
    if meter.late_loads and meter.dynamics.is_late:
        yield Flag(
            "meter-late",
            where,
            f"shows a load {meter.delay_s:.3g} s after the load began (seen at {meter.late_loads} loads)",
            "make window.omit longer than this delay, or windows much longer",
        )


@dataclass(frozen=True, slots=True)
class _Still:
    """A window all through which a meter showed one value; ``since_s``: how long its load ran at its end."""

    what: str
    since_s: float
    power_w: float
    cores: float
    step_w: float


_Moved = tuple[float, "_Still | None"]
"""when a window began, and what stood still in it"""


def _hung(meters: Sequence[Meter], trials: Sequence[Trial], idle: Iterable[Idle]) -> Iterator[Flag]:
    """One value over several windows although the CPUs' use changed between them."""
    follows_after_s = {
        f"{meter.host}: {meter.source} {meter.channel}": _follows_after_s(meter) for meter in meters
    }
    courses: dict[str, list[_Moved]] = {}
    for where, window in [*_of_trials(trials), *_of_idle(idle)]:
        courses.setdefault(where, []).append(window)
    for where, course in courses.items():
        ordered = sorted(course, key=lambda moved: moved[0])
        for run in _runs([still for _, still in ordered]):
            if _differ(run) or _differ_much(run, follows_after_s.get(where, SLOWEST_REFRESH_S)):
                cores = [still.cores for still in run]
                yield Flag(
                    "meter-hangs",
                    where,
                    f"reads {run[0].power_w:g} W from {run[0].what} to {run[-1].what} without a change, "
                    f"while {min(cores):.2f} to {max(cores):.2f} cores were busy",
                    "do not use its figures; restart the BMC or meter, and check that it follows a load",
                )


def _follows_after_s(meter: Meter) -> float:
    """How long after a change of the power a meter shows it."""
    if meter.refresh_s is None:
        return max(SLOWEST_REFRESH_S, meter.settle_s or 0.0)
    return meter.refresh_s + (meter.settle_s or 0.0)


def _differ(run: Sequence[_Still]) -> bool:
    cores = [still.cores for still in run]
    needed = max(HUNG_CORES, 2 * run[0].step_w / LEAST_W_PER_CORE)
    return len(run) >= STANDS_WINDOWS and max(cores) - min(cores) > needed


def _differ_much(run: Sequence[_Still], follows_after_s: float) -> bool:
    """Whether the CPU use of two windows differs by much, and the meter had time to show the later one's."""
    needed = max(HUNG_TWO_CORES, HUNG_TWO_STEPS * run[0].step_w / LEAST_W_PER_CORE)
    return any(
        abs(later.cores - earlier.cores) > needed and later.since_s >= follows_after_s
        for earlier, later in combinations(run, 2)
    )


def _of_trials(trials: Iterable[Trial]) -> Iterator[tuple[str, _Moved]]:
    for trial in trials:
        if trial.window is None:
            continue
        since_s = trial.window.end_s - trial.started_s
        for end in trial.ends:
            for channel in end.power:
                if _follows(channel.scope) and not channel.is_corrected and _is_known(channel, end.cpu_cores):
                    still = _still(f"trial {trial.number}", since_s, channel, end.cpu_cores)
                    yield f"{end.host}: {channel.source} {channel.channel}", (trial.started_s, still)


def _of_idle(windows: Iterable[Idle]) -> Iterator[tuple[str, _Moved]]:
    for idle in windows:
        start_s, end_s = idle.window.start_s, idle.window.end_s
        for host, values in idle.hosts.items():
            for channel in values.power:
                if _follows(channel.scope) and _is_known(channel, values.cpu_cores):
                    still = _still("idle", end_s - start_s, channel, values.cpu_cores)
                    yield f"{host}: {channel.source} {channel.channel}", (start_s, still)


def _follows(scope: str) -> bool:
    return scope.partition(":")[0] in SCOPES_THAT_FOLLOW_THE_CPU


def _is_known(channel: PowerResult, cores: float | None) -> bool:
    """A window without power, or of unknown CPU use, says neither that a meter stood nor that it moved."""
    return channel.power_w is not None and channel.spread_w is not None and cores is not None


def _still(what: str, since_s: float, channel: PowerResult, cores: float | None) -> _Still | None:
    """A window in which a meter stood at a power; None: it moved, or shows no power."""
    if channel.spread_w != 0 or not channel.power_w or channel.power_w < 0 or cores is None:
        return None
    return _Still(what, since_s, channel.power_w, cores, channel.step_w or 0.0)


def _runs(course: Sequence[_Still | None]) -> Iterator[list[_Still]]:
    """Stretches of trials with one and the same value."""
    run: list[_Still] = []
    for still in [*course, None]:
        if run and (still is None or abs(still.power_w - run[-1].power_w) > 1e-6 * run[-1].power_w):
            yield run
            run = []
        if still is not None:
            run.append(still)
