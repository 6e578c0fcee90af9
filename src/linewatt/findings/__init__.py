# SPDX-License-Identifier: Apache-2.0
"""Every kind of finding, by its code; docs/findings.md is made from here (:mod:`linewatt.findings.page`)."""

from __future__ import annotations

from linewatt.findings import (
    cpu,
    idle,
    imports,
    layout,
    limits,
    load,
    meters,
    network,
    paths,
    placement,
    power,
    soak,
    steadiness,
    verdict,
    window,
)
from linewatt.findings.kinds import RANKS as RANKS
from linewatt.findings.kinds import Figure as Figure
from linewatt.findings.kinds import Kind as Kind
from linewatt.findings.kinds import Rank as Rank
from linewatt.findings.kinds import Scope as Scope

ROOMS: dict[str, tuple[Kind, ...]] = {
    "Layout": layout.KINDS,
    "Load": load.KINDS,
    "Window": window.KINDS,
    "Steadiness": steadiness.KINDS,
    "CPU": cpu.KINDS,
    "Placement and settings": placement.KINDS,
    "Network": network.KINDS,
    "Settings and paths": paths.KINDS,
    "Power": power.KINDS,
    "Meters": meters.KINDS,
    "Idle": idle.KINDS,
    "Limits": limits.KINDS,
    "Runs and verdicts": verdict.KINDS,
    "Soaks": soak.KINDS,
    "Imports": imports.KINDS,
}
"""heading → kinds, in the order of the document"""

CATALOGUE: dict[str, Kind] = {kind.code: kind for kinds in ROOMS.values() for kind in kinds}


def kind_of(code: str) -> Kind:
    """The kind of a code; one that no longer is, or is of a newer linewatt, is taken for doubtful."""
    unknown = "this linewatt does not know it: another version raised it"
    return CATALOGUE.get(code) or Kind(
        code, "doubtful", "trial", ("throughput", "cpu", "power"), unknown, unknown, unknown
    )
