# SPDX-License-Identifier: Apache-2.0
"""Every kind of finding, by its code; docs/findings.md is made from here (:mod:`linewatt.findings.page`)."""

from __future__ import annotations

from functools import cache

from linewatt.core import third_party
from linewatt.core.feature import installed_features
from linewatt.findings import (
    cpu,
    idle,
    layout,
    limits,
    load,
    meters,
    network,
    outside,
    paths,
    placement,
    power,
    steadiness,
    verdict,
    window,
)
from linewatt.findings.kinds import Kind

CORE_ROOMS: dict[str, tuple[Kind, ...]] = {
    "Layout": layout.KINDS,
    "Load": load.KINDS,
    "Window": window.KINDS,
    "Steadiness": steadiness.KINDS,
    "CPU": cpu.KINDS,
    "Limits from outside": outside.KINDS,
    "Placement and settings": placement.KINDS,
    "Network": network.KINDS,
    "Settings and paths": paths.KINDS,
    "Power": power.KINDS,
    "Meters": meters.KINDS,
    "Idle": idle.KINDS,
    "Limits": limits.KINDS,
    "Runs and verdicts": verdict.KINDS,
}
"""heading → kinds, in the order of the document; those of features follow"""


@cache
def rooms() -> dict[str, tuple[Kind, ...]]:
    """Heading → kinds, also those of features. Raises InvalidInput for a feature's that cannot be imported."""
    declared = [findings for item in installed_features() for findings in item.feature.findings]
    return CORE_ROOMS | {
        findings.heading: third_party.load(findings.path, f"findings {findings.heading!r}")
        for findings in declared
    }


@cache
def catalogue() -> dict[str, Kind]:
    """Every kind by its code."""
    return {kind.code: kind for kinds in rooms().values() for kind in kinds}


def kind_of(code: str) -> Kind:
    """The kind of a code; one that no longer is, or is of a newer linewatt, is taken for doubtful."""
    unknown = "this linewatt does not know it: another version raised it"
    return catalogue().get(code) or Kind(
        code, "doubtful", "trial", ("throughput", "cpu", "power"), unknown, unknown, unknown
    )
