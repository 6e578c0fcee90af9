# SPDX-License-Identifier: Apache-2.0
"""Meters that stood still in a soak although the CPUs of their host did not."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from linewatt.features.soak.cpus import cpus_used
from linewatt.features.soak.digest import Soak
from linewatt.findings import CARRIES_W, SCOPES_THAT_FOLLOW_THE_CPU, SWUNG_CORES, SWUNG_RATIO
from linewatt.model import Flag

FEWEST_READINGS = 24
"""of a meter, and slices in which CPUs were read"""
_ENDS = 0.1
"""of the slices are left out on either side: one that is odd is no swing"""


def frozen(soak: Soak) -> Iterator[Flag]:
    """A flag for each channel of power that read one value all through a soak in which CPU use swung."""
    for series_info in soak.series:
        if series_info.unit != "W" or series_info.scope.partition(":")[0] not in SCOPES_THAT_FOLLOW_THE_CPU:
            continue
        value_w = _only_value(soak, series_info.number)
        if value_w is None or series_info.rows - series_info.missing < FEWEST_READINGS:
            continue
        if (
            series_info.scope.startswith("psu") and value_w < CARRIES_W
        ):  # it stands by, and another carries the host
            continue
        swung = _swing(soak, series_info.host)
        if swung is None:
            continue
        low, high = swung
        yield Flag(
            "power-frozen",
            f"{series_info.host}: {series_info.source} {series_info.channel}",
            f"reads {value_w:g} W all the soak; {series_info.host} used {low:.2f} to {high:.2f} "
            f"cores meanwhile",
            "do not use this figure; restart the BMC or meter, and see whether it follows a load",
        )


def _only_value(soak: Soak, number: int) -> float | None:
    """What every reading of a series was, W; None where they differ, or show nothing."""
    keys = [(part.number, number) for part in soak.parts]
    counted = [soak.scan.totals[key] for key in keys if key in soak.scan.totals]
    least_w = min((series_total.least for series_total in counted), default=0.0)
    greatest = max((series_total.greatest for series_total in counted), default=0.0)
    return least_w if least_w == greatest > 0 else None


def _swing(soak: Soak, host: str) -> tuple[float, float] | None:
    """Cores in use of a host in little and in much used slices; None where both are much the same."""
    cpu_use = cpus_used(soak, soak.roles.side(host), host)
    cores = sorted(value for value in cpu_use.cores if value is not None) if cpu_use is not None else []
    if cpu_use is None or len(cores) < FEWEST_READINGS:
        return None
    low, high = _within(cores)
    return (low, high) if high - low > max(SWUNG_CORES, SWUNG_RATIO * cpu_use.cpus) else None


def _within(ordered: Sequence[float]) -> tuple[float, float]:
    at = int(_ENDS * len(ordered))
    return ordered[at], ordered[-1 - at]
