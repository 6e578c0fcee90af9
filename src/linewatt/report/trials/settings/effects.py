# SPDX-License-Identifier: Apache-2.0
"""What factors do, as tables, sentences, JSON and CSV; nothing of it where a campaign has no factors."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from itertools import groupby
from typing import Any, get_args

from linewatt.analysis.comparison import (
    GroupEffects,
    Interaction,
    MainEffect,
    ResponseEffects,
    Setting,
    best_doubts,
    group_effects,
    signed_change,
)
from linewatt.analysis.metrics import Response
from linewatt.analysis.power import SCOPE_WORDS
from linewatt.campaign import Design, design_words
from linewatt.declare import FLAT
from linewatt.json_document import document_of, fill
from linewatt.model import Provenance
from linewatt.records import Count
from linewatt.report.printing.export import CaseKeys, Numbers, case_keys, case_of, p_text, verdict_numbers
from linewatt.report.provenance import provenance_legend, provenance_mark
from linewatt.report.provenance import provenance_words as sources
from linewatt.report.series import case_names, of_ends, setting_text
from linewatt.report.table import Cell, Head, Note, Row, RowGroup, Table, legend_notes, text_cells
from linewatt.store import Result
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
    designs = get_args(Design)
    named: Design = next(
        (design_name for design_name in designs if design_name == campaign.design), "one-at-a-time"
    )
    groups = group_effects(result.trials, factors, named)
    of_cases = case_names([group.case for group in groups], with_test=True)
    names = {group: of_cases[group.case] for group in groups}
    notes = [*design_words(factors, named), *_absent(groups, names)]
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
    sure = provenance_mark(response_effects.provenance)
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
            Note("remark", _best_note(group, response_effects)),
            *legend_notes(provenance_legend([response_effects.provenance])),
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
        change_cells = text_cells(MISSING, MISSING, MISSING)
    else:
        interval = f"{signed_change(change.low)} to {signed_change(change.high)}"
        change_cells = (
            Cell(signed_change(change.value), mark=sure),
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


def _best_note(group: GroupEffects, response_effects: ResponseEffects) -> str:
    """The best setting, or that none is proven."""
    heading = "Best setting found" if response_effects.best.is_proven else "No best setting is proven"
    return f"{heading}: {best_words(group, response_effects)}."


def _marked(text: str, sure: str | None) -> str:
    return f"{text} {sure}" if sure else text


def _together(interaction: Interaction) -> str:
    pairs = " with ".join(map("=".join, zip(interaction.factors, interaction.levels, strict=True)))
    return (
        f"{' and '.join(interaction.factors)} act together: {pairs} is "
        f"{interaction.verdict.words} than each alone makes it"
    )


def best_words(group: GroupEffects, response_effects: ResponseEffects, *, named: bool = True) -> str:
    """The best setting, ``mtu=9000 gro=off: faster by …``; only what differs from the base is named.

    The base where no other setting is proven better.
    """
    best = response_effects.best
    doubts = "".join(f"; {doubt}" for doubt in best_doubts(group.base, best, named=named))
    if best.setting is None:
        return f"the base {setting_text(group.base)}: {best.words}{doubts}"
    changed = setting_text(pair for pair in best.setting if pair not in group.base)
    words = _marked(best.words, provenance_mark(response_effects.provenance))
    among = "" if best.not_told or best.compared == 1 else f", of {best.compared} others compared"
    return f"{changed}: {words}{among}{doubts}"


@dataclass(frozen=True, slots=True, kw_only=True)
class MainEffectDocument:
    factor: str
    level: str
    base: str
    runs: Count
    base_runs: Count
    numbers: Numbers = field(metadata=FLAT)
    depends_on: tuple[str, ...]
    """Factors that change it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class InteractionDocument:
    factors: tuple[str, str]
    levels: tuple[str, str]
    numbers: Numbers = field(metadata=FLAT)
    found: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class BestDocument:
    setting: dict[str, str] | None
    words: str
    compared: Count
    not_told_from: list[dict[str, str]]
    together_not_run: dict[str, str] | None
    numbers: Numbers = field(metadata=FLAT)


@dataclass(frozen=True, slots=True, kw_only=True)
class ResponseDocument:
    response: str
    scope: str | None
    provenance: Provenance | None
    """Whether it was measured; the least sure of its parts."""
    main_effects: list[MainEffectDocument]
    interactions: list[InteractionDocument]
    best: BestDocument


@dataclass(frozen=True, slots=True)
class LevelNotRun:
    factor: str
    level: str


@dataclass(frozen=True, slots=True, kw_only=True)
class FactorGroupDocument:
    case: CaseKeys = field(metadata=FLAT)
    load_level: float | None
    base: dict[str, str]
    """Factor → its level."""
    not_run: list[LevelNotRun]
    responses: list[ResponseDocument]


@dataclass(frozen=True, slots=True)
class EffectsDocument:
    """What factors do, where a campaign has any."""

    notes: list[str]
    """What the design can tell."""
    groups: list[FactorGroupDocument]


def as_document(factor_effects: Experiment) -> dict[str, Any]:
    """As :class:`EffectsDocument` has it."""
    groups = [
        FactorGroupDocument(
            case=case_of(group.case),
            load_level=group.case.load_level,
            base=dict(group.base),
            not_run=[LevelNotRun(name, level) for name, level in group.absent],
            responses=[_response(response) for response in group.responses],
        )
        for group in factor_effects.groups
    ]
    return document_of(EffectsDocument(list(factor_effects.notes), groups))


def _response(response_effects: ResponseEffects) -> ResponseDocument:
    best, response = response_effects.best, response_effects.response
    return fill(
        ResponseDocument,
        response_effects,
        response=response.name,
        main_effects=[_main(response_effects, effect) for effect in response_effects.rows],
        interactions=[
            fill(InteractionDocument, interaction, numbers=verdict_numbers(response, interaction.verdict))
            for interaction in response_effects.interactions
        ],
        best=fill(
            BestDocument,
            best,
            setting=_setting(best.setting),
            not_told_from=[dict(setting) for setting in best.not_told],
            together_not_run=_setting(best.not_run),
            numbers=verdict_numbers(response, best.verdict),
        ),
    )


def _setting(setting: Setting | None) -> dict[str, str] | None:
    return None if setting is None else dict(setting)


def _main(response_effects: ResponseEffects, effect: MainEffect) -> MainEffectDocument:
    return fill(
        MainEffectDocument, effect, numbers=verdict_numbers(response_effects.response, effect.verdict)
    )


def effect_rows(result: Result) -> list[dict[str, Any]]:
    """Rows of ``show --csv --effects``: one a case without its factors, response and level."""
    factor_effects = experiment(result)
    return [
        {
            **case_keys(group.case),
            "load_level": group.case.load_level,
            "response": response.response.name,
            **document_of(_main(response, effect)),
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
