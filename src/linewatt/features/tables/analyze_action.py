# SPDX-License-Identifier: Apache-2.0
"""What series show, printed."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from linewatt.analysis.cases import Analysis, analyse_series, analysis_document, knee_words, summarise
from linewatt.cli import is_table, print_json, print_rich, say, stored_result
from linewatt.errors import InvalidInput
from linewatt.features.tables.analysed import FAN
from linewatt.features.tables.trials import trials_of_table
from linewatt.foreign import one_line
from linewatt.report import plural, series_of, test_and_factors
from linewatt.report.trials import digest_of
from linewatt.store import Result
from linewatt.units import format_rate

if TYPE_CHECKING:  # what is slow to import is imported when the command runs
    from rich.console import RenderableType

SCHEMA_VERSION = 1


def print_analysis(*, table_or_id: str, results: Path, as_json: bool) -> None:
    """Analyze a series: regimes, knee, limits, hidden ceilings."""
    if is_table(table_or_id):
        analyses = _of_table(table_or_id)
    else:
        with stored_result(results, table_or_id) as result:
            analyses = _of_stored(result)
    if as_json:
        print_json(analysis_document(analyses, SCHEMA_VERSION))
    else:
        print_rich(lambda _: _rendered(analyses))


def _of_table(table_name: str) -> list[Analysis]:
    _, read, lines = trials_of_table(table_name)
    for line in lines:
        say(f"warning: {line}")
    return [
        analyse_series(
            test_and_factors(series.summaries[0].case),
            series.summaries,
            {
                summary.case.instances: {FAN: read.fan_rpm[summary.case]}
                for summary in series.summaries
                if summary.case in read.fan_rpm
            },
        )
        for series in series_of(summarise(read.trials))
    ]


def _of_stored(result: Result) -> list[Analysis]:
    if result.is_soak:
        raise InvalidInput(
            f"{result.id}: a soak is a single load, not a series of cases; 'linewatt show' shows it"
        )
    analyses = [
        analyse_series(series.title, series.summaries)
        for group in digest_of(result).groups
        for series in group.series
    ]
    if not analyses:
        raise InvalidInput(f"{result.id}: no case at full or at a fixed rate is stored")
    return analyses


def _rendered(analyses: list[Analysis]) -> RenderableType:
    from rich.console import Group

    return Group(*(line for analysis in analyses for line in _lines(analysis)))


def _lines(analysis: Analysis) -> Iterator[RenderableType]:
    """A line a case with its regime, the knee, and the findings."""
    from rich.text import Text

    yield Text(one_line(analysis.title), style="bold")
    for summary, row in zip(analysis.summaries, analysis.regimes, strict=True):
        rate = format_rate(summary.throughput_bps.mean if summary.throughput_bps else None, 4)
        of_users = "users: no series of instances"
        regime = of_users if summary.case.of_users else f"{row.regime:<9}  {one_line(row.why)}"
        yield Text(f"{summary.case.instances:>6}  {rate:>11}  {regime}")
    yield Text(one_line(knee_words(analysis.knee)))
    for finding in analysis.findings:
        style = "" if finding.rank == "note" else "yellow"
        count = plural(finding.instances, "instance")
        yield Text(one_line(f"{finding.rank}: {count}: {finding.message} [{finding.kind}]"), style=style)
        yield from (Text(f"    {one_line(sentence)}") for sentence in finding.evidence)
    yield Text()
