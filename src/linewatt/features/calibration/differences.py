# SPDX-License-Identifier: Apache-2.0
"""How the watts of two sides of a comparison were corrected, where that differs. Pure."""

from __future__ import annotations

from collections.abc import Iterator

from linewatt.analysis.cases import PER_WATT
from linewatt.analysis.comparison import Beside, Ends, text_of_sides
from linewatt.features.calibration.stored import calibrations_used
from linewatt.model import Role


def corrections_differ(ends: Ends, role: Role, hosts: tuple[str, str]) -> Iterator[Beside]:
    """Watts that a calibration corrects on one side alone, or another one on each."""
    base, new = (
        {
            source: used.name
            for (name, source), used in calibrations_used(side.campaign).items()
            if name == host
        }
        for side, host in zip(ends.sides, hosts, strict=True)
    )
    for source in dict.fromkeys([*base, *new]):
        if base.get(source) != new.get(source):
            difference = text_of_sides(ends.sides, base.get(source), new.get(source), _correction_text)
            yield Beside(f"calibration of {source}", f"watts of {source}: {difference}", PER_WATT[role].name)


def _correction_text(name: object) -> str:
    return "as read" if name is None else f"corrected by {name}"
