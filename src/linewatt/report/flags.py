# SPDX-License-Identifier: Apache-2.0
"""Every flag of a result, gathered into numbered notes that tables can point at."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from string import ascii_lowercase

from linewatt.analysis.summary import CaseSummary
from linewatt.findings import kind_of
from linewatt.model import Case, Flag, Trial


@dataclass(frozen=True, slots=True)
class Sighting:
    """One piece of evidence and the numbers of the trials that have it."""

    where: str
    evidence: str
    trials: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class FlagNote:
    """All flags of one code: how often, in which trials and cases, with all evidence and advice."""

    mark: str
    """footnote mark: ``a``, ``b``, … ``z``, ``aa``"""
    code: str
    count: int
    trials: tuple[int, ...]
    cases: tuple[Case, ...]
    sightings: tuple[Sighting, ...]
    advice: tuple[str, ...]

    @property
    def title(self) -> str:
        """The code in words: ``cpu-accounting-disagrees`` → ``CPU accounting disagrees``."""
        return kind_of(self.code).title


def flag_notes(trials: Iterable[Trial], cases: Iterable[CaseSummary] = ()) -> tuple[FlagNote, ...]:
    """One note per flag code, in order of first appearance; failed trials' flags too, and those of cases."""
    trials = tuple(trials)
    raised: dict[str, list[tuple[Trial, Flag]]] = {}
    for trial in trials:
        for flag in trial.flags:
            raised.setdefault(flag.code, []).append((trial, flag))
    of_trials = [_note(_mark(index), code, items) for index, (code, items) in enumerate(raised.items())]
    whole: dict[str, list[tuple[Case, Flag]]] = {}
    for summary in cases:
        for flag in summary.case_flags:
            whole.setdefault(flag.code, []).append((summary.case, flag))
    of_cases = (
        _case_note(_mark(index), code, items, trials)
        for index, (code, items) in enumerate(whole.items(), start=len(of_trials))
    )
    return (*of_trials, *of_cases)


def marks_by_code(notes: Iterable[FlagNote]) -> dict[str, str]:
    """Footnote mark of each flag code."""
    return {note.code: note.mark for note in notes}


def marks(codes: Iterable[str], by_code: Mapping[str, str]) -> tuple[str, ...]:
    """Footnote marks of some codes, in the order of the notes, each once."""
    return tuple(sorted({by_code[code] for code in codes}, key=lambda mark: (len(mark), mark)))


def _note(mark: str, code: str, items: Sequence[tuple[Trial, Flag]]) -> FlagNote:
    evidence: dict[tuple[str, str], dict[int, None]] = {}
    for trial, flag in items:
        evidence.setdefault((flag.where, flag.evidence), {})[trial.number] = None
    return FlagNote(
        mark=mark,
        code=code,
        count=len(items),
        trials=tuple(dict.fromkeys(trial.number for trial, _ in items)),
        cases=tuple(dict.fromkeys(trial.case for trial, _ in items)),
        sightings=tuple(Sighting(*what, tuple(numbers)) for what, numbers in evidence.items()),
        advice=tuple(dict.fromkeys(flag.advice for _, flag in items)),
    )


def _case_note(mark: str, code: str, items: Sequence[tuple[Case, Flag]], trials: Sequence[Trial]) -> FlagNote:
    """A note on cases as a whole: each counts once, and all its done trials show it."""
    numbers: dict[Case, tuple[int, ...]] = dict.fromkeys((case for case, _ in items), ())
    for one in trials:
        if one.status == "done" and one.case in numbers:
            numbers[one.case] += (one.number,)
    return FlagNote(
        mark=mark,
        code=code,
        count=len(items),
        trials=tuple(number for case, _ in items for number in numbers[case]),
        cases=tuple(case for case, _ in items),
        sightings=tuple(Sighting(flag.where, flag.evidence, numbers[case]) for case, flag in items),
        advice=tuple(dict.fromkeys(flag.advice for _, flag in items)),
    )


def _mark(index: int) -> str:
    letters = ""
    index += 1
    while index:
        index, digit = divmod(index - 1, len(ascii_lowercase))
        letters = ascii_lowercase[digit] + letters
    return letters


def number_ranges(numbers: Iterable[int]) -> str:
    """Trial numbers for people: ``1–3, 7``."""
    runs: list[list[int]] = []
    for number in sorted(set(numbers)):
        if runs and number == runs[-1][1] + 1:
            runs[-1][1] = number
        else:
            runs.append([number, number])
    return ", ".join(f"{first}–{last}" if last > first else f"{first}" for first, last in runs)
