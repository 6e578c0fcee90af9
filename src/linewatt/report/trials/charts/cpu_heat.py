# SPDX-License-Identifier: Apache-2.0
"""CPUs over time as a heat map: a row for each busy CPU of both ends, a column a second, one trial a series.

Neighbouring cells of one colour step are drawn as one rectangle: pages stay small.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from statistics import fmean, median

from linewatt.model import ENDS, CpuShares, Role, Trial, Window
from linewatt.report.charts import specs
from linewatt.report.charts.data import Row, Runs
from linewatt.report.charts.figure import Figure
from linewatt.report.charts.specs import Spec
from linewatt.report.series import plural
from linewatt.report.trials.answer.answer import fastest_best
from linewatt.report.trials.answer.trust import Best
from linewatt.report.trials.charts.heat_map import STEPS
from linewatt.report.trials.charts.throughput_course import which_trial
from linewatt.report.trials.digest import Digest
from linewatt.report.trials.readings import median_trial
from linewatt.store import Course, read_busy_cpus, trial_dir
from linewatt.units import format_seconds, number_ranges

MOST_SERIES = 6
MOST_CPUS = 16
"""of a host"""
LEAST_BUSY_RATIO = 0.05
"""mean over the trial, above which a CPU without a role is shown"""
MOST_COLUMNS = 60
_WIDTH_PX, _ROW_PX, _LABELS_PX = 980, 18, 110


@dataclass(frozen=True, slots=True)
class CpuRow:
    """One CPU over time: ``cells`` are (from, until, busy ratio), in s from the window's start."""

    number: int
    roles: str
    """``app``, ``IRQ``, ``app, IRQ``, or nothing"""
    cells: tuple[tuple[float, float, float | None], ...]

    @property
    def label(self) -> str:
        return f"CPU {self.number}{f' ({self.roles})' if self.roles else ''}"

    @property
    def mean(self) -> float:
        """Over the readings that are there; 0 without any."""
        return fmean([busy for _, _, busy in self.cells if busy is not None] or [0.0])


@dataclass(frozen=True, slots=True)
class HostCpus:
    """The CPUs of one end that are drawn, and the numbers of other busy ones."""

    host: str
    role: Role
    rows: tuple[CpuRow, ...]
    left_out: tuple[int, ...]

    @property
    def title(self) -> str:
        return f"{self.host}, {self.role}"


def cpu_heat_figures(view: Digest, runs: Runs) -> tuple[Figure, ...]:
    """A figure for the best case of each series, of many of the fastest. Raises StoreError."""
    best = [case for case in fastest_best(view) if case.summary.case.flow_of is None][:MOST_SERIES]
    figures = (_figure(view, case, runs) for case in best)
    return tuple(figure for figure in figures if figure is not None)


def _figure(view: Digest, best: Best, runs: Runs) -> Figure | None:
    case_runs = runs.get(best.summary.case, ())
    trial = median_trial(case_runs)
    if trial is None or trial.window is None:
        return None
    courses = read_busy_cpus(trial_dir(view.result.path, trial.number) / "samples.parquet")
    cpus_of_host = {name: host.cpus for name, host in view.hosts.items()}
    hosts = [
        end
        for role in ENDS
        if (end := host_cpus(trial, role, courses, cpus_of_host.get(trial.case.host(role)))).rows
    ]
    if not hosts:
        return None
    case = best.summary.case
    return Figure(
        name=f"cpus-{case.key}-{case.sender}-{case.receiver}".replace(" ", ""),
        title=f"{view.describe(case)}: CPUs over time",
        caption=f"{which_trial(trial, len(case_runs))} {_caption(hosts)}",
        description="; ".join(_words(end) for end in hosts),
        spec=_spec(hosts, trial.window.seconds),
        wide=True,
    )


