# SPDX-License-Identifier: Apache-2.0
"""The scalability table of a test: rows, what is missing from them and why, and a case as a flat export."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

from linewatt.analysis.cases import CaseSummary
from linewatt.analysis.statistics import FEWEST_RUNS
from linewatt.declare import COUNT, NUMBER, TEXT, Keys, Schema, keys_of, maybe, said
from linewatt.json_document import of_class
from linewatt.model import ENDS, Case, CpuShares
from linewatt.report.columns import (
    COLUMNS,
    MORE_COLUMNS,
    ROLES,
    SHARES,
    Shown,
    export,
    export_power,
    metric_schema,
    of_cases,
    power_schema,
)
from linewatt.report.findings import Marks
from linewatt.report.printing.export import LeveledCase, case_keys, mean_keys, mean_schema
from linewatt.report.series import OF_RING, TestGroup, count_noun, count_text, instances_words
from linewatt.report.table import Cell, Head, Lack, Note, Row, RowGroup, Table, absences
from linewatt.units import MISSING, format_rate, format_rates


def scalability_table(group: TestGroup, marks: Marks, *, intervals: bool = False) -> Table:
    """The table of a test: columns with values only, a row a case.

    ``intervals``: with the 95 % CIs of means, which take their time.
    """
    columns = of_cases(COLUMNS, group.summaries, marks, intervals=intervals)
    return Table(
        title=group.title if len(group.series) > 1 else group.series[0].title,
        keys=(count_head(group),),
        heads=(*(column.head for column in columns), TRIALS),
        groups=tuple(
            RowGroup(label, tuple(_row(summary, columns, marks) for summary in series.summaries))
            for label, series in group.labelled
        ),
        notes=(
            *absences(_lacks(group), len(group.summaries), count_noun(group.test)),
            *regime_notes(group),
            *line_notes(group),
            *ring_notes(group),
            *run_notes(group),
        ),
    )


def with_folded_columns(table: Table) -> tuple[Table, ...]:
    """The table for a page: columns that few need are in a second table, which opens on request."""
    seldom = [at for at, head in enumerate(table.heads) if head.rank >= _SELDOM_RANK]
    if not seldom:
        return (table,)
    often = [at for at in range(len(table.heads)) if at not in seldom]
    names = dict.fromkeys(table.heads[at].title.partition(",")[0] for at in seldom)
    words = f"More columns: {', '.join(names)}"
    folded = replace(table.with_columns(seldom), title=f"{table.title}: more columns", folded=words, notes=())
    return table.with_columns(often), folded


_SELDOM_RANK = 4
"""columns of this rank or a higher one are of interest to few: a narrow terminal leaves them out first"""


def regime_notes(group: TestGroup) -> tuple[Note, ...]:
    """In which regime each case ran and why, a line a series; with power the table of power says it."""
    if any(summary.power(role) for summary in group.summaries for role in ENDS):
        return ()
    return tuple(
        Note("remark", _by_regime(series.summaries), f"Regime{f', {label}' if label else ''}")
        for label, series in group.labelled
        if len(series.summaries) > 1
    )


def line_notes(group: TestGroup) -> tuple[Note, ...]:
    """What the line carries, where cases of a series differ in it because they use more ports or fewer."""
    return tuple(
        Note("remark", "; ".join(parts), f"Line{f', {label}' if label else ''}")
        for label, series in group.labelled
        if len(parts := list(_lines(series.summaries))) > 1
    )


def _lines(summaries: Sequence[CaseSummary]) -> Iterator[str]:
    """``94.15 Gbps of payload with 1, 2 and 4 instances``, ``188.3 Gbps with 16 instances over 2 ports``."""
    cases_by_line: dict[tuple[str, str], list[Case]] = {}
    for summary in summaries:
        line = summary.limit.candidate("line-rate") or summary.limit.candidate("shaper")
        if line is not None and line.capacity is not None:
            over = instances_words(summary.case).partition(" over ")[2]
            cases_by_line.setdefault((format_rate(line.capacity, 4), over), []).append(summary.case)
    for at, ((rate, over), cases) in enumerate(cases_by_line.items()):
        *counts, last = (f"{case.instances}" for case in cases)
        numbers = f"{', '.join(counts)} and {last}" if counts else last
        noun = "instance" if numbers == "1" else "instances"
        payload = " of payload" if at == 0 else ""
        yield f"{rate}{payload} with {numbers} {noun}{f' over {over}' if over else ''}"


def run_notes(group: TestGroup) -> tuple[Note, ...]:
    """Each run of cases whose runs may be of two modes and are too few to tell, sorted."""
    return tuple(
        Note(
            "doubt",
            f"{format_rates(summary.unresolved.values)}, {format_rate(summary.unresolved.range)} apart: "
            "perhaps of two modes",
            ", ".join(filter(None, (_runs_of(summary.case), label))),
        )
        for label, series in group.labelled
        for summary in series.summaries
        if summary.unresolved is not None
    )


def _runs_of(case: Case) -> str:
    count = f"{count_text(case)} users" if case.of_users else instances_words(case)
    return f"Trials of {count}"


def ring_notes(group: TestGroup) -> tuple[Note, ...]:
    """Of what figures by core and by watt are, which stand beside the throughput of one pair."""
    return (
        (Note("remark", OF_RING, "Ring"),) if any(summary.case.is_ring for summary in group.summaries) else ()
    )


def _by_regime(summaries: Sequence[CaseSummary]) -> str:
    """``single 1; multi 2 and 4; saturated 8 instances (twice the instances brought +17.8 %)``."""
    cases: dict[str, list[CaseSummary]] = {}
    for summary in summaries:
        if summary.regime is not None and summary.throughput_bps is not None:
            cases.setdefault(summary.regime.regime, []).append(summary)
    parts = [
        f"{name} {' and '.join(str(summary.case.instances) for summary in summaries)}"
        for name, summaries in cases.items()
    ]
    if not parts:
        return "not known, as no throughput is"
    last = list(cases.values())[-1][0].regime
    return f"{'; '.join(parts)} instances" + (f" ({last.why})" if last else "")


INSTANCES = Head("Instances", lines="Inst.")
USERS = Head("Users")
TRIALS = Head("Trials", lines="n")


def count_head(group: TestGroup) -> Head:
    """What rows are numbers of."""
    return USERS if count_noun(group.test) == "user" else INSTANCES


def count_cell(case: Case) -> Cell:
    """Its instances, or its users."""
    return Cell(count_text(case) or MISSING)


def trials_cell(summary: CaseSummary) -> Cell:
    """Done trials; ``2/3`` where one of three failed."""
    done, bad = summary.trials_done, summary.trials_failed
    return Cell(f"{done}/{done + bad}", reason=f"{bad} failed") if bad else Cell(f"{done}")


def _row(summary: CaseSummary, columns: Sequence[Shown], marks: Marks) -> Row:
    cells = (*(column.cell(summary) for column in columns), trials_cell(summary))
    return Row((count_cell(summary.case),), cells, marks.row(summary.case))


def _lacks(group: TestGroup) -> Iterator[Lack]:
    """Values of columns that apply and are missing: nothing goes missing unsaid."""
    for column in COLUMNS:
        if column.applies(group.summaries):
            for label, series in group.labelled:
                for summary in series.summaries:
                    reason = summary.reasons.get(column.name)
                    if reason is not None and not (column.of_series and summary.case.instances == 1):
                        yield Lack(column.title, reason, label, count_text(summary.case))


def export_case(summary: CaseSummary) -> dict[str, Any]:
    """One flat row of JSON or CSV: parameters, counts, every column in SI, shares of every role."""
    case = summary.case
    row: dict[str, Any] = {
        **case_keys(case),
        "load_level": case.load_level,
        "case_key": case.key,
        "trials_done": summary.trials_done,
        "trials_failed": summary.trials_failed,
    }
    for column in COLUMNS + MORE_COLUMNS:
        row |= export(column, summary)
    for field, _ in ROLES:
        row |= _export_shares(field, getattr(summary, field))
    row |= _export_modes(summary)
    row |= export_power(summary)
    row["flags_count"] = len(summary.flags)
    row["flags"] = " ".join(flag.code for flag in summary.flags)
    return row


def case_row_schema() -> Keys:
    """Keys of :func:`export_case`."""
    keys: dict[str, Schema] = {
        **keys_of(of_class(LeveledCase)),
        "trials_done": COUNT,
        "trials_failed": COUNT,
    }
    for column in COLUMNS + MORE_COLUMNS:
        keys |= metric_schema(column)
    for field, title in ROLES:
        keys[f"{field}_cpus"] = said(maybe(TEXT), f"{title}: their numbers, with blanks between.")
        for name in SHARES:
            keys[f"{field}_{name}_ratio"] = said(
                maybe(NUMBER), f"{title}: share of time, mean of these CPUs."
            )
    keys["throughput_modes"] = said(maybe(COUNT), "Groups that trials fall into; null: too few to tell.")
    for name in ("high", "low"):
        keys |= mean_schema(f"throughput_mode_{name}_bps")
    flags = said(TEXT, "Codes of findings, with blanks between.")
    return {**keys, **power_schema(), "flags_count": COUNT, "flags": flags}


def _export_modes(summary: CaseSummary) -> dict[str, Any]:
    """How many modes throughput has, where there are runs enough to tell, and both if there are two."""
    runs = summary.throughput_bps.n if summary.throughput_bps else 0
    modes = summary.modes
    row: dict[str, Any] = {"throughput_modes": 2 if modes else 1 if runs >= FEWEST_RUNS else None}
    for name in ("high", "low"):
        row |= mean_keys(f"throughput_mode_{name}_bps", getattr(modes, name, None))
    return row


def _export_shares(field: str, shares: CpuShares | None) -> dict[str, Any]:
    cpus = None if shares is None or shares.unnumbered else shares.cpus
    row: dict[str, Any] = {f"{field}_cpus": None if cpus is None else " ".join(map(str, cpus))}
    for name in SHARES:
        row[f"{field}_{name}_ratio"] = None if shares is None else getattr(shares, f"{name}_ratio")
    return row
