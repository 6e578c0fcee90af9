# SPDX-License-Identifier: Apache-2.0
"""Clocks, heat, fans, power limits and throttling of each host beside its watts: by case, and by trial."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from linewatt.analysis.metrics import unscaled
from linewatt.analysis.power import DEGREES, Heat, end_of_host, heat_of, is_heat_known, why_no_heat
from linewatt.model import Case, EndResult, Trial
from linewatt.report.provenance import provenance_mark
from linewatt.report.table import Cell, Head, Lack, Note, Row, RowGroup, Table, absences
from linewatt.report.trials.digest import Digest
from linewatt.units import MISSING, ghz_from_hz, percent_from_ratio

TITLE = "Heat, fans and limits"
MOST_ON_PAGE = 200
"""trials of a result whose page has a row of each"""


@dataclass(frozen=True, slots=True)
class _Column:
    """A column of a field of :class:`Heat`, whose reason is told where it is missing."""

    field: str
    head: Head
    decimals: int
    from_si: Callable[[float], float] = unscaled
    to: str = ""
    """the field of the most, where ``field`` is the least of several"""

    def text(self, heat: Heat) -> str | None:
        """In the unit of the head; ``None`` where it is not known."""
        values = [getattr(heat, name) for name in (self.field, self.to) if name]
        if None in values:
            return None
        return "–".join(dict.fromkeys(f"{self.from_si(value):,.{self.decimals}f}" for value in values))


_COLUMNS = (
    _Column("app_hz", Head("App CPUs", "GHz"), 2, ghz_from_hz),
    _Column("irq_hz", Head("IRQ CPUs", "GHz"), 2, ghz_from_hz),
    _Column("hottest_c", Head("Hottest", DEGREES), 1),
    _Column("slowest_fan_rpm", Head("Fans", "rpm"), 0, to="fastest_fan_rpm"),
    _Column("package_limit_w", Head("Package limit", "W"), 0),
    _Column("of_limit_ratio", Head("Drawn of limit", "%"), 1, percent_from_ratio),
    _Column("throttled", Head("Throttled", "times"), 0),
    _Column("power_w", Head("Power", "W"), 1),
)


@dataclass(frozen=True, slots=True)
class _Line:
    """What is in one row: its names, and the ends of the host that it is about."""

    names: tuple[str, ...]
    ends: Sequence[EndResult]


_Ends = dict[Case, list[tuple[Trial, EndResult]]]
"""trials of one host by case, each with its end of it"""


def thermal_tables(view: Digest, *, trials: bool = False) -> tuple[Table, ...]:
    """One a host of which anything is told beside watts: a row a case, or with ``trials`` one of each."""
    lines_by_host = {
        host: list(_lines(view, host_ends, trials=trials)) for host, host_ends in _ends(view).items()
    }
    return tuple(
        _table(host, lines, trials=trials)
        for host, lines in lines_by_host.items()
        if any(is_heat_known(end) for line in lines for end in line.ends)
    )


def _ends(view: Digest) -> dict[str, _Ends]:
    """What each host measured, by case: one walk through all trials, however many hosts there are."""
    by_host: dict[str, _Ends] = {host: {} for host in view.hosts}
    for trial in view.result.trials:
        for host in {end.host for end in trial.ends} & by_host.keys():
            if (end := end_of_host(trial, host)) is not None:
                by_host[host].setdefault(trial.case, []).append((trial, end))
    return by_host


def _lines(view: Digest, ends: _Ends, *, trials: bool) -> Iterator[_Line]:
    for case in (summary.case for summary in view.summaries if summary.case in ends):
        name, trial_ends = view.describe(case), ends[case]
        if trials:
            yield from (_Line((f"{trial.number}", name), [end]) for trial, end in trial_ends)
        else:
            yield _Line((name,), [end for _, end in trial_ends])


def _table(host: str, lines: Sequence[_Line], *, trials: bool) -> Table:
    heats = [heat_of(line.ends) for line in lines]
    columns = [column for column in _COLUMNS if any(column.text(heat) is not None for heat in heats)]
    rows = (
        Row(tuple(map(Cell, line.names)), tuple(_cell(column, heat, line) for column in columns))
        for line, heat in zip(lines, heats, strict=True)
    )
    case = Head("Case", kind="text")
    return Table(
        title=f"{TITLE} of {host}{', every trial' if trials else ''}",
        keys=(Head("Trial"), case) if trials else (case,),
        heads=tuple(column.head for column in columns),
        groups=(RowGroup("", tuple(rows)),),
        notes=(*absences(_lacks(lines, heats), len(lines)), *_simulated(heats)),
        style="numbers thermal",
        folded=f"{len(lines)} trials" if trials else "",
    )


def _simulated(heats: Sequence[Heat]) -> Iterator[Note]:
    if any(heat.provenance == "simulated" for heat in heats):
        yield Note("remark", "Temperatures and fans of its simulated meter are simulated, too")


def _cell(column: _Column, heat: Heat, line: _Line) -> Cell:
    text = column.text(heat)
    if text is None:
        return Cell(MISSING, reason=why_no_heat(column.field, line.ends))
    return Cell(text, mark=provenance_mark(heat.provenance) if column.field == "power_w" else None)


def _lacks(lines: Sequence[_Line], heats: Sequence[Heat]) -> Iterator[Lack]:
    for column in _COLUMNS:
        for line, heat in zip(lines, heats, strict=True):
            if column.text(heat) is None:
                reason = why_no_heat(column.field, line.ends)
                yield Lack(column.head.title, reason, row=" ".join(line.names))
