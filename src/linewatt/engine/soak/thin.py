# SPDX-License-Identifier: Apache-2.0
"""Totals that stand still, left out: of a run of equal values only the first and the last are kept. Pure.

So a chunk says when a total began and ceased to stand still, and every difference is as it was.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from linewatt.model import Channel, Sample


def thinned(samples: Iterable[Sample], channels: Mapping[str, Channel]) -> Iterator[Sample]:
    """The samples of one source, those of one channel in order of time; missing ones all stay."""
    last: dict[str, float | None] = {}
    held: dict[str, Sample] = {}
    for sample in samples:
        name = sample.channel
        if channels[name].kind != "counter":
            yield sample
        elif name in last and sample.value is not None and sample.value == last[name]:
            held[name] = sample
        else:
            if (before := held.pop(name, None)) is not None:
                yield before
            last[name] = sample.value
            yield sample
    yield from held.values()
