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
            _table(group, found, self.names[group]) for group in self.groups for found in group.responses
        )


def experiment(result: Result) -> Experiment | None:
    """The effects of a result's factors; ``None`` where its cases have none, or nobody varied any."""
    campaign = result.manifest.asked
    settings = {trial.case.factors for trial in result.trials}
    if not any(settings) or (len(settings) == 1 and not campaign.factors):
        return None
    factors = {name: tuple(levels) for name, levels in campaign.factors.items()}
    known = get_args(design.Design)
    named: design.Design = next((one for one in known if one == campaign.design), "one-at-a-time")
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


def _table(group: GroupEffects, found: ResponseEffects, name: str) -> Table:
    """The main effects on one response of cases that differ in factors only, a row a level."""
    scope = f" ({SCOPE_WORDS.get(found.scope, found.scope)})" if found.scope else ""
    sure = mark(found.provenance)
    together = [Note("remark", _marked(_together(one), sure)) for one in found.interactions if one.found]
    return Table(
        title=f"{of_ends(found.response.title, group.case)}{scope}: {name}",
        keys=(Head("Level", kind="text"),),
        heads=(
            Head("Runs / at base", lines="n / base"),
            Head("Change", unit(found.response), page_only=True),
            Head("95 % CI", unit(found.response), page_only=True),
            Head("p (Holm)", lines="p"),
            Head("In words", kind="prose", lines="Effect"),
        ),
        groups=tuple(
            RowGroup(factor, tuple(_row(effect, sure) for effect in levels))
            for factor, levels in groupby(found.rows, key=lambda effect: effect.factor)
        ),
        notes=(
            *together,
            Note("remark", best_words(group, found)),
            *legend_notes(legend([found.provenance])),
        ),
        group_title="Factor",
        provenance=sources([found.provenance]),
        style="numbers effects",
    )


def beyond_chance(effect: MainEffect) -> bool:
    """Whether an effect is one."""
    return effect.verdict.kind in ("better", "worse")


def _row(effect: MainEffect, sure: str | None) -> Row:
    change = effect.verdict.change
    if change is None:
        known = texts(MISSING, MISSING, MISSING)
    else:
        interval = f"{signed(change.low)} to {signed(change.high)}"
        known = (
            Cell(signed(change.value), mark=sure),
            Cell(interval, mark=sure),
            Cell(p_text(change.p_holm)),
        )
    words = Cell(effect_words(effect), mark=sure, strong=beyond_chance(effect))
    level = Cell(effect.level, note=f"base {effect.base}")
    cells = (Cell(f"{effect.runs} / {effect.base_runs}"), *known, words)
    return Row((level,), cells, kind=effect.verdict.kind)


def effect_words(effect: MainEffect) -> str:
    """Its verdict, and the factors that change it."""
    depends = f"; depends on {' and '.join(effect.depends_on)}" if effect.depends_on else ""
    return effect.verdict.words + depends


def _marked(text: str, sure: str | None) -> str:
    return f"{text} {sure}" if sure else text


def _together(one: Interaction) -> str:
    pairs = " with ".join(map("=".join, zip(one.factors, one.levels, strict=True)))
    return (
        f"{' and '.join(one.factors)} act together: {pairs} is {one.verdict.words} than each alone makes it"
    )


def best_words(group: GroupEffects, found: ResponseEffects, *, named: bool = True) -> str:
    """``Best setting found: mtu=9000 gro=off: faster by …``; only what differs from the base is named."""
    best = found.best
    doubts = "".join(f"; {one}" for one in best_doubts(group.base, best, named=named))
    if best.setting is None:
        return f"Best setting found: {setting_text(group.base)}: {best.words}{doubts}."
    changed = setting_text(pair for pair in best.setting if pair not in group.base)
    words = _marked(best.words, mark(found.provenance))
    among = "" if best.not_told else f", of {best.compared} others compared"
    return f"Best setting found: {changed}: {words}{among}{doubts}."


def as_document(found: Experiment) -> dict[str, Any]:
    """The ``effects`` of ``show --json``."""
    return {
        "notes": list(found.notes),
        "groups": [
            {
                **_case(group),
                "base": dict(group.base),
                "not_run": [{"factor": name, "level": level} for name, level in group.absent],
                "responses": [_response(one) for one in group.responses],
            }
            for group in found.groups
        ],
    }


def _case(group: GroupEffects) -> dict[str, Any]:
    return case_keys(group.case) | {"load_level": group.case.load_level}


def _response(found: ResponseEffects) -> dict[str, Any]:
    best = found.best
    return {
        "response": found.response.name,
        "scope": found.scope,
        "provenance": found.provenance,
        "main_effects": [_main(found, effect) for effect in found.rows],
        "interactions": [
            {
                "factors": list(one.factors),
                "levels": list(one.levels),
                **numbers(found.response, one.verdict),
                "found": one.found,
            }
            for one in found.interactions
        ],
        "best": {
            "setting": _setting(best.setting),
            "words": best.words,
            "compared": best.compared,
            "not_told_from": [dict(one) for one in best.not_told],
            "together_not_run": _setting(best.not_run),
            **numbers(found.response, best.verdict),
        },
    }


def _setting(setting: Setting | None) -> dict[str, str] | None:
    return None if setting is None else dict(setting)


def _main(found: ResponseEffects, effect: MainEffect) -> dict[str, Any]:
    return {
        "factor": effect.factor,
        "level": effect.level,
        "base": effect.base,
        "runs": effect.runs,
        "base_runs": effect.base_runs,
        **numbers(found.response, effect.verdict),
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
    found = experiment(result)
    return [
        {
            **_case(group),
            "response": one.response.name,
            **_main(one, effect),
            "depends_on": " ".join(effect.depends_on),
            "scope": one.scope,
            "provenance": one.provenance,
        }
        for group in (found.groups if found else ())
        for one in group.responses
        for effect in one.rows
    ]


EFFECT_COLUMNS = (
    *("test", "sender", "receiver", "direction", "family", "instances", "network", "rate_bps", "streams"),
    *("zerocopy", "load_level", "response", "factor", "level", "base", "runs", "base_runs"),
    *("ratio", "ratio_low", "ratio_high", "difference", "difference_low", "difference_high"),
    *("p", "p_holm", "kind", "verdict", "depends_on", "scope", "provenance"),
)
"""Column names of ``show --csv --effects``, the same for every result."""
