# SPDX-License-Identifier: Apache-2.0
"""Chunks of a soak: whole or not there, whatever happens to the disk."""

from __future__ import annotations

import errno
import json
import os
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from linewatt import durable
from linewatt.errors import DiskFull, StoreError
from linewatt.features.soak import storage as store
from linewatt.features.soak.scan import Chunks
from linewatt.features.soak.users_summary import users_done
from linewatt.features.users.worker.base import Transfer
from linewatt.features.users.worker.tally import Tally
from linewatt.model import Channel, Sample
from linewatt.records import Event, UsersTally
from linewatt.store.samples import Series

COUNTER = Channel("nic.rx_bytes", "B", "counter", "nic:data")
USERS: dict[str, Any] = {"users": {}, "times": {}, "said": []}


def series(values: list[float | None], start_s: float = 1000.0, host: str = "h1") -> Series:
    samples = [Sample(start_s + at, "nic.rx_bytes", value) for at, value in enumerate(values)]
    return Series(host, "netcounters", {"nic.rx_bytes": COUNTER}, samples)


@pytest.fixture
def part(tmp_path: Path) -> Path:
    return store.new_part(tmp_path, 1000.0)


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A file system of 256 KiB."""
    if os.geteuid() != 0:
        pytest.skip("mounting a tmpfs needs root")
    disk = tmp_path / "disk"
    disk.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=256k", "linewatt-test", str(disk)]
    if subprocess.run(mount, check=False, capture_output=True).returncode != 0:
        pytest.skip("a tmpfs cannot be mounted here")
    try:
        yield disk
    finally:
        subprocess.run(["umount", str(disk)], check=True)


def test_parts_and_chunks_are_found_in_order_with_what_belongs_to_them(tmp_path: Path) -> None:
    first = store.new_part(tmp_path, 1000.0)
    said = "vsftpd was ended by signal 9"
    event = Event(time_s=1001.0, kind="server-ended", host="dut", text=said)
    store.write_chunk(first, 1, [series([1.0, 2.0])], USERS, [event.as_written()])
    store.write_chunk(first, 2, [series([5.0], 1002.0)])
    second = store.new_part(tmp_path, 2000.0)
    store.end_part(second, 2010.0, "done")
    found = store.parts(tmp_path)
    assert [(one.number, one.started_s, one.ended_s, one.why) for one in found] == [
        (1, 1000.0, 1002.0, None),
        (2, 2000.0, 2010.0, "done"),
    ]
    assert [one.number for one in found[0].chunks] == [1, 2]
    assert list(store.events(found[0], {})) == [event]
    assert [one for _, one in store.users(found[0], {})] == [UsersTally.model_validate(USERS)]
    assert sorted(path.name for path in first.iterdir()) == [
        "chunk-000001.parquet",
        "chunk-000002.parquet",
        "events-000001.jsonl",
        "part.json",
        "users-000001.json",
    ]


def test_users_of_many_chunks_are_read_once_and_from_their_sums(
    part: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(store, "SUMMED", 3)
    for number in range(1, 9):
        tally = Tally()
        tally.user(number % 2)
        tally.done(number % 2, "get", Transfer(10**number, 0.001, 0.01 * number), None)
        store.write_chunk(part, number, [series([1.0])], None if number == 4 else tally.as_dict())
    (found,) = store.parts(tmp_path)
    read = list(store.users(found, {}))
    assert len(read) == 4  # 1 to 3, 4 to 6, 7, 8
    total = Tally()
    for path, _ in read:
        total.merge(Tally.from_dict(json.loads(path.read_text())))
    assert total.total().done_received_bytes == sum(10**number for number in (1, 2, 3, 5, 6, 7, 8))
    assert total.times["get.total"].count == 7
    assert users_done(read, {}).times["get.total"].count == 7


def test_nothing_once_written_is_changed(part: Path) -> None:
    store.write_chunk(part, 1, [series([1.0])])
    before = (part / "chunk-000001.parquet").read_bytes()
    with pytest.raises(StoreError, match="never overwritten"):
        store.write_chunk(part, 1, [series([2.0])])
    store.end_part(part, 1010.0, "done")
    with pytest.raises(StoreError, match="never overwritten"):
        store.end_part(part, 1020.0, "done")
    assert (part / "chunk-000001.parquet").read_bytes() == before


def test_what_a_killed_writer_left_is_no_chunk(part: Path, tmp_path: Path) -> None:
    store.write_chunk(part, 1, [series([1.0, 2.0])])
    (part / ".writing-000002").mkdir()
    (part / ".writing-000002" / "chunk-000002.parquet").write_bytes(b"PAR1")
    (part / "users-000002.json").write_text("{}")  # renamed, and then came the kill
    (found,) = store.parts(tmp_path)
    assert [one.number for one in found.chunks] == [1]
    assert list(store.users(found, {})) == []
    store.write_chunk(part, 2, [series([3.0], 1002.0)])
    assert not list(part.glob(".writing*"))


def test_a_full_disk_leaves_everything_before_readable_and_nothing_half_made(small_disk: Path) -> None:
    part = store.new_part(small_disk, 1000.0)
    store.write_chunk(part, 1, [series([1.0, 2.0, 4.0])])
    noise = [
        series([float(hash((host, at)) % 10**15) for at in range(20_000)], host=f"h{host}")
        for host in range(4)
    ]
    with pytest.raises(DiskFull, match="the disk is full; what was stored before is whole"):
        store.write_chunk(part, 2, noise, USERS, [{"time_s": 1.0, "kind": "warning", "host": "", "text": ""}])
    assert sorted(path.name for path in part.iterdir()) == ["chunk-000001.parquet", "part.json"]
    store.end_part(part, 1003.0, "disk full")
    (found,) = store.parts(small_disk)
    assert found.why == "disk full"
    with Chunks([found]) as chunks:
        assert [(one.host, one.rows) for one in chunks.series()] == [("h1", 3)]


def test_users_that_do_not_fit_take_nothing_of_their_chunk_with_them(small_disk: Path) -> None:
    part = store.new_part(small_disk, 1000.0)
    with pytest.raises(DiskFull):
        store.write_chunk(part, 1, [series([1.0])], {"users": "x" * 10**6})
    assert sorted(path.name for path in part.iterdir()) == ["part.json"]


def test_a_chunk_whose_last_step_fails_leaves_none_of_its_files(
    part: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(_: Path) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(durable, "sync_folder", full)
    with pytest.raises(DiskFull):
        store.write_chunk(part, 1, [series([1.0])], USERS)
    assert [path.name for path in part.iterdir()] == ["part.json"]


def test_a_damaged_chunk_is_named_and_all_others_are_read(part: Path, tmp_path: Path) -> None:
    for number in range(1, 5):
        store.write_chunk(part, number, [series([10.0 * number, 10.0 * number + 5], 1000.0 + 2 * number)])
    cut = part / "chunk-000002.parquet"
    cut.write_bytes(cut.read_bytes()[:-20])
    torn = part / "chunk-000003.parquet"
    data = bytearray(torn.read_bytes())
    data[8:60] = bytes(52)  # both ends are whole
    torn.write_bytes(bytes(data))
    found = store.parts(tmp_path)
    with Chunks(found) as chunks:
        known = chunks.series()
        scan = chunks.scan(known, {0: "all"}, 1.0)
        assert sorted(path.name for path in chunks.damaged) == [
            "chunk-000002.parquet",
            "chunk-000003.parquet",
        ]
    assert scan.totals[1, 0].increase == 35.0  # from 10 to 45, over the damaged ones


def test_rows_of_a_chunk_are_in_order_of_series_and_time(part: Path) -> None:
    import duckdb

    late, early = series([3.0], 1005.0), series([1.0, 2.0], 1000.0)
    store.write_chunk(part, 1, [series([9.0], host="h2"), late, early])
    path = str(part / "chunk-000001.parquet")
    rows = duckdb.execute("SELECT host, time_s, value FROM read_parquet(?)", [path]).fetchall()
    assert rows == [("h1", 1000.0, 1.0), ("h1", 1001.0, 2.0), ("h1", 1005.0, 3.0), ("h2", 1000.0, 9.0)]


def test_what_users_did_is_not_gone_where_a_sum_has_it(tmp_path: Path) -> None:
    chunks = tuple(
        store.Chunk(number, tmp_path, None, None, tmp_path if number == store.SUMMED else None)
        for number in (store.SUMMED, store.SUMMED + 1)
    )
    gone = ("users-000003.json", "users-000122.json", "users-sum-000120.json", "events-000003.jsonl")
    part = store.Part(1, tmp_path, 0.0, 3600.0, "done", chunks, gone)
    assert store.users_gone(part) == ["users-000122.json"]