def host_cpus(
    trial: Trial, role: Role, courses: Sequence[Course], host_part: Sequence[int] | None
) -> HostCpus:
    """App and IRQ CPUs of an end, then others that are busy, the busiest first; in the order of numbers.

    ``host_part`` are the CPUs of a host that shares its machine; None: all that were read.
    """
    host = trial.case.host(role)
    cpus = [
        CpuRow(number, _roles(trial, role, number), _cells(course, trial.window))
        for course in courses
        if course.host == host and trial.window is not None
        for number in [int(course.name.removeprefix("cpu:"))]
        if host_part is None or number in host_part
    ]
    busy = [cpu for cpu in cpus if cpu.roles or cpu.mean > LEAST_BUSY_RATIO]
    ordered = sorted(busy, key=lambda cpu: (not cpu.roles, -cpu.mean, cpu.number))
    shown, left_out = ordered[:MOST_CPUS], ordered[MOST_CPUS:]
    return HostCpus(
        host,
        role,
        tuple(sorted(shown, key=lambda cpu: (not cpu.roles, cpu.number))),
        tuple(sorted(cpu.number for cpu in left_out)),
    )


def _roles(trial: Trial, role: Role, number: int) -> str:
    end = trial.end(role)
    if end is None:
        return ""
    of_roles: tuple[tuple[str, CpuShares | None], ...] = (("app", end.app_cpu), ("IRQ", end.irq_cpu))
    return ", ".join(name for name, shares in of_roles if shares is not None and number in shares.cpus)


def _cells(course: Course, window: Window) -> tuple[tuple[float, float, float | None], ...]:
    """A cell for each reading, which is the mean since the one before; of many the mean of several."""
    times_s = [time_s - window.start_s for time_s, _ in course.points]
    usual_s = median([after - before for before, after in pairwise(times_s)] or [1.0])
    begins_s = [times_s[0] - usual_s, *times_s[:-1]]
    cells = [
        (begin, end, value) for begin, end, (_, value) in zip(begins_s, times_s, course.points, strict=True)
    ]
    size = math.ceil(len(cells) / MOST_COLUMNS)
    portions = [cells[at : at + size] for at in range(0, len(cells), size)]
    return tuple((portion[0][0], portion[-1][1], _mean(portion)) for portion in portions)


def _mean(cells: Sequence[tuple[float, float, float | None]]) -> float | None:
    """None where a reading is missing."""
    values = [value for _, _, value in cells if value is not None]
    return fmean(values) if len(values) == len(cells) else None


def step_of(busy_ratio: float) -> int:
    """The colour step; the seven steps are of equal size, from 0 to 100 %."""
    return min(len(STEPS) - 1, max(0, int(len(STEPS) * busy_ratio)))


def _caption(hosts: Sequence[HostCpus]) -> str:
    cells = [cell for end in hosts for cpu in end.rows for cell in cpu.cells]
    column_s = median(until - begin for begin, until, _ in cells)
    parts = [
        "Colour: the part of the time that a CPU was busy, which is neither idle, waiting for a disk nor "
        f"stolen by a hypervisor. A column is {format_seconds(column_s)}; between the dashed lines is the "
        "window that figures are from. Shown are app and IRQ CPUs, then others that were busy for more than "
        f"{LEAST_BUSY_RATIO:.0%} of the time.".replace("%", " %")
    ]
    parts += [
        f"{end.host}: {plural(len(end.left_out), 'more such CPU')}, {number_ranges(end.left_out)}."
        for end in hosts
        if end.left_out
    ]
    if any(busy is None for _, _, busy in cells):
        parts.append("Blank: no reading.")
    return " ".join(parts)


def _words(end: HostCpus) -> str:
    """What a host's map shows, for whoever cannot see it."""
    cpus = ", ".join(f"{cpu.label} {100 * cpu.mean:.0f} %" for cpu in end.rows)
    return f"{end.title}, mean over the trial: {cpus}"


