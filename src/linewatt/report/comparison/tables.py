# SPDX-License-Identifier: Apache-2.0
"""A comparison as tables of verdicts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from linewatt.analysis.comparison import Comparison, Match, Pair, Row, signed_change, unit_of_change
from linewatt.analysis.flags import FlagCount
from linewatt.analysis.metrics import Response, Unit
from linewatt.analysis.power import SCOPE_WORDS
from linewatt.analysis.statistics import Estimate
from linewatt.findings import kind_of
from linewatt.model import Case
from linewatt.report.columns import cell_of
from linewatt.report.comparison.remarks import case_names, level_words, side_names
from linewatt.report.printing.export import p_text
from linewatt.report.provenance import provenance_legend, provenance_mark
from linewatt.report.provenance import provenance_words as sources
from linewatt.report.series import hostless_labels, plural, test_title
from linewatt.report.table import Cell, Head, RowGroup, Table, legend_notes
from linewatt.report.table import Row as TableRow
from linewatt.units import BPS_PER_GBPS, MISSING


@dataclass(frozen=True, slots=True)
class Line:
    """One verdict: its case as people read it, and the flags of both sides."""

    row: Row
    case: str
    flags: str
    unit: Unit

    @property
    def told(self) -> bool:
        """Whether the verdict is a change."""
        return self.row.outcome in ("better", "worse")

    @property
    def words(self) -> str:
        """The verdict, marked unless its watts were measured."""
        mark = provenance_mark(self.row.provenance) if self.row.verdict.change else None
        return " ".join(filter(None, (self.row.verdict.words, mark)))


@dataclass(frozen=True, slots=True)
class ResponseTable:
    """Verdicts on a response, or on all of a task; ``sides`` are names."""

    name: str
    title: str
    sides: tuple[str, str]
    lines: tuple[Line, ...]
    unit: str = ""
    subject: str = ""
    """the test of its cases; of several tests the response"""
    of_task: bool = False
    """whether its rows are responses of one task"""

    @property
    def has_verdicts(self) -> bool:
        """Whether any row has a change, with its interval."""
        return any(line.row.verdict.change is not None for line in self.lines)

    @property
    def provenance(self) -> str:
        """In words, unless all was measured."""
        return sources(line.row.provenance for line in self.lines)

    @property
    def table(self) -> Table:
        """A row a verdict."""
        base, compared = self.sides
        relative = self.of_task or self.lines[0].row.response.relative
        ratio = f"{compared} {'÷' if relative else '−'} {base}"
        flagged = any(line.flags for line in self.lines)
        counted = tally([line.row for line in self.lines if line.row.pairs == 1])
        return Table(
            title=f"{', '.join(filter(None, (self.title, self.unit)))}: {counted}",
            keys=(Head("Quantity" if self.of_task else "Case", kind="text"),),
            heads=(
                *(
                    Head(f"{side}: mean ± SD (n)", lines=f"{side}: mean\n± SD (n)", show_sd=True)
                    for side in self.sides
                ),
                Head(f"{ratio} (95 % CI)", lines=f"{ratio}\n(95 % CI)"),
                Head("p (Holm)", lines="p\n(Holm)"),
                Head("p (permutation)", lines="p\n(permut.)"),
                Head("Verdict", kind="prose"),
                *([Head("Findings", kind="prose")] if flagged else []),
            ),
            groups=(RowGroup("", tuple(self._row(line, flagged=flagged) for line in self.lines)),),
            notes=legend_notes(provenance_legend(line.row.provenance for line in self.lines)),
            provenance=self.provenance,
            style="numbers verdicts",
        )

    def _row(self, line: Line, *, flagged: bool) -> TableRow:
        row, sure = line.row, provenance_mark(line.row.provenance)
        change = row.verdict.change
        shuffled = None if change is None else change.permutation_p
        cells = [
            *(mean_cell(value, line.unit, sure) for value in (row.base, row.other)),
            Cell(_ratio_text(row), mark=sure if change else None),
            Cell(MISSING if change is None or shuffled is None else p_text(change.p_corrected)),
            Cell(MISSING if shuffled is None else p_text(shuffled)),
            Cell(row.verdict.words, mark=sure if change else None, strong=line.told),
        ]
        return TableRow((Cell(line.case),), (*cells, *([Cell(line.flags)] if flagged else [])))


def tables(comparison: Comparison) -> tuple[ResponseTable, ...]:
    """A table for each response and test, in their order; what is over all pairs of hosts stands first.

    Of two tasks there is one table with a row a response.
    """
    names = {with_test: case_names(comparison, with_test=with_test) for with_test in (True, False)}
    flags = {pair.match: _flags_text(pair, comparison) for pair in comparison.pairs}
    if comparison.base.single_run is not None:
        return (
            _task_table(
                comparison, f"{comparison.base.single_run.kind.name}s", next(iter(names[True].values()))
            ),
        )
    groups: dict[tuple[Response, str], list[Row]] = {}
    for row in (*comparison.overall, *comparison.rows):
        test = "" if comparison.options.by == "test" else _test(row)
        groups.setdefault((row.response, test), []).append(row)
    order = {response: at for at, response in enumerate(comparison.responses)}
    tests = {key: at for at, key in enumerate(dict.fromkeys(_test(row) for row in comparison.rows))}
    ordered = sorted(groups, key=lambda key: (order[key[0]], tests.get(key[1], 0)))
    return tuple(_table(comparison, key[0], groups[key], names, flags) for key in ordered)


def _test(row: Row) -> str:
    return row.match.base.test


def _table(
    comparison: Comparison,
    response: Response,
    rows: Sequence[Row],
    names: dict[bool, dict[Match, str]],
    flags: dict[Match, str],
) -> ResponseTable:
    means = [estimate.mean for row in rows for estimate in (row.base, row.other) if estimate is not None]
    unit = unit_of_response(response, means)
    title = _with_scopes(response.title, rows)
    test, *further_tests = dict.fromkeys(test_title(_test(row)) for row in rows)
    several = bool(further_tests)
    return ResponseTable(
        f"{response.name}-{_test(rows[0])}",
        title if several else f"{title}, {test}",
        side_names(comparison),
        tuple(
            Line(row, names[several][row.match], flags[row.match], unit)
            if row.pairs == 1
            else Line(row, _over_pairs(comparison, row, with_test=several), "", unit)
            for row in rows
        ),
        unit.name,
        subject=title if several else test,
    )


def _task_table(comparison: Comparison, name: str, title: str) -> ResponseTable:
    lines = []
    for row in comparison.rows:
        unit = unit_of_response(
            row.response, [estimate.mean for estimate in (row.base, row.other) if estimate is not None]
        )
        heading = _with_scopes(row.response.title, [row])
        lines.append(Line(row, f"{heading}, {unit.name}" if unit.name else heading, "", unit))
    return ResponseTable(name, title, side_names(comparison), tuple(lines), of_task=True)


def _with_scopes(title: str, rows: Sequence[Row]) -> str:
    scopes = dict.fromkeys(SCOPE_WORDS.get(row.scope, row.scope) for row in rows if row.scope)
    return f"{title} ({', '.join(scopes)})" if scopes else title


def _over_pairs(comparison: Comparison, row: Row, *, with_test: bool) -> str:
    """``all 6 pairs of hosts, 4 instances``, with what of the case is not at its default."""
    if not isinstance(row.match.base, Case):
        return ""
    case = replace(row.match.base, sender="", receiver="", instances=1)
    parts = (
        test_title(case.test) if with_test else "",
        f"all {row.pairs} pairs of hosts",
        "⇄" if case.is_both_ways else case.way if case.is_ring else "↔" if case.of_users else "",
        hostless_labels([case])[case],
        plural(row.match.base.instances, "instance"),
    )
    return ", ".join(text for text in parts if text) + level_words(comparison, row.match)


def unit_of_response(response: Response, means: Sequence[float]) -> Unit:
    """The unit in which means of a response are shown, one for all."""
    return response.units[0] if max(means, default=0.0) >= BPS_PER_GBPS else response.units[-1]


def mean_cell(value: Estimate | None, unit: Unit, sure: str | None = None) -> Cell:
    """``94.20 ± 0.31 (10)``: mean, SD, runs."""
    if value is None:
        return Cell(MISSING)
    return replace(cell_of(value, unit, value.n, "", sure), note=f"{value.n}")


def single_ratio(row: Row) -> float | None:
    """Of tasks also where runs are too few for more: B ÷ A."""
    if isinstance(row.match.base, Case) or row.outcome == "refused" or row.base is None or row.other is None:
        return None
    negative = row.response.higher_is_better and not row.response.relative
    return None if negative or row.base.mean == 0 else row.other.mean / row.base.mean


def _ratio_text(row: Row) -> str:
    """``0.970 (0.961 to 0.979)``; a difference of shares in points."""
    change = row.verdict.change
    if change is None:
        alone = single_ratio(row)
        return MISSING if alone is None else f"{alone:.3f}"
    if row.response.relative:
        return f"{1 + change.value:.3f} ({1 + change.low:.3f} to {1 + change.high:.3f})"
    value, low, high = (
        signed_change(share_change, row.response) for share_change in (change.value, change.low, change.high)
    )
    return f"{value} ({low} to {high}) {unit_of_change(row.response)}"


def tally(rows: Sequence[Row]) -> str:
    """``2 slower, 1 faster, 17 the same, 3 without a verdict``; of several responses worse and better."""
    responses = dict.fromkeys(row.response for row in rows)
    down, up = "worse", "better"
    if len(responses) == 1:
        (only_response,) = responses
        up, down = (
            (only_response.more, only_response.less)
            if only_response.higher_is_better
            else (only_response.less, only_response.more)
        )
    counts = dict.fromkeys((down, up, "the same", "without a verdict"), 0)
    of_outcome = {"worse": down, "better": up, "small": "the same", "same": "the same"}
    for row in rows:
        counts[of_outcome.get(row.outcome, "without a verdict")] += 1
    return ", ".join(f"{count} {name}" for name, count in counts.items() if count)


def _flags_text(pair: Pair, comparison: Comparison) -> str:
    """``A: Process moved; B: Datagrams lost ×10``: findings and in how many trials."""
    sides = zip(names_of_pair(pair, comparison), (pair.base_flags, pair.other_flags), strict=True)
    return "; ".join(f"{name}: {', '.join(_flag(flag) for flag in flags)}" for name, flags in sides if flags)


def names_of_pair(pair: Pair, comparison: Comparison) -> tuple[str, str]:
    """What the two sides of a pair are called: by level where cases of one result are compared."""
    return pair.match.base_level or comparison.base.name, pair.match.level or comparison.other.name


def _flag(flag_count: FlagCount) -> str:
    title = kind_of(flag_count.code).title
    return f"{title} ×{flag_count.trials}" if flag_count.trials > 1 else title
