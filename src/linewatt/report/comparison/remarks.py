# SPDX-License-Identifier: Apache-2.0
"""What a comparison says beside its tables: names of cases, what is compared with what, what else differs."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

from linewatt.analysis.comparison import (
    Comparison,
    Difference,
    Match,
    Side,
    Task,
    advice_on_single_runs,
    response_amount,
)
from linewatt.model import Case
from linewatt.records import Host
from linewatt.report.printing.screen import hosts_words
from linewatt.report.series import case_labels, plural, test_title
from linewatt.units import first_of, format_time_utc

BASE_AND_LEVEL = ("base", "level")


def case_names(comparison: Comparison, *, with_test: bool = True) -> dict[Match, str]:
    """``TCP, h1 → h2, 4 instances`` of each match; behind it its levels where several are compared."""
    matches = [pair.match for pair in comparison.pairs]
    compared = {comparison.options.by} if comparison.levels else set()
    named = names_of_cases([match.base for match in matches], compared if with_test else compared | {"test"})
    return {match: name + level_words(comparison, match) for match, name in zip(matches, named, strict=True)}


def names_of_cases(cases: Sequence[Case | Task], without: Collection[str | None] = ()) -> list[str]:
    """``TCP, h1 → h2, 4 instances``; ``soak of 48 h, 300 users on 96 clients, server dut``.

    Of a case ``without`` such parts.
    """
    labels = case_labels(dict.fromkeys(case.single for case in cases if isinstance(case, Case)))
    return [_case_name(case, labels, without) if isinstance(case, Case) else case.title for case in cases]


def _case_name(case: Case, labels: dict[Case, str], without: Collection[str | None]) -> str:
    parts = {
        "test": test_title(case.test),
        "label": labels[case.single],
        "instances": "" if case.of_users else plural(case.instances, "instance"),
    }
    return ", ".join(text for name, text in parts.items() if text and name not in without)


def level_words(comparison: Comparison, match: Match) -> str:
    """The levels of a match, where the heads of the columns do not say them."""
    if not match.level or side_names(comparison) != BASE_AND_LEVEL:
        return ""
    return f": {comparison.options.by} {match.level} against {match.base_level}"


def side_names(comparison: Comparison) -> tuple[str, str]:
    """How the two sides are called: A and B, the two levels, or base and level where there are more."""
    if not comparison.levels:
        return comparison.base.name, comparison.other.name
    levels = {(pair.match.base_level, pair.match.level) for pair in comparison.pairs}
    return next(iter(levels)) if len(levels) == 1 else BASE_AND_LEVEL


def lab_words(comparison: Comparison) -> list[str]:
    """What keeps a comparison from being one of hardware; nothing where its hosts are real."""
    return lab_words_of(
        {name: host for side in (comparison.base, comparison.other) for name, host in side.hosts.items()}
    )


def lab_words_of(hosts: Mapping[str, Host]) -> list[str]:
    """The same of hosts."""
    lab = [name for name, host in hosts.items() if host.lab]
    emulated = [name for name, host in hosts.items() if host.emulated]
    sentences = [f"Lab: {hosts_words(lab)} simulated on one machine; no measure of hardware"] if lab else []
    if emulated:
        sentences.append(
            f"QEMU without KVM translated every instruction of {hosts_words(emulated)}: ratios are of "
            "translated code, and may be others on a real processor, or the other way round"
        )
    return sentences


def heading(comparison: Comparison, *, in_short: bool = False) -> list[str]:
    """What is compared with what, and what a reader must know first; ``in_short``: many runs at once."""
    sides = [comparison.base] if comparison.levels else [comparison.base, comparison.other]
    sentences = [
        f"{side.name}: {text}"
        for side in sides
        for text in (_runs_in_short(side) if in_short else map(_run_text, side.runs))
    ]
    sentences += [
        f"{side.name}: rates of searches, in no comparison: {first_of(side.searched, _APART, between='; ')}"
        for side in sides
        if side.searched
    ]
    sentences += [
        f"{side.name}: searched instances: {first_of(side.knees, _APART, between='; ')}"
        for side in sides
        if side.knees
    ]
    if not comparison.levels and any(side.searched for side in sides):
        sentences.append(
            "Each rate was searched once, so that nothing is known of its spread: what differs may be chance"
        )
    if not comparison.levels and any(side.knees for side in sides):
        sentences.append(
            "Knees are not compared, nor what only one side tried: the cases of instances that both tried are"
        )
    sentences += comparison.words
    if not comparison.levels:  # no two results are ever measured in turn
        sentences.append(
            f"{comparison.base.name} and {comparison.other.name} were not measured in turn: "
            "every ratio includes what drifted between them, which no p-value accounts for"
        )
    return sentences


def _runs_in_short(side: Side) -> list[str]:
    """A text for each run of a few; one for many, with all that is said of any."""
    if len(side.runs) <= _FEW_RUNS:
        return list(map(_run_text, side.runs))
    headlines = dict.fromkeys(run.single_run.headline for run in side.runs if run.single_run is not None)
    names = f"{plural(len(side.runs), 'result')}, {side.runs[0].id} to {side.runs[-1].id}"
    return ["; ".join([names, *headlines])]


def _run_text(side: Side) -> str:
    run, name_and_time = side.single_run, f"{side.id}, {format_time_utc(side.created_s)}"
    return name_and_time if run is None else f"{name_and_time}, {run.headline} [{run.task.key}]"


def lists(comparison: Comparison) -> list[tuple[str, list[str]]]:
    """What is to be known beside the verdicts, under its title: none is empty."""
    matter = [
        difference
        for difference in comparison.differences
        if difference.rank is not None and not difference.expected
    ]
    expected = [difference for difference in comparison.differences if difference.expected]
    others = len(comparison.differences) - len(matter) - len(expected)
    more = [f"and {plural(others, 'other difference')}, which --json has"] if others else []
    titled_lines = [
        (f"What differs with {comparison.options.by}", _most(difference_lines(expected))),
        ("What else differs", [*_most(difference_lines(matter)), *more]),
        ("Not comparable", _refused(comparison)),
        ("Unmatched", _unmatched(comparison)),
        ("Notes", _remarks(comparison)),
    ]
    return [(title, lines) for title, lines in titled_lines if lines]


_SHOWN = 40
_APART = 2
"""hosts that are named with what differs on them; of more alike their number"""
_FEW_RUNS = 2
"""runs of a side that are named each where it is said in short"""


def _most(lines: list[str]) -> list[str]:
    more = len(lines) - _SHOWN
    return [*lines[:_SHOWN], f"and {more} more of these, which --json has"] if more > 0 else lines


def difference_lines(differences: Sequence[Difference]) -> list[str]:
    """``dut: nic.firmware 22.39 → 22.41``; what many hosts share in one line."""
    return [f"{where}: {what}" for where, what in where_and_what(differences)]


def where_and_what(differences: Sequence[Difference]) -> list[tuple[str, str]]:
    """The hosts of each difference, or how many, and the fact with both values."""
    hosts: dict[tuple[str, str | None, str | None], list[str]] = {}
    for difference in differences:
        hosts.setdefault((difference.fact, difference.base, difference.other), []).append(difference.where)
    return list(
        dict.fromkeys(
            (
                difference.where if len(where) <= _APART else plural(len(where), "host"),
                f"{difference.fact} {_values(difference)}",
            )
            for difference in differences
            if (where := hosts[difference.fact, difference.base, difference.other])
        )
    )


def _values(difference: Difference) -> str:
    """Both values; of kernels' command lines, which are long, the words that only one has."""
    if difference.fact != "kernel.command_line" or difference.base is None or difference.other is None:
        return " → ".join(
            difference.missing if text is None else text for text in (difference.base, difference.other)
        )
    words = difference.base.split(), difference.other.split()
    base_only, theirs = (
        [word for word in side_words if word not in opposite_words]
        for side_words, opposite_words in (words, words[::-1])
    )
    if not base_only and not theirs:
        return "the same words in another order"
    return f"{' '.join(base_only) or 'nothing'} → {' '.join(theirs) or 'nothing'} (words that only one has)"


