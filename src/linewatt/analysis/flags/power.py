# SPDX-License-Identifier: Apache-2.0
"""Trials of a case that drew more than the others at the same CPU use. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from statistics import median

from linewatt.analysis.power.totals import SCOPE_WORDS, Total, system
from linewatt.findings.power import FEWEST_OF_CASE, MIN_OUTLIER, MIN_OUTLIER_W, SAME_CORES
from linewatt.model import EndResult, Flag, Trial


def power_flags(trials: Sequence[Trial]) -> Iterator[Flag]:
    """Flags of the done trials of a case; ``where`` begins with the host."""
    for ends in (
        [(one.number, one.sender) for one in trials],
        [(one.number, one.receiver) for one in trials],
    ):
        yield from _above_the_others(ends)


def _above_the_others(ends: Sequence[tuple[int, EndResult | None]]) -> Iterator[Flag]:
    known = [
        (number, end, found)
        for number, end in ends
        if end is not None and isinstance(found := system(end.power), Total)
    ]
    if len(known) < FEWEST_OF_CASE or len({found.scope for _, _, found in known}) > 1:
        return
    usual_w = median(found.power_w for _, _, found in known)
    cores = [end.cpu_cores for _, end, _ in known if end.cpu_cores is not None]
    for number, end, found in known:
        above_w = found.power_w - usual_w
        sure_w = above_w - (found.uncertainty_w or 0.0)
        as_busy = end.cpu_cores is not None and end.cpu_cores <= median(cores) + SAME_CORES
        if as_busy and sure_w > max(MIN_OUTLIER_W, MIN_OUTLIER * usual_w):
            yield Flag(
                "power-unexplained",
                f"{end.host}: {found.source} {SCOPE_WORDS[found.scope]}",
                f"trial {number}: {found.power_w:.1f} W, {above_w:.1f} W above the median of its case, with "
                f"{end.cpu_cores:.2f} cores in use (median {median(cores):.2f})",
                "look at fan speed, GPUs and other cards, and at what else ran in that trial",
            )
