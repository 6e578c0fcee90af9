# SPDX-License-Identifier: Apache-2.0
"""Trials that began while a host was still warmer than idle, or nobody knows. Pure."""

from __future__ import annotations

from collections.abc import Iterator

from linewatt.engine.measuring.cut import Seen
from linewatt.model import Flag


def check(seen: Seen) -> Iterator[Flag]:
    """Both ends, where the campaign lets hosts cool down."""
    for end in seen.ends:
        why = seen.cut.run.warm.get(end.host)
        if why is not None:
            yield Flag(
                "not-cool",
                end.host,
                why,
                "raise rest.limit, find what keeps the host warm, or leave rest out",
            )
