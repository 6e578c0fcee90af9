# SPDX-License-Identifier: Apache-2.0
"""What factors do, as tables, sentences, JSON and CSV; nothing of it where a campaign has no factors."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from itertools import groupby
from typing import Any, get_args

from linewatt.analysis.comparison.effects import (
    GroupEffects,
    Interaction,
    MainEffect,
    ResponseEffects,
    Setting,
    best_doubts,
    effects,
)
from linewatt.analysis.comparison.verdicts import signed
from linewatt.analysis.metrics.metric import Response
from linewatt.analysis.power.totals import SCOPE_WORDS
from linewatt.campaign import design
from linewatt.declare import (
    BOOLEAN,
    COUNT,
    NUMBER,
    TEXT,
    Keys,
    Schema,
    listing,
    maybe,
    pair,
    record,
    said,
    table,
)
from linewatt.report.columns import provenance_schema
from linewatt.report.printing.export import case_keys, case_schema, numbers, numbers_schema, p_text
from linewatt.report.provenance import legend, mark
from linewatt.report.provenance import words as sources
from linewatt.report.series import case_names, of_ends, setting_text
from linewatt.report.table import Cell, Head, Note, Row, RowGroup, Table, legend_notes, texts
from linewatt.store.read import Result
from linewatt.units import MISSING

TITLE = "Effects of the factors"


@dataclass(frozen=True, slots=True)
class Experiment:
    """All effects of a result: what its design can tell, and the groups of its cases with their names."""

    groups: tuple[GroupEffects, ...]
    names: Mapping[GroupEffects, str]
    notes: tuple[str, ...]

    @property
    def tables(self) -> tuple[Table, ...]:
        """One for each group and response."""
        return tuple(
            _table(group, response, self.names[group])
            for group in self.groups
            for response in group.responses
        )


def experiment(result: Result) -> Experiment | None:
    """The effects of a result's factors; ``None`` where its cases have none, or nobody varied any."""
    campaign = result.manifest.asked
    settings = {trial.case.factors for trial in result.trials}
    if not any(settings) or (len(settings) == 1 and not campaign.factors):
        return None
    factors = {name: tuple(levels) for name, levels in campaign.factors.items()}
    designs = get_args(design.Design)
    named: design.Design = next(
        (design_name for design_name in designs if design_name == campaign.design), "one-at-a-time"
    )
    groups = effects(result.trials, factors, named)
    of_cases = case_names([group.case for group in groups], with_test=True)
    names = {group: of_cases[group.case] for group in groups}
    notes = [*design.words(factors, named), *_absent(groups, names)]
    return Experiment(groups, names, tuple(notes))


def _absent(groups: Iterable[GroupEffects], names: Mapping[GroupEffects, str]) -> list[str]:
    return [
        f"{names[group]}: not run at {', '.join(f'{name}={level}' for name, level in group.absent)}."
        for group in groups
        if group.absent
    ]


def unit(response: Response) -> str:
    """Of changes of a response."""
    return "%" if response.relative else "points"


def _table(group: GroupEffects, response_effects: ResponseEffects, name: str) -> Table:
    """The main effects on one response of cases that differ in factors only, a row a level."""
    scope = (
        f" ({SCOPE_WORDS.get(response_effects.scope, response_effects.scope)})"
        if response_effects.scope
        else ""
    )
    sure = mark(response_effects.provenance)
    together = [
        Note("remark", _marked(_together(interaction), sure))
        for interaction in response_effects.interactions
        if interaction.found
    ]
    return Table(
        title=f"{of_ends(response_effects.response.title, group.case)}{scope}: {name}",
        keys=(Head("Level", kind="text"),),
        heads=(
            Head("Runs / at base", lines="n / base"),
            Head("Change", unit(response_effects.response), page_only=True),
            Head("95 % CI", unit(response_effects.response), page_only=True),
            Head("p (Holm)", lines="p"),
            Head("In words", kind="prose", lines="Effect"),
        ),
        groups=tuple(
            RowGroup(factor, tuple(_row(effect, sure) for effect in levels))
            for factor, levels in groupby(response_effects.rows, key=lambda effect: effect.factor)
        ),
        notes=(
            *together,
            Note("remark", f"Best setting found: {best_words(group, response_effects)}."),
            *legend_notes(legend([response_effects.provenance])),
        ),
        group_title="Factor",
        provenance=sources([response_effects.provenance]),
        style="numbers effects",
    )


def beyond_chance(effect: MainEffect) -> bool:
    """Whether an effect is one."""
    return effect.verdict.kind in ("better", "worse")


def _row(effect: MainEffect, sure: str | None) -> Row:
    change = effect.verdict.change
    if change is None:
        change_cells = texts(MISSING, MISSING, MISSING)
    else:
        interval = f"{signed(change.low)} to {signed(change.high)}"
        change_cells = (
            Cell(signed(change.value), mark=sure),
            Cell(interval, mark=sure),
            Cell(p_text(change.p_holm)),
        )
    words = Cell(effect_words(effect), mark=sure, strong=beyond_chance(effect))
    level = Cell(effect.level, note=f"base {effect.base}")
    cells = (Cell(f"{effect.runs} / {effect.base_runs}"), *change_cells, words)
    return Row((level,), cells, kind=effect.verdict.kind)


