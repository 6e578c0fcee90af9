# SPDX-License-Identifier: Apache-2.0
"""What ``linewatt show`` prints first, and what a report begins with: the answer of a result of trials.

What varies beyond instances is told first: settings, networks, pairs of hosts, load levels.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from linewatt.analysis.cases import CaseSummary, fastest_case
from linewatt.core.feature import feature_functions
from linewatt.foreign import one_line
from linewatt.report.printing.screen import Block, Line, Screen, hosts_words
from linewatt.report.trials.answer.answer import answer, failed_entries, fastest_best
from linewatt.report.trials.answer.trust import trust_block
from linewatt.report.trials.caveats import progress, short_caveats
from linewatt.report.trials.digest import Digest
from linewatt.report.trials.searches.curve import levels_subject
from linewatt.report.trials.searches.searches import certain
from linewatt.report.trials.searches.subject import knee_subject, search_subject
from linewatt.report.trials.settings.effects import experiment
from linewatt.report.trials.settings.failed_settings import failed_settings_lines
from linewatt.report.trials.subject import (
    best_setting,
    experiment_subject,
    matrix_subject,
    networks_subject,
)
from linewatt.units import MISSING, format_time_utc


def first_screen_of_trials(view: Digest) -> Screen | None:
    """The screen; ``None`` where nothing has a number."""
    makers = (experiment_subject, networks_subject, matrix_subject, levels_subject, search_subject)
    if view.knees:  # whose cases differ in instances from pair to pair: no matrix has them all
        makers = (knee_subject, experiment_subject, networks_subject, levels_subject, search_subject)
    subjects = [subject for maker in makers if (subject := maker(view)) is not None]
    at = next((subject.at for subject in subjects if subject.at is not None), None)
    bests = [best for subject in subjects for best in subject.told]
    costs = [cost for subject in subjects for cost in subject.costs]
    case_answer = answer(view, at, bests, costs)
    if case_answer is None and not subjects:
        return None
    name = one_line(view.result.id)
    blocks = list(subjects[0].blocks) if subjects else []
    also = tuple((Line("", prose=subject.sentence),) for subject in subjects[1:] if subject.sentence)
    blocks += [Block("Also", also, rest="subject", least=0)] if also else []
    doubts = case_answer.doubts if case_answer else trust_block(view, bests, costs)
    of_cases = any(subject.of_cases for subject in subjects)
    costing = (case_answer.result, case_answer.cost)[of_cases:] if case_answer else ()
    blocks += (*costing, doubts)
    blocks = [*(block for maker in feature_functions("first_blocks") for block in maker(view)), *blocks]
    failed = failed_entries(view)
    blocks[0] = replace(blocks[0], entries=(*blocks[0].entries, *failed))
    of_page = [
        block
        for subject in subjects
        for block in (subject.blocks if subject.lists is None else subject.lists)
    ]
    if failed and not case_answer:
        of_page.append(Block("Without a number", tuple(failed)))
    hosts = hosts_words([*view.hosts]) + _over_ports(view)
    caveats = " · ".join(short_caveats(view))
    return Screen(
        str(view.result.manifest.name or MISSING),
        (hosts, progress(view), format_time_utc(view.result.manifest.created_s)),
        (*failed_settings_lines(view.result.trials), *([caveats] if caveats else [])),
        next((subject.sentence for subject in subjects), case_answer.sentence if case_answer else ""),
        doubts.remark,
        tuple(blocks),
        (
            f"linewatt show {name} --full",
            f"linewatt report {name}",
            *(f"linewatt show {name} --{trials.show_option}" for trials, _count in view.further),
            *(more for subject in subjects for more in subject.more),
        ),
        tables=(case_answer.series,) if case_answer else (),
        lists=tuple(of_page),
    )


@dataclass(frozen=True, slots=True)
class LeadingCase:
    """The case that stands for a result; of a search whether its rate is certain, and a lower bound."""

    summary: CaseSummary
    is_certain: bool
    is_at_least: bool


def leading_case(view: Digest) -> LeadingCase | None:
    """The case whose cost the screen shows, or a higher rate that a search found.

    It is at the best setting of an experiment, else the fastest; of load levels alone the fastest of these.
    """
    at = best_setting(experiment(view.result), view)
    shown = [at] if at is not None else fastest_best(view)
    goals = [goal for search in view.searches for goal in search.goals]
    step_goals = [(step, goal) for goal in goals if (step := view.step_of(goal)) is not None]
    cases = [best.summary for best in shown] or view.summaries
    summary = fastest_case([*cases, *(step for step, _ in step_goals)])
    if summary is None:
        return None
    of_search = [goal for step, goal in step_goals if step is summary]
    return LeadingCase(
        summary, all(map(certain, of_search)), any(goal.state != "found" for goal in of_search)
    )


def _over_ports(view: Digest) -> str:
    """Of hosts with several data ports how many; pairs may have different numbers."""
    counts = {summary.case.data_ports or 1 for summary in view.summaries}
    return f" over {' or '.join(map(str, sorted(counts)))} ports" if counts - {1} else ""
