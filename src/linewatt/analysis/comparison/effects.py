# SPDX-License-Identifier: Apache-2.0
"""Main effects of the factors of an experiment, and the best setting found. Pure.

One factor at a time: runs at a level against runs at the base, Welch on logarithms (``contrasts``). Full and
fractional designs: a linear model of the logarithms (``factorial``). Loss, which may be 0, is compared as
it is.
Verdicts count all levels of all factors of a response as looked at together.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial

from linewatt.analysis.cases.responses import Values, responses
from linewatt.analysis.comparison.verdicts import Verdict, verdicts_of_family
from linewatt.analysis.metrics.metric import Response
from linewatt.analysis.statistics.contrasts import MIN_RUNS, TAKE_MORE, Contrast, welch
from linewatt.analysis.statistics.factorial import fit
from linewatt.missing import Missing
from linewatt.model import Case, Provenance, Trial
from linewatt.units import first_of

ONE_AT_A_TIME = "one-at-a-time"
NO_VALUE = "no trial has a value"
ZEROCOPY = "zerocopy"
"""the factor that is a parameter of the case as well"""

MOST_NAMED = 2
"""settings that are not told from the best one"""

Levels = Mapping[str, Sequence[str]]
Setting = tuple[tuple[str, str], ...]
_Step = tuple[str, str]
_Runs = dict[Setting, list[float]]


@dataclass(frozen=True, slots=True)
class MainEffect:
    """A level of a factor against its base; ``runs`` and ``base_runs`` are those with a value that speak.

    ``depends_on`` are factors with which it acts together, so that it is a mean over their levels.
    """

    factor: str
    level: str
    base: str
    runs: int
    base_runs: int
    verdict: Verdict
    depends_on: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Interaction:
    """Two factors together: what their levels do beyond the sum of both effects, where that is most."""

    factors: tuple[str, str]
    levels: tuple[str, str]
    verdict: Verdict

    @property
    def found(self) -> bool:
        """Whether the effect of one depends on the other."""
        return self.verdict.kind in ("better", "worse")


@dataclass(frozen=True, slots=True)
class Best:
    """The best setting found: ``setting`` is ``None`` where no other is proven better than the base.

    ``words`` say how much better it is than the base, or why the base is kept.
    """

    setting: Setting | None
    words: str
    verdict: Verdict | None = None
    compared: int = 0
    others: int = 0
    """settings beside the base that were run"""
    worse: int = 0
    """those of them that are worse than the base beyond doubt"""
    undecided: int = 0
    """those of which there are not enough trials to tell"""
    not_told: tuple[Setting, ...] = ()
    """settings that are not beyond chance behind it, or behind the base where that is kept"""
    not_run: Setting | None = None
    """the best level of each factor, where several are better but were never run together"""

    @property
    def is_proven(self) -> bool:
        """Whether it is better than the base beyond doubt, or the base better than all other settings."""
        return self.setting is not None or 0 < self.others == self.worse


@dataclass(frozen=True, slots=True)
class ResponseEffects:
    """What the factors do to one response. ``provenance`` and ``scope`` are those of watts in it."""

    response: Response
    rows: tuple[MainEffect, ...]
    interactions: tuple[Interaction, ...]
    best: Best
    scope: str | None
    provenance: Provenance | None


@dataclass(frozen=True, slots=True)
class GroupEffects:
    """Cases that differ in factors only: ``case`` is without them.

    ``base`` is every factor at the first of its levels that these cases have; ``absent`` are the levels that
    no trial of them has.
    """

    case: Case
    base: Setting
    absent: Setting
    responses: tuple[ResponseEffects, ...]


def group_effects(trials: Sequence[Trial], factors: Levels, design: str) -> tuple[GroupEffects, ...]:
    """The effects in each group of cases that differ in factors only; nothing without factors.

    ``factors`` are the campaign's, levels in its order. Active idle has no load to speak of and is left out.
    """
    groups: dict[Case, list[Trial]] = {}
    for trial in trials:
        if trial.case.factors and trial.case.load_level != 0:
            groups.setdefault(without_factors(trial.case), []).append(trial)
    return tuple(_group(case, members, factors, design) for case, members in groups.items())


def without_factors(case: Case) -> Case:
    """What cases of one group have in common."""
    plain = replace(case, factors=())
    return replace(plain, zerocopy=False) if ZEROCOPY in dict(case.factors) else plain


def _group(case: Case, trials: Sequence[Trial], factors: Levels, design: str) -> GroupEffects:
    levels = _levels_of(trials, factors)
    base = tuple(sorted((name, present[0]) for name, present in levels.items()))
    absent = tuple(
        (name, level)
        for name, factor_levels in factors.items()
        for level in factor_levels
        if level not in levels.get(name, ())
    )
    compare = _one_at_a_time if design == ONE_AT_A_TIME else _factorial
    response_effects = []
    for values in responses(trials):
        runs: _Runs = {trial.case.factors: [] for trial in trials}
        for trial, value in zip(trials, values.values, strict=True):
            if value is not None:
                runs[trial.case.factors].append(value)
        response_effects.append(compare(values, levels, base, runs))
    return GroupEffects(case, base, absent, tuple(response_effects))


def _levels_of(trials: Sequence[Trial], factors: Levels) -> dict[str, list[str]]:
    """The levels that trials have, factors and levels in the order of the campaign."""
    seen: dict[str, list[str]] = {name: [] for name in factors}
    for trial in trials:
        for name, level in trial.case.factors:
            seen.setdefault(name, []).append(level)
    return {
        name: sorted({*seen_levels}, key=[*factors.get(name, ()), *seen_levels].index)
        for name, seen_levels in seen.items()
        if seen_levels
    }


def _family(levels: Levels) -> list[_Step]:
    """Every level that is not a base."""
    return [(name, level) for name, factor_levels in levels.items() for level in factor_levels[1:]]


def _one_at_a_time(values: Values, levels: Levels, base: Setting, runs: _Runs) -> ResponseEffects:
    at_base = runs.get(base, [])
    family = _family(levels)
    runs_of_steps = [runs.get(_changed(base, *step), []) for step in family]
    contrasts = [_against_base(runs, base, _changed(base, *step)) for step in family]
    judged = verdicts_of_family(values.response, contrasts)
    rows = tuple(
        MainEffect(name, level, levels[name][0], len(step_runs), len(at_base), verdict)
        for (name, level), step_runs, verdict in zip(family, runs_of_steps, judged, strict=True)
    )
    best = _best(values.response, base, runs, partial(_against_base, runs))
    best = replace(best, not_run=_never_together(rows, base, runs))
    return ResponseEffects(values.response, rows, (), best, values.scope, values.provenance)


def _against_base(runs: _Runs, base: Setting, changed: Setting) -> Contrast | Missing:
    """Trials at a setting against those at the base, or why not."""
    at_base, at_setting = runs.get(base, ()), runs.get(changed, ())
    if not at_base or not at_setting:
        return _without_value(base, changed, at_base=not at_base)
    return welch(at_base, at_setting)


def _without_value(base: Setting, changed: Setting, *, at_base: bool) -> Missing:
    return Missing(f"{'the base' if at_base else _pairs(changed, base)}: {NO_VALUE}")


def _changed(setting: Setting, name: str, level: str) -> Setting:
    return tuple(
        (factor_name, level if factor_name == name else old_level) for factor_name, old_level in setting
    )


class _Fitted:
    """The model of a response, spoken to in factors and levels."""

    def __init__(self, levels: Levels, runs: _Runs) -> None:
        self.runs = {setting: values for setting, values in runs.items() if values}
        self.names = list(levels)
        self.levels = levels
        # a level without any value has no place in the model
        self.known = {name: [level for level in levels[name] if self.count((name, level))] for name in levels}
        self.model = fit({self._cell(setting): values for setting, values in self.runs.items()})

    def count(self, step: _Step) -> int:
        """Runs at a level that have a value."""
        return sum(len(values) for setting, values in self.runs.items() if step in setting)

    def _cell(self, setting: Setting) -> tuple[int, ...]:
        levels = dict(setting)
        return tuple(self.known[name].index(levels[name]) for name in self.names)

    def main(self, step: _Step) -> Contrast | Missing:
        """A level against its base, or why not."""
        name, level = step
        for needed in (self.levels[name][0], level):
            if needed not in self.known[name]:
                return Missing(f"{name}={needed}: {NO_VALUE}")
        if isinstance(self.model, Missing):
            return self.model
        return self.model.main(self.names.index(name), self.known[name].index(level))

    def between(self, base: Setting, changed: Setting) -> Contrast | Missing:
        """A setting against the base, or why not."""
        sides = [len(self.runs.get(side_setting, ())) for side_setting in (base, changed)]
        if 0 in sides:
            return _without_value(base, changed, at_base=sides[0] == 0)
        if min(sides) < MIN_RUNS:
            return Missing(f"{sides[0]} and {sides[1]}; {TAKE_MORE}")
        return (
            self.model
            if isinstance(self.model, Missing)
            else self.model.between(*map(self._cell, (base, changed)))
        )

    def together(self, response: Response) -> tuple[Interaction, ...]:
        """The interactions that can be told from everything else."""
        joints = [] if isinstance(self.model, Missing) else self.model.joint()
        judged = verdicts_of_family(
            response, [replace(joint.departure, tested_p=joint.p) for joint in joints]
        )
        interactions = []
        for joint, verdict in zip(joints, judged, strict=True):
            first_factor, second_factor = (self.names[at] for at in joint.factors)
            levels = (self.known[first_factor][joint.levels[0]], self.known[second_factor][joint.levels[1]])
            interactions.append(Interaction((first_factor, second_factor), levels, verdict))
        return tuple(interactions)


def _factorial(values: Values, levels: Levels, base: Setting, runs: _Runs) -> ResponseEffects:
    fitted = _Fitted(levels, runs)
    family = _family(levels)
    judged = verdicts_of_family(values.response, [fitted.main(step) for step in family])
    together = fitted.together(values.response)
    rows = tuple(
        MainEffect(
            factor=name,
            level=level,
            base=levels[name][0],
            runs=fitted.count((name, level)),
            base_runs=fitted.count((name, levels[name][0])),
            verdict=verdict,
            depends_on=_others(name, together),
        )
        for (name, level), verdict in zip(family, judged, strict=True)
    )
    best = _best(values.response, base, runs, fitted.between)
    best = replace(best, not_run=_never_together(rows, base, runs))
    return ResponseEffects(values.response, rows, together, best, values.scope, values.provenance)


def _others(name: str, together: Sequence[Interaction]) -> tuple[str, ...]:
    """The factors that one acts together with."""
    pairs = [
        interaction.factors for interaction in together if interaction.found and name in interaction.factors
    ]
    return tuple(factor_name for pair in pairs for factor_name in pair if factor_name != name)


def best_doubts(base: Setting, best: Best, *, named: bool = True) -> Iterator[str]:
    """In words: the settings that it is not told from, by name or how many, and levels never run together."""
    if best.not_told and not named:
        yield f"{len(best.not_told)} not told from it"
    elif best.not_told:
        names = [_named(setting, base, best.setting or base) for setting in best.not_told]
        yield f"not told from {first_of(names, MOST_NAMED, between=', ')}"
    if best.not_run is not None:
        yield f"never run: {_pairs(best.not_run, base)} together"


def _named(setting: Setting, base: Setting, best: Setting) -> str:
    """A setting by what differs from the base, or from the best one where that is shorter."""
    if setting == base:
        return "the base"
    of_base, of_best = _pairs(setting, base), f"the same with {_pairs(setting, best)}"
    return of_best if len(of_best) < len(of_base) else of_base


def _pairs(setting: Setting, reference: Setting) -> str:
    return " ".join(f"{name}={level}" for name, level in setting if (name, level) not in reference)


def _never_together(rows: Sequence[MainEffect], base: Setting, runs: _Runs) -> Setting | None:
    """The best level of each factor that has a better one than its base, where they were not run together."""
    levels: dict[str, MainEffect] = {}
    for row in rows:
        if row.verdict.kind == "better" and (row.factor not in levels or _beats(row, levels[row.factor])):
            levels[row.factor] = row
    joined = tuple((name, levels[name].level if name in levels else level) for name, level in base)
    return joined if joined not in runs else None


def _beats(effect: MainEffect, rival: MainEffect) -> bool:
    changes = [
        abs(main_effect.verdict.change.value) if main_effect.verdict.change else 0.0
        for main_effect in (effect, rival)
    ]
    return changes[0] > changes[1]


def _best(
    response: Response,
    base: Setting,
    settings: Iterable[Setting],
    between: Callable[[Setting, Setting], Contrast | Missing],
) -> Best:
    """The setting with the best response among those that are better than the base beyond doubt."""
    contrasts = {setting: between(base, setting) for setting in settings if setting != base}
    if not contrasts:
        return Best(None, "no other setting was run")
    compared = sum(isinstance(contrast, Contrast) for contrast in contrasts.values())
    if not compared:
        why = next(contrast for contrast in contrasts.values() if isinstance(contrast, Missing))
        return Best(None, f"not enough trials to compare settings with the base ({why.reason})")
    judged = dict(zip(contrasts, verdicts_of_family(response, list(contrasts.values())), strict=True))
    better = {setting: verdict for setting, verdict in judged.items() if verdict.kind == "better"}
    if not better:
        kinds = [verdict.kind for verdict in judged.values()]
        best = Best(None, "", compared=compared, others=len(contrasts), worse=kinds.count("worse"))
        best = replace(best, undecided=kinds.count("undecided"), not_told=_not_told(response, judged))
        return replace(best, words=_why_kept(best))
    sign = 1 if response.higher_is_better else -1
    setting, verdict = max(
        better.items(), key=lambda item: sign * item[1].change.value if item[1].change else 0.0
    )
    rivals = [rival for rival in (base, *contrasts) if rival != setting]
    behind = verdicts_of_family(response, [between(setting, rival) for rival in rivals])
    not_told = _not_told(response, dict(zip(rivals, behind, strict=True)))
    return Best(setting, f"{verdict.words} than the base", verdict, compared, not_told=not_told)


def _why_kept(best: Best) -> str:
    """Why the base is kept where other settings were compared with it."""
    if best.is_proven:
        others = f"all {best.others} other settings are" if best.others > 1 else "the other setting is"
        return f"{others} worse beyond doubt"
    if best.compared == 1:
        return "the other setting is not better beyond doubt"
    return f"none of {best.compared} other settings is better beyond doubt"


def _not_told(response: Response, judged: Mapping[Setting, Verdict]) -> tuple[Setting, ...]:
    """Those that are not behind beyond chance, however little."""
    sign = 1 if response.higher_is_better else -1
    return tuple(
        setting
        for setting, verdict in judged.items()
        if verdict.change is None or not verdict.change.significant or sign * verdict.change.value >= 0
    )
