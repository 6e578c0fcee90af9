# SPDX-License-Identifier: Apache-2.0
"""The metrics of a case as columns for terminal, HTML, CSV and JSON alike.

Values are SI under keys that name their unit; a unit turns them into what people read. A column
picks one unit for a whole table, so that rows compare. In JSON and CSV power has the unit of its key,
as in ``linewatt derive``; beside each value stands whether it was measured.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, get_args

from linewatt.analysis.cases import CaseSummary
from linewatt.analysis.comparison import Verdict, signed_change, unit_of_change
from linewatt.analysis.metrics import (
    METRICS,
    POWER_METRICS,
    CaseMetric,
    PowerMetric,
    Response,
    Unit,
    power_title,
)
from linewatt.analysis.power import SCOPE_WORDS, EndPower
from linewatt.analysis.statistics import Estimate, Interval, Method, Quantity
from linewatt.declare import NUMBER, TEXT, Keys, Schema, choice, maybe, said, sometimes
from linewatt.model import ENDS, Case, Provenance, Role
from linewatt.report.findings import NO_MARKS, Marks
from linewatt.report.printing.export import mean_keys, mean_schema
from linewatt.report.provenance import provenance_mark, provenance_words
from linewatt.report.table import Cell, Head
from linewatt.units import MISSING

Value = Estimate | float | int | None


def case_cell(metric: CaseMetric, summary: CaseSummary, unit: Unit) -> Cell:
    """Text of one case in ``unit``."""
    reason = summary.reasons.get(metric.name, "not recorded")
    cell = cell_of(metric.value(summary), unit, summary.trials_done, reason)
    if metric.name != "throughput_bps":
        return cell
    if summary.modes is not None:
        return replace(cell, note="; ".join(filter(None, (cell.note, "two modes"))))
    if summary.unresolved is not None:
        ends = (unit.text(unit.from_si(summary.unresolved.values[at])) for at in (0, -1))
        return replace(cell, note="; ".join(filter(None, (cell.note, f"trials {' to '.join(ends)}"))))
    return cell


def ci_text(metric: CaseMetric, summary: CaseSummary, unit: Unit) -> str | None:
    """The 95 % CI of a case's mean in ``unit``; ``None`` where it is not shown or there is none."""
    value = metric.value(summary)
    if not (metric.show_ci and isinstance(value, Estimate)) or (interval := value.interval()) is None:
        return None
    ends = " to ".join(unit.text(unit.from_si(end)) for end in (interval.low, interval.high))
    return f"{ends}, {cut_words(interval, value.quantity)}" if interval.is_cut else ends


def cut_words(interval: Interval, quantity: Quantity) -> str:
    """Behind an interval that is cut: ``cut at 0``; of a ratio its upper end may be the one that is."""
    bounds = {"0": interval.low == 0.0, "100 %": quantity == "ratio" and interval.high == 1.0}
    return f"cut at {' and '.join(bound for bound, is_reached in bounds.items() if is_reached)}"


def head(metric: CaseMetric, unit: Unit) -> Head:
    """What stands above a metric in a table in ``unit``."""
    return Head(
        metric.title,
        unit.name,
        lines=metric.heading,
        key=metric.si_key if metric.of_series else f"{metric.si_key}_mean",
        show_sd=metric.show_sd,
        show_ci=metric.show_ci,
        rank=metric.rank,
    )


def export(metric: CaseMetric, summary: CaseSummary) -> dict[str, Any]:
    """Keys and values for JSON and CSV, SI; missing is ``None``."""
    if not is_exported(metric, summary):
        return {}
    value, key = metric.value(summary), metric.si_key
    if metric.of_series:
        return {key: value}
    estimate = value if isinstance(value, Estimate) else None
    keys = mean_keys(key, estimate)
    if not metric.show_ci:
        return keys
    ci = estimate.interval() if estimate else None
    return keys | {
        f"{key}_ci95_low": ci and ci.low,
        f"{key}_ci95_high": ci and ci.high,
        f"{key}_ci95_method": ci and ci.method,
    }


def metric_schema(metric: CaseMetric) -> Keys:
    """Keys of :func:`export`: a metric is in the schema once it is declared."""
    key, meaning = metric.si_key, ". ".join(filter(None, (metric.title, metric.meaning or metric.remark)))
    if metric.of_series:
        keys: Keys = {key: said(maybe(NUMBER), meaning)}
    else:
        keys = mean_schema(key, meaning)
    if metric.show_ci and not metric.of_series:
        keys = {
            **keys,
            f"{key}_ci95_low": said(maybe(NUMBER), "Of the 95 % CI of the mean."),
            f"{key}_ci95_high": maybe(NUMBER),
            f"{key}_ci95_method": maybe(choice(*get_args(Method))),
        }
    return sometimes(keys) if _is_seldom(metric) else keys


def _is_seldom(metric: CaseMetric) -> bool:
    """Whether documents have it only where it means something, or some trial recorded it."""
    return metric.only_recorded or metric.loads == "request-response"


