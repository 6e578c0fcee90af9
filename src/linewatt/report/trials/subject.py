# SPDX-License-Identifier: Apache-2.0
"""What a campaign is about where it varies more than instances: blocks of its first screen.

An experiment: its best setting and the effects that matter. Networks: the toll against the first of them. A
matrix: its best and its worst pair, and all of them. Load levels: the score, and the curve.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from linewatt.analysis.cases.load_levels import LevelPoint
from linewatt.analysis.cases.matrix import Matrix
from linewatt.analysis.cases.summary import CaseSummary
from linewatt.analysis.comparison.compare import compare
from linewatt.analysis.comparison.effects import GroupEffects, MainEffect, ResponseEffects, without_factors
from linewatt.analysis.comparison.matching import Side, levels_of, match_levels
from linewatt.analysis.comparison.rows import Options
from linewatt.analysis.comparison.rows import Row as Compared
from linewatt.analysis.comparison.runs import by_case
from linewatt.analysis.metrics.of_power import MBPS_PER_W, POWER_BY_NAME
from linewatt.analysis.power.totals import SCOPE_WORDS
from linewatt.foreign import one_line
from linewatt.model import Case
from linewatt.report.columns import cell_of, change_figures, power_cell, response_words
from linewatt.report.provenance import mark
from linewatt.report.screen import Block, Entry, Line
from linewatt.report.series import case_names, plural, test_title
from linewatt.report.table import Table
from linewatt.report.trials.answer import (
    Best,
    best_cases,
    figure,
    rate,
    with_limits,
)
from linewatt.report.trials.charts.heat_map import grid, heat_maps
from linewatt.report.trials.digest import Digest
from linewatt.report.trials.effects import best_words, beyond_chance, experiment
from linewatt.report.trials.levels import LevelCases, level_cases, level_name, score_remark
from linewatt.report.trials.limits import limit_forms, limit_words
from linewatt.report.trials.matrix import PairCases, pair_cases
from linewatt.units import first_of, format_rate

MOST_GRIDS = 2
MOST_FACTORS = 4
"""that are named of those without an effect"""


@dataclass(frozen=True, slots=True)
class Subject:
    """The answer in a sentence, blocks of the first screen, and commands that say more.

    ``at`` is the case whose cost is to be told, if not that of the fastest. ``lists`` are those of the blocks
    that a page lists, if not all.
    """

    sentence: str
    blocks: tuple[Block, ...]
    more: tuple[str, ...] = ()
    at: Best | None = None
    lists: tuple[Block, ...] | None = None


# --- experiments


def experiment_subject(view: Digest) -> Subject | None:
    """The best setting of each group of cases, what each factor does to the first one, and its cost."""
    found = experiment(view.result)
    groups = [group for group in found.groups if group.responses] if found else []
    if found is None or not groups:
        return None
    bests = [_best(group, found.names[group], view) for group in groups]
    first = groups[0]
    about = f" (the first of {len(groups)} groups)" if len(groups) > 1 else ""
    effects = _effects(first.responses[0], about)
    others = [forms for one in first.responses[1:] if (forms := _others(one))]
    entries = tuple(tuple(forms) for _, forms in bests)
    blocks = [Block("Best setting", entries, "mean (95 % CI)", rest="group")]
    blocks += [effects] if effects else []
    blocks += [Block("Effects on cost and loss", tuple(others), rest="response")] if others else []
    summary, (line, *_) = bests[0]
    at = Best("the best setting", summary) if summary is not None and summary.throughput_bps else None
    said = " ".join((*line.figures, line.prose)).replace("(", "(95 % CI ", 1)
    lists = blocks if len(groups) > 1 else blocks[1:]
    return Subject(f"{line.name}: {said}.", tuple(blocks), at=at, lists=tuple(lists))


def _best(group: GroupEffects, name: str, view: Digest) -> tuple[CaseSummary | None, Entry]:
    """What the best setting for the first response reaches."""
    first = group.responses[0]
    wanted = first.best.setting or group.base
    reached = next(
        (
            one
            for one in view.summaries
            if one.case.factors == wanted and without_factors(one.case) == group.case
        ),
        None,
    )
    figures = rate(reached, view) if reached is not None and reached.throughput_bps else ()
    words = best_words(group, first).removeprefix("Best setting found: ").removesuffix(".")
    limits = limit_forms(reached) if reached is not None else ()
    forms = [f"at {words}{limit}" for limit in [f"; {one}" for one in limits] or [""]]
    return reached, tuple(Line(name, figures, prose) for prose in dict.fromkeys(forms))


def _effects(found: ResponseEffects, about: str) -> Block | None:
    """Those that matter, the largest first; the rest by how many they are."""
    telling = _telling(found)
    entries: list[Entry] = [
        (Line(_step(one), change_figures(found.response, one.verdict, found.provenance), _depends(one)),)
        for one in telling
    ]
    others = {
        words: [one for one in found.rows if one.verdict.kind in kinds] for words, kinds in _OTHERS.items()
    }
    said = "; ".join(f"{len(own)} {words} ({_factors(own)})" for words, own in others.items() if own)
    of = f"{response_words(found.response)}{about}"
    remark = f"largest first (95 % CI){f'; {said}' if said else ''}" if telling else said
    return Block("Effects on", tuple(entries), remark, of, "effect") if found.rows else None


def _others(found: ResponseEffects) -> Entry:
    """The largest effects on another response in one line, and how many more matter."""
    telling = _telling(found)
    if not telling:
        return ()
    first, *more = telling
    figures = (_step(first), *change_figures(found.response, first.verdict, found.provenance))
    forms = (f"largest of {len(telling)} that matter", f"1st of {len(telling)}") if more else ("",)
    return tuple(Line(response_words(found.response), figures, words) for words in forms)


_OTHERS = {"levels without one that matters": ("small", "same"), "undecided, too few runs": ("undecided",)}


def _factors(own: Sequence[MainEffect]) -> str:
    return first_of(list(dict.fromkeys(one.factor for one in own)), MOST_FACTORS, between=", ")


def _telling(found: ResponseEffects) -> list[MainEffect]:
    return sorted((one for one in found.rows if beyond_chance(one)), key=_size, reverse=True)


def _size(effect: MainEffect) -> float:
    return abs(effect.verdict.change.value) if effect.verdict.change else 0.0


def _step(one: MainEffect) -> str:
    return f"{one.factor} {one.base} → {one.level}"


def _depends(one: MainEffect) -> str:
    return f"depends on {' and '.join(one.depends_on)}" if one.depends_on else ""


# --- networks


def networks_subject(view: Digest) -> Subject | None:
    """What each network costs against the first one, in the case of each series that is fastest there."""
    name, result = one_line(view.result.id), view.result
    if len({summary.case.network for summary in view.summaries}) < 2:
        return None
    cases = by_case(result.trials)
    side = Side("A", result.id, result.manifest.asked, view.hosts, cases, result.created_s)
    base, *_ = levels_of(side, "network")
    found = compare(side, side, match_levels(side, "network", base), Options("network", metrics=_TOLL))
    fastest = {one.summary.case for one in best_cases(view) if one.summary.case.network == base}
    several = len(fastest) > 1
    told = [row for row in found.rows if row.match.base in fastest]
    entries = [_toll(row, several=several) for row in told]
    rest = {(row.match.base, row.match.other) for row in found.rows if row.match.base not in fastest}
    shown = dict.fromkeys(case for row in told for case in (row.match.base, row.match.other))
    summaries = {one.case: one for one in view.summaries}
    reached = [
        (Line(_on(case, several=several), rate(summaries[case], view)), summaries[case])
        for case in shown
        if isinstance(case, Case)
    ]
    said = next(
        (f"{_toll_name(row, several=several)} against {base}: {row.verdict.words}." for row in told), ""
    )
    command = f"linewatt compare {name} --by network"
    more = f"{plural(len(rest), 'other comparison')}: compare --by network" if rest else ""
    toll = Block(
        "Toll",
        tuple(entries),
        f"against {base} (95 % CI)",
        rest="figure",
        command="compare --by network",
        least=2,
        beyond=more,
    )
    result_block = Block("Result", tuple(with_limits(reached)), "mean (95 % CI)", rest="case")
    return Subject(said, (result_block, toll), (command,))


_TOLL = ("throughput", "efficiency", "power")


def _on(case: Case, *, several: bool) -> str:
    test = f", {test_title(case.test)}" if several else ""
    return f"{case.network}{test}, {plural(case.instances, 'instance')}"


def _toll_name(row: Compared, *, several: bool) -> str:
    test = f", {test_title(row.match.base.test)}" if several and isinstance(row.match.base, Case) else ""
    return f"{row.match.level}{test}: {response_words(row.response)}"


def _toll(row: Compared, *, several: bool) -> Entry:
    name = _toll_name(row, several=several)
    figures = change_figures(row.response, row.verdict, row.provenance)
    if row.outcome in ("undecided", "refused") or not figures:
        return (Line(name, prose=row.verdict.words), Line(name, prose="no verdict"))
    same = "" if row.outcome in ("better", "worse") else "no difference that matters is shown"
    return (Line(name, figures, same),)


# --- matrices


def matrix_subject(view: Digest) -> Subject | None:
    """The best and the worst pair of each test, and throughput of every pair."""
    pairs = pair_cases(view.groups, list(view.hosts))
    if not pairs:
        return None
    told = [one for cases in pairs for one in _extremes(cases, view)]
    entries = with_limits(told)
    entries += [(Line(about, prose=words),) for cases in pairs for about, words in _absent(cases)]
    maps = [grid(one) for one in heat_maps(pairs) if one.name.startswith("throughput_bps")]
    grids = [_grid(one) for one in maps[:MOST_GRIDS]]
    if len(maps) > MOST_GRIDS:
        grids.append(Block("Heat maps", rest="heat map", left=len(maps) - MOST_GRIDS))
    sentence = ""
    if told:
        line, summary = told[0]
        figures = " ".join(line.figures).replace("(", "(95 % CI ", 1)
        sentence = f"{line.name}: {figures}; {limit_words(summary)}."
    block = Block("Pairs of hosts", tuple(entries), "mean (95 % CI)", least=2)
    return Subject(sentence, (block, *grids))


def _grid(table: Table) -> Block:
    rows = [Line(table.keys[0].title, tuple(head.title for head in table.heads))]
    rows += [Line(row.keys[0].text, tuple(cell.text or " " for cell in row.cells)) for row in table.rows]
    return Block("", tuple((row,) for row in rows), of=table.title, rest="every pair", grid=True)


def _extremes(cases: PairCases, view: Digest) -> Iterator[tuple[Line, CaseSummary]]:
    for about, matrix in _named(cases):
        known = sorted((one for one in matrix.cells.values() if one.throughput_bps), key=_bps, reverse=True)
        for word, one in (("best", known[:1]), ("worst", known[1:][-1:])):
            for summary in one:
                ends = f"{summary.case.sender} → {summary.case.receiver}"
                yield Line(f"{about}, {word}", (ends, *rate(summary, view))), summary


def _named(cases: PairCases) -> Iterator[tuple[str, Matrix]]:
    for label, matrix in cases.drawn:
        yield ", ".join(part for part in (test_title(cases.test), label) if part), matrix


def _absent(cases: PairCases) -> Iterator[tuple[str, str]]:
    """How many pairs have no number."""
    for about, matrix in _named(cases):
        pairs = len(matrix.hosts) * (len(matrix.hosts) - 1)
        known = sum(one.throughput_bps is not None for one in matrix.cells.values())
        if known < pairs:
            yield about, f"{pairs - known} of {pairs} pairs have no number"


def _bps(summary: CaseSummary) -> float:
    return summary.throughput_bps.mean if summary.throughput_bps else 0.0


# --- load levels


def levels_subject(view: Digest) -> Subject | None:
    """The score of each curve, then one of them: of the first case, at an end whose watts are known."""
    every = level_cases(view.levels)
    if not every:
        return None
    scores = [entry for cases in every for entry in _scores(cases)]
    known = [one for one in view.levels if one.score_bps_per_w is not None]
    shown = known[0] if known else view.levels[0]
    name = case_names(dict.fromkeys(one.case for one in view.levels), with_test=True)[shown.case]
    rows = [(Line(level_name(point.level), tuple(_point(point))),) for point in shown.points]
    more = len(view.levels) - 1
    others = f"{plural(more, 'other curve')}: show --full" if more else ""
    curve = Block(
        "Curve of", tuple(rows), of=f"{name}, {shown.role} {shown.host}", rest="level", beyond=others
    )
    lead = next((entry[0] for entry in scores if entry[0].figures), scores[0][0])
    said = "; ".join(filter(None, (" ".join(lead.figures), lead.prose)))
    score = Block("Overall score", tuple(scores), "Σ throughput ÷ Σ power over the levels", rest="score")
    return Subject(f"Overall score of {lead.name}: {said}.", (score, curve))


def _scores(cases: LevelCases) -> Iterator[Entry]:
    for name, curve in zip(cases.names, cases.curves, strict=True):
        about = f"{curve.role} {curve.host}" if len(cases.names) == 1 else f"{name}, {curve.role}"
        about = f"{test_title(cases.test)}, {about}"
        if curve.score_bps_per_w is None:
            yield (Line(about, prose=f"no score: {curve.reason}"),)
            continue
        cell = cell_of(curve.score_bps_per_w, MBPS_PER_W, 0, "", mark(curve.provenance))
        scope = f"watts: {SCOPE_WORDS.get(curve.scope or '', curve.scope)}"
        prose = "; ".join(filter(None, (scope, score_remark(curve))))
        yield (Line(about, (figure(cell, MBPS_PER_W.name),), prose),)


def _point(point: LevelPoint) -> Iterator[str]:
    """What arrived at a level, and what its end took for it."""
    arrived = point.throughput_bps
    if point.level == 0:
        yield "nothing sent"
    else:
        missed = " (missed its target)" if point.missed else ""
        yield f"{format_rate(arrived.mean, 4)}{missed}" if arrived else "no throughput"
    yield f"{point.cores.mean:.2f} cores" if point.cores is not None else "CPU not known"
    for name in ("system_w", "system_bps_per_w"):
        metric = POWER_BY_NAME[name]
        if point.power is not None and point.power.values.get(name) is not None:
            yield figure(
                power_cell(metric, point.power, metric.units[0], point.summary.trials_done),
                metric.units[0].name,
            )
