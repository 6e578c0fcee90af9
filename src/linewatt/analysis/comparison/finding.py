# SPDX-License-Identifier: Apache-2.0
"""What a comparison means for whoever asked for a check. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from linewatt.analysis.comparison.compare import METRICS, Comparison
from linewatt.analysis.metrics.metric import Response

FAIL_ON = {responses[0].worse.replace(" ", "-"): tuple(responses) for responses in METRICS.values()}
"""what ``--fail-on`` may name: a change for the worse of any of these"""


@dataclass(frozen=True, slots=True)
class Finding:
    """What a comparison means for whoever asked for a check: an exit code, and why in words."""

    exit_code: Literal[0, 3, 4]
    words: str


def finding(found: Comparison, fail_on: Sequence[str]) -> Finding:
    """3: a change for the worse of a response that ``fail_on`` names. 4: none, and not every verdict on
    these is there. 0: none, and all are there; or nothing was asked for.
    """
    if not fail_on:
        return Finding(0, "")
    names: Mapping[str, Response] = {one.name: one for name in fail_on for one in FAIL_ON[name]}
    asked = [row for row in (*found.rows, *found.overall) if row.response.name in names]
    worse = sum(row.outcome == "worse" for row in asked)
    listed = " or ".join(fail_on)
    if worse:
        return Finding(3, f"{worse} of {len(asked)} comparisons: {listed}")
    open_rows = [row for row in asked if row.outcome in ("undecided", "refused")]
    if open_rows:
        return Finding(4, f"{len(open_rows)} of {len(asked)} comparisons have no verdict on {listed}")
    if not asked:
        return Finding(4, f"nothing could be compared for {listed}")
    return Finding(0, f"no case is {listed}")
