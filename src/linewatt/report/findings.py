# SPDX-License-Identifier: Apache-2.0
"""Findings as tables and pages show them: a note a kind under a letter, letters at rows and figures."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from string import ascii_lowercase

from linewatt.analysis import Finding, Findings, merge_sightings
from linewatt.findings import Figure, Rank
from linewatt.model import Case, Role


@dataclass(frozen=True, slots=True)
class FindingNote(Finding):
    """All findings of one kind as one, with all evidence and advice."""

    mark: str = ""
    """footnote mark: ``a``, ``b``, … ``z``, ``aa``"""
    count: int = 0
    """how many there are"""

    @property
    def title(self) -> str:
        return self.kind.title

    @property
    def rank(self) -> Rank:
        return self.kind.rank

    @property
    def concerns(self) -> str:
        """What it is doubtful about: ``throughput, CPU``; nothing for a note."""
        return ", ".join(FIGURE_WORDS[figure] for figure in self.kind.figures)


FIGURE_WORDS: dict[Figure, str] = {
    "throughput": "throughput",
    "cpu": "CPU",
    "power": "power",
    "above_idle": "figures above idle",
    "comparison": "comparisons",
}


def finding_notes(findings: Findings) -> tuple[FindingNote, ...]:
    """One note a kind, the gravest first."""
    by_code: dict[str, list[Finding]] = {}
    for finding in findings.every:
        by_code.setdefault(finding.code, []).append(finding)
    return tuple(_note(_mark(at), members) for at, members in enumerate(by_code.values()))


def _note(mark: str, members: Sequence[Finding]) -> FindingNote:
    return FindingNote(
        kind=members[0].kind,
        sightings=merge_sightings(seen for member in members for seen in member.sightings),
        trials=tuple(dict.fromkeys(number for member in members for number in member.trials)),
        cases=tuple(dict.fromkeys(case for member in members for case in member.cases)),
        advice=tuple(dict.fromkeys(advice for member in members for advice in member.advice)),
        mark=mark,
        count=len(members),
    )


@dataclass(frozen=True, slots=True)
class Marks:
    """The letters of notes, where they belong."""

    findings: Findings = field(default_factory=Findings)
    letters: Mapping[str, str] = field(default_factory=dict)
    """code → letter"""

    def of(self, codes: Iterable[str]) -> tuple[str, ...]:
        """Letters of some codes, in the order of the notes, each once."""
        letters = {self.letters[code] for code in codes if code in self.letters}
        return tuple(sorted(letters, key=lambda mark: (len(mark), mark)))

    def row(self, case: Case) -> tuple[str, ...]:
        """What concerns a case."""
        return self.of(finding.code for finding in self.findings.of(case))

    def cell(self, case: Case, figure: Figure | None, role: Role | None = None) -> tuple[str, ...]:
        """What makes one figure of a case doubtful."""
        return () if figure is None else self.of(self.findings.doubts(case, figure, role))


NO_MARKS = Marks()


def marks_of(findings: Findings, notes: Sequence[FindingNote]) -> Marks:
    """The letters of these notes."""
    return Marks(findings, {note.code: note.mark for note in notes})


def letter_ranges(letters: Sequence[str]) -> str:
    """Letters of notes in few characters: ``a, c–f``."""
    runs: list[list[str]] = []
    for letter in letters:
        if runs and len(letter) == len(runs[-1][-1]) == 1 and ord(letter) == ord(runs[-1][-1]) + 1:
            runs[-1].append(letter)
        else:
            runs.append([letter])
    parts = ([f"{run[0]}–{run[-1]}"] if len(run) > 2 else run for run in runs)
    return ", ".join(part for run_parts in parts for part in run_parts)


def _mark(index: int) -> str:
    letters = ""
    index += 1
    while index:
        index, digit = divmod(index - 1, len(ascii_lowercase))
        letters = ascii_lowercase[digit] + letters
    return letters
