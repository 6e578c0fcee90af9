# SPDX-License-Identifier: Apache-2.0
"""Chunks of a soak as campaigns store them, simulated: 96 hosts, six series of each at 1 Hz.

Made by DuckDB, so that 100 million rows take minutes and not hours: a row's value is a function of its series
and time, and of the seed. Order and columns of rows are those of ``linewatt.features.soak.storage``.
"""

from __future__ import annotations

import json
import random
from pathlib import Path
from typing import Any

from linewatt.features.soak.storage import SUMMED, end_part, new_part
from linewatt.features.users.worker.base import Transfer
from linewatt.features.users.worker.tally import Tally
from linewatt.store.write import new_result

HOSTS = 96
CHUNK_S = 30
USERS = 300
SERVER = "dut"
CHANNELS: tuple[tuple[str, str, str, str, str, float], ...] = (
    ("mpstat", "cpu0.idle_ratio", "ratio", "mean", "cpu:0", 0.5),
    ("netcounters", "nic.rx_bytes", "B", "counter", "nic:data", 6.0e6),
    ("netcounters", "nic.tx_bytes", "B", "counter", "nic:data", 2.0e6),
    ("netcounters", "nic.rx_packets", "count", "counter", "nic:data", 4.2e3),
    ("psu", "PSU1 Power Out", "W", "gauge", "psu-out:PSU1", 200.0),
    ("users", "users.received_bytes", "B", "counter", "host", 5.7e6),
)
"""source, channel, unit, kind, scope, and the mean rate or level"""
_CHUNK = """
COPY (
    SELECT host, source, channel, unit, kind, scope, 'measured' AS provenance, time_s,
        CAST(if(kind = 'mean', 1.0, 0.0) AS DOUBLE) AS span_s,
        CASE WHEN kind = 'counter' THEN floor(rate * (time_s - {start}) + 0.4 * rate * noise)
            ELSE rate * (0.9 + 0.2 * noise) END AS value,
        CAST(NULL AS VARCHAR) AS reason
    FROM (
        SELECT *, CAST({start} + {first} + second + 0.001 * host_number + 0.5 AS DOUBLE) AS time_s,
            CAST(hash(series_number * 1000003 + {first} + second + {seed}) % 1000000 AS DOUBLE) / 1e6
                AS noise
        FROM series, range({seconds}) AS seconds(second)
    )
    ORDER BY series_number, time_s
) TO '{path}' (FORMAT parquet, COMPRESSION zstd)
"""


def write_result(root: Path, seconds: int, seed: int = 1) -> Path:
    """A result whose users wrote histograms with every chunk. About 6 bytes of disk a row."""
    start_s = 1_767_225_600.0
    result = new_result(root, "soak", start_s, _manifest(start_s, seconds))
    part = new_part(result, start_s)
    write_chunks(part, start_s, seconds, seed)
    _write_users(part, seconds // CHUNK_S, seed)
    end_part(part, start_s + seconds, "done")
    return result


def write_chunks(part: Path, start_s: float, seconds: int, seed: int = 1) -> None:
    """Chunks of :data:`CHUNK_S` seconds."""
    import duckdb

    database = duckdb.connect(":memory:", config={"memory_limit": "1GB"})
    _register(database)
    for number in range(1, seconds // CHUNK_S + 1):
        values = {"start": start_s, "first": (number - 1) * CHUNK_S, "seconds": CHUNK_S, "seed": seed}
        path = str(part / f"chunk-{number:06d}.parquet").replace("'", "''")
        database.execute(_CHUNK.format(path=path, **values))


def _register(database: Any) -> None:
    database.execute(
        "CREATE TABLE series (series_number BIGINT, host_number BIGINT, host VARCHAR, source VARCHAR, "
        "channel VARCHAR, unit VARCHAR, kind VARCHAR, scope VARCHAR, rate DOUBLE)"
    )
    hosts = [SERVER, *(f"c{number:02d}" for number in range(1, HOSTS))]
    rows = [
        (name, *channel) for name in sorted(hosts) for channel in sorted(CHANNELS, key=lambda one: one[:2])
    ]
    database.executemany(
        "INSERT INTO series VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)",
        [(number, hosts.index(row[0]), *row) for number, row in enumerate(rows)],
    )


def _write_users(part: Path, chunks: int, seed: int) -> None:
    """The same for every chunk, and for as many as are added up at a time."""
    one, many = _tally(seed), Tally()
    for _ in range(SUMMED):
        many.merge(one)
    single, added = json.dumps(one.as_dict()), json.dumps(many.as_dict())
    for number in range(1, chunks + 1):
        (part / f"users-{number:06d}.json").write_text(single)
        if number % SUMMED == 0:
            (part / f"users-sum-{number:06d}.json").write_text(added)


def _tally(seed: int) -> Tally:
    """What 300 users do in half a minute."""
    draw, tally = random.Random(seed), Tally()  # noqa: S311
    for user in range(USERS):
        tally.user(user)
        for _ in range(5):
            took_s = 0.1 * draw.lognormvariate(0, 0.7)
            tally.done(user, "get", Transfer(16 << 20, took_s / 20, took_s), None)
            tally.done(user, "put", Transfer(16 << 20, took_s / 25, took_s), None)
    return tally


def _manifest(start_s: float, seconds: int) -> dict[str, Any]:
    clients = [f"c{number:02d}" for number in range(1, HOSTS)]
    groups = [
        {"name": f"port{at + 1}", "clients": clients[16 * at : 16 * at + 16], "server": None}
        for at in range(6)
    ]
    return {
        "schema_version": 1,
        "name": "soak",
        "linewatt_version": "0.1.0",
        "created_s": start_s,
        "campaign_text": "",
        "campaign": {
            "name": "soak",
            "soak": {"duration_s": float(seconds), "interval_s": 10.0, "segment_s": 3600.0},
            "users": {"server": {"host": SERVER}, "groups": groups, "users": USERS, "sustained_bps": 1e6},
        },
        "plan": [],
        "seed": 1,
        "order": "interleaved",
        "trials_planned": 0,
        "hosts": {name: {"facts": {}} for name in (*clients, SERVER)},
    }
