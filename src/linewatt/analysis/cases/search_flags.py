# SPDX-License-Identifier: Apache-2.0
"""What makes a search of instances doubtful that no case of it shows. Pure.

Its numbers are tried one after the other, so that a host that gets slower meanwhile looks like instances that
bring less. Within the trials of one number time alone passes: what changes there, changes all of them.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from linewatt.analysis.cases.instance_search import InstanceSearch, with_number
from linewatt.analysis.cases.series import flagged
from linewatt.analysis.cases.summary import CaseSummary
from linewatt.analysis.statistics.steadiness import drift_within
from linewatt.findings import SEARCH_DRIFT
from linewatt.model import Case, Flag
from linewatt.units import format_change, format_seconds


def with_search_flags(
    summaries: Sequence[CaseSummary], searches: Iterable[InstanceSearch]
) -> tuple[CaseSummary, ...]:
    """Each case with what the search says that it is a step of."""
    flags_by_case: dict[Case, list[Flag]] = {}
    for search in searches:
        for step in search.known:
            flags_by_case.setdefault(step.case, []).extend(search_flags(search))
    return tuple(flagged(summary, flags_by_case.get(summary.case, ())) for summary in summaries)


def search_flags(search: InstanceSearch) -> Iterator[Flag]:
    """Throughput that changes from trial to trial of each number alike."""
    runs = [with_number(step.trials) for step in search.known]
    times_s = [trial.started_s for group_runs in runs for trial in group_runs]
    span_s = max(times_s, default=0.0) - min(times_s, default=0.0)
    groups = [
        ([trial.started_s for trial in group_runs], [trial.throughput_bps or 0.0 for trial in group_runs])
        for group_runs in runs
    ]
    drift = drift_within(groups, span_s)
    if drift is None or abs(drift.ratio) < SEARCH_DRIFT:
        return
    went = "falls" if drift.ratio < 0 else "rises"
    yield Flag(
        "drifts-over-search",
        search.case.way,
        f"{search.case.test}: throughput {went} from trial to trial of the same number of instances: "
        f"{format_change(drift.ratio)} ({format_change(drift.low)} to {format_change(drift.high)}) over the "
        f"{format_seconds(span_s)} of the search, if it went on so",
        "look at temperature, frequency and what else ran; let hosts warm up and search again, or name the "
        "numbers (instances: [1, 2, 4]), whose trials are interleaved",
    )