def is_exported(metric: CaseMetric, summary: CaseSummary) -> bool:
    """Whether the document of a case has it, with a value or without one."""
    return not _is_seldom(metric) or metric.applies([summary])


def cell_of(value: Value, unit: Unit, trials_done: int, reason: str, mark: str | None = None) -> Cell:
    """Text of a value in ``unit``; ``reason`` is why there is none."""
    if value is None:
        return Cell(MISSING, reason=reason)
    if not isinstance(value, Estimate):
        return Cell(unit.text(unit.from_si(value)), mark=mark, si=value)
    text = unit.text(unit.from_si(value.mean))
    sd = None if value.sd is None else _like(text, unit.from_si(value.sd))
    return Cell(text, sd, f"n={value.n}" if value.n < trials_done else None, mark=mark, si=value.mean)


def _like(text: str, value: float) -> str:
    """``value`` with as many decimals as ``text`` has."""
    decimals = len(text.partition(".")[2])
    return f"{value:,.{decimals}f}"


COLUMNS = tuple(metric for metric in METRICS if metric.tabled)
"""Columns of the scalability table, left to right, between instances and trials."""
MORE_COLUMNS = tuple(metric for metric in METRICS if not metric.tabled)
"""Columns that JSON and CSV have beyond those of the table."""

SHARES = ("usr", "sys", "irq", "soft", "idle", "other")
ROLES = (
    ("receiver_app", "Receiver: app CPU"),
    ("receiver_irq", "Receiver: IRQ CPU"),
    ("sender_app", "Sender: app CPU"),
    ("sender_irq", "Sender: IRQ CPU"),
)


def provenance_of(metric: PowerMetric, power: EndPower) -> Provenance | None:
    """Whether the watts it is made of were measured; ``None`` where there is no value."""
    if power.values.get(metric.name) is None:
        return None
    if metric.watts == "both":
        return power.provenance
    return power.system_provenance if metric.watts == "system" else power.cpu_provenance


def power_cell(metric: PowerMetric, power: EndPower, unit: Unit, trials_done: int) -> Cell:
    """Text at one end in ``unit``, marked unless measured."""
    reason = power.reasons.get(metric.name, "not recorded")
    sure = provenance_mark(provenance_of(metric, power))
    cell = cell_of(power.values.get(metric.name), unit, trials_done, reason, sure)
    bound = power.values.get(metric.bound)
    if bound is not None and not cell.missing:
        cell = replace(cell, text=f"{cell.text} ± {_like(cell.text, unit.from_si(bound.mean))}")
    return replace(cell, sd=cell.sd if metric.spread else None, si=None)  # JSON has other units


def power_head(
    metric: PowerMetric, role: Role, unit: Unit, scope: str | None, powers: Iterable[EndPower]
) -> Head:
    """What stands above it in a table of one end in ``unit``; ``scope`` are its watts."""
    named = SCOPE_WORDS.get(scope, scope) if scope else ("CPU" if metric.watts == "cpu" else "System")
    return Head(
        metric.title.format(scope=named),
        unit.name,
        lines=metric.heading.format(scope=named.replace(" (", "\n(")),
        provenance=provenance_words(provenance_of(metric, power) for power in powers),
        key=f"{role}_{metric.si_key}_mean",
        show_sd=metric.show_sd,
        rank=metric.rank,
    )


def export_end(metric: PowerMetric, role: Role, power: EndPower | None) -> dict[str, Any]:
    """Keys and values for JSON and CSV; missing is ``None``."""
    name = f"{role}_{metric.si_key}"
    value = None if power is None else power.values.get(metric.name)
    convert = metric.units[0].from_si
    row = mean_keys(name, value, convert)
    row[f"{name}_provenance"] = None if power is None else provenance_of(metric, power)
    if metric.bound:
        bound = None if power is None or value is None else power.values.get(metric.bound)
        row[f"{name}_uncertainty"] = None if bound is None else convert(bound.mean)
    return row


def end_schema(metric: PowerMetric, role: Role) -> Keys:
    """Keys of :func:`export_end`."""
    name = f"{role}_{metric.si_key}"
    keys = {**mean_schema(name, f"{power_title(metric)}, at the {role}"), f"{name}_provenance": _PROVENANCE}
    if metric.bound:
        keys[f"{name}_uncertainty"] = said(maybe(NUMBER), "Bound of its error.")
    return sometimes(keys) if metric.only_recorded else keys


_PROVENANCE = said(
    maybe(choice(*get_args(Provenance))), "Whether it was measured; the least sure of its parts."
)


def export_power(summary: CaseSummary) -> dict[str, Any]:
    """The power of both ends as flat keys: which watts they are, and every column; by the packet where some
    were counted."""
    row: dict[str, Any] = {}
    counted = {name for role in ENDS if (power := summary.power(role)) is not None for name in power.values}
    for role in ENDS:
        power = summary.power(role)
        row[f"{role}_system_scope"] = None if power is None else power.system_scope
        row[f"{role}_cpu_scope"] = None if power is None else power.cpu_scope
        for metric in POWER_METRICS:
            if not metric.only_recorded or metric.name in counted:
                row |= export_end(metric, role, power)
    return row


