# SPDX-License-Identifier: Apache-2.0
"""What a campaign as a whole shows of its meters: slow ones, averaging ones, one that hangs. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from linewatt.findings.meters import (
    HUNG_CORES,
    LEAST_W_PER_CORE,
    LONG_AVERAGING_S,
    SLOW_REFRESH_S,
    STANDS_WINDOWS,
)
from linewatt.findings.power import FOLLOW_THE_CPU
from linewatt.model import Flag, Trial
from linewatt.records import Idle, Meter
from linewatt.sensors.power.dynamics import POLL_LIMITED


def meter_flags(meters: Iterable[Meter], idle: Iterable[Idle], trials: Sequence[Trial]) -> Iterator[Flag]:
    """Flags of the meters of a result; ``where`` begins with their host."""
    for one in meters:
        yield from _slow(one)
    yield from _hung(trials, idle)


def _slow(one: Meter) -> Iterator[Flag]:
    where = f"{one.host}: {one.source} {one.channel}"
    refresh_s, averaging_s = one.refresh_s, one.averaging_s
    read_every_s = one.read_every_s or 1.0
    if refresh_s is not None and refresh_s >= max(SLOW_REFRESH_S, POLL_LIMITED * read_every_s):
        yield Flag(
            "meter-refreshes-slowly",
            where,
            f"a new value every {refresh_s:.3g} s, read every {read_every_s:.3g} s",
            "let windows be many of its refreshes long; take no single reading for the power of its moment",
        )
    if averaging_s is not None and averaging_s >= LONG_AVERAGING_S:
        needs = "" if one.settle_s is None else f"; after a load begins it needs up to {one.settle_s:.3g} s"
        yield Flag(
            "meter-averages",
            where,
            f"averages over {averaging_s:.3g} s{needs}",
            "let omit be as long, or windows much longer",
        )


@dataclass(frozen=True, slots=True)
class _Still:
    """A window all through which a meter showed one value."""

    what: str
    start_s: float
    power_w: float
    cores: float
    step_w: float


def _hung(trials: Sequence[Trial], idle: Iterable[Idle]) -> Iterator[Flag]:
    """One value over several windows although the CPUs' use changed between them."""
    courses: dict[str, list[_Window]] = {}
    for where, window in [*_of_trials(trials), *_of_idle(idle)]:
        courses.setdefault(where, []).append(window)
    for where, course in courses.items():
        ordered = sorted(course, key=lambda one: one[0])
        for run in _runs([still for _, still in ordered]):
            cores = [one.cores for one in run]
            needed = max(HUNG_CORES, 2 * run[0].step_w / LEAST_W_PER_CORE)
            if len(run) >= STANDS_WINDOWS and max(cores) - min(cores) > needed:
                yield Flag(
                    "meter-hangs",
                    where,
                    f"reads {run[0].power_w:g} W all through {run[0].what} to {run[-1].what}, with "
                    f"{min(cores):.2f} to {max(cores):.2f} cores busy",
                    "do not use figures of it; restart the BMC or meter, and see whether it follows a load",
                )


_Window = tuple[float, _Still | None]
"""when a window began, and what stood still in it"""


def _of_trials(trials: Iterable[Trial]) -> Iterator[tuple[str, _Window]]:
    for trial in trials:
        for end in trial.ends:
            for one in end.power:
                if _follows(one.scope) and not one.is_corrected:
                    known = (one.spread_w, one.power_w, end.cpu_cores, one.step_w)
                    still = _still(f"trial {trial.number}", trial.started_s, *known)
                    yield f"{end.host}: {one.source} {one.channel}", (trial.started_s, still)


def _of_idle(windows: Iterable[Idle]) -> Iterator[tuple[str, _Window]]:
    for window in windows:
        start_s = window.window.start_s
        for host, values in window.hosts.items():
            for one in values.power:
                if _follows(one.scope):
                    known = (one.spread_w, one.power_w, values.cpu_cores, one.step_w)
                    yield f"{host}: {one.source} {one.channel}", (start_s, _still("idle", start_s, *known))


def _follows(scope: str) -> bool:
    return scope.partition(":")[0] in FOLLOW_THE_CPU


def _still(
    what: str,
    start_s: float,
    spread_w: float | None,
    power_w: float | None,
    cores: float | None,
    step_w: float | None,
) -> _Still | None:
    if spread_w != 0 or not power_w or power_w < 0 or cores is None:
        return None
    return _Still(what, start_s, power_w, cores, step_w or 0.0)


def _runs(course: Sequence[_Still | None]) -> Iterator[list[_Still]]:
    """Stretches of trials with one and the same value."""
    run: list[_Still] = []
    for one in [*course, None]:
        if run and (one is None or abs(one.power_w - run[-1].power_w) > 1e-6 * run[-1].power_w):
            yield run
            run = []
        if one is not None:
            run.append(one)
