# SPDX-License-Identifier: Apache-2.0
"""Fans and temperatures of the hosts over the cases, beside their watts."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from linewatt.analysis.power.beside import DEGREES, FAN_CHANGED
from linewatt.model import Case
from linewatt.report.table import Note
from linewatt.report.trials.digest import Digest

TITLE = "Fans and temperatures"

_Means = Mapping[Case, Mapping[str, float]]
"""case → readings by name and unit"""


def thermal_notes(view: Digest) -> tuple[Note, ...]:
    """A line a host: between what its fans and temperatures were, the means of its cases."""
    by_host: dict[str, dict[Case, Mapping[str, float]]] = {}
    for summary in view.summaries:
        for end in (summary.sender_power, summary.receiver_power):
            if end is not None and end.beside:
                by_host.setdefault(end.host, {})[summary.case] = end.beside
    return tuple(Note("remark", "; ".join(_said(view, means)), host) for host, means in by_host.items())


def _said(view: Digest, means: _Means) -> Iterator[str]:
    for unit, kind in (("rpm", "fans"), (DEGREES, "temperatures")):
        values = [
            (value, name.removesuffix(f" ({unit})"), case)
            for case, own in means.items()
            for name, value in own.items()
            if name.endswith(f"({unit})")
        ]
        if not values:
            continue
        low, high = min(values, key=lambda one: one[0]), max(values, key=lambda one: one[0])
        if high[0] - low[0] <= FAN_CHANGED * low[0]:
            yield f"{kind} at {low[0]:,.0f} to {high[0]:,.0f} {unit} in all cases"
        else:
            yield (
                f"{kind} from {low[0]:,.0f} {unit} ({low[1]}, {view.describe(low[2])}) to "
                f"{high[0]:,.0f} {unit} ({high[1]}, {view.describe(high[2])})"
            )
