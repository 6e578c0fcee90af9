# SPDX-License-Identifier: Apache-2.0
"""What makes figures above idle doubtful: idle drifted, never settled, or was above the load. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from linewatt.analysis.power.summary import EndPower
from linewatt.model import Flag


def idle_flags(ends: Iterable[EndPower | None]) -> Iterator[Flag]:
    """Flags of the ends of a case; ``where`` begins with their host."""
    for end in ends:
        if end is not None:
            yield from _flags(end)


def _flags(end: EndPower) -> Iterator[Flag]:
    if end.idle_drift is not None:
        yield Flag(
            "idle-drifted",
            end.host,
            f"{end.idle_drift}; nothing is told above idle",
            "let the host warm up and settle, lengthen idle.seconds, find out what else changed (fans, "
            "a job, a power setting), and measure again",
        )
    if end.idle_doubt is not None:
        yield Flag(
            "idle-not-settled",
            end.host,
            f"when an idle window began, {end.idle_doubt}",
            "find what runs there (top, systemd timers) and stop it, or lengthen idle.seconds",
        )
    above, bound = end.dynamic_w, end.dynamic_uncertainty_w
    if above is not None and bound is not None and end.idle_w is not None and above.mean + bound.mean < 0:
        yield Flag(
            "power-below-idle",
            end.host,
            f"{end.idle_w.mean + above.mean:.1f} W under load, {end.idle_w.mean:.1f} W idle: "
            f"{-above.mean:.1f} W less, and the readings are good to ± {bound.mean:.1f} W",
            "compare the raw readings of idle and load: a meter that stands still, a power cap, fans, or "
            "a job that ran only while idle",
        )
