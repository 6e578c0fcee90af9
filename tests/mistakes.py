# SPDX-License-Identifier: Apache-2.0
"""The form of what a bad file is refused with: a line a mistake, each with its place."""

from __future__ import annotations

import re

_PLACE = re.compile(r"\S+:\d+:\d+: .")
_MORE = re.compile(r"and \d+ more")


def assert_one_line_each(text: str) -> None:
    """Several mistakes have a line with a place each, and the last line may count those not printed."""
    *mistakes, last = text.split("\n")
    for mistake in mistakes:
        assert _PLACE.match(mistake), text
    assert not mistakes or _PLACE.match(last) or _MORE.fullmatch(last), text
