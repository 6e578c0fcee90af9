# SPDX-License-Identifier: Apache-2.0
"""A matrix of hosts: the cases that differ in their two hosts only, by sender and receiver. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from linewatt.analysis.cases.summary import CaseSummary
from linewatt.model import Case

LEAST_PAIRS = 3
"""Ordered pairs from which a matrix shows more than a table of cases does."""


@dataclass(frozen=True, slots=True)
class Matrix:
    """Cases alike but for their hosts. ``case`` is theirs without hosts.

    ``cells`` maps (sender, receiver) to what its trials say; a pair that was not run is not in it.
    """

    case: Case
    hosts: tuple[str, ...]
    cells: Mapping[tuple[str, str], CaseSummary]

    @property
    def missing(self) -> tuple[tuple[str, str], ...]:
        """Ordered pairs that were not run."""
        return tuple(
            (sender, receiver)
            for sender in self.hosts
            for receiver in self.hosts
            if sender != receiver and (sender, receiver) not in self.cells
        )


def pair_matrices_of(summaries: Sequence[CaseSummary], order: Sequence[str] = ()) -> tuple[Matrix, ...]:
    """A matrix for each set of parameters; none when the summaries have fewer than 3 ordered pairs.

    Hosts are those of all summaries, so that matrices of one result line up, in ``order`` and then as they
    appear. Load levels are left out, and pairs that run at once.
    """
    full = [
        summary for summary in summaries if summary.case.load_level is None and summary.case.shape is None
    ]
    pairs = {summary.case.hosts for summary in full}
    if len(pairs) < LEAST_PAIRS:
        return ()
    taking_part = dict.fromkeys(host for summary in full for host in summary.case.hosts)
    hosts = tuple(dict.fromkeys([*(name for name in order if name in taking_part), *taking_part]))
    cells: dict[Case, dict[tuple[str, str], CaseSummary]] = {}
    for summary in full:
        hostless = replace(summary.case, sender="", receiver="")
        cells.setdefault(hostless, {})[summary.case.sender, summary.case.receiver] = summary
    return tuple(Matrix(case, hosts, cell) for case, cell in cells.items())


def fullest_matrix(pair_matrices: Sequence[Matrix]) -> tuple[Matrix, ...]:
    """Of matrices that differ in instances only, the one with most of them."""
    best: dict[Case, Matrix] = {}
    for matrix in pair_matrices:
        key = matrix.case.single
        if key not in best or matrix.case.instances > best[key].case.instances:
            best[key] = matrix
    return tuple(best.values())
