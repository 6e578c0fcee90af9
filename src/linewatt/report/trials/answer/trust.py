# SPDX-License-Identifier: Apache-2.0
"""Whether to trust the figures of a first screen: each group in a word, then the reasons, the gravest first.

What is judged is what is shown: throughput case by case, CPU and watts end by end.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass

from linewatt.analysis import Finding
from linewatt.analysis.cases import CaseSummary
from linewatt.findings import Figure, kind_of
from linewatt.model import ENDS, Case, Role
from linewatt.report.findings import FindingNote, letter_ranges
from linewatt.report.printing.screen import TRUST, Block, Entry, Line
from linewatt.report.provenance import provenance_words as provenance_words
from linewatt.report.series import plural
from linewatt.report.trials.digest import Digest
from linewatt.units import first_of

_SHOWN_IN = "show --full"
_MOST_PLACES = 3
"""the command that shows all findings"""
MOST_NAMED = 3
"""series that share a limit; of more, how many there are"""

_FIGURES: tuple[tuple[str, Figure], ...] = (
    ("throughput", "throughput"),
    ("CPU", "cpu"),
    ("watts", "power"),
    ("watts above idle", "above_idle"),
)


@dataclass(frozen=True, slots=True)
class Best:
    """The case that a series is told by, and what the series is called among those shown."""

    name: str
    summary: CaseSummary


Spot = tuple[CaseSummary, Role]
"""one end of a case whose CPU or watts are shown"""


def ends_of(summary: CaseSummary) -> tuple[Spot, ...]:
    """Both ends of a case, as far as their figures stand at it."""
    return tuple((summary, role) for role in ENDS if not summary.case.told_elsewhere(role))


def spots_of(best: Best, view: Digest) -> tuple[Spot, ...]:
    """The ends of a case, and behind those of a group the ones of each of its pairs."""
    summary_of = {summary.case: summary for summary in view.summaries}
    pairs = [
        summary_of[pair] for pair in best.summary.case.pairs if best.summary.case.flows and pair in summary_of
    ]
    return tuple(spot for summary in (best.summary, *pairs) for spot in ends_of(summary))


def trust_block(
    view: Digest, best_cases: Sequence[Best], costs: Sequence[Spot], costing: Best | None = None
) -> Block:
    """The verdict on each group of figures, then the reasons.

    ``best_cases`` are the cases whose throughput is shown, ``costs`` the ends whose CPU or watts are, beside
    those of ``costing``, which has figures above idle, too.
    """
    costing_spots = () if costing is None else spots_of(costing, view)
    all_bests = best_cases if costing is None else (*best_cases, costing)
    summaries = [*(best.summary for best in all_bests), *(summary for summary, _ in costs)]
    cases = {summary.case for summary in summaries}
    verdicts = " · ".join((*_verdicts(view, all_bests, costs, costing_spots), *_untested(view, cases)))
    doubts = tuple(_doubts(view, cases))
    entries, briefs = tuple(entry for entry, _ in doubts), tuple(brief for _, brief in doubts)
    return Block(TRUST, entries, verdicts, rest="finding", briefs=briefs)


def _verdicts(
    view: Digest, best_cases: Sequence[Best], costs: Sequence[Spot], spots: Sequence[Spot]
) -> Iterator[str]:
    """Of each group of figures what holds of those shown; groups of which the same holds together."""
    alike: dict[str, list[str]] = {}
    for word, group in _FIGURES:
        if group == "throughput":
            verdict = _of_throughput(view, best_cases) if best_cases else ""
        else:
            verdict = _of_ends(view, group, spots if group == "above_idle" else (*spots, *costs))
        if verdict:
            alike.setdefault(verdict, []).append(word)
    for verdict, words in alike.items():
        yield f"{', '.join(words)}: {verdict}"


def _untested(view: Digest, cases: set[Case]) -> Iterator[str]:
    """What could not be checked of these cases: the reasons are among the findings."""
    checks = [note.kind.untested for note in view.notes if note.kind.untested and cases & {*note.cases}]
    if checks:
        yield f"not tested: {', '.join(checks)}"


def _of_throughput(view: Digest, best_cases: Sequence[Best]) -> str:
    codes_by_name = [
        (best.name, tuple(view.findings.doubts(best.summary.case, "throughput"))) for best in best_cases
    ]
    doubts = _doubtful(view, (code for _, codes in codes_by_name for code in codes))
    doubted = list(dict.fromkeys(name for name, codes in codes_by_name if codes))
    if len(doubted) < len({best.name for best in best_cases}):  # it does not hold of all that are shown
        doubts = (f"{words} for {first_of(doubted, MOST_NAMED)}" for words in doubts)
    alone = list(dict.fromkeys(best.name for best in best_cases if best.summary.trials_done == 1))
    all_single = all(best.summary.trials_done == 1 for best in best_cases)
    return _joined(doubts, _of_one_trial(alone, all_single=all_single), view)


def _of_one_trial(alone: Sequence[str], *, all_single: bool) -> str | None:
    """That a spread is not known, and of what if not of all."""
    if not alone:
        return None
    return f"one trial {'each' if all_single else f'of {first_of(alone, MOST_NAMED)}'}, spread not known"


def _joined(doubts: Iterable[str], of_one_trial: str | None, view: Digest) -> str:
    """What holds: doubts, and what is of one trial.

    An imported table is as its source has it, since no check can look behind it. Of imported files it is said
    that they alone were checked.
    """
    source = view.result.imported_table
    if source is None:
        partly = " by the files alone" if view.result.imported_from else ""
        return ", ".join(filter(None, (*doubts, of_one_trial))) or f"no doubt found{partly}"
    return ", ".join((*doubts, f"as {source} has it"))


def _doubtful(view: Digest, codes: Iterable[str], withheld: str = "withheld in part") -> Iterator[str]:
    """``doubtful (a, c)``; what is withheld apart from it."""
    distinct_codes = dict.fromkeys(codes)
    for word, rank in (("doubtful", "doubtful"), (withheld, "withheld")):
        ranked_codes = [code for code in distinct_codes if kind_of(code).rank == rank]
        if ranked_codes:
            yield f"{word} ({letter_ranges(view.marks.of(ranked_codes))})"


def _of_ends(view: Digest, group: Figure, spots: Iterable[Spot]) -> str:
    """What holds at both ends, or at each of them by its role; nothing where there is none of it."""
    spots = list(spots)
    role_verdicts = {
        role: _of_end(view, group, [summary for summary, spot_role in spots if spot_role == role], role)
        for role in ENDS
    }
    known_verdicts = {role: words for role, words in role_verdicts.items() if words}
    if len(set(known_verdicts.values())) < 2:
        return next(iter(known_verdicts.values()), "")
    return "; ".join(f"{words} at the {role}" for role, words in known_verdicts.items())


_VALUES: dict[Figure, Callable[[CaseSummary, Role], object]] = {
    "cpu": CaseSummary.cpu_cores,
    "power": lambda summary, role: (power := summary.power(role)) and power.values.get("system_w"),
    "above_idle": lambda summary, role: (power := summary.power(role)) and power.values.get("dynamic_w"),
}


def _of_end(view: Digest, group: Figure, cases: Sequence[CaseSummary], role: Role) -> str:
    """What holds of one end in these cases; nothing where nobody wanted to know."""
    measured_cases = [case for case in cases if _VALUES[group](case, role) is not None]
    codes = [code for case in cases for code in view.findings.doubts(case.case, group, role)]
    if not measured_cases:
        is_expected = group != "cpu" and any(case.power(role) is not None for case in cases)
        withheld = [code for code in codes if kind_of(code).rank == "withheld"]
        return next(_doubtful(view, withheld, "withheld"), "not known" if is_expected else "")
    powers = (case.power(role) for case in measured_cases) if group != "cpu" else ()
    unmeasured = provenance_words(power.system_provenance for power in powers if power is not None)
    alone = ["some cases" for case in measured_cases if case.trials_done == 1][:1]
    of_one_trial = _of_one_trial(alone, all_single=all(case.trials_done == 1 for case in measured_cases))
    return _joined(filter(None, (unmeasured, *_doubtful(view, codes))), of_one_trial, view)


def _doubts(view: Digest, cases: set[Case]) -> Iterator[tuple[Entry, str]]:
    """The gravest reasons not to trust a figure shown, each with what to do; then what else was found.

    Behind each of them a few words, for where it has no line.
    """
    shown_notes = [note for note in view.notes if cases & set(note.cases)]
    graves = [
        finding
        for finding in view.findings.every
        if finding.kind.rank != "note" and cases & set(finding.cases)
    ]
    codes = {finding.code for finding in graves}
    grave = [note for note in shown_notes if note.code in codes]
    for note in grave:
        note_findings = [finding for finding in graves if finding.code == note.code]
        letter, words_of_doubt = f"({note.mark})", _doubt(note.title, note_findings)
        entry = tuple(Line(letter, prose=words, style="yellow") for words in words_of_doubt)
        yield entry, f"{letter} {note.title}"
    others = [note for note in shown_notes if note not in grave and not note.kind.untested]
    elsewhere = [note for note in view.notes if note not in shown_notes]
    if others:
        lead, noun = ("also found", "other finding") if grave else ("found", "finding")
        yield _titles(lead, others), plural(len(others), noun)
    if elsewhere:
        yield _titles("in other cases", elsewhere), f"{plural(len(elsewhere), 'finding')} in other cases"


def _titles(lead: str, notes: Sequence[FindingNote]) -> Entry:
    """Titles of findings, or how many there are."""
    titles = ", ".join(note.title for note in notes)
    return tuple(Line("", prose=f"{lead}: {words}") for words in (titles, plural(len(notes), "finding")))


def _doubt(title: str, findings: Sequence[Finding]) -> Iterator[str]:
    """What was seen of it in the cases shown, and what to do, in ever fewer words."""
    seen, *further = (sighting for finding in findings for sighting in finding.sightings)
    places = list(dict.fromkeys(sighting.where for sighting in (seen, *further)))
    also_at = f", also at {first_of(places[1:], _MOST_PLACES)}" if places[1:] else ""
    more = f" (and {len(further)} more{also_at}: {_SHOWN_IN})" if further else ""
    advice = findings[0].advice[0]
    where = first_of(places, _MOST_PLACES, between=", ")
    yield f"{title}: {seen.where}: {seen.evidence}{more}; do: {advice}"
    yield f"{title} ({where}); do: {advice}"
    yield f"{title} ({where})"