def power_schema() -> Keys:
    """Keys of :func:`export_power`."""
    keys: dict[str, Schema] = {}
    for role in ENDS:
        keys[f"{role}_system_scope"] = said(maybe(TEXT), "Which watts are those of the system.")
        keys[f"{role}_cpu_scope"] = said(maybe(TEXT), "Which watts are those of the CPUs.")
        for metric in POWER_METRICS:
            keys |= end_schema(metric, role)
    return keys


def power_reasons(summary: CaseSummary) -> dict[str, str]:
    """Why values are missing, by their key in JSON and CSV."""
    return {
        f"{role}_{metric.si_key}": power.reasons[metric.name]
        for role in ENDS
        if (power := summary.power(role)) is not None
        for metric in POWER_METRICS
        if metric.name in power.reasons
    }


Powers = Mapping[Case, EndPower]
"""The power of one end of each case that has any"""


@dataclass(frozen=True, slots=True)
class Shown:
    """What stands above a column, and what it has for a case."""

    head: Head
    cell: Callable[[CaseSummary], Cell]

    @property
    def without_spread(self) -> Shown:
        """The same with means alone."""
        head = replace(self.head, plus_minus="")
        return Shown(head, lambda summary: replace(self.cell(summary), sd=None))


def of_cases(
    columns: Iterable[CaseMetric],
    summaries: Sequence[CaseSummary],
    marks: Marks = NO_MARKS,
    *,
    intervals: bool = False,
) -> list[Shown]:
    """Of columns those that mean something for these cases and have a value among them."""
    return [
        of_case(column, summaries, marks, intervals=intervals)
        for column in columns
        if column.applies(summaries) and column.has_values(summaries)
    ]


def of_case(
    column: CaseMetric, summaries: Sequence[CaseSummary], marks: Marks = NO_MARKS, *, intervals: bool = False
) -> Shown:
    """A column in the unit of these cases; ``intervals``: with the 95 % CIs of means, which take time."""
    unit = column.unit(summaries)

    def cell(summary: CaseSummary) -> Cell:
        doubts = marks.cell(summary.case, column.figure, column.role)
        ci = ci_text(column, summary, unit) if intervals else None
        return replace(case_cell(column, summary, unit), doubts=doubts, ci=ci)

    spreads = (column.value(summary) for summary in summaries)
    has_spread = any(isinstance(value, Estimate) and value.sd is not None for value in spreads)
    above = head(column, unit)
    if has_spread:
        above = _with_sign(above, "± SD", in_terminal=column.show_sd)
    return Shown(above if intervals else replace(above, show_ci=False), cell)


def of_power(
    column: PowerMetric, unit: Unit, role: Role, scope: str | None, powers: Powers, marks: Marks = NO_MARKS
) -> Shown:
    """A column of the power of one end, of watts of one scope."""

    def cell(summary: CaseSummary) -> Cell:
        power = powers.get(summary.case)
        if power is None:
            return Cell(
                MISSING, reason=summary.reasons.get(f"{role}_power", "no watts of this scope are known")
            )
        doubts = marks.cell(summary.case, column.figure, role)
        return replace(power_cell(column, power, unit, summary.trials_done), doubts=doubts)

    above = power_head(column, role, unit, scope, powers.values())
    bounds = [power.values.get(column.bound) for power in powers.values() if column.bound]
    spreads = [power.values.get(column.name) for power in powers.values() if column.spread]
    if any(bound is not None for bound in bounds):
        above = _with_sign(above, "± bound", in_terminal=True)
    elif any(spread is not None and spread.sd is not None for spread in spreads):
        above = _with_sign(above, "± SD", in_terminal=column.show_sd)
    return Shown(above, cell)


def _with_sign(above: Head, sign: str, *, in_terminal: bool) -> Head:
    """The head of a column that says what ± is below it, in a terminal if that has room for it."""
    lines = f"{above.lines or above.title}\n{sign}" if in_terminal else above.lines
    return replace(above, lines=lines, plus_minus=sign)


_RESPONSES = {
    "throughput_bps": "throughput",
    "efficiency_receiver_bps_per_core": "Mbps/core of receiver",
    "efficiency_sender_bps_per_core": "Mbps/core of sender",
    "receiver_system_bps_per_w": "Mbps/W of receiver",
    "sender_system_bps_per_w": "Mbps/W of sender",
}


def response_words(response: Response) -> str:
    """What a change is of, in few words."""
    return _RESPONSES.get(response.name, response.title[0].lower() + response.title[1:])


def change_figures(response: Response, verdict: Verdict, provenance: Provenance | None) -> tuple[str, ...]:
    """``−12.3 %`` and ``(−13.0 to −11.6)``, its 95 % CI; nothing where runs are too few for a change."""
    change, sure = verdict.change, provenance_mark(provenance)
    if change is None:
        return ()
    value = f"{signed_change(change.value, response)} {unit_of_change(response)}"
    span = f"({signed_change(change.low, response)} to {signed_change(change.high, response)})"
    return (f"{value} {sure}" if sure else value, span)
