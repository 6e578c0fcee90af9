# SPDX-License-Identifier: Apache-2.0
"""Load levels in words and as data: names, what is to be known of them, JSON and CSV."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any

from linewatt.analysis.cases.load_levels import MISSED_RATIO, LevelCurve, LevelPoint
from linewatt.analysis.metrics.of_power import POWER_METRICS
from linewatt.analysis.metrics.of_trial import BY_NAME
from linewatt.model import ENDS, Case, Role
from linewatt.report.columns import export
from linewatt.report.export import case_keys
from linewatt.report.power_columns import export_end
from linewatt.report.series import case_labels, plural
from linewatt.units import format_percent, format_rate, mbps_from_bps, percent_from_ratio

TITLE = "Load levels"
_SCORE = "overall_score_mbps_per_w"
_OF_CASE = ("target_bps", "throughput_bps", "lost_ratio", "target_deviation_ratio")
_OF_END = [metric for metric in POWER_METRICS if metric.name in ("system_w", "system_bps_per_w")]


def _score_key(role: Role) -> str:
    return f"overall_score_{role}_mbps_per_w"


NO_LEVEL: dict[str, Any] = {
    **{key: None for role in ENDS for key in (_score_key(role), f"{_score_key(role)}_provenance")},
    "load_level_remark": None,
}
"""What a case that is not at a load level has under the keys of :func:`level_keys`"""


def level_name(level: float) -> str:
    """``75 %``, ``12.5 %``, ``active idle``."""
    return f"{percent_from_ratio(level):.4g} %" if level else "active idle"


def curve_names(curves: Iterable[LevelCurve]) -> dict[Case, str]:
    """Each curve's case among all of them: hosts, what distinguishes it, instances."""
    cases = list(dict.fromkeys(curve.case for curve in curves))
    labels = case_labels(dict.fromkeys(replace(case, instances=1) for case in cases))
    return {
        case: f"{labels[replace(case, instances=1)]}, {plural(case.instances, 'instance')}" for case in cases
    }


def where(curves: Sequence[LevelCurve]) -> str | None:
    """Where the cases at load levels are, for tables that leave them out."""
    if not curves:
        return None
    cases = len({point.summary.case for curve in curves for point in curve.points})
    levels = sorted({point.level for curve in curves for point in curve.points}, reverse=True)
    named = ", ".join(map(level_name, levels))
    return f"{plural(cases, 'case')} at load levels ({named}) {'is' if cases == 1 else 'are'} under “{TITLE}”"


def remark(point: LevelPoint) -> str | None:
    """What makes the curve doubtful at a level; ``None``: nothing does."""
    said = [one for one in (_miss(point), _unlike(point)) if one]
    return "; ".join(said) or None


def _miss(point: LevelPoint) -> str | None:
    off = point.summary.target_deviation_ratio
    if point.missed is None:
        whys = point.summary.reasons
        why = whys.get("target_deviation_ratio", "target or throughput not recorded")
        return f"not known whether the load was what was asked for: {why}"
    if not point.missed or off is None or point.target_bps is None:
        return None
    beside = "below" if off.mean < 0 else "above"
    asked = format_rate(point.target_bps.mean, 4)
    return (
        f"missed its target of {asked}: throughput is {format_percent(abs(off.mean))} {beside} it"
        f"{_offered(point) if off.mean < 0 else ''}; the curve is not at this load here"
    )


def _offered(point: LevelPoint) -> str:
    """Whether it was sent and lost, or never sent."""
    offered, target = point.summary.offered_bps, point.target_bps
    if offered is None or target is None:
        return ""
    if offered.mean >= target.mean * (1 - MISSED_RATIO):
        return "; all of it was sent, but not all arrived"
    return f", and only {format_rate(offered.mean, 4)} was sent"


def _unlike(point: LevelPoint) -> str | None:
    if point.pairs_bps is None:
        return None
    low, high = (format_rate(rate, 4) for rate in point.pairs_bps)
    return f"pairs of hosts were not offered the same rate, but {low} to {high}: do not compare them here"


def score_remark(curve: LevelCurve) -> str | None:
    """What makes a score doubtful: levels that were missed."""
    missed = curve.missed
    if curve.score_bps_per_w is None or not missed:
        return None
    return f"the score counts {plural(len(missed), 'level')} that missed the load asked for"


def as_documents(curves: Iterable[LevelCurve]) -> list[dict[str, Any]]:
    """The curves of ``show --json``: one a case and end, levels falling."""
    return [_document(curve) for curve in curves]


def _document(curve: LevelCurve) -> dict[str, Any]:
    return {
        **case_keys(curve.case),
        "case_key": curve.case.key,
        "role": curve.role,
        "host": curve.host,
        "system_scope": curve.scope,
        _SCORE: _score(curve),
        f"{_SCORE}_provenance": _score_provenance(curve),
        f"{_SCORE}_reason": curve.reason,
        f"{_SCORE}_remark": score_remark(curve),
        "levels": [_level(point) for point in curve.points],
    }


def _level(point: LevelPoint) -> dict[str, Any]:
    summary = point.summary
    row: dict[str, Any] = {
        "load_level": point.level,
        "case_key": summary.case.key,
        "trials_done": summary.trials_done,
        "trials_failed": summary.trials_failed,
    }
    for name in _OF_CASE:
        row |= export(BY_NAME[name], summary)
    cores = export(BY_NAME[f"{point.role}_cpu_cores"], summary)
    row |= {key.removeprefix(f"{point.role}_"): value for key, value in cores.items()}
    for power in _OF_END:
        exported = export_end(power, point.role, point.power)
        row |= {key.removeprefix(f"{point.role}_"): value for key, value in exported.items()}
    return row | {"target_missed": point.missed, "remark": remark(point)}


def level_keys(curves: Iterable[LevelCurve]) -> dict[Case, dict[str, Any]]:
    """What a row of JSON or CSV has beyond its case: the scores of its curve at both ends, and its remark."""
    found: dict[Case, dict[str, Any]] = {}
    for curve in curves:
        for point in curve.points:
            row = found.setdefault(point.summary.case, dict(NO_LEVEL))
            row[_score_key(curve.role)] = _score(curve)
            row[f"{_score_key(curve.role)}_provenance"] = _score_provenance(curve)
            row["load_level_remark"] = remark(point)
    return found


def _score(curve: LevelCurve) -> float | None:
    return None if curve.score_bps_per_w is None else mbps_from_bps(curve.score_bps_per_w)


def _score_provenance(curve: LevelCurve) -> str | None:
    return None if curve.score_bps_per_w is None else curve.provenance
