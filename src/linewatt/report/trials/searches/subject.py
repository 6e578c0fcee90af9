# SPDX-License-Identifier: Apache-2.0
"""What a campaign of searches is about: the rates and the knees found, blocks of its first screen."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from linewatt.analysis.cases import Goal, InstanceSearch, RateSearch
from linewatt.report.printing.screen import Block, Entry, Line, sparkline
from linewatt.report.series import plural
from linewatt.report.trials.answer.answer import letters
from linewatt.report.trials.answer.trust import Best
from linewatt.report.trials.digest import Digest
from linewatt.report.trials.searches import knees
from linewatt.report.trials.searches.searches import (
    RATES_ARE,
    TITLE,
    bound_words,
    certain,
    effort,
    goal_name,
    loss_words,
    named,
    one_packet,
    packets_words,
    rate_words,
    why_ended,
)
from linewatt.report.trials.subject import Subject
from linewatt.units import format_rate, format_seconds

MOST_WHOLE = 1
"""searches of instances that are told with all that they tried"""
MOST = 3
"""searches that are told in the sentence"""


def search_subject(view: Digest) -> Subject | None:
    """The rates of each search, with what is lost there and above; what it took."""
    named_searches = named(view.searches)
    if not named_searches:
        return None
    entries = [entry for search, name in named_searches for entry in _entries(search, name, view)]
    bests = [
        Best(f"{name} {goal_name(goal)}", step)
        for search, name in named_searches
        for goal in search.goals
        if (step := view.step_of(goal)) is not None
    ]
    alone = len(named_searches) == 1
    sentences = [f"{name}: {_in_short(search, alone=alone)}" for search, name in named_searches]
    return _subject(sentences, Block(TITLE, tuple(entries), RATES_ARE, rest="line", least=2), bests)


def knee_subject(view: Digest) -> Subject | None:
    """The knee of each search, what instances carry there, and what was tried."""
    named_searches = named(view.knees)
    if not named_searches:
        return None
    in_full = len(named_searches) <= MOST_WHOLE
    entries = [entry for search, name in named_searches for entry in _knee(search, name, view, whole=in_full)]
    if not in_full:
        trials = plural(sum(len(search.trials) for search, _ in named_searches), "trial")
        seconds = format_seconds(sum(search.load_s for search, _ in named_searches))
        entries.append((Line("", prose=f"{trials}, {seconds} of load; what was tried: show --full"),))
    cases = {summary.case: summary for summary in view.summaries}
    bests = [
        Best(f"{name} {step.case.instances} instances", cases[step.case])
        for search, name in named_searches
        for step in search.steps
        if step.throughput_bps is not None
    ]
    sentences = [f"{name}: {knees.answer_words(search)}" for search, name in named_searches]
    return _subject(sentences, Block(knees.TITLE, tuple(entries), rest="line", least=2), bests)


def _subject(sentences: Sequence[str], block: Block, bests: Sequence[Best]) -> Subject:
    """The first sentences, and how many searches have others."""
    first_sentences, omitted_count = list(sentences[:MOST]), len(sentences) - MOST
    if omitted_count > 0:
        first_sentences.append(f"And {omitted_count} more search{'es' if omitted_count > 1 else ''}")
    return Subject(f"{'. '.join(first_sentences)}.", (block,), tuple(bests), of_cases=False)


def _knee(search: InstanceSearch, name: str, view: Digest, *, whole: bool) -> Iterator[Entry]:
    """The answer of a search; ``whole``: what instances carry there, what it took and what was tried, too."""
    style = "" if knees.certain(search) else "yellow"
    codes = [code for step in search.known for code in view.findings.doubts(step.case, "throughput")]
    marked = letters(view.marks.of(dict.fromkeys(codes)))
    answer, carried = knees.answer_words(search), knees.carried_words(search)
    forms = (f"{prose} {marked}".rstrip() for prose in dict.fromkeys((answer, knees.short_words(search))))
    yield tuple(Line(name, prose=prose, style=style) for prose in forms)
    if whole:
        details = (carried, knees.effort_words(search), knees.tried_words(search))
        yield from ((Line("", prose=prose),) for prose in details if prose)
        steps = {
            step.case.instances: step.throughput_bps.mean for step in search.steps if step.throughput_bps
        }
        if len(steps) > 1:
            top = max(steps.values())
            prose = f"throughput of {', '.join(map(str, steps))} instances, from 0 to {format_rate(top, 4)}"
            yield (Line("", (sparkline(steps.values(), top),), prose, drawn=True),)


def _in_short(search: RateSearch, *, alone: bool) -> str:
    """Its rates; of one alone with what was lost there."""
    words = []
    for goal in search.goals:
        lost = f" ({loss_words(goal, brief=not alone)})" if goal.rate_bps is not None else ""
        words.append(f"{goal_name(goal)} {rate_words(goal)}{lost}")
    return "; ".join(words)


def _entries(search: RateSearch, name: str, view: Digest) -> Iterator[Entry]:
    alike: dict[tuple[str, ...], list[Goal]] = {}
    for goal in search.goals:
        parts = rate_words(goal), packets_words(goal), loss_words(goal), bound_words(goal, search)
        alike.setdefault(parts, []).append(goal)
    for (rate, packets, lost, bound), goals in alike.items():
        title = f"{name} {', '.join(map(goal_name, goals))}"
        figures = tuple(filter(None, (rate, packets)))
        style = "" if certain(goals[0]) else "yellow"
        briefly = loss_words(goals[0], brief=True)
        forms = dict.fromkeys("; ".join(filter(None, (lost_words, bound))) for lost_words in (lost, briefly))
        yield tuple(Line(title, figures, prose, style) for prose in forms)
    ended = why_ended(search, view.result)
    took = f"{effort(search)}; {ended or 'not finished'}"
    forms = dict.fromkeys(("; ".join(filter(None, (took, one_packet(search)))), took))
    yield tuple(Line("", prose=prose) for prose in forms)
