# SPDX-License-Identifier: Apache-2.0
"""Samples as Parquet: one file a trial, a row a sample, NULL where a reading is missing.

A campaign of many pairs stores dozens of trials between two loads, so this is made to be quick: numbers go
to DuckDB as arrays, and the words of a channel, the same for all its samples, are joined there.
"""

from __future__ import annotations

import errno
import os
import threading
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, get_args

from linewatt import durable
from linewatt.declare import COUNT, NUMBER, TEXT, Schema, choice, maybe, record, said
from linewatt.errors import StoreError
from linewatt.model import Channel, ChannelKind, Provenance, Sample
from linewatt.store.stored_file import open_stored

SCHEMA_VERSION = 1
_WORDS = ("host", "source", "channel", "unit", "kind", "scope", "provenance")
_ROWS = f"""
SELECT {", ".join(_WORDS)}, time_s, span_s, if(isnan(value), NULL, value) AS value,
  CAST(reason AS VARCHAR) AS reason -- which has no type where no reading is missing
  {{trial}}
FROM numbers JOIN channels USING (channel_number) JOIN reasons USING (reason_number)
ORDER BY position
"""  # noqa: S608 - names from here only

_FORMAT = "FORMAT parquet, COMPRESSION zstd, WRITE_BLOOM_FILTER false"
"""of a few thousand rows, all in one group, which whoever looks for a value reads anyway"""

FULL = (errno.ENOSPC, errno.EDQUOT)
"""errors of a disk without room"""
_of_thread = threading.local()


@dataclass(frozen=True, slots=True)
class Column:
    """A column of a file of samples: its type in Parquet, as DuckDB calls it, and what it says."""

    name: str
    type: str
    meaning: str
    schema: Schema
    unit: str = ""

    @property
    def may_be_null(self) -> bool:
        return self.name in ("value", "reason")


def sample_columns() -> tuple[Column, ...]:
    """Of a trial's samples; those of a soak have all but the last."""
    time, span = (
        "The reading, Unix seconds on the controller's time line; of a mean the end of its span.",
        "s",
    )
    return (
        Column("host", "VARCHAR", "The host that it is of.", TEXT),
        Column("source", "VARCHAR", "The sensor, or the campaign's name of a source of power.", TEXT),
        Column("channel", "VARCHAR", "The quantity: docs/sensors.md and docs/loads.md list them.", TEXT),
        Column("unit", "VARCHAR", "That of `value`.", TEXT),
        Column(
            "kind", "VARCHAR", "`counter`: only differences mean something.", choice(*get_args(ChannelKind))
        ),
        Column("scope", "VARCHAR", "What it covers: `host`, `cpu:3`, `nic:data`, `psu-out:PSU1` …", TEXT),
        Column("provenance", "VARCHAR", "Whether it was measured.", choice(*get_args(Provenance))),
        Column("time_s", "DOUBLE", time, NUMBER, span),
        Column("span_s", "DOUBLE", "Over which it is; 0: at once.", NUMBER, span),
        Column("value", "DOUBLE", "The reading; NULL where it is missing.", NUMBER, "see `unit`"),
        Column("reason", "VARCHAR", "Why it is missing.", TEXT),
        Column("trial", "INTEGER", "The number of the trial; files of before it was stored lack it.", COUNT),
    )


def schema() -> Schema:
    """Of a row, as readers of Parquet have it."""
    keys = {
        f"{column.name}{'?' if column.name == 'trial' else ''}": said(
            maybe(column.schema) if column.may_be_null else column.schema, column.meaning
        )
        for column in sample_columns()
    }
    return record(keys, "A row of samples: one reading of one channel.")


@dataclass(frozen=True, slots=True)
class Origin:
    """Of what samples are, so that a file says it by itself: in its metadata, and its last column."""

    result: str
    trial: int | None = None
    """None: of no trial, but a while of a soak"""

    @property
    def column(self) -> str:
        """The column, as SQL has it."""
        return "" if self.trial is None else f", CAST({self.trial:d} AS INTEGER) AS trial"

    @property
    def metadata(self) -> dict[str, str]:
        """The keys and values that stand beside the schema in the file."""
        trial = {} if self.trial is None else {"linewatt.trial": f"{self.trial}"}
        return {"linewatt.schema_version": f"{SCHEMA_VERSION}", "linewatt.result": self.result, **trial}


