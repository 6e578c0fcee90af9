# SPDX-License-Identifier: Apache-2.0
"""What a campaign is about where it varies more than instances: blocks of its first screen.

An experiment: its best setting and the effects that matter. Networks: the toll against the first of them. A
matrix: its best and its worst pair, and all of them.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from linewatt.analysis.cases import CaseSummary, Matrix, mean_bps
from linewatt.analysis.comparison import (
    GroupEffects,
    MainEffect,
    ResponseEffects,
    Side,
    levels_of,
    match_levels,
    runs_by_case,
    without_factors,
)
from linewatt.analysis.metrics import Response
from linewatt.core.feature import feature_load_of
from linewatt.findings import Figure
from linewatt.foreign import one_line
from linewatt.model import ENDS, Case, Role
from linewatt.report.columns import change_figures, response_words
from linewatt.report.printing.screen import Block, Entry, Line
from linewatt.report.series import hostless_labels, of_ends, plural, setting_text, test_title
from linewatt.report.table import Table
from linewatt.report.trials.answer.answer import (
    best_cases,
    in_words,
    letters,
    means_are,
    rate,
    spoken,
    with_limits,
)
from linewatt.report.trials.answer.limits import limit_forms, limit_words
from linewatt.report.trials.answer.trust import Best, Spot
from linewatt.report.trials.digest import Digest
from linewatt.report.trials.settings.effects import Experiment, best_words, beyond_chance, experiment
from linewatt.report.trials.settings.matrix import PairCases, pair_cases
from linewatt.units import first_of

if TYPE_CHECKING:  # few answers compare networks
    from linewatt.analysis.comparison import Row as Compared

MOST_GRIDS = 2
MOST_LEVELS = 4
"""that are named of those without an effect"""


@dataclass(frozen=True, slots=True)
class Subject:
    """The answer in a sentence, blocks of the first screen, and commands that say more.

    ``told`` are the cases whose throughput its blocks show, ``costs`` the ends whose CPU or watts. ``at`` is
    the case whose cost is to be told, if not that of the fastest. ``lists`` are those of the blocks that a
    page lists, if not all. ``of_cases``: whether they tell how fast cases are.
    """

    sentence: str
    blocks: tuple[Block, ...]
    told: tuple[Best, ...]
    costs: tuple[Spot, ...] = ()
    more: tuple[str, ...] = ()
    at: Best | None = None
    lists: tuple[Block, ...] | None = None
    of_cases: bool = True


_OF_END: dict[str, tuple[Figure, Role]] = {
    **{f"efficiency_{role}_bps_per_core": ("cpu", role) for role in ENDS},
    **{f"{role}_system_bps_per_w": ("power", role) for role in ENDS},
}
"""response → of which figures at which end it is"""


def _change(
    response: Response, figures: tuple[str, ...], cases: Iterable[Case], view: Digest
) -> tuple[str, ...]:
    """A change and its interval, the first with the letters of findings behind either of its sides."""
    figure_and_role: tuple[Figure, Role | None] = _OF_END.get(response.name, ("throughput", None))
    marked = letters(
        view.marks.of(code for case in cases for code in view.findings.doubts(case, *figure_and_role))
    )
    return (f"{figures[0]} {marked}", *figures[1:]) if marked and figures else figures


def _ends(responses: Iterable[Response], cases: Iterable[CaseSummary]) -> tuple[Spot, ...]:
    """The ends of cases that responses are of."""
    roles = dict.fromkeys(_OF_END[response.name][1] for response in responses if response.name in _OF_END)
    return tuple((case, role) for case in cases for role in roles)


# --- experiments


def experiment_subject(view: Digest) -> Subject | None:
    """The best setting of each group of cases, what each factor does to the first one, and its cost."""
    factor_effects = experiment(view.result)
    groups = _groups_with_effects(factor_effects)
    if factor_effects is None or not groups or not any(summary.throughput_bps for summary in view.summaries):
        return None
    bests = [_best(group, factor_effects.names[group], view) for group in groups]
    first = groups[0]
    about = f" (the first of {len(groups)} groups)" if len(groups) > 1 else ""
    group_summaries = [
        summary
        for summary in view.summaries
        if without_factors(summary.case) == first.case and summary.throughput_bps
    ]
    effects = _effects(first.responses[0], about, group_summaries, view)
    others = [
        forms for response in first.responses[1:] if (forms := _others(response, group_summaries, view))
    ]
    entries = [forms for _, forms in bests]
    fastest = _fastest(first, group_summaries)
    if fastest is not None:
        entries.insert(1, (Line("fastest so far", rate(fastest, view), _not_proven(fastest, first)),))
    blocks = [Block(_best_title(groups), tuple(entries), means_are(view), rest="line")]
    blocks += [effects] if effects else []
    blocks += [Block("Effects on cost and loss", tuple(others), rest="response")] if others else []
    _, (line, *_) = bests[0]
    sentence = " ".join(filter(None, (in_words(line.figures), line.prose)))
    shown_cases = [
        Best(line.name, summary)
        for summary, (line, *_) in bests
        if summary is not None and summary.throughput_bps
    ]
    shown_cases += [
        Best(setting_text(summary.case.factors), summary)
        for summary in group_summaries
        if effects or summary is fastest
    ]
    costs = _ends(
        (response.response for response in first.responses[1:] if _telling(response)), group_summaries
    )
    lists = blocks if len(entries) > 1 else blocks[1:]
    return Subject(
        f"{line.name}: {sentence}.",
        tuple(blocks),
        tuple(shown_cases),
        costs,
        at=best_setting(factor_effects, view),
        lists=tuple(lists),
    )


def _groups_with_effects(factor_effects: Experiment | None) -> list[GroupEffects]:
    return [group for group in factor_effects.groups if group.responses] if factor_effects else []


def best_setting(factor_effects: Experiment | None, view: Digest) -> Best | None:
    """The case of an experiment whose cost is shown: the best setting of its first group, or the base where
    no setting is proven better; ``None`` where it has no throughput."""
    groups = _groups_with_effects(factor_effects)
    summary = _reached(groups[0], view) if groups else None
    if summary is None or summary.throughput_bps is None:
        return None
    is_base = groups[0].responses[0].best.setting is None
    return Best("the base" if is_base else "the best setting", summary)


def _reached(group: GroupEffects, view: Digest) -> CaseSummary | None:
    """The case of a group at its best setting for the first response."""
    setting = group.responses[0].best.setting or group.base
    cases = (
        summary
        for summary in view.summaries
        if summary.case.factors == setting and without_factors(summary.case) == group.case
    )
    return next(cases, None)


def _best_title(groups: Sequence[GroupEffects]) -> str:
    """What the settings that are named are: proven the best, or the base for want of a better one."""
    proven = [group.responses[0].best.is_proven for group in groups]
    if all(proven):
        return "Best setting"
    return "Best setting where proven" if any(proven) else "No setting proven better than the base"


def _fastest(group: GroupEffects, case_summaries: Sequence[CaseSummary]) -> CaseSummary | None:
    """The setting with the highest mean throughput where no best one is proven, unless it is the base."""
    response_effects = group.responses[0]
    if response_effects.best.is_proven or response_effects.response.name != "throughput_bps":
        return None
    fastest = max(case_summaries, key=mean_bps, default=None)
    return fastest if fastest is not None and fastest.case.factors != group.base else None


def _not_proven(fastest: CaseSummary, group: GroupEffects) -> str:
    """Its setting, by what differs from the base."""
    changed = setting_text(pair for pair in fastest.case.factors if pair not in group.base)
    return f"at {changed}: not proven faster than the base"


def _best(group: GroupEffects, name: str, view: Digest) -> tuple[CaseSummary | None, Entry]:
    """What the best setting for the first response reaches."""
    first, reached = group.responses[0], _reached(group, view)
    figures = rate(reached, view) if reached is not None and reached.throughput_bps else ()
    words, fewer = (best_words(group, first, named=named) for named in (True, False))
    limits = [f"; {limit_form}" for limit_form in (limit_forms(reached) if reached is not None else ())] or [
        ""
    ]
    forms = [*(f"at {words}{limit}" for limit in limits), f"at {fewer}{limits[-1]}"]
    return reached, tuple(Line(name, figures, prose) for prose in dict.fromkeys(forms))


def _effects(
    response_effects: ResponseEffects, about: str, case_summaries: Sequence[CaseSummary], view: Digest
) -> Block | None:
    """Those that matter, the largest first; the rest by how many they are."""
    telling = _telling(response_effects)
    entries: list[Entry] = [
        tuple(
            Line(_step(effect), _effect(response_effects, effect, case_summaries, view), words)
            for words in _conditions(effect, case_summaries)
        )
        for effect in telling
    ]
    others = {
        words: [row for row in response_effects.rows if row.verdict.kind in kinds]
        for words, kinds in _OTHERS.items()
    }
    other_words = "; ".join(
        f"{words}: {_levels(alike_effects)}" for words, alike_effects in others.items() if alike_effects
    )
    of = f"{response_words(response_effects.response)}{about}"
    remark = f"largest first (95 % CI){f'; {other_words}' if other_words else ''}" if telling else other_words
    return Block("Effects on", tuple(entries), remark, of, "effect") if response_effects.rows else None


def _effect(
    response_effects: ResponseEffects,
    main_effect: MainEffect,
    case_summaries: Sequence[CaseSummary],
    view: Digest,
) -> tuple[str, ...]:
    """A change, with the letters of what makes a case at either level of its factor doubtful."""
    sides = {(main_effect.factor, main_effect.base), (main_effect.factor, main_effect.level)}
    cases = [summary.case for summary in case_summaries if sides & set(summary.case.factors)]
    return _change(
        response_effects.response,
        change_figures(response_effects.response, main_effect.verdict, response_effects.provenance),
        cases,
        view,
    )


def _others(response_effects: ResponseEffects, case_summaries: Sequence[CaseSummary], view: Digest) -> Entry:
    """The largest effects on another response in one line, and how many more matter."""
    telling = _telling(response_effects)
    if not telling:
        return ()
    first, *more = telling
    figures = (_step(first), *_effect(response_effects, first, case_summaries, view))
    forms = (f"largest of {len(telling)} that matter", f"1st of {len(telling)}") if more else ("",)
    name = of_ends(response_words(response_effects.response), case_summaries[0].case)
    return tuple(Line(name, figures, words) for words in forms)


_OTHERS = {"none that matters": ("small", "same"), "no verdict": ("undecided",)}


def _levels(main_effects: Sequence[MainEffect]) -> str:
    return first_of(
        [setting_text([(effect.factor, effect.level)]) for effect in main_effects], MOST_LEVELS, between=", "
    )


def _telling(response_effects: ResponseEffects) -> list[MainEffect]:
    return sorted((row for row in response_effects.rows if beyond_chance(row)), key=_size, reverse=True)


def _is_of_clients_too(case: Case, factor: str) -> bool:
    """Whether an effect is that of a server and its clients: never where processes are the load."""
    if feature_load_of(case.test) is None:
        return False
    from linewatt.campaign import is_of_clients_too  # a third of what an answer would import

    return is_of_clients_too(case, factor)


def _size(effect: MainEffect) -> float:
    return abs(effect.verdict.change.value) if effect.verdict.change else 0.0


def _step(main_effect: MainEffect) -> str:
    return f"{main_effect.factor} {main_effect.base} → {main_effect.level}"


def _conditions(main_effect: MainEffect, case_summaries: Sequence[CaseSummary]) -> Iterator[str]:
    """What it depends on, and that it is of several hosts at once; then the former alone."""
    depends = f"depends on {' and '.join(main_effect.depends_on)}" if main_effect.depends_on else ""
    if case_summaries and _is_of_clients_too(case_summaries[0].case, main_effect.factor):
        yield "; ".join(filter(None, ("server and clients", depends)))
    yield depends


# --- networks


def networks_subject(view: Digest) -> Subject | None:
    """What each network costs against the first one, in the case of each series that is fastest there."""
    result, best = view.result, best_cases(view)
    if len({summary.case.network for summary in view.summaries}) < 2 or not best:
        return None
    from linewatt.analysis.comparison import Options, compare_sides

    cases = runs_by_case(result.trials)
    side = Side("A", result.id, result.manifest.asked, view.hosts, cases, result.created_s)
    base, *_ = levels_of(side, "network")
    comparison = compare_sides(
        side, side, match_levels(side, "network", base), Options("network", metrics=_TOLL)
    )
    fastest = [best_case for best_case in best if best_case.summary.case.network == base]
    summaries = {summary.case: summary for summary in view.summaries}
    rows = [row for row in comparison.rows if _measured(row, summaries)]
    fastest_cases = {best_case.summary.case for best_case in fastest}
    toll = [row for row in rows if row.match.base in fastest_cases]
    sides = [case for row in toll for case in _sides(row)]
    names = _series_names([best_case.summary.case for best_case in best])
    tests = {case: test_title(case.test) if name else "" for case, name in names.items()}
    shown = [summaries[case] for case in dict.fromkeys(sides)] or [best_case.summary for best_case in best]
    bests = tuple(Best(_on(summary.case, names), summary) for summary in shown)
    lines = [(Line(best_case.name, rate(best_case.summary, view)), best_case.summary) for best_case in bests]
    shorter = {best_case.name: _on(best_case.summary.case, tests) for best_case in bests}
    entries = tuple(_or_named(entry, shorter.get(entry[-1].name, "")) for entry in with_limits(lines))
    other_pairs = {(row.match.base, row.match.other) for row in rows if row.match.base not in fastest_cases}
    blocks = (
        Block("Result", entries, means_are(view), rest="case"),
        _toll_block(
            [_or_named(_toll(row, view, names), _toll_name(row, tests)) for row in toll],
            base,
            len(other_pairs),
            bool(fastest),
        ),
    )
    sentence = (
        f"{_toll_name(toll[0], names)} against {base}: {_toll_words(toll[0], view)}."
        if toll
        else f"{bests[0].name}: {spoken(bests[0].summary, view)}; {blocks[1].remark}."
    )
    costs = _ends((row.response for row in toll), shown)
    return Subject(sentence, blocks, bests, costs, (f"linewatt compare {one_line(result.id)} --by network",))


def _measured(row: Compared, summaries: Mapping[Case, CaseSummary]) -> bool:
    """Whether both its sides have a throughput."""
    return all(summaries[case].throughput_bps is not None for case in _sides(row))


def _toll_block(entries: Sequence[Entry], base: str, others_count: int, is_known: bool) -> Block:
    """Changes against the first network, or why there are none."""
    why = "no case of it has a number in another network" if is_known else "it has no number"
    return Block(
        "Toll",
        tuple(entries),
        f"against {base} (95 % CI)" if entries else f"no toll against {base}: {why}",
        rest="figure",
        command="compare --by network",
        least=2,
        beyond=f"{plural(others_count, 'other comparison')}: compare --by network" if others_count else "",
    )


_TOLL = ("throughput", "efficiency", "power")


def _series_names(cases: Sequence[Case]) -> dict[Case, str]:
    """What tells series apart, without network and instances: test, hosts, and what else differs."""
    plain_cases = list(dict.fromkeys(_plain(case) for case in cases))
    if len(plain_cases) < 2:
        return dict.fromkeys(plain_cases, "")
    ways = {case: case.way for case in plain_cases}
    telling_labels = [
        labels for labels in (ways, hostless_labels(plain_cases)) if len(set(labels.values())) > 1
    ]
    return {
        case: ", ".join(filter(None, (test_title(case.test), *(labels[case] for labels in telling_labels))))
        for case in plain_cases
    }


def _or_named(entry: Entry, shorter: str) -> Entry:
    """An entry that has a shorter name where there is no room for its own."""
    if not shorter or shorter == entry[-1].name:
        return entry
    return (*entry, replace(entry[-1], name=shorter))


def _plain(case: Case) -> Case:
    return replace(case.single, network="bare")


def _on(case: Case, names: Mapping[Case, str]) -> str:
    series_name = names.get(_plain(case), "")
    return ", ".join(filter(None, (case.network, series_name, plural(case.instances, "instance"))))


def _toll_name(row: Compared, names: Mapping[Case, str]) -> str:
    series_name = names.get(_plain(row.match.base), "") if isinstance(row.match.base, Case) else ""
    return f"{', '.join(filter(None, (row.match.level, series_name)))}: {response_words(row.response)}"


def _sides(row: Compared) -> list[Case]:
    return [case for case in (row.match.base, row.match.other) if isinstance(case, Case)]


def _toll_words(row: Compared, view: Digest) -> str:
    """A verdict, with the letters of its change where it has one."""
    words = row.verdict.words
    return words if row.verdict.change is None else _change(row.response, (words,), _sides(row), view)[0]


def _toll(row: Compared, view: Digest, names: Mapping[Case, str]) -> Entry:
    name = _toll_name(row, names)
    figures = _change(
        row.response, change_figures(row.response, row.verdict, row.provenance), _sides(row), view
    )
    if row.outcome in ("undecided", "refused") or not figures:
        return (Line(name, prose=row.verdict.words), Line(name, prose="no verdict"))
    same = "" if row.outcome in ("better", "worse") else "no difference that matters is shown"
    return (Line(name, figures, same),)


# --- matrices


def matrix_subject(view: Digest) -> Subject | None:
    """The best and the worst pair of each test, and throughput of every pair; none beside pairs at once."""
    if any(summary.case.shape for summary in view.summaries):
        return None
    pairs = pair_cases(view.groups, list(view.hosts))
    if not pairs:
        return None
    extremes = [extreme for cases in pairs for extreme in _extremes(cases, view)]
    if not extremes:
        return None
    from linewatt.report.trials.charts.heat_map import grid, heat_maps

    entries = with_limits(extremes)
    entries += [(Line(about, prose=words),) for cases in pairs for about, words in _absent(cases)]
    maps = [heat_map for heat_map in heat_maps(pairs) if heat_map.name.startswith("throughput_bps-")]
    grids = [_grid(grid(heat_map), heat_map.matrix, view) for heat_map in maps[:MOST_GRIDS]]
    if len(maps) > MOST_GRIDS:
        grids.append(Block("Heat maps", rest="heat map", left=len(maps) - MOST_GRIDS))
    line, summary = extremes[0]
    block = Block("Pairs of hosts", tuple(entries), means_are(view), least=2)
    bests = [
        Best(f"{about}, {sender} → {receiver}", cell)
        for cases in pairs
        for about, matrix in _named(cases)
        for (sender, receiver), cell in matrix.cells.items()
        if cell.throughput_bps
    ]
    sentence = f"{line.name}: {in_words(line.figures)}; {limit_words(summary)}."
    return Subject(sentence, (block, *grids), tuple(bests))


def _grid(table: Table, matrix: Matrix, view: Digest) -> Block:
    """Every pair, with the letters of what makes its figure doubtful."""
    rows = [Line(table.keys[0].title, tuple(head.title for head in table.heads))]
    for row in table.rows:
        sender = row.keys[0].text
        cells = [matrix.cells.get((sender, head.title)) for head in table.heads]
        marks = [letters(view.marks.cell(cell.case, "throughput")) if cell else "" for cell in cells]
        texts = (f"{cell.text} {mark}".strip() or " " for cell, mark in zip(row.cells, marks, strict=True))
        rows.append(Line(sender, tuple(texts)))
    return Block("", tuple((row,) for row in rows), of=table.title, rest="every pair", grid=True)


def _extremes(cases: PairCases, view: Digest) -> Iterator[tuple[Line, CaseSummary]]:
    for about, matrix in _named(cases):
        ranked = sorted(
            (cell for cell in matrix.cells.values() if cell.throughput_bps), key=mean_bps, reverse=True
        )
        for word, chosen in (("best", ranked[:1]), ("worst", ranked[1:][-1:])):
            for summary in chosen:
                ends = summary.case.way
                yield Line(f"{about}, {word}", (ends, *rate(summary, view))), summary


def _named(cases: PairCases) -> Iterator[tuple[str, Matrix]]:
    for label, matrix in cases.drawn:
        yield ", ".join(part for part in (test_title(cases.test), label) if part), matrix


def _absent(cases: PairCases) -> Iterator[tuple[str, str]]:
    """How many pairs have no number."""
    for about, matrix in _named(cases):
        pairs = len(matrix.hosts) * (len(matrix.hosts) - 1)
        known_count = sum(cell.throughput_bps is not None for cell in matrix.cells.values())
        if known_count < pairs:
            yield about, f"{pairs - known_count} of {pairs} pairs have no number"
