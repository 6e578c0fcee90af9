# SPDX-License-Identifier: Apache-2.0
"""What series show, printed."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from linewatt.analysis.cases import Analysis, analyse_series, analysis_document, knee_words, summarise
from linewatt.cli import is_table, print_json, print_rich, say, stored_result
from linewatt.errors import InvalidInput
from linewatt.features.tables.analysed import FAN
from linewatt.features.tables.means_limits import analyse_means
from linewatt.features.tables.published import MEANS
from linewatt.features.tables.trials import trials_of_table
from linewatt.features.tables.view import means_of
from linewatt.foreign import one_line
from linewatt.report import plural, series_of, test_and_factors
from linewatt.report.trials import digest_of
from linewatt.store import Result
from linewatt.units import format_change, format_rate

if TYPE_CHECKING:  # what is slow to import is imported when the command runs
    from rich.console import RenderableType

SCHEMA_VERSION = 1


def print_analysis(*, table_or_id: str, results: Path, as_json: bool) -> None:
    """Analyze a series: regimes, knee, limits, hidden ceilings."""
    if is_table(table_or_id):
        analyses, is_means = _of_table(table_or_id), False
    else:
        with stored_result(results, table_or_id) as result:
            is_means = result.imported_kind == MEANS
            analyses = _of_means(result) if is_means else _of_stored(result)
    if as_json:
        print_json(analysis_document(analyses, SCHEMA_VERSION))
    else:
        print_rich(lambda _: _rendered(analyses, _row_lines if is_means else _lines))


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


def _of_means(result: Result) -> list[Analysis]:
    """What limits each row of a table of means. Raises InvalidInput where none can be told."""
    analyses = analyse_means(means_of(result))
    if not analyses:
        raise InvalidInput(
            f"{result.id}: no row has a test, the end that it is about (direction: receive or send) and the "
            "shares of a CPU (app_usr, app_sys, app_irq, app_soft, app_idle; the same of irq)"
        )
    return analyses


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


def _rendered(
    analyses: list[Analysis], lines_of: Callable[[Analysis], Iterator[RenderableType]]
) -> RenderableType:
    from rich.console import Group

    return Group(*(line for analysis in analyses for line in lines_of(analysis)))


def _row_lines(analysis: Analysis) -> Iterator[RenderableType]:
    """What limits a row of means: it has neither a regime nor a knee."""
    from rich.text import Text

    yield Text(one_line(analysis.title), style="bold")
    (summary,) = analysis.summaries
    rates = (estimate.mean for estimate in (summary.throughput_bps, summary.offered_bps) if estimate)
    yield Text(f"    {format_rate(next(rates, None), 4)}: {one_line(summary.limit.lead)}")
    evidence = [sentence for finding in analysis.findings for sentence in finding.evidence]
    yield from (Text(f"    {one_line(sentence)}") for sentence in evidence or [summary.limit.evidence])
    yield Text()


def _step_words(analysis: Analysis) -> Iterator[str]:
    """``From 8 to 16 instances: throughput +17.6 %, receiver's CPU +42.7 %, receiver's power −90.2 W``."""
    for step in analysis.steps:
        changes = (
            ("throughput", step.throughput_ratio, format_change),
            ("receiver's CPU", step.receiver_cpu_ratio, format_change),
            ("sender's CPU", step.sender_cpu_ratio, format_change),
            ("receiver's power", step.receiver_power_w, _signed_w),
            ("sender's power", step.sender_power_w, _signed_w),
        )
        known_changes = [f"{name} {words(value)}" for name, value, words in changes if value is not None]
        if known_changes:
            yield f"From {step.from_instances} to {step.instances} instances: {', '.join(known_changes)}"


def _signed_w(watts: float) -> str:
    return f"{watts:+.1f} W".replace("-", "−")


def _lines(analysis: Analysis) -> Iterator[RenderableType]:
    """A line a case with its regime, the knee, and the findings."""
    from rich.text import Text

    yield Text(one_line(analysis.title), style="bold")
    for summary, row in zip(analysis.summaries, analysis.regimes, strict=True):
        rate = format_rate(summary.throughput_bps.mean if summary.throughput_bps else None, 4)
        of_users = "users: no series of instances"
        regime = of_users if summary.case.of_users else f"{row.regime:<9}  {one_line(row.why)}"
        yield Text(f"{summary.case.instances:>6}  {rate:>11}  {regime}")
    yield from (Text(one_line(words)) for words in _step_words(analysis))
    yield Text(one_line(knee_words(analysis.knee)))
    for finding in analysis.findings:
        style = "" if finding.rank == "note" else "yellow"
        count = plural(finding.instances, "instance")
        yield Text(one_line(f"{finding.rank}: {count}: {finding.message} [{finding.kind}]"), style=style)
        yield from (Text(f"    {one_line(sentence)}") for sentence in finding.evidence)
    yield Text()