@dataclass(frozen=True, slots=True)
class Series:
    """Samples of one source on one host."""

    host: str
    source: str
    channels: Mapping[str, Channel]
    samples: Iterable[Sample]


@cache
def warm_up_samples() -> Any:
    """The database that writes. The first call takes a quarter of a second: make it in good time."""
    import duckdb  # only whoever stores needs it

    return duckdb.connect(":memory:", config={"threads": 1})


def write_samples(path: Path, series: Sequence[Series], origin: Origin) -> None:
    """Write samples (zstd), and have them on disk. Several threads may do so at once.

    Raises OSError, also where DuckDB met it.
    """
    import duckdb

    if not hasattr(_of_thread, "cursor"):
        _of_thread.cursor = warm_up_samples().cursor()
    for name, table in _tables(series).items():
        _of_thread.cursor.register(name, table)
    rows = _ROWS.replace("{trial}", origin.column)
    about = ", ".join(f"{_quoted(key)}: {_quoted(value)}" for key, value in origin.metadata.items())
    try:
        _of_thread.cursor.execute(
            f"COPY ({rows}) TO {_quoted(str(path))} ({_FORMAT}, KV_METADATA {{{about}}})"
        )
    except duckdb.Error as error:
        number = next(
            (number_of_full for number_of_full in FULL if os.strerror(number_of_full) in str(error)),
            errno.EIO,
        )
        raise OSError(number, str(error).splitlines()[0] if number == errno.EIO else "") from error
    durable.sync_file(path)


def _quoted(text: str) -> str:
    """A text as SQL has it."""
    return "'" + text.replace("'", "''") + "'"


@dataclass(frozen=True, slots=True)
class Course:
    """A quantity of a host over a trial: ``points`` are (s, value), None where a reading is missing.

    ``name`` is the channel of watts, rates and RTT, and the scope of single CPUs; ``cpu``, ``frequency``,
    ``fan`` and ``retransmits`` are over all of the host's.
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
    OR (unit = 's' AND channel LIKE '%.sender.rtt\_s' ESCAPE '\')
  UNION ALL SELECT host, source, 'frequency', 'Hz', time_s, avg(value) FROM counted
  WHERE unit = 'Hz' GROUP BY ALL
  UNION ALL SELECT host, source, 'fan', 'rpm', time_s, max(value) FROM read_parquet($path)
  WHERE unit = 'rpm' GROUP BY ALL
  UNION ALL SELECT host, source, 'retransmits', 'segments', time_s, value FROM read_parquet($path)
  WHERE channel = 'nstat.TcpRetransSegs'
  UNION ALL SELECT host, source, 'cpu', 'cores', time_s,
    if(known = max(known) OVER (PARTITION BY host), value, NULL) FROM cpus
)
SELECT host, source, name, unit, list((time_s, value) ORDER BY time_s) FROM samples GROUP BY ALL ORDER BY ALL
"""


_BUSY_CPUS = r"""
WITH busy AS (
  SELECT host, source, scope, time_s, if(count(value) = count(*),
    sum(CASE WHEN channel LIKE '%.idle\_ratio' ESCAPE '\' THEN 1 - value ELSE -value END), NULL) AS value
  FROM read_parquet($path)
  WHERE regexp_full_match(channel, 'cpu[0-9]+[.](idle|iowait|steal)_ratio') GROUP BY ALL
)
SELECT host, source, scope, 'ratio', list((time_s, value) ORDER BY time_s) FROM busy GROUP BY ALL ORDER BY ALL
"""


def read_busy_cpus(path: Path) -> list[Course]:
    """1 − idle − iowait − steal of each CPU (``cpu:3``) over a trial; nothing where it is not stored.

    Raises StoreError when the file is damaged.
    """
    return _courses_of(_rows_of_file(path, _BUSY_CPUS))


_RATES = r"""
SELECT host, source, channel, unit, list((time_s, value) ORDER BY time_s) FROM read_parquet($path)
WHERE unit = 'bit/s' AND channel LIKE '%.throughput\_bps' ESCAPE '\' GROUP BY ALL ORDER BY ALL
"""


