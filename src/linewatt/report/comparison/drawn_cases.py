# SPDX-License-Identifier: Apache-2.0
"""Which cases of a comparison are drawn trial by trial: those whose throughput changed most."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from linewatt.analysis.comparison import METRICS_OF_ROWS, Comparison, Match, Row, Side
from linewatt.analysis.metrics import Unit
from linewatt.analysis.statistics import Estimate
from linewatt.model import Case
from linewatt.report.charts import specs
from linewatt.report.comparison.remarks import case_names
from linewatt.report.comparison.tables import unit_of_response

MOST_CASES = 12
SIDE_COLOURS = (specs.RECEIVER, specs.SENDER)
"""of A and of B"""


@dataclass(frozen=True, slots=True)
class DrawnSide:
    """One side of a drawn case; ``numbers`` are of its done trials."""

    name: str
    case: Case
    throughput_bps: Estimate
    numbers: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class DrawnCase:
    """A case that both sides have, with the verdict on its throughput."""

    name: str
    verdict: str
    unit: Unit
    sides: tuple[DrawnSide, DrawnSide]


def comparable_throughput(comparison: Comparison) -> list[Row]:
    """The rows with a throughput on both sides that may be compared."""
    (throughput,) = METRICS_OF_ROWS["throughput"]
    return [
        row
        for row in comparison.of(throughput)
        if row.refusal is None and row.base is not None and row.other is not None
    ]


def drawn_cases(comparison: Comparison) -> tuple[DrawnCase, ...]:
    """At most MOST_CASES: those with a verdict of change first, the largest change first."""
    rows = sorted(comparable_throughput(comparison), key=_importance, reverse=True)[:MOST_CASES]
    names = case_names(comparison)
    return tuple(drawn for row in rows if (drawn := _drawn_case(comparison, row, names)) is not None)


def _importance(row: Row) -> tuple[bool, bool, float]:
    """Whether the change counts, whether it is beyond chance, and how large it is."""
    change = row.verdict.change
    if change is not None:
        return row.outcome in ("better", "worse"), change.significant, abs(change.value)
    if row.base is None or row.other is None or not row.base.mean:
        return False, False, 0.0
    return False, False, abs(row.other.mean / row.base.mean - 1)


def _drawn_case(comparison: Comparison, row: Row, names: Mapping[Match, str]) -> DrawnCase | None:
    match, base, other_side = row.match, row.base, row.other
    if not isinstance(match.base, Case) or not isinstance(match.other, Case):
        return None
    if base is None or other_side is None:
        return None
    base_numbers = comparison.base.cases[match.base].numbers
    other_numbers = comparison.other.cases[match.other].numbers
    return DrawnCase(
        names[match],
        row.verdict.words,
        unit_of_response(row.response, [base.mean, other_side.mean]),
        (
            DrawnSide(
                _side_name(comparison, comparison.base, match.base_level), match.base, base, base_numbers
            ),
            DrawnSide(
                _side_name(comparison, comparison.other, match.level), match.other, other_side, other_numbers
            ),
        ),
    )


def _side_name(comparison: Comparison, side: Side, level: str) -> str:
    """``A``, or the level; one that is a number with its property: ``instances 4``."""
    return f"{comparison.options.by} {level}" if level[:1].isdigit() else level or side.name
