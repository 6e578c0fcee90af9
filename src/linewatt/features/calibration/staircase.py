# SPDX-License-Identifier: Apache-2.0
"""What of a campaign file two meters are compared with: one load, up and down a staircase. Pure.

What is not about that is left out: other tests and pairs, factors, searches.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from linewatt.core.feature import further_trials
from linewatt.errors import InvalidInput

LEVELS = (0, 10, 25, 50, 75, 100)
"""Percent of the calibrated maximum. A host draws most of what a load adds at little load already."""
LEGS = 2
"""up, and down again"""
_NOT_COMPARED = (
    "factors",
    "design",
    "search",
    "rate",
    "zerocopy",
    "concurrent_pairs",
    "best_of",
    "seed",
    "energy",
)
_FIRST_OF = ("directions", "families", "networks")

Value = dict[str, Any]


def staircase(value: Value, host: str) -> Value:
    """The file with one test of one pair that ``host`` is in, at each level up and down.

    Raises InvalidInput where it has none.
    """
    for key in ("soak", "users"):
        if key in value:
            raise InvalidInput(
                f"{key}: two meters are compared over trials at several loads; leave out {key}"
            )
    if not value.get("tests"):
        raise InvalidInput("tests: names no test whose load two meters could be compared over; name one")
    no_figure = {trials.campaign_key for trials in further_trials()}
    settings = {
        key: setting for key, setting in value.items() if key not in _NOT_COMPARED and key not in no_figure
    }
    settings |= {key: settings[key][:1] for key in _FIRST_OF if isinstance(settings.get(key), list)}
    if isinstance(settings.get("pairs"), list):
        settings["pairs"] = [_pair_of(host, settings["pairs"])]
    settings["tests"] = [_test(value["tests"])]
    for key in ("instances", "streams"):
        if key in settings:
            settings[key] = _most(settings[key])
    return {**settings, "load_levels": list(LEVELS), "trials": LEGS, "order": "mirrored"}


def _pair_of(host: str, pairs: Sequence[Any]) -> Any:
    for pair in pairs:
        if host in re.split(r"\s*(?:\+|<->|->)\s*", str(pair).strip()):
            return pair
    raise InvalidInput(f"pairs: no pair contains {host}, so no load of this file makes it draw more")


def _test(tests: Any) -> Value:
    first = tests[0] if isinstance(tests, list) else tests
    test = dict(first) if isinstance(first, dict) else {"test": first}
    settings = {key: setting for key, setting in test.items() if key not in ("rate", "zerocopy")}
    return settings | {key: _most(settings[key]) for key in ("instances", "streams") if key in settings}


def _most(counts: Any) -> Any:
    """The largest number; ``auto``, which is searched, is 1."""
    if isinstance(counts, list):
        return [max(counts)] if counts and all(isinstance(count, int) for count in counts) else counts
    return counts if isinstance(counts, int) else 1
