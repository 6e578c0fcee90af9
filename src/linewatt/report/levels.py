# SPDX-License-Identifier: Apache-2.0
"""Load levels in words: the curve of each case and end, and its overall score."""

from __future__ import annotations

from collections.abc import Iterable

from linewatt.analysis.load_levels import LevelCurve, LevelPoint, curves
from linewatt.analysis.power import SCOPE_WORDS
from linewatt.analysis.summary import CaseSummary
from linewatt.report.provenance import words
from linewatt.report.series import plural
from linewatt.units import MISSING, format_rate, format_significant, mbps_from_bps


def level_lines(summaries: Iterable[CaseSummary]) -> list[str]:
    """A heading, a line a level from full load to active idle, and the score; for every curve with power."""
    lines: list[str] = []
    for curve in curves(summaries):
        if any(point.system_w is not None for point in curve.points):
            lines += [
                _heading(curve),
                *(f"    {_line(point, curve)}" for point in curve.points),
                _score(curve),
            ]
    return lines


def _heading(curve: LevelCurve) -> str:
    case = curve.case
    about = f"{case.test}, {case.sender} → {case.receiver}, {plural(case.instances, 'instance')}"
    scope = SCOPE_WORDS.get(curve.scope or "", "system")
    return f"Load levels, {about}: {scope} of the {curve.role} {curve.host}"


def _line(point: LevelPoint, curve: LevelCurve) -> str:
    rate = MISSING if point.throughput_bps is None else format_rate(point.throughput_bps.mean)
    level = f"{100 * point.level:g} %" if point.level else "active idle"
    watts = MISSING if point.system_w is None else f"{point.system_w.mean:,.1f} W{_mark(curve)}"
    per_watt = (
        MISSING
        if point.system_bps_per_w is None
        else f"{format_significant(mbps_from_bps(point.system_bps_per_w.mean), 4)} Mbps/W{_mark(curve)}"
    )
    return f"{level}: {rate}, {watts}, {per_watt}"


def _score(curve: LevelCurve) -> str:
    if curve.score_bps_per_w is None:
        return f"    overall score: {MISSING} ({curve.reason})"
    score = format_significant(mbps_from_bps(curve.score_bps_per_w), 4)
    return f"    overall score, all throughput over all power: {score} Mbps/W{_mark(curve)}"


def _mark(curve: LevelCurve) -> str:
    said = words([curve.provenance]) if curve.provenance not in (None, "measured") else ""
    return f" ({said})" if said else ""
