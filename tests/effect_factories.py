# SPDX-License-Identifier: Apache-2.0
"""Synthetic factor experiments with known effects, for the tests of what reads them."""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from tests.report_factories import result, trial

from linewatt.campaign.design import Design, settings_of_design
from linewatt.model import Case, TestName, Trial
from linewatt.store.read import Result

SWEEP: Mapping[str, tuple[str, ...]] = {"mtu": ("1500", "9000"), "gro": ("on", "off"), "rps": ("off", "irq")}
BASE_BPS = 20e9


def known(levels: Mapping[str, str]) -> float:
    """Throughput as a part of the base's: MTU 9000 + 6 %, no GRO − 20 %, RPS nothing."""
    return (1.06 if levels.get("mtu") == "9000" else 1.0) * (0.8 if levels.get("gro") == "off" else 1.0)


def spread(trials: int, cv: float, draw: random.Random) -> list[float]:
    """Factors of ``trials`` runs with exactly this CV and mean logarithm 0, in random order."""
    if trials == 1:
        return [1.0]
    steps = [at - (trials - 1) / 2 for at in range(trials)]
    unit = math.sqrt(sum(step**2 for step in steps) / (trials - 1))
    draw.shuffle(steps)
    return [math.exp(cv * step / unit) for step in steps]


def experiment_trials(
    design: Design = "one-at-a-time",
    *,
    factors: Mapping[str, Sequence[str]] = SWEEP,
    effect: Callable[[Mapping[str, str]], float] = known,
    trials: int = 3,
    cv: float = 0.004,
    test: TestName = "tcp",
    instances: int = 1,
    **changes: Any,
) -> tuple[Trial, ...]:
    """Every setting of the design ``trials`` times, in the order of an interleaved campaign."""
    draw = random.Random(4)  # noqa: S311
    chosen = settings_of_design(factors, design)
    runs = {setting: spread(trials, cv, draw) for setting in chosen}
    made: list[Trial] = []
    for at in range(trials):
        for setting in chosen:
            case = Case(test, "h1", "h2", instances=instances, factors=setting)
            bps = BASE_BPS * effect(dict(setting)) * runs[setting][at]
            made.append(trial(len(made) + 1, case, bps, 1.5, repetition=at + 1, **changes))
    return tuple(made)


def experiment_result(
    trials: Sequence[Trial],
    design: Design = "one-at-a-time",
    factors: Mapping[str, Sequence[str]] = SWEEP,
) -> Result:
    """Such trials as a stored result: its manifest has the campaign's factors and design."""
    campaign = {"factors": {name: list(levels) for name, levels in factors.items()}, "design": design}
    return result(trials, campaign=campaign)