def _refused(comparison: Comparison) -> list[str]:
    """Reasons with the rows they refuse."""
    names = case_names(comparison)
    groups: dict[str, list[str]] = {}
    for row in comparison.rows:
        if row.refusal is not None:
            groups.setdefault(row.refusal, []).append(f"{row.response.title}: {names[row.match]}")
    return [
        f"{refusal}: {plural(len(cases), 'comparison')} ({cases[0]}{', …' if len(cases) > 1 else ''})"
        for refusal, cases in groups.items()
    ]


def _unmatched(comparison: Comparison) -> list[str]:
    """Cases without a partner, side by side and reason by reason."""
    place = f"at {comparison.options.by}" if comparison.levels else "in"
    named = names_of_cases([unmatched.case for unmatched in comparison.left_over])
    groups: dict[tuple[str, str], list[str]] = {}
    for unmatched, name in zip(comparison.left_over, named, strict=True):
        groups.setdefault((unmatched.side, unmatched.why), []).append(name)
    return [f"only {place} {side} ({why}): {'; '.join(cases)}" for (side, why), cases in groups.items()]


def _remarks(comparison: Comparison) -> list[str]:
    """What is to be known of single cases."""
    names = case_names(comparison)
    return [f"{names[pair.match]}: {'; '.join(pair.remarks)}" for pair in comparison.pairs if pair.remarks]


def factor_words(comparison: Comparison) -> str:
    """Which change counts; of results that are one run also why one of them decides nothing."""
    if not comparison.responses:
        return ""
    matters = comparison.options.matters
    limit = response_amount(comparison.responses[0], 0.01 if matters is None else matters)
    sentence = (
        "A change counts when it is beyond chance (p after Holm over all rows of the comparison and "
        f"permutation p both below 0.05) and beyond {limit} (0.1 points of loss)."
    )
    run = comparison.base.single_run
    return sentence if run is None else f"{sentence} {advice_on_single_runs(run.kind)}"