def _rows(end: HostCpus) -> Iterator[Row]:
    for cpu in end.rows:
        for step, begin, until, busy in _merged(cpu):
            ground, _ink = STEPS[step]
            yield {
                "cpu": cpu.label,
                "time_s": round(begin, 2),
                "until_s": round(until, 2),
                "busy": round(100 * busy, 1),
                "fill": f"var(--heat-{step + 1}, {ground})",
            }


def _merged(cpu: CpuRow) -> Iterator[tuple[int, float, float, float]]:
    """Step, from, until and mean busy ratio of neighbouring cells of one step."""
    group: list[tuple[float, float, float]] = []
    for begin, until, busy in (*cpu.cells, (math.inf, math.inf, None)):
        if group and (busy is None or step_of(busy) != step_of(group[0][2])):
            yield step_of(group[0][2]), group[0][0], group[-1][1], fmean(value for _, _, value in group)
            group = []
        if busy is not None:
            group.append((begin, until, busy))


def _spec(hosts: Sequence[HostCpus], window_s: float) -> Spec:
    ends = [cell for end in hosts for cpu in end.rows for cell in cpu.cells]
    span = (min(begin for begin, _, _ in ends), max(until for _, until, _ in ends))
    maps = [_map(end, span, window_s, last=at + 1 == len(hosts)) for at, end in enumerate(hosts)]
    return specs.themed({"vconcat": [_legend(), *maps], "spacing": 14})


def _map(end: HostCpus, span: tuple[float, float], window_s: float, *, last: bool) -> Spec:
    labels = [cpu.label for cpu in end.rows]
    bare = {} if last else {"labels": False, "tickSize": 0}
    title = "s from the window's start" if last else None
    x = specs.amount("time_s", title, span, ticks=10, grid=False, **bare)
    down = specs.labels_down("cpu", labels)
    down["axis"] |= {"minExtent": _LABELS_PX, "domain": False}
    down["scale"] = {"domain": labels, "paddingInner": 0.12, "paddingOuter": 0.06}
    edges = {"values": [{"time_s": 0.0}, {"time_s": window_s}]}
    halo = {"type": "rule", "strokeWidth": 3.5, "stroke": specs.GROUND}
    rule = {"type": "rule", "strokeDash": [4, 3], "strokeWidth": 1.5, "stroke": "currentColor"}
    return {
        "title": {"text": end.title, "anchor": "start", "color": "currentColor", "fontSize": 12},
        "data": {"values": list(_rows(end))},
        "width": _WIDTH_PX,
        "height": {"step": _ROW_PX},
        "layer": [
            {
                "mark": "rect",
                "encoding": {
                    "x": x,
                    "x2": {"field": "until_s"},
                    "y": down,
                    "fill": {"field": "fill", "type": "nominal", "scale": None, "legend": None},
                },
            },
            *({"data": edges, "mark": mark, "encoding": {"x": x}} for mark in (halo, rule)),
        ],
    }


def _legend() -> Spec:
    """The seven steps with their percent, as wide as the maps."""
    edges = [round(100 * at / len(STEPS)) for at in range(len(STEPS) + 1)]
    rows = [
        {
            "step": f"{edges[at]} to {edges[at + 1]} %",
            "fill": f"var(--heat-{at + 1}, {ground})",
            "ink": f"var(--heat-ink-{at + 1}, {ink})",
        }
        for at, (ground, ink) in enumerate(STEPS)
    ]
    as_is = {"type": "nominal", "scale": None, "legend": None}
    x = {"field": "step", "type": "nominal", "sort": [row["step"] for row in rows], "axis": None}
    text = {"text": {"field": "step"}, "color": {"field": "ink", **as_is}}
    return {
        "data": {"values": rows},
        "width": _WIDTH_PX,
        "height": 20,
        "encoding": {"x": x | {"scale": {"paddingInner": 0.02, "paddingOuter": 0}}},
        "layer": [
            {"mark": "rect", "encoding": {"fill": {"field": "fill", **as_is}}},
            {"mark": {"type": "text", "fontSize": 12}, "encoding": text},
        ],
    }
