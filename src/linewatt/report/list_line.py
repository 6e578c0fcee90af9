# SPDX-License-Identifier: Apache-2.0
"""How a stored result becomes its line of ``linewatt list``: needed only for results that are not cached."""

from __future__ import annotations

from pathlib import Path

from linewatt.analysis.cases import mean_bps
from linewatt.report.glance import Glance, of_trials
from linewatt.report.kinds import result_kind
from linewatt.report.listing import Best, Listed
from linewatt.report.trials.answer.first_screen import leading_case
from linewatt.report.trials.digest import Digest, digest_of, heading
from linewatt.store import Result, load_result


def read_line(path: Path) -> Listed:
    """The line of a result, from its files. Raises StoreError."""
    return listed(load_result(path))


def listed(result: Result, view: Digest | None = None) -> Listed:
    """One line of the list; ``view`` is the result's digest where there is one. Raises StoreError."""
    view = view or digest_of(result)
    about = heading(view)
    if kind := result_kind(result.manifest):
        return kind.listed(result, about)
    best, glance = _best_case(view)
    return Listed(about, len(view.findings.every), best=best, shown=len(view.notes), glance=glance)


def _best_case(view: Digest) -> tuple[Best | None, Glance | None]:
    """The case of the first screen, or a higher rate that a search found, with how its series went.

    ``None`` where no case has a throughput.
    """
    leading = leading_case(view)
    if leading is None:
        return None, None
    chosen = leading.summary
    power = chosen.power("receiver")
    per_watt = None if power is None else power.system_bps_per_w
    elsewhere = chosen.case.told_elsewhere("receiver")
    why = (
        chosen.reasons.get("receiver_power", "not known")
        if elsewhere
        else "no source of power was named"
        if power is None
        else power.reasons.get("system_bps_per_w", "not known")
    )
    best = Best(
        chosen.case.test,
        mean_bps(chosen),
        None if per_watt is None else per_watt.mean,
        None if power is None else power.system_provenance,
        "" if per_watt is not None else why,
        bool(view.findings.doubts(chosen.case, "throughput")) or not leading.is_certain,
        bool(view.findings.doubts(chosen.case, "power", "receiver")),
        leading.is_at_least,
    )
    return best, of_trials(view, chosen)
