# SPDX-License-Identifier: Apache-2.0
"""Advice on how many servers a target takes, printed."""

from __future__ import annotations

from pathlib import Path

from linewatt.cli import checked_target, is_table, print_json, print_rich, stored_result
from linewatt.errors import InvalidInput
from linewatt.features.advice.action import check_positive, efficiency_table, one_of
from linewatt.features.advice.command import MOST_UNITS
from linewatt.features.advice.fleet.advice import FleetAdvice, advise_fleet
from linewatt.features.advice.fleet.points import operating_points
from linewatt.features.advice.fleet.question import Question, check, parse_redundancy
from linewatt.features.advice.fleet_report.document import document
from linewatt.features.advice.fleet_report.printers import page, rendered
from linewatt.features.advice.fleet_report.sources import FleetSource, choose_series, of_result, of_trials
from linewatt.features.advice.psu.supplies import MODES, Supply
from linewatt.features.advice.psu.tables import EfficiencyTable, certified
from linewatt.features.tables.api import trials_of_table
from linewatt.model import ENDS, Role
from linewatt.records import Supplies
from linewatt.units import bps_from_gbps, ratio_from_percent


def print_fleet_advice(  # noqa: PLR0913  one parameter an option
    *,
    target_gbps: float,
    table_or_id: str,
    series: str | None,
    role: str,
    headroom: float,
    redundancy: str,
    price_kwh: float | None,
    pue: float,
    server_cost: float | None,
    server_years: float,
    load_share: float,
    tolerance_percent: float | None,
    psu_rating_w: float | None,
    psu_count: int,
    psu_mode: str,
    psu_level: str | None,
    psu_table: Path | None,
    results: Path,
    as_json: bool,
    output: Path | None,
) -> None:
    """Compute servers, cores, watts and money for a target throughput."""
    target = None if output is None else checked_target(output)
    end = one_of("--role", role, ENDS)
    supply, table = _supply(psu_rating_w, psu_count, psu_mode, psu_level, psu_table)
    question = Question(
        bps_from_gbps(target_gbps),
        headroom,
        parse_redundancy(redundancy),
        pue,
        price_kwh,
        server_cost,
        server_years,
        load_share,
        supply,
        table,
    )
    check(question)
    source = _source(table_or_id, results, end)
    chosen = choose_series(source, series)
    if supply is None and chosen.host in source.supplies:
        question = _with_declared(question, source.supplies[chosen.host])
    points = operating_points(chosen.summaries, end, source.findings, _tolerance(tolerance_percent))
    advice = advise_fleet(chosen.title, end, points, question)
    _print(advice, source, target, as_json=as_json)


def _print(advice: FleetAdvice, source: FleetSource, target: Path | None, *, as_json: bool) -> None:
    if target is not None:
        from linewatt.report.printing import write_page

        write_page(target, page(advice, source))
    if as_json:
        print_json(document(advice, source))
    else:
        print_rich(lambda width: rendered(advice, source, width))


def _tolerance(percent: float | None) -> float | None:
    if percent is not None and not 0 < percent < 100:
        raise InvalidInput(f"--tolerance-percent must be above 0 and below 100, got {percent:g}")
    return None if percent is None else ratio_from_percent(percent)


def _source(table_or_id: str, results: Path, role: Role) -> FleetSource:
    if not is_table(table_or_id):
        with stored_result(results, table_or_id) as result:
            return of_result(result, role)
    source, read, lines = trials_of_table(table_or_id, figures=True)
    if role == "sender":
        raise InvalidInput(f"{source}: a table has CPU and watts of the receiver; leave out --role sender")
    return of_trials(source, read.trials, role, lines)


def _supply(
    rating_w: float | None, count: int, mode: str, level: str | None, table: Path | None
) -> tuple[Supply | None, EfficiencyTable | None]:
    """The power supplies that were named, and their efficiency. Raises InvalidInput."""
    check_positive({"--psu-rating-w": rating_w})
    if rating_w is None:
        if level is not None or table is not None:
            raise InvalidInput("--psu-level and --psu-table need --psu-rating-w, the rating of one unit")
        return None, None
    if not 1 <= count <= MOST_UNITS:
        raise InvalidInput(f"--psu-count must be from 1 to {MOST_UNITS}, got {count}")
    return Supply(count, rating_w, one_of("--psu-mode", mode, MODES)), efficiency_table(
        level, "230", table, "--psu-"
    )


def _with_declared(question: Question, declared: Supplies) -> Question:
    """With the power supplies that the campaign declares for this host."""
    from dataclasses import replace

    supply = Supply(declared.count, declared.rating_w, declared.mode)
    return replace(question, supply=supply, table=certified(declared.level) if declared.level else None)
