# SPDX-License-Identifier: Apache-2.0
"""Why cases stopped that stop by themselves, for ``show``, the report and JSON."""

from __future__ import annotations

from linewatt.report.series import plural
from linewatt.store import Result

MOST_NAMED = 5


def repeats_lines(result: Result) -> list[str]:
    """How many runs cases took to be sure enough, and which of them never were, a sentence each."""
    return [f"{phrase}." for phrase in repeats_phrases(result)]


def repeats_phrases(result: Result) -> list[str]:
    """The same without full stops."""
    repeats = result.repeats
    if repeats is None:
        return []
    target = f"± {100 * repeats.until_ratio:g} %"
    short = [case for case in repeats.cases if not case.until_met]
    met = [case.runs for case in repeats.cases if case.until_met]
    first = f"Trials: {repeats.min} to {repeats.max} a case, until its mean throughput is known to {target}"
    if met:
        runs = f"{min(met)}" if min(met) == max(met) else f"{min(met)} to {max(met)}"
        first += f"; reached by {plural(len(met), 'case')} after {runs} trials"
    lines = [first]
    for case in short[:MOST_NAMED]:
        lines.append(f"{case.sender} → {case.receiver}, case {case.case_key}: {case.why}")
    if len(short) > MOST_NAMED:
        more = plural(len(short) - MOST_NAMED, "case")
        lines.append(f"And {more} more that did not reach it: --json has all")
    return lines
