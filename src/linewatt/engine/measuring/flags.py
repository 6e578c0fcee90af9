# SPDX-License-Identifier: Apache-2.0
"""Every check of a single trial, called. Pure: no number is changed by it."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from linewatt.engine.measuring.checks import (
    bonds,
    configuration,
    cpu,
    frequency,
    layout,
    load,
    network,
    outside,
    placement,
    plausibility,
    power,
    power_source,
    steadiness,
    warm_start,
    window,
)
from linewatt.engine.measuring.cut import Seen
from linewatt.model import Flag

Check = Callable[[Seen], Iterable[Flag]]
CHECKS: tuple[Check, ...] = (
    layout.check,
    load.check,
    window.check,
    steadiness.check,
    cpu.check,
    outside.check,
    frequency.check,
    placement.check,
    configuration.check,
    bonds.check,
    network.check,
    power.check,
    plausibility.check,
    power_source.check,
    warm_start.check,
)


def flags(seen: Seen, checks: Iterable[Check] | None = None) -> tuple[Flag, ...]:
    """Everything that makes a figure of this trial doubtful; ``checks`` in place of all of them."""
    return tuple(flag for check in (CHECKS if checks is None else checks) for flag in check(seen))
