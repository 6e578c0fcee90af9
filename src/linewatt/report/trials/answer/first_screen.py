# SPDX-License-Identifier: Apache-2.0
"""What ``linewatt show`` prints first, and what a report begins with: the answer of a result of trials.

What varies beyond instances is told first: settings, networks, pairs of hosts, load levels.
"""

from __future__ import annotations

from dataclasses import replace

from linewatt.core.feature import feature_functions
from linewatt.foreign import one_line
from linewatt.report.printing.export import when
from linewatt.report.printing.screen import Block, Line, Screen, hosts_words
from linewatt.report.trials.answer.answer import answer, failed_entries
from linewatt.report.trials.answer.trust import trust_block
from linewatt.report.trials.digest import Digest
from linewatt.report.trials.searches.curve import levels_subject
from linewatt.report.trials.searches.subject import knee_subject, search_subject
from linewatt.report.trials.subject import (
    experiment_subject,
    matrix_subject,
    networks_subject,
)
from linewatt.report.trials.words import in_short, progress
from linewatt.units import MISSING


def first_screen(view: Digest) -> Screen | None:
    """The screen; ``None`` where nothing has a number."""
    makers = (experiment_subject, networks_subject, matrix_subject, levels_subject, search_subject)
    if view.knees:  # whose cases differ in instances from pair to pair: no matrix has them all
        makers = (knee_subject, experiment_subject, networks_subject, levels_subject, search_subject)
    subjects = [one for made in makers if (one := made(view)) is not None]
    at = next((one.at for one in subjects if one.at is not None), None)
    told = [one for each in subjects for one in each.told]
    costs = [one for each in subjects for one in each.costs]
    found = answer(view, at, told, costs)
    if found is None and not subjects:
        return None
    name = one_line(view.result.id)
    blocks = list(subjects[0].blocks) if subjects else []
    also = tuple((Line("", prose=one.sentence),) for one in subjects[1:] if one.sentence)
    blocks += [Block("Also", also, rest="subject", least=0)] if also else []
    doubts = found.doubts if found else trust_block(view, told, costs)
    of_cases = any(one.of_cases for one in subjects)
    costing = (found.result, found.cost)[of_cases:] if found else ()
    blocks += (*costing, doubts)
    blocks = [*(block for made in feature_functions("first_blocks") for block in made(view)), *blocks]
    failed = failed_entries(view)
    blocks[0] = replace(blocks[0], entries=(*blocks[0].entries, *failed))
    of_page = [one for each in subjects for one in (each.blocks if each.lists is None else each.lists)]
    if failed and not found:
        of_page.append(Block("Without a number", tuple(failed)))
    hosts = hosts_words([*view.hosts]) + _over_ports(view)
    caveats = " · ".join(in_short(view))
    return Screen(
        str(view.result.manifest.name or MISSING),
        (hosts, progress(view), when(view.result.manifest.created_s)),
        (caveats,) if caveats else (),
        next((one.sentence for one in subjects), found.sentence if found else ""),
        doubts.remark,
        tuple(blocks),
        (
            f"linewatt show {name} --full",
            f"linewatt report {name}",
            *(f"linewatt show {name} --{trials.show_option}" for trials, _count in view.further),
            *(more for one in subjects for more in one.more),
        ),
        tables=(found.series,) if found else (),
        lists=tuple(of_page),
    )


def _over_ports(view: Digest) -> str:
    """Of hosts with several data ports how many; pairs may have different numbers."""
    counts = {summary.case.data_ports or 1 for summary in view.summaries}
    return f" over {' or '.join(map(str, sorted(counts)))} ports" if counts - {1} else ""
