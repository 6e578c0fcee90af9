# SPDX-License-Identifier: Apache-2.0
"""Whether to trust the figures of a first screen: each group in a word, then the reasons, the gravest first.

What is judged is what is shown: throughput case by case, CPU and watts end by end.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass

from linewatt.analysis.cases.summary import CaseSummary
from linewatt.analysis.findings import Finding
from linewatt.findings import Figure, kind_of
from linewatt.model import ENDS, Role
from linewatt.report.printing.screen import TRUST, Block, Entry, Line
from linewatt.report.provenance import words as provenance_words
from linewatt.report.series import plural
from linewatt.report.trials.digest import Digest
from linewatt.units import first_of

MOST_LETTERS = 3
"""of findings behind a figure"""
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
    known = {one.case: one for one in view.summaries}
    pairs = [known[pair] for pair in best.summary.case.pairs if best.summary.case.flows and pair in known]
    return tuple(spot for summary in (best.summary, *pairs) for spot in ends_of(summary))


def trust_block(
    view: Digest, told: Sequence[Best], costs: Sequence[Spot], costing: Best | None = None
) -> Block:
    """The verdict on each group of figures, then the reasons.

    ``told`` are the cases whose throughput is shown, ``costs`` the ends whose CPU or watts are, beside those
    of ``costing``, which has figures above idle, too.
    """
    own = () if costing is None else spots_of(costing, view)
    every = told if costing is None else (*told, costing)
    said = " · ".join(_verdicts(view, every, costs, own))
    cases = [*(one.summary for one in every), *(summary for summary, _ in costs)]
    return Block(TRUST, tuple(_doubts(view, cases)), said, rest="finding")


def _verdicts(
    view: Digest, told: Sequence[Best], costs: Sequence[Spot], own: Sequence[Spot]
) -> Iterator[str]:
    """Of each group of figures what holds of those shown; groups of which the same holds together."""
    alike: dict[str, list[str]] = {}
    for word, group in _FIGURES:
        if group == "throughput":
            said = _of_throughput(view, told) if told else ""
        else:
            said = _of_ends(view, group, own if group == "above_idle" else (*own, *costs))
        if said:
            alike.setdefault(said, []).append(word)
    for said, words in alike.items():
        yield f"{', '.join(words)}: {said}"


def _of_throughput(view: Digest, told: Sequence[Best]) -> str:
    codes = (code for one in told for code in view.findings.doubts(one.summary.case, "throughput"))
    alone = list(dict.fromkeys(one.name for one in told if one.summary.trials_done == 1))
    every = all(one.summary.trials_done == 1 for one in told)
    return _joined(_doubtful(view, codes), _of_one_trial(alone, every=every), view)


def _of_one_trial(alone: Sequence[str], *, every: bool) -> str | None:
    """That a spread is not known, and of what if not of all."""
    if not alone:
        return None
    return f"one trial {'each' if every else f'of {first_of(alone, MOST_NAMED)}'}, spread not known"


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
    every = dict.fromkeys(codes)
    for word, rank in (("doubtful", "doubtful"), (withheld, "withheld")):
        own = [code for code in every if kind_of(code).rank == rank]
        if own:
            yield f"{word} ({first_of(view.marks.of(own), 2 * MOST_LETTERS, between=', ')})"


def _of_ends(view: Digest, group: Figure, spots: Iterable[Spot]) -> str:
    """What holds at both ends, or at each of them by its role; nothing where there is none of it."""
    spots = list(spots)
    found = {role: _of_end(view, group, [one for one, own in spots if own == role], role) for role in ENDS}
    said = {role: words for role, words in found.items() if words}
    if len(set(said.values())) < 2:
        return next(iter(said.values()), "")
    return ", ".join(f"{words} at the {role}" for role, words in said.items())


_VALUES: dict[Figure, Callable[[CaseSummary, Role], object]] = {
    "cpu": CaseSummary.cpu_cores,
    "power": lambda one, role: (power := one.power(role)) and power.values.get("system_w"),
    "above_idle": lambda one, role: (power := one.power(role)) and power.values.get("dynamic_w"),
}


def _of_end(view: Digest, group: Figure, cases: Sequence[CaseSummary], role: Role) -> str:
    """What holds of one end in these cases; nothing where nobody wanted to know."""
    known = [one for one in cases if _VALUES[group](one, role) is not None]
    codes = [code for one in cases for code in view.findings.doubts(one.case, group, role)]
    if not known:
        wanted = group != "cpu" and any(one.power(role) is not None for one in cases)
        withheld = [code for code in codes if kind_of(code).rank == "withheld"]
        return next(_doubtful(view, withheld, "withheld"), "not known" if wanted else "")
    powers = (one.power(role) for one in known) if group != "cpu" else ()
    unmeasured = provenance_words(one.system_provenance for one in powers if one is not None)
    alone = ["some cases" for one in known if one.trials_done == 1][:1]
    of_one_trial = _of_one_trial(alone, every=all(one.trials_done == 1 for one in known))
    return _joined(filter(None, (unmeasured, *_doubtful(view, codes))), of_one_trial, view)


def _doubts(view: Digest, told: Iterable[CaseSummary]) -> Iterator[Entry]:
    """The gravest reasons not to trust a figure shown, each with what to do; then what else was found."""
    cases = {one.case for one in told}
    here = [note for note in view.notes if cases & set(note.cases)]
    graves = [one for one in view.findings.every if one.kind.rank != "note" and cases & set(one.cases)]
    codes = {one.code for one in graves}
    grave = [note for note in here if note.code in codes]
    for note in grave:
        found = [one for one in graves if one.code == note.code]
        yield tuple(Line(f"({note.mark})", prose=said, style="yellow") for said in _doubt(note.title, found))
    for lead, others in (
        ("also found" if grave else "found", [note for note in here if note not in grave]),
        ("in other cases", [note for note in view.notes if note not in here]),
    ):
        if others:
            titles = ", ".join(note.title for note in others)
            yield (
                Line("", prose=f"{lead}: {titles}"),
                Line("", prose=f"{lead}: {plural(len(others), 'finding')}"),
            )


def _doubt(title: str, found: Sequence[Finding]) -> Iterator[str]:
    """What was seen of it in the cases shown, and what to do, in ever fewer words."""
    seen = found[0].sightings[0]
    more = sum(len(one.sightings) for one in found) - 1
    evidence = f"{seen.where}: {seen.evidence}{f' (and {more} more)' if more else ''}"
    advice = found[0].advice[0]
    yield f"{title}: {evidence}; do: {advice}"
    yield f"{title} ({seen.where}); do: {advice}"
    yield f"{title} ({seen.where})"
