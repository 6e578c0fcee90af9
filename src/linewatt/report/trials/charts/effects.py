# SPDX-License-Identifier: Apache-2.0
"""The chart of main effects: a row a level, its change against the base with its CI, a panel a response.

Whether an effect is beyond chance and large enough is said by a filled or hollow point and in words, not by
colour alone. A CI that would leave no room for the others runs out of the panel.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from linewatt.analysis.comparison import GroupEffects, ResponseEffects
from linewatt.report.charts import forest, specs
from linewatt.report.charts.data import Row
from linewatt.report.charts.figure import Figure
from linewatt.report.charts.specs import Spec
from linewatt.report.provenance import provenance_mark, provenance_words
from linewatt.report.series import setting_text
from linewatt.report.trials.settings.effects import Experiment, beyond_chance, effect_words, unit

MOST_FIGURES = 24
_PANEL_PX = 200
_ALL_PANELS_PX = 760

_CAPTION = (
    "Change against the base of each factor (the zero line); whiskers: 95 % confidence interval. Filled: an "
    "effect beyond chance and beyond what matters. Hollow: none was told from chance, or it is too small."
)


def effect_figures(effects: Experiment) -> list[Figure]:
    """A figure for each group of cases, as far as MOST_FIGURES."""
    figures = [
        figure for group in effects.groups[:MOST_FIGURES] if (figure := _figure(effects, group)) is not None
    ]
    if len(effects.groups) > MOST_FIGURES and figures:
        omitted_words = (
            f" Not drawn: {len(effects.groups) - MOST_FIGURES} more groups of cases, which the tables have."
        )
        figures[-1] = replace(figures[-1], caption=figures[-1].caption + omitted_words)
    return figures


def _figure(effects: Experiment, group: GroupEffects) -> Figure | None:
    responses = [response for response in group.responses if response.rows]
    if not responses:
        return None
    sources = dict.fromkeys(provenance_words([response.provenance]) for response in responses)
    marked = [f"Watts are {source}, not measured." for source in sources if source]
    return Figure(
        name=f"effects-{effects.groups.index(group) + 1}",
        title=f"Main effects: {effects.names[group]}",
        caption=" ".join([_CAPTION, *marked]),
        description="; ".join(map(_description, responses)),
        spec=effect_spec(responses),
        wide=len(responses) > 1,
    )


def _description(response_effects: ResponseEffects) -> str:
    sure = provenance_mark(response_effects.provenance)
    rows = ", ".join(
        f"{setting_text([(row.factor, row.level)])} {effect_words(row)}{f' {sure}' if sure else ''}"
        for row in response_effects.rows
    )
    return f"{response_effects.response.title}: {rows}"


def effect_rows(response: ResponseEffects) -> list[Row]:
    """A row a level: ``change``, ``low`` and ``high`` in % or points, or ``unknown``."""
    rows: list[Row] = []
    for effect in response.rows:
        change = effect.verdict.change
        base: Row = {"level": setting_text([(effect.factor, effect.level)])}
        if change is None:
            rows.append(base | {"kind": "unknown"})
            continue
        values = {"change": 100 * change.value, "low": 100 * change.low, "high": 100 * change.high}
        rows.append(base | values | {"kind": "effect", "doubtless": "yes" if beyond_chance(effect) else "no"})
    return rows


def effect_spec(responses: Sequence[ResponseEffects]) -> Spec:
    """Panels side by side, rows in common; each panel has the scale of its own response."""
    labels = [row["level"] for row in effect_rows(responses[0])]
    width_px = min(_PANEL_PX, _ALL_PANELS_PX // len(responses))
    panels = [
        forest.panel(
            _title(response), unit(response.response), effect_rows(response), labels, width_px, first=at == 0
        )
        for at, response in enumerate(responses)
    ]
    return specs.themed({"hconcat": panels, "spacing": 26} | specs.room(labels))


def _title(effects: ResponseEffects) -> list[str]:
    source = provenance_words([effects.provenance])
    title = f"{effects.response.title} {f'({source})' if source else ''}".rstrip()
    return title.replace(" of the ", "\nof the ").split("\n")