def read_rates(path: Path) -> list[Course]:
    """What the throughput of a trial's instances did; nothing where no samples are stored.

    A tenth of the time of :func:`read_courses`. Raises StoreError when the file is damaged.
    """
    return _courses_of(_rows_of_file(path, _RATES))


def read_courses(path: Path, cpus: Mapping[str, Sequence[int] | None]) -> list[Course]:
    """What a trial's throughput, RTT, CPUs, watts, fans, frequencies and retransmitted TCP segments did.

    Nothing where no samples are stored. The segments are the host's running count.

    CPU use is 1 − idle − iowait − steal of all CPUs of a host together, in cores: of those that ``cpus`` says
    are its own, where it says so, else of all it tells of. Frequency is their mean, a fan the fastest one.
    Raises StoreError when the file is damaged.
    """
    bound = [host for host, scopes in cpus.items() if scopes is not None]
    scopes = [f"{host} cpu:{cpu}" for host in bound for cpu in cpus[host] or ()]
    return _courses_of(_rows_of_file(path, _COURSES, own=scopes, bound=bound))


def _courses_of(rows: Any) -> list[Course]:
    return [Course(host, source, name, unit, tuple(points)) for host, source, name, unit, points in rows]


def read_channels(path: Path) -> dict[tuple[str, str, str], Channel]:
    """(host, source, channel) → what is stored of it; none where no samples are. Raises StoreError."""
    query = f"SELECT DISTINCT {', '.join(_WORDS)} FROM read_parquet($path)"  # noqa: S608 - names from here
    rows = _rows_of_file(path, query)
    return {(host, source, name): Channel(name, *words) for host, source, name, *words in rows}


def _rows_of_file(path: Path, query: str, **parameters: object) -> Any:
    """What a query gives of a file of samples; none without the file. Raises StoreError if it is damaged."""
    try:
        open_stored(path).close()  # DuckDB would wait for a pipe
    except FileNotFoundError:
        return []
    except OSError as error:
        raise StoreError(f"{path}: {error.strerror}") from error
    import duckdb

    try:
        return warm_up_samples().cursor().execute(query, {"path": str(path), **parameters}).fetchall()
    except duckdb.Error as error:
        raise StoreError(f"{path}: damaged: {str(error).splitlines()[0]}; move it away to go on") from error


def _tables(series: Sequence[Series]) -> dict[str, dict[str, Any]]:
    import numpy as np

    channels: list[tuple[str, ...]] = []
    reasons: dict[str | None, int] = {None: 0}
    columns: tuple[list[Any], ...] = [], [], [], [], []
    for source in series:
        times, names, values, spans, whys = tuple(zip(*source.samples, strict=True)) or ((),) * 5
        first = len(channels)
        numbers = {name: first + at for at, name in enumerate(dict.fromkeys(names))}
        channels += (_channel_row(source, source.channels[name]) for name in numbers)
        for why in dict.fromkeys(whys):
            reasons.setdefault(why, len(reasons))
        new_columns = map(numbers.__getitem__, names), map(reasons.__getitem__, whys), times, spans, values
        for column, new in zip(columns, new_columns, strict=True):
            column.extend(new)
    names = ("channel_number", "reason_number", "time_s", "span_s", "value")
    types = (np.int32, np.int32, float, float, float)
    return {
        "numbers": {
            "position": np.arange(len(columns[0])),
            **{
                name: np.array(column, dtype=kind)  # a value of None becomes NaN
                for name, column, kind in zip(names, columns, types, strict=True)
            },
        },
        "channels": {
            "channel_number": np.arange(len(channels), dtype=np.int32),
            **{
                word: np.array([words[i] for words in channels], dtype=object)
                for i, word in enumerate(_WORDS)
            },
        },
        "reasons": {
            "reason_number": np.arange(len(reasons), dtype=np.int32),
            "reason": np.array(list(reasons), dtype=object),
        },
    }


def _channel_row(series: Series, channel: Channel) -> tuple[str, ...]:
    return (
        series.host,
        series.source,
        channel.name,
        channel.unit,
        channel.kind,
        channel.scope,
        channel.provenance,
    )
