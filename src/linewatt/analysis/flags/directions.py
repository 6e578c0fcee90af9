# SPDX-License-Identifier: Apache-2.0
"""What only both directions of a pair together show: one carries far more than the other. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from linewatt.analysis.flags.case_flag import case_flag
from linewatt.findings import ASYMMETRIC_FACTOR
from linewatt.model import Case, Direction, Flag, is_request_response
from linewatt.units import format_rate

if TYPE_CHECKING:
    from linewatt.analysis.cases.summary import CaseSummary


def direction_flags(summaries: Sequence[CaseSummary]) -> Iterator[tuple[Case, Flag]]:
    """Findings on cases that carry far less than the same case with its hosts in the other roles."""
    summary_by_case = {summary.case: summary for summary in summaries}
    for slower in summaries:
        faster = _opposite(slower.case, summary_by_case)
        if faster is None or slower.throughput_bps is None or faster.throughput_bps is None:
            continue
        slow_bps, fast_bps = slower.throughput_bps.mean, faster.throughput_bps.mean
        if slow_bps <= 0 or fast_bps < ASYMMETRIC_FACTOR * slow_bps:
            continue
        yield (
            slower.case,
            case_flag(
                "directions-differ",
                slower.case.way,
                (
                    f"{format_rate(slow_bps)}; {faster.case.way} has {format_rate(fast_bps)}, "
                    f"{fast_bps / slow_bps:.1f} times as much",
                    _limits(slower, faster),
                ),
                "check the limit in the row of each direction, shapers and policers on the path (tc -s "
                "qdisc, tc filter), and the route in each direction (ip route get)",
            ),
        )


def _opposite(case: Case, summary_by_case: Mapping[Case, CaseSummary]) -> CaseSummary | None:
    """The case with its hosts in the other roles, if it was measured: opened from the same side, or else by
    the same host. Levels and steps of a search follow from what each direction carries."""
    if case.shape or case.search or case.of_users or case.load_level is not None:
        return None
    if is_request_response(case.test):
        return None
    swapped = replace(case, sender=case.receiver, receiver=case.sender)
    turned: Direction = "reverse" if case.direction == "forward" else "forward"
    return summary_by_case.get(swapped) or summary_by_case.get(replace(swapped, direction=turned))


def _limits(slower: CaseSummary, faster: CaseSummary) -> str:
    """``h2 → h1 is limited by the shaper of the line, no limit found for h1 → h2``."""
    texts = [
        f"{summary.case.way} is limited by {summary.limit.what}"
        if summary.limit.found
        else f"no limit found for {summary.case.way}"
        for summary in (slower, faster)
    ]
    return ", ".join(texts)
