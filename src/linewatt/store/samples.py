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
from typing import Any

from linewatt import durable
from linewatt.errors import StoreError
from linewatt.model import Channel, Provenance, Sample

_WORDS = ("host", "source", "channel", "unit", "kind", "scope", "provenance")
_ROWS = f"""
SELECT {", ".join(_WORDS)}, time_s, span_s, if(isnan(value), NULL, value) AS value,
  CAST(reason AS VARCHAR) AS reason -- which has no type where no reading is missing
FROM numbers JOIN channels USING (channel_number) JOIN reasons USING (reason_number)
ORDER BY position
"""  # noqa: S608 - names from here only

FULL = (errno.ENOSPC, errno.EDQUOT)
"""errors of a disk without room"""
_own = threading.local()


@dataclass(frozen=True, slots=True)
class Series:
    """Samples of one source on one host."""

    host: str
    source: str
    channels: Mapping[str, Channel]
    samples: Iterable[Sample]


@cache
def warm_up() -> Any:
    """The database that writes. The first call takes a quarter of a second: make it in good time."""
    import duckdb  # only whoever stores needs it

    return duckdb.connect(":memory:", config={"threads": 1})


def write_samples(path: Path, series: Sequence[Series]) -> None:
    """Write samples (zstd), and have them on disk. Several threads may do so at once.

    Raises OSError, also where DuckDB met it.
    """
    import duckdb

    if not hasattr(_own, "cursor"):
        _own.cursor = warm_up().cursor()
    for name, table in _tables(series).items():
        _own.cursor.register(name, table)
    quoted = str(path).replace("'", "''")
    try:
        _own.cursor.execute(f"COPY ({_ROWS}) TO '{quoted}' (FORMAT parquet, COMPRESSION zstd)")
    except duckdb.Error as error:
        number = next((each for each in FULL if os.strerror(each) in str(error)), errno.EIO)
        raise OSError(number, str(error).splitlines()[0] if number == errno.EIO else "") from error
    durable.sync_file(path)


@dataclass(frozen=True, slots=True)
class PowerReading:
    """One reading of a channel in W."""

    source: str
    channel: str
    provenance: Provenance
    time_s: float
    value_w: float


def read_power(path: Path, host: str) -> list[PowerReading]:
    """Readings in W of one host in a trial's samples, in order of time; none where no samples are stored.

    Raises StoreError when the file is damaged.
    """
    if not path.exists():
        return []
    import duckdb

    rows = (
        "SELECT source, channel, provenance, time_s, value FROM read_parquet(?) "
        "WHERE unit = 'W' AND host = ? AND value IS NOT NULL ORDER BY time_s"
    )
    try:
        found = warm_up().cursor().execute(rows, [str(path), host]).fetchall()
    except duckdb.Error as error:
        raise StoreError(f"{path}: damaged: {str(error).splitlines()[0]}; move it away to go on") from error
    return [PowerReading(*row) for row in found]


def read_channels(path: Path) -> dict[tuple[str, str, str], Channel]:
    """(host, source, channel) → what is stored of it; none where no samples are. Raises StoreError."""
    if not path.exists():
        return {}
    import duckdb

    rows = f"SELECT DISTINCT {', '.join(_WORDS)} FROM read_parquet(?)"  # noqa: S608 - names from here only
    try:
        found = warm_up().cursor().execute(rows, [str(path)]).fetchall()
    except duckdb.Error as error:
        raise StoreError(f"{path}: damaged: {str(error).splitlines()[0]}; move it away to go on") from error
    return {(host, source, name): Channel(name, *words) for host, source, name, *words in found}


def _tables(series: Sequence[Series]) -> dict[str, dict[str, Any]]:
    import numpy as np

    channels: list[tuple[str, ...]] = []
    reasons: dict[str | None, int] = {None: 0}
    rows: list[tuple[int, int, float, float, float | None]] = []
    for one in series:
        numbers: dict[str, int] = {}
        for time_s, channel, value, span_s, reason in one.samples:
            number = numbers.get(channel)
            if number is None:
                number = numbers[channel] = len(channels)
                channels.append(_words(one, one.channels[channel]))
            rows.append((number, reasons.setdefault(reason, len(reasons)), time_s, span_s, value))
    names = ("channel_number", "reason_number", "time_s", "span_s", "value")
    types = (np.int32, np.int32, float, float, float)
    columns = list(zip(*rows, strict=True)) or [()] * len(names)
    return {
        "numbers": {
            "position": np.arange(len(rows)),
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
