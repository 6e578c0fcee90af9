# SPDX-License-Identifier: Apache-2.0
"""The curve of a search: loss against the rate that was offered, with the rates that were found."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from linewatt.analysis.cases import RateSearch, RateStep
from linewatt.report.charts import specs
from linewatt.report.charts.data import Row
from linewatt.report.charts.figure import Figure
from linewatt.report.charts.specs import Spec
from linewatt.report.series import plural
from linewatt.report.trials.searches.searches import goal_name, named, rate_words
from linewatt.units import format_rate, format_significant, mbps_from_bps

_SIZE_PX = (520, 260)
_AROUND = 0.1
_LEAST_PERCENT = 0.01
"""below which the scale of loss is linear, so that it has a zero"""


def search_figures(rate_searches: Sequence[RateSearch]) -> Iterator[Figure]:
    """One for each search with more than one step."""
    for number, (search, name) in enumerate(named(rate_searches), start=1):
        drawn = _near(search)
        if len(drawn) > 1:
            points = (
                f"{format_significant(100 * step.lost_ratio, 3)} % at {format_rate(step.offered_bps, 4)}"
                for step in search.steps
            )
            omitted_count = len(search.steps) - len(drawn)
            away = (
                f" Further away and not drawn: {plural(omitted_count, 'step')}, which the table has."
                if omitted_count
                else ""
            )
            goals = ", ".join(f"{goal_name(goal)} {rate_words(goal)}" for goal in search.goals)
            yield Figure(
                name=f"search-{number}",
                title=f"{name}: loss against rate",
                caption=f"Each point is one trial. Vertical lines: {goals}. The scale of loss is logarithmic "
                f"down to {_LEAST_PERCENT:g} %.{away}",
                description=f"Lost: {'; '.join(points)}. {goals}.",
                spec=_spec(search, drawn),
            )


def _near(search: RateSearch) -> list[RateStep]:
    """The steps around what was found; all where nothing was."""
    bounds = [bound for goal in search.goals for bound in (goal.lower, goal.upper) if bound is not None]
    if not bounds:
        return list(search.steps)
    low = min(bound.load_bps for bound in bounds) * (1 - _AROUND)
    high = max(bound.load_bps for bound in bounds) * (1 + _AROUND)
    return [step for step in search.steps if low <= step.load_bps <= high]


def _spec(search: RateSearch, drawn: Sequence[RateStep]) -> Spec:
    rows: list[Row] = [
        {"kind": "mean", "x": mbps_from_bps(step.offered_bps), "value": 100 * step.lost_ratio}
        for step in drawn
    ]
    goal_steps = [
        (goal_name(goal), goal.lower)
        for goal in search.goals
        if goal.lower is not None and goal.rate_bps is not None
    ]
    rows += [
        {"kind": "goal", "x": mbps_from_bps(step.offered_bps), "text": name, "place": 16 * (1 + at)}
        for at, (name, step) in enumerate(goal_steps)
    ]
    x = specs.amount("x", "offered (Mbps)", ticks=6) | {
        "scale": {"type": "log", "nice": False, "padding": 20}
    }
    loss = {"scale": {"type": "symlog", "constant": _LEAST_PERCENT, "domainMin": 0}}
    y = specs.amount("value", "lost (%)", values=[0, 0.01, 0.1, 1, 10, 100], format="~g") | loss
    rule = {"type": "rule", "strokeDash": [5, 4], "strokeWidth": 1.5}
    name = {"type": "text", "align": "right", "dx": -5, "baseline": "top", "stroke": specs.GROUND}
    goal: Spec = {"transform": specs.only(kind="goal")}
    top = {"y": {"field": "place", "type": "quantitative", "scale": None}, "text": {"field": "text"}}
    layers: list[Spec] = [
        goal | {"mark": rule, "encoding": {"x": x, "color": {"value": specs.SENDER}}},
        goal | {"mark": name | {"strokeWidth": 4}, "encoding": top | {"x": x}},
        goal
        | {"mark": name | {"stroke": None}, "encoding": top | {"x": x, "color": {"value": specs.SENDER}}},
        {
            "transform": specs.only(kind="mean"),
            "mark": {"type": "line", "point": {"filled": True, "size": 52}, "strokeWidth": 1.5},
            "encoding": {"x": x, "y": y, "color": {"value": specs.RECEIVER}},
        },
    ]
    width, height = _SIZE_PX
    spec: Spec = {"data": {"values": rows}, "width": width, "height": height, "layer": layers}
    return specs.themed(spec)