def effect_words(effect: MainEffect) -> str:
    """Its verdict, and the factors that change it."""
    depends = f"; depends on {' and '.join(effect.depends_on)}" if effect.depends_on else ""
    return effect.verdict.words + depends


def _marked(text: str, sure: str | None) -> str:
    return f"{text} {sure}" if sure else text


def _together(interaction: Interaction) -> str:
    pairs = " with ".join(map("=".join, zip(interaction.factors, interaction.levels, strict=True)))
    return (
        f"{' and '.join(interaction.factors)} act together: {pairs} is "
        f"{interaction.verdict.words} than each alone makes it"
    )


def best_words(group: GroupEffects, response_effects: ResponseEffects, *, named: bool = True) -> str:
    """The best setting, ``mtu=9000 gro=off: faster by …``; only what differs from the base is named."""
    best = response_effects.best
    doubts = "".join(f"; {doubt}" for doubt in best_doubts(group.base, best, named=named))
    if best.setting is None:
        return f"{setting_text(group.base)}: {best.words}{doubts}"
    changed = setting_text(pair for pair in best.setting if pair not in group.base)
    words = _marked(best.words, mark(response_effects.provenance))
    among = "" if best.not_told else f", of {best.compared} others compared"
    return f"{changed}: {words}{among}{doubts}"


def as_document(factor_effects: Experiment) -> dict[str, Any]:
    """The ``effects`` of ``show --json``."""
    return {
        "notes": list(factor_effects.notes),
        "groups": [
            {
                **_case(group),
                "base": dict(group.base),
                "not_run": [{"factor": name, "level": level} for name, level in group.absent],
                "responses": [_response(response) for response in group.responses],
            }
            for group in factor_effects.groups
        ],
    }


def _case(group: GroupEffects) -> dict[str, Any]:
    return case_keys(group.case) | {"load_level": group.case.load_level}


def _response(response_effects: ResponseEffects) -> dict[str, Any]:
    best = response_effects.best
    return {
        "response": response_effects.response.name,
        "scope": response_effects.scope,
        "provenance": response_effects.provenance,
        "main_effects": [_main(response_effects, effect) for effect in response_effects.rows],
        "interactions": [
            {
                "factors": list(interaction.factors),
                "levels": list(interaction.levels),
                **numbers(response_effects.response, interaction.verdict),
                "found": interaction.found,
            }
            for interaction in response_effects.interactions
        ],
        "best": {
            "setting": _setting(best.setting),
            "words": best.words,
            "compared": best.compared,
            "not_told_from": [dict(setting) for setting in best.not_told],
            "together_not_run": _setting(best.not_run),
            **numbers(response_effects.response, best.verdict),
        },
    }


def _setting(setting: Setting | None) -> dict[str, str] | None:
    return None if setting is None else dict(setting)


def _main(response_effects: ResponseEffects, effect: MainEffect) -> dict[str, Any]:
    return {
        "factor": effect.factor,
        "level": effect.level,
        "base": effect.base,
        "runs": effect.runs,
        "base_runs": effect.base_runs,
        **numbers(response_effects.response, effect.verdict),
        "depends_on": list(effect.depends_on),
    }


def schema() -> Schema:
    """Of :func:`as_document`."""
    setting = table(TEXT, "Factor → its level.")
    main = {
        "factor": TEXT,
        "level": TEXT,
        "base": TEXT,
        "runs": COUNT,
        "base_runs": COUNT,
        **numbers_schema(),
        "depends_on": listing(TEXT, "Factors that change it."),
    }
    together = {"factors": pair(TEXT), "levels": pair(TEXT), **numbers_schema(), "found": BOOLEAN}
    best = {
        "setting": maybe(setting),
        "words": TEXT,
        "compared": COUNT,
        "not_told_from": listing(setting),
        "together_not_run": maybe(setting),
        **numbers_schema(),
    }
    response = {
        "response": TEXT,
        "scope": maybe(TEXT),
        "provenance": provenance_schema(),
        "main_effects": listing(record(main)),
        "interactions": listing(record(together)),
        "best": record(best),
    }
    group: Keys = {
        **case_schema(),
        "load_level": maybe(NUMBER),
        "base": setting,
        "not_run": listing(record({"factor": TEXT, "level": TEXT})),
        "responses": listing(record(response)),
    }
    return record(
        {"notes": listing(said(TEXT, "What the design can tell.")), "groups": listing(record(group))},
        "What factors do, where a campaign has any.",
    )


def effect_rows(result: Result) -> list[dict[str, Any]]:
    """Rows of ``show --csv --effects``: one a case without its factors, response and level."""
    factor_effects = experiment(result)
    return [
        {
            **_case(group),
            "response": response.response.name,
            **_main(response, effect),
            "depends_on": " ".join(effect.depends_on),
            "scope": response.scope,
            "provenance": response.provenance,
        }
        for group in (factor_effects.groups if factor_effects else ())
        for response in group.responses
        for effect in response.rows
    ]


EFFECT_COLUMNS = (
    *("test", "sender", "receiver", "direction", "family", "instances", "network", "rate_bps", "streams"),
    *("zerocopy", "load_level", "response", "factor", "level", "base", "runs", "base_runs"),
    *("ratio", "ratio_low", "ratio_high", "difference", "difference_low", "difference_high"),
    *("p", "p_holm", "kind", "verdict", "depends_on", "scope", "provenance"),
)
"""Column names of ``show --csv --effects``, the same for every result."""
