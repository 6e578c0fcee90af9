# SPDX-License-Identifier: Apache-2.0
"""Samples as Parquet: one file a trial, a row a sample, NULL where a reading is missing.

A campaign of many pairs stores dozens of trials between two loads, so this is made to be quick: the words of
a channel, the same for all its samples, are looked up once.
"""

from __future__ import annotations

import errno
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from linewatt import __version__, durable
from linewatt.errors import StoreError
from linewatt.model import Channel, Sample
from linewatt.store import parquet

_WORDS = ("host", "source", "channel", "unit", "kind", "scope", "provenance")

FULL = (errno.ENOSPC, errno.EDQUOT)
"""errors of a disk without room"""


@dataclass(frozen=True, slots=True)
class Series:
    """Samples of one source on one host."""

    host: str
    source: str
    channels: Mapping[str, Channel]
    samples: Iterable[Sample]


@cache
def database() -> Any:
    """The database that reads. The first call takes a quarter of a second."""
    import duckdb  # only whoever reads samples needs it

    return duckdb.connect(":memory:", config={"threads": 1})


def warm_up() -> None:
    """Import what storing needs: no load should meet it."""
    encoded(())


def write_samples(path: Path, series: Sequence[Series]) -> None:
    """Write samples, and have them on disk. Raises OSError."""
    durable.write_synced(path, encoded(series))


def encoded(series: Sequence[Series]) -> bytes:
    """Samples as Parquet, those of a channel together. Several threads may do so at once."""
    import numpy as np

    channels: list[tuple[str, ...]] = []
    reasons: dict[str | None, int] = {None: -1}
    columns: tuple[list[Any], ...] = [], [], [], [], []
    for one in series:
        times, names, values, spans, whys = tuple(zip(*one.samples, strict=True)) or ((),) * 5
        first = len(channels)
        number_of = {name: first + at for at, name in enumerate(dict.fromkeys(names))}
        channels += (_words(one, one.channels[name]) for name in number_of)
        for why in dict.fromkeys(whys):
            reasons.setdefault(why, len(reasons) - 1)
        own = map(number_of.__getitem__, names), map(reasons.__getitem__, whys), times, spans, values
        for column, new in zip(columns, own, strict=True):
            column.extend(new)
    kinds = (np.int32, np.int32, float, float, float)  # a value of None becomes NaN
    arrays = [np.array(column, kind) for column, kind in zip(columns, kinds, strict=True)]
    order = np.argsort(arrays[0], kind="stable")
    channel_of, reason_of, time_s, span_s, value = (array[order] for array in arrays)
    words = zip(*channels, strict=True) if channels else ((),) * len(_WORDS)
    return parquet.file_of(
        [
            *(_of_channels(name, of_each, channel_of) for name, of_each in zip(_WORDS, words, strict=True)),
            parquet.column_of("time_s", time_s),
            parquet.column_of("span_s", span_s),
            parquet.column_of("value", value, nullable=True),
            # an empty dictionary is what fastparquet cannot read
            parquet.Column("reason", [*reasons][1:] or [""], reason_of, nullable=True),
        ],
        f"linewatt {__version__}",
    )


@dataclass(frozen=True, slots=True)
class Course:
    """A quantity of a host over a trial: ``points`` are (s, value), None where a reading is missing.

    ``name`` is the channel of watts and rates; ``cpu``, ``frequency`` and ``fan`` are over all of the host's.
    """

    host: str
    source: str
    name: str
    unit: str
    points: tuple[tuple[float, float | None], ...]


_COURSES = r"""
WITH counted AS (
  SELECT * FROM read_parquet($path) WHERE scope LIKE 'cpu:%'
  AND (list_contains($own, host || ' ' || scope) OR NOT list_contains($bound, host))
), cpus AS (
  SELECT host, source, time_s, count(*) AS known, if(count(value) = count(*),
    sum(CASE WHEN channel LIKE '%.idle\_ratio' ESCAPE '\' THEN 1 - value ELSE -value END), NULL) AS value
  FROM counted WHERE regexp_full_match(channel, 'cpu[0-9]+[.](idle|iowait|steal)_ratio')
  GROUP BY ALL
), samples AS (
  SELECT host, source, channel AS name, unit, time_s, value FROM read_parquet($path)
  WHERE unit = 'W' OR (unit = 'bit/s' AND channel LIKE '%.throughput\_bps' ESCAPE '\')
  UNION ALL SELECT host, source, 'frequency', 'Hz', time_s, avg(value) FROM counted
  WHERE unit = 'Hz' GROUP BY ALL
  UNION ALL SELECT host, source, 'fan', 'rpm', time_s, max(value) FROM read_parquet($path)
  WHERE unit = 'rpm' GROUP BY ALL
  UNION ALL SELECT host, source, 'cpu', 'cores', time_s,
    if(known = max(known) OVER (PARTITION BY host), value, NULL) FROM cpus
)
SELECT host, source, name, unit, list((time_s, value) ORDER BY time_s) FROM samples GROUP BY ALL ORDER BY ALL
"""


def read_courses(path: Path, cpus: Mapping[str, Sequence[int] | None]) -> list[Course]:
    """What a trial's throughput, CPUs, watts, fans and frequencies did; nothing where no samples are stored.

    CPU use is 1 − idle − iowait − steal of all CPUs of a host together, in cores: of those that ``cpus`` says
    are its own, where it says so, else of all it tells of. Frequency is their mean, a fan the fastest one.
    Raises StoreError when the file is damaged.
    """
    if not path.exists():
        return []
    import duckdb

    bound = [host for host, scopes in cpus.items() if scopes is not None]
    scopes = [f"{host} cpu:{cpu}" for host in bound for cpu in cpus[host] or ()]
    wanted = {"path": str(path), "own": scopes, "bound": bound}
    try:
        rows = database().cursor().execute(_COURSES, wanted).fetchall()
    except duckdb.Error as error:
        raise StoreError(f"{path}: damaged: {str(error).splitlines()[0]}; move it away to go on") from error
    return [Course(host, source, name, unit, tuple(points)) for host, source, name, unit, points in rows]


def read_channels(path: Path) -> dict[tuple[str, str, str], Channel]:
    """(host, source, channel) → what is stored of it; none where no samples are. Raises StoreError."""
    if not path.exists():
        return {}
    import duckdb

    rows = f"SELECT DISTINCT {', '.join(_WORDS)} FROM read_parquet(?)"  # noqa: S608 - names from here only
    try:
        named_rows = database().cursor().execute(rows, [str(path)]).fetchall()
    except duckdb.Error as error:
        raise StoreError(f"{path}: damaged: {str(error).splitlines()[0]}; move it away to go on") from error
    return {(host, source, name): Channel(name, *words) for host, source, name, *words in named_rows}


def _of_channels(name: str, words: Sequence[str], channel_of: Any) -> parquet.Column:
    """What each sample's channel is called, its unit or another word of it."""
    import numpy as np

    number_of = {word: number for number, word in enumerate(dict.fromkeys(words))}
    numbers = np.array([number_of[word] for word in words], np.int32)
    return parquet.Column(name, [*number_of], numbers[channel_of])


def _words(series: Series, channel: Channel) -> tuple[str, ...]:
    return (
        series.host,
        series.source,
        channel.name,
        channel.unit,
        channel.kind,
        channel.scope,
        channel.provenance,
    )
