# SPDX-License-Identifier: Apache-2.0
"""What loads of a soak counted in all, from the ends of each part: a course over many soaks needs no more.

Totals of loads begin at 0 with each part and every one of their readings is stored
(:mod:`linewatt.features.soak.recorder`), so a part's last reading of each is what it counted, and no chunk
between its first and its last has to be read. A host that fell silent on the way is looked for in earlier
chunks.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from linewatt.errors import StoreError
from linewatt.features.soak.storage import Chunk, Part
from linewatt.loads import SOAKING_LOADS
from linewatt.store import open_stored, warm_up_samples

USERS = "users"
MOVED = ("users.received_bytes", "users.sent_bytes", "load.received_bytes")
CPU = "users.cpu_s"


@dataclass(slots=True)
class LoadTotals:
    """Over all parts: seconds in which loads counted; host → channel → what it counted, in its unit."""

    load_s: float = 0.0
    counted: dict[str, dict[str, float]] = field(default_factory=dict)

    def sum(self, channels: Collection[str], hosts: Collection[str] | None = None) -> float:
        """Over these channels of these hosts, or of all."""
        return sum(
            value
            for host, values in self.counted.items()
            if hosts is None or host in hosts
            for channel, value in values.items()
            if channel in channels
        )


def load_totals(parts: Sequence[Part], needed: Collection[tuple[str, str]]) -> LoadTotals:
    """The totals of loads. ``needed`` are (host, source) that ran one: each of them is looked for.

    Raises StoreError where a chunk that is needed cannot be read.
    """
    totals = LoadTotals()
    for part in parts:
        values = _last_values(part, needed)
        if not values:
            continue
        totals.load_s += max(time_s for time_s, _ in values.values()) - _first_s(
            part, {key[1] for key in values}
        )
        for (host, _, channel), (_, value) in values.items():
            counted = totals.counted.setdefault(host, {})
            counted[channel] = counted.get(channel, 0.0) + value
    return totals


def _last_values(
    part: Part, needed: Collection[tuple[str, str]]
) -> dict[tuple[str, str, str], tuple[float, float]]:
    """Host, source and channel → time and value of its last reading."""
    last: dict[tuple[str, str, str], tuple[float, float]] = {}
    silent = set(needed)
    for paths in _portions(part.chunks[::-1]):
        for host, source, channel, time_s, value in _rows(_LAST, paths):
            last.setdefault((host, source, channel), (time_s, value))
            silent.discard((host, source))
        if last and not silent:
            break
    return last


def _first_s(part: Part, sources: Collection[str]) -> float:
    """When the first of these sources counted for the first time: a load is stored a segment at a time."""
    first_s: dict[str, float] = {}
    for paths in _portions(part.chunks):
        for source, time_s in _rows(_FIRST, paths):
            first_s.setdefault(source, time_s)
        if first_s.keys() >= set(sources):
            break
    return min(first_s.values())


def _portions(chunks: Sequence[Chunk]) -> Iterator[list[Path]]:
    """The first chunk, then the two after it, then four …: a long search takes few questions."""
    start, size = 0, 1
    while start < len(chunks):
        yield [chunk.samples for chunk in chunks[start : start + size]]
        start, size = start + size, 2 * size


def _rows(query: str, paths: Sequence[Path]) -> list[tuple[Any, ...]]:
    import duckdb

    try:
        for path in paths:
            open_stored(path).close()
        done = warm_up_samples().cursor().execute(query, {"files": [str(path) for path in paths]})
        return [tuple(row) for row in done.fetchall()]
    except (duckdb.Error, OSError) as error:
        why = getattr(error, "strerror", None) or str(error).splitlines()[0]
        raise StoreError(
            f"{paths[0]}: samples cannot be read: {why}; linewatt show goes on over damaged chunks"
        ) from error


_SOURCES = ", ".join(f"'{name}'" for name in (USERS, *SOAKING_LOADS))
_OF_LOADS = f"source IN ({_SOURCES}) AND kind = 'counter' AND value IS NOT NULL"
_FIRST = f"SELECT source, min(time_s) FROM read_parquet($files) WHERE {_OF_LOADS} GROUP BY source"  # noqa: S608 - text from here only
_LAST = f"""
SELECT host, source, channel, max(time_s), arg_max(value, time_s) FROM read_parquet($files)
WHERE {_OF_LOADS} GROUP BY host, source, channel
"""  # noqa: S608 - text from here only
