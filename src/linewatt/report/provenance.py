# SPDX-License-Identifier: Apache-2.0
"""How watts that were not measured as they are shown are marked: a word in the heading and one at each
number, everywhere."""

from __future__ import annotations

from collections.abc import Iterable

from linewatt.analysis.power import PROVENANCE_WEIGHT
from linewatt.model import Provenance

_MARKS: dict[Provenance, str] = {
    "corrected": "cal",
    "datasheet": "sheet",
    "estimate": "est",
    "simulated": "sim",
}
PROVENANCE_WORDS: dict[Provenance, str] = {
    "measured": "measured",
    "corrected": "corrected",
    "datasheet": "from datasheet",
    "estimate": "estimated",
    "simulated": "simulated",
}
_MEANINGS: dict[Provenance, str] = {
    "corrected": "corrected by a calibration of its meter; the figure as read is stored, too",
    "datasheet": "taken from a datasheet, not measured",
    "estimate": "estimated, not measured",
    "simulated": "simulated, not measured",
}


def provenance_mark(provenance: Provenance | None) -> str | None:
    """What stands behind a number: ``sim``, ``est``, ``sheet``; nothing behind a measured one."""
    return None if provenance is None else _MARKS.get(provenance)


def provenance_words(provenances: Iterable[Provenance | None]) -> str:
    """What a heading says of numbers of these provenances: ``simulated``, ``partly estimated``, or ""."""
    known_provenances = {provenance for provenance in provenances if provenance is not None}
    doubtful = sorted(known_provenances - {"measured"}, key=PROVENANCE_WEIGHT.__getitem__)
    doubts = ", ".join(PROVENANCE_WORDS[provenance] for provenance in doubtful)
    return f"partly {doubts}" if doubts and "measured" in known_provenances else doubts


def provenance_legend(provenances: Iterable[Provenance | None]) -> tuple[str, ...]:
    """What the marks mean, a line each."""
    marked_provenances = {provenance for provenance in provenances if provenance in _MARKS}
    return tuple(
        f"{_MARKS[provenance]}: {meaning}"
        for provenance, meaning in _MEANINGS.items()
        if provenance in marked_provenances
    )
