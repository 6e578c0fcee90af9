# SPDX-License-Identifier: Apache-2.0
"""A comparison as tables, sentences, JSON and CSV."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

from linewatt.analysis.cases.responses import PER_WATT
from linewatt.analysis.cases.summary import FlagCount
from linewatt.analysis.comparison.compare import Comparison, Pair, Row
from linewatt.analysis.comparison.differences import Difference
from linewatt.analysis.comparison.finding import Finding
from linewatt.analysis.comparison.matching import LeftOver, Match, Side
from linewatt.analysis.comparison.verdicts import amount, signed
from linewatt.analysis.metrics.metric import Response
from linewatt.analysis.metrics.of_power import MBPS_PER_W
from linewatt.analysis.metrics.of_trial import METRICS
from linewatt.analysis.metrics.unit import Unit
from linewatt.analysis.power.totals import SCOPE_WORDS
from linewatt.analysis.statistics.stats import Estimate
from linewatt.model import Case
from linewatt.report.columns import cell_of
from linewatt.report.export import keyed_case, mean_keys
from linewatt.report.provenance import legend, mark
from linewatt.report.provenance import words as sources
from linewatt.report.series import case_labels, plural, test_title
from linewatt.report.table import Cell, Head, RowGroup, Table, legend_notes
from linewatt.report.table import Row as TableRow
from linewatt.report.trials.effects import numbers, p_text
from linewatt.report.trials.words import when
from linewatt.units import BPS_PER_GBPS, MISSING

SCHEMA_VERSION = 1
_UNITS = {metric.name: metric.units for metric in METRICS} | {
    response.name: (MBPS_PER_W,) for response in PER_WATT.values()
}


@dataclass(frozen=True, slots=True)
class Line:
    """One verdict: its case as people read it, and the flags of both sides."""

    row: Row
    case: str
    flags: str

    @property
    def told(self) -> bool:
        """Whether the verdict is a change."""
        return self.row.outcome in ("better", "worse")

    @property
    def words(self) -> str:
        """The verdict, marked unless its watts were measured."""
        return _marked(self.row.verdict.words, mark(self.row.provenance) if self.row.verdict.change else None)


@dataclass(frozen=True, slots=True)
class ResponseTable:
    """All verdicts on a response; ``tally`` counts them in words, ``sides`` are names."""

    response: Response
    title: str
    unit: Unit
    sides: tuple[str, str]
    lines: tuple[Line, ...]
    tally: str
    provenance: str
    legend: tuple[str, ...]

    @property
    def table(self) -> Table:
        """A row a verdict."""
        base, other = self.sides
        ratio = f"{other} {'÷' if self.response.relative else '−'} {base}"
        flagged = any(line.flags for line in self.lines)
        return Table(
            title=f"{self.title}, {self.unit.name}: {self.tally}",
            keys=(Head("Case", kind="text"),),
            heads=(
                *(
                    Head(f"{one}: mean ± SD (n)", lines=f"{one}: mean\n± SD (n)", show_sd=True)
                    for one in self.sides
                ),
                Head(f"{ratio} (95 % CI)", lines=f"{ratio}\n(95 % CI)"),
                Head("p (Holm)", lines="p\n(Holm)"),
                Head("p (permutation)", lines="p\n(permut.)"),
                Head("Verdict", kind="prose"),
                *([Head("Flags", kind="prose")] if flagged else []),
            ),
            groups=(RowGroup("", tuple(self._row(line, flagged=flagged) for line in self.lines)),),
            notes=legend_notes(self.legend),
            provenance=self.provenance,
            style="numbers verdicts",
        )

    def _row(self, line: Line, *, flagged: bool) -> TableRow:
        row, sure = line.row, mark(line.row.provenance)
        change = row.verdict.change
        shuffled = None if change is None else change.permutation_p
        cells = [
            *(mean_cell(value, self.unit, sure) for value in (row.base, row.other)),
            Cell(_ratio_text(row), mark=sure if change else None),
            Cell(MISSING if change is None or shuffled is None else p_text(change.p_holm)),
            Cell(MISSING if shuffled is None else p_text(shuffled)),
            Cell(row.verdict.words, mark=sure if change else None, strong=line.told),
        ]
        return TableRow((Cell(line.case),), (*cells, *([Cell(line.flags)] if flagged else [])))


def case_names(found: Comparison) -> dict[Match, str]:
    """``TCP, h1 → h2, 4 instances`` of each match; behind it its levels where several are compared."""
    matches = [pair.match for pair in found.pairs]
    labels = case_labels(dict.fromkeys(replace(match.base, instances=1) for match in matches))
    names = {}
    for match in matches:
        by = found.options.by if match.level else None
        names[match] = f"{_case_name(match.base, labels, by)}{_level(found, match)}"
    return names


def _level(found: Comparison, match: Match) -> str:
    """The levels of a match, where the heads of the columns do not say them."""
    if not match.level or side_names(found) != BASE_AND_LEVEL:
        return ""
    return f": {found.options.by} {match.level} against {match.base_level}"


BASE_AND_LEVEL = ("base", "level")


def side_names(found: Comparison) -> tuple[str, str]:
    """How the two sides are called: A and B, the two levels, or base and level where there are more."""
    if not found.levels:
        return found.base.name, found.other.name
    levels = {(pair.match.base_level, pair.match.level) for pair in found.pairs}
    return next(iter(levels)) if len(levels) == 1 else BASE_AND_LEVEL


def _case_name(case: Case, labels: dict[Case, str], by: str | None = None) -> str:
    """The name without what is compared."""
    said = {
        "test": test_title(case.test),
        "label": labels[replace(case, instances=1)],
        "instances": plural(case.instances, "instance"),
    }
    return ", ".join(text for name, text in said.items() if name != by)


def tables(found: Comparison) -> tuple[ResponseTable, ...]:
    """A table for each response and test, in their order; what is over all pairs of hosts stands first."""
    names = case_names(found)
    flags = {pair.match: _flags_text(pair, found) for pair in found.pairs}
    made = []
    for response in found.responses:
        tests = dict.fromkeys(row.match.base.test for row in found.of(response))
        for test in [None] if found.options.by == "test" else tests:
            rows, overall = (
                [one for one in every if one.response == response and test in (None, one.match.base.test)]
                for every in (found.rows, found.overall)
            )
            made.append(_table(found, response, (*overall, *rows), names, flags))
    return tuple(made)


def _table(
    found: Comparison,
    response: Response,
    rows: Sequence[Row],
    names: dict[Match, str],
    flags: dict[Match, str],
) -> ResponseTable:
    means = [each.mean for row in rows for each in (row.base, row.other) if each is not None]
    unit = unit_of(response, means)
    scopes = dict.fromkeys(SCOPE_WORDS.get(row.scope, row.scope) for row in rows if row.scope)
    title = f"{response.title} ({', '.join(scopes)})" if scopes else response.title
    kinds = [row.provenance for row in rows]
    tests = dict.fromkeys(test_title(row.match.base.test) for row in rows)
    if len(tests) == 1:
        names = {match: name.removeprefix(f"{next(iter(tests))}, ") for match, name in names.items()}
    return ResponseTable(
        response=response,
        title=f"{title}, {next(iter(tests))}" if len(tests) == 1 else title,
        unit=unit,
        sides=side_names(found),
        lines=tuple(
            Line(row, names[row.match], flags[row.match])
            if row.pairs == 1
            else Line(row, _over_pairs(found, row, with_test=len(tests) > 1), "")
            for row in rows
        ),
        tally=_tally(response, [row for row in rows if row.pairs == 1]),
        provenance=sources(kinds),
        legend=legend(kinds),
    )


def _over_pairs(found: Comparison, row: Row, *, with_test: bool) -> str:
    """``all 6 pairs of hosts, 4 instances``, with what of the case is not at its default."""
    case = replace(row.match.base, sender="", receiver="", instances=1)
    label = case_labels([case])[case].removeprefix(" → ").strip(", ")
    said = (
        test_title(case.test) if with_test else "",
        f"all {row.pairs} pairs of hosts",
        label,
        plural(row.match.base.instances, "instance"),
    )
    return ", ".join(text for text in said if text) + _level(found, row.match)


def unit_of(response: Response, means: Sequence[float]) -> Unit:
    """The unit in which means of a response are shown, one for all."""
    units = _UNITS[response.name]
    return units[0] if max(means, default=0.0) >= BPS_PER_GBPS else units[-1]


def _marked(text: str, sure: str | None) -> str:
    return f"{text} {sure}" if sure else text


def mean_cell(value: Estimate | None, unit: Unit, sure: str | None = None) -> Cell:
    """``94.20 ± 0.31 (10)``: mean, SD, runs."""
    if value is None:
        return Cell(MISSING)
    return replace(cell_of(value, unit, value.n, "", sure), note=f"{value.n}")


def _ratio_text(row: Row) -> str:
    """``0.970 (0.961 to 0.979)``; a difference of shares in points."""
    change = row.verdict.change
    if change is None:
        return MISSING
    if row.response.relative:
        return f"{1 + change.value:.3f} ({1 + change.low:.3f} to {1 + change.high:.3f})"
    return f"{signed(change.value)} ({signed(change.low)} to {signed(change.high)}) points"


def _tally(response: Response, rows: Sequence[Row]) -> str:
    """``2 slower, 1 faster, 17 the same, 3 without a verdict``."""
    up, down = (response.more, response.less) if response.higher_is_better else (response.less, response.more)
    counts = dict.fromkeys((down, up, "the same", "without a verdict"), 0)
    of_outcome = {"worse": down, "better": up, "small": "the same", "same": "the same"}
    for row in rows:
        counts[of_outcome.get(row.outcome, "without a verdict")] += 1
    return ", ".join(f"{count} {name}" for name, count in counts.items() if count)


def _flags_text(pair: Pair, found: Comparison) -> str:
    """``A: udp-loss 10/10; B: process-moved 1/10``: flags and in how many trials."""
    names = (pair.match.base_level or found.base.name, pair.match.level or found.other.name)
    sides = zip(names, (pair.base_flags, pair.other_flags), strict=True)
    return "; ".join(f"{name}: {', '.join(_flag(one) for one in flags)}" for name, flags in sides if flags)


def _flag(one: FlagCount) -> str:
    return f"{one.code} ×{one.trials}" if one.trials > 1 else one.code


def heading(found: Comparison) -> list[str]:
    """What is compared with what, and what a reader must know first."""
    sides = [found.base] if found.levels else [found.base, found.other]
    said = [f"{side.name}: {side.id}, {when(side.created_s)}" for side in sides]
    said += found.words
    if not found.levels:
        said += apart_words(found.base, found.other)
    return said


def apart_words(base: Side, other: Side) -> list[str]:
    """That two results were not measured in turn: no two ever are."""
    return [
        f"{base.name} and {other.name} were not measured in turn: what changed meanwhile is in every ratio, "
        "and no p knows of it"
    ]


def shown_differences(found: Comparison) -> tuple[list[Difference], list[Difference], int]:
    """Those that matter, those that are expected, and how many others there are."""
    matter = [one for one in found.differences if one.rank is not None and not one.expected]
    expected = [one for one in found.differences if one.expected]
    return matter, expected, len(found.differences) - len(matter) - len(expected)


def difference_text(one: Difference) -> str:
    """``dut: nic.firmware 22.39 → 22.41``."""
    return f"{one.where}: {one.fact} {one.base} → {one.other}"


def left_over_lines(found: Comparison) -> list[str]:
    """Cases without a partner, side by side and reason by reason."""
    labels = case_labels(dict.fromkeys(replace(one.case, instances=1) for one in found.left_over))
    place = f"at {found.options.by}" if found.levels else "in"
    groups: dict[tuple[str, str], list[LeftOver]] = {}
    for one in found.left_over:
        groups.setdefault((one.side, one.why), []).append(one)
    return [
        f"only {place} {side} ({why}): {'; '.join(_case_name(one.case, labels) for one in cases)}"
        for (side, why), cases in groups.items()
    ]


def remark_lines(found: Comparison) -> list[str]:
    """What is to be known of single cases."""
    names = case_names(found)
    return [f"{names[pair.match]}: {'; '.join(pair.remarks)}" for pair in found.pairs if pair.remarks]


def factor_words(found: Comparison) -> str:
    """Which change counts."""
    matters = found.options.matters
    if not found.responses:
        return ""
    limit = amount(found.responses[0], 0.01 if matters is None else matters)
    return (
        "A change counts when it is beyond chance (p after Holm and p of shuffled runs both below 0.05) and "
        f"beyond {limit} (0.1 points of loss)."
    )


def as_document(found: Comparison, verdict: Finding) -> dict[str, Any]:
    """The document of ``compare --json``; values of a response are in the unit that its name ends with."""
    return {
        "schema_version": SCHEMA_VERSION,
        "base": _side(found.base),
        "other": _side(found.other),
        "by": found.options.by,
        "levels": list(found.levels),
        "factor_ratio": found.options.matters,
        "matched": list(found.words),
        "comparisons": [_row(row) for row in found.rows],
        "overall": [_overall(row) for row in found.overall],
        "flags": [_flags(pair) for pair in found.pairs if pair.base_flags or pair.other_flags],
        "remarks": [
            {**_case(pair.match), "remarks": list(pair.remarks)} for pair in found.pairs if pair.remarks
        ],
        "left_over": [{"side": one.side, "why": one.why, **keyed_case(one.case)} for one in found.left_over],
        "differences": [asdict(one) for one in found.differences],
        "exit_code": verdict.exit_code,
        "finding": verdict.words or None,
    }


def _side(side: Side) -> dict[str, Any]:
    return {"name": side.name, "id": side.id, "created_s": side.created_s}


def _case(match: Match) -> dict[str, Any]:
    return {
        **keyed_case(match.base),
        "other_case_key": match.other.key,
        "other_sender": match.other.sender,
        "other_receiver": match.other.receiver,
        "base_level": match.base_level or None,
        "level": match.level or None,
    }


def _row(row: Row) -> dict[str, Any]:
    change = row.verdict.change
    return {
        **_case(row.match),
        "response": row.response.name,
        **mean_keys("base", row.base),
        **mean_keys("other", row.other),
        **numbers(row.response, row.verdict),
        "p_shuffled": None if change is None else change.permutation_p,
        "kind": row.outcome,
        "also_different": list(row.besides),
        "scope": row.scope,
        "provenance": row.provenance,
    }


def _overall(row: Row) -> dict[str, Any]:
    """A row over pairs of hosts, which are not named in it."""
    hosts = {"sender", "receiver", "other_sender", "other_receiver"}
    return {"pairs": row.pairs, **{name: value for name, value in _row(row).items() if name not in hosts}}


def _flags(pair: Pair) -> dict[str, Any]:
    def counted(flags: Sequence[FlagCount]) -> list[dict[str, Any]]:
        return [{"code": one.code, "trials": one.trials, "evidence": one.example.evidence} for one in flags]

    return {**_case(pair.match), "base": counted(pair.base_flags), "other": counted(pair.other_flags)}


def csv_rows(found: Comparison) -> list[dict[str, Any]]:
    """Rows of ``compare --csv``: one a case and response."""
    flags = {pair.match: pair for pair in found.pairs}
    return [
        _row(row)
        | {
            "factors": " ".join(f"{name}={level}" for name, level in row.match.base.factors) or None,
            "also_different": ", ".join(row.besides) or None,
            "base_flags": " ".join(one.code for one in flags[row.match].base_flags),
            "other_flags": " ".join(one.code for one in flags[row.match].other_flags),
        }
        for row in found.rows
    ]


CSV_COLUMNS = (
    *("test", "sender", "receiver", "other_sender", "other_receiver", "direction", "family", "instances"),
    *("network", "rate_bps", "streams", "zerocopy", "load_level", "factors", "case_key", "other_case_key"),
    *("base_level", "level", "response", "base_mean", "base_sd", "base_n", "other_mean", "other_sd"),
    *("other_n", "ratio", "ratio_low", "ratio_high", "difference", "difference_low", "difference_high"),
    *("p", "p_holm", "p_shuffled", "kind", "verdict", "scope", "provenance", "also_different"),
    *("base_flags", "other_flags"),
)
"""Column names of ``compare --csv``, the same for every comparison."""
