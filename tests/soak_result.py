# SPDX-License-Identifier: Apache-2.0
"""A soak's result as campaigns store it, simulated from a seed: clients, a file server, counters, watts.

Written by the product's own writers. What it holds is also returned as plain sums, made without them.
"""

from __future__ import annotations

import atexit
import copy
import random
import shutil
import tempfile
from collections import Counter
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

from linewatt.features.soak import storage as store
from linewatt.features.users.worker.base import Failure, Transfer
from linewatt.features.users.worker.tally import Tally
from linewatt.model import Channel, Sample
from linewatt.store import sums
from linewatt.store.samples import Series
from linewatt.store.write import new_result

STARTED_S = 1_768_000_000.0
FILE_BYTES = 4_000_000
HEADER = 66
SEGMENT = 1448


@dataclass(frozen=True)
class Shape:
    """What is simulated. ``kill_at`` seconds after the start the controller is away for ``away_s``."""

    clients: tuple[str, ...] = ("c1", "c2", "c3", "c4")
    duration_s: int = 600
    interval_s: int = 10
    chunk_s: int = 30
    users: int = 8
    seed: int = 7
    kill_at: int | None = None
    away_s: int = 60
    stall: tuple[int, int] | None = None
    server_dies_at: int | None = None
    drops_at: int | None = None
    lost_client: tuple[str, int, int] | None = None
    drift_per_s: float = 0.0
    cpu_share: float = 0.3
    server_extra_bytes: int = 0
    provenance: Any = "simulated"
    frozen_w: float | None = None
    """what the meter reads all the time"""
    cpu_swing: tuple[int, float] | None = None
    """so many seconds with this share of the CPUs in use, so many with ``cpu_share``, and so on"""


@dataclass
class Truth:
    """What was counted, plainly."""

    totals: Counter[tuple[str, str]] = field(default_factory=Counter)
    failures: Counter[str] = field(default_factory=Counter)


@cache
def _channel(name: str) -> Channel:
    unit = "B" if name.endswith(("_bytes", "Octets")) else "s" if name.endswith("_s") else "count"
    kind: Any = "gauge" if name == "users.running" or name.endswith(("p50_s", "p99_s")) else "counter"
    return Channel(name, unit, kind, "nic:data" if name.startswith("nic.") else "host")


_IDLE = {
    key: Channel(key, "ratio", "mean", f"cpu:{key[3]}") for key in ("cpu0.idle_ratio", "cpu1.idle_ratio")
}


class _Host:
    """Totals of one source on one host, and the samples of them since the last chunk."""

    def __init__(self, host: str, source: str) -> None:
        self.host, self.source = host, source
        self.totals: Counter[str] = Counter()
        self.samples: list[Sample] = []
        self.channels: dict[str, Channel] = {}

    def keep(self, time_s: float, values: dict[str, float | None], channels: dict[str, Channel]) -> None:
        self.channels |= channels
        self.samples += [
            Sample(
                time_s,
                name,
                value,
                1.0 if channels[name].kind == "mean" else 0.0,
                None if value is not None else "no transfer",
            )
            for name, value in values.items()
        ]

    def taken(self) -> Series:
        samples, self.samples = self.samples, []
        kept: list[Sample] = []
        last: dict[str, Sample] = {}
        held: dict[str, Sample] = {}
        for one in samples:
            if (
                self.channels[one.channel].kind != "counter"
                or one.channel not in last
                or last[one.channel].value != one.value
            ):
                if one.channel in held:
                    kept.append(held.pop(one.channel))
                kept.append(one)
            else:
                held[one.channel] = one
            last[one.channel] = one
        return Series(self.host, self.source, dict(self.channels), [*kept, *held.values()])


def write(root: Path, shape: Shape = Shape()) -> tuple[Path, Truth]:
    """The result below ``root``, and the truth of it: simulated once, and copied from then on."""
    kept, truth = _simulated(shape)
    result = _begun(root, shape)
    own, others = (path / sums.SUMS_FILE for path in (result, kept))
    for path in kept.iterdir():
        if path.is_dir():
            shutil.copytree(path, result / path.name, dirs_exist_ok=True)
    with own.open("ab") as listed:
        listed.writelines(others.read_bytes().splitlines(keepends=True)[1:])
    return result, copy.deepcopy(truth)


def _begun(root: Path, shape: Shape) -> Path:
    return new_result(root, "ftp-soak", STARTED_S - 5, _manifest(shape))


@cache
def _simulated(shape: Shape) -> tuple[Path, Truth]:
    root = Path(tempfile.mkdtemp(prefix="linewatt-soak-"))
    atexit.register(shutil.rmtree, root, ignore_errors=True)
    result = _begun(root, shape)
    truth = Truth()
    draw = random.Random(shape.seed)  # noqa: S311
    spans = [(0, shape.duration_s)]
    if shape.kill_at is not None:
        spans = [(0, shape.kill_at), (shape.kill_at + shape.away_s, shape.duration_s)]
    for number, (first, end) in enumerate(spans, start=1):
        part = store.new_part(result, STARTED_S + first)
        _Part(shape, draw, truth, part, number).run(first, end)
        if end == shape.duration_s:
            store.end_part(part, STARTED_S + end, "done")
    return result, truth


class _Part:
    def __init__(self, shape: Shape, draw: random.Random, truth: Truth, path: Path, number: int) -> None:
        self.shape, self.draw, self.truth, self.path, self.number = shape, draw, truth, path, number
        self.users = {name: _Host(name, "users") for name in shape.clients}
        self.server = _Host("dut", "server")
        self.nics = {name: _Host(name, "netcounters") for name in (*shape.clients, "dut")}
        self.cpus = {name: _Host(name, "mpstat") for name in (*shape.clients, "dut")}
        self.watts = _Host("dut", "psu")
        self.tally = Tally()
        self.base = {name: draw.randrange(10**9) for name in self.nics}
        self.events: list[dict[str, Any]] = []

    def run(self, first: int, end: int) -> None:
        shape, chunk = self.shape, 0
        for name, one in self.users.items():
            self._users_keep(one, first, 0, name)
        self._server_keep(first)
        for second in range(first, end):
            for name in shape.clients:
                self._second(name, second)
            self._sense(second + 1)
            if (second + 1 - first) % shape.interval_s == 0 or second + 1 == end:
                for name, one in self.users.items():
                    if not self._is_away(name, second):
                        self._users_keep(one, second + 1, shape.users // len(shape.clients), name)
            if (second + 1 - first) % shape.chunk_s == 0 or second + 1 == end:
                self._server_keep(second + 1)
                chunk += 1
                store.write_chunk(self.path, chunk, self._taken(), self.tally.taken().as_dict(), self.events)
                self.events = []

    def _is_away(self, name: str, second: int) -> bool:
        lost = self.shape.lost_client
        return lost is not None and lost[0] == name and lost[1] <= second < lost[2]

    def _second(self, name: str, second: int) -> None:
        shape, user = self.shape, self.users[name]
        user.totals["users.cpu_s_milli"] += round(1000 * shape.cpu_share)
        if self._is_away(name, second) or (shape.stall and shape.stall[0] <= second < shape.stall[1]):
            return
        if shape.server_dies_at is not None and second == shape.server_dies_at:
            self._fail(name, second)
            return
        index = shape.clients.index(name)
        files = 2 + self.draw.randrange(2)
        size = round(FILE_BYTES * (1 + shape.drift_per_s * second))
        for way, server in (("get", "sent"), ("put", "received")):
            count = files if way == "get" else 1
            client = "received" if way == "get" else "sent"
            moved = count * size
            for key in (f"users.{client}_bytes", f"users.done_{client}_bytes"):
                user.totals[key] += moved
            user.totals[f"users.{way}s"] += count
            self.server.totals[f"server.{server}_bytes"] += moved
            self.server.totals[f"server.{way}s"] += count
            self._on_wire(name, way, moved)
            counts = self.tally.user(index)
            counts.bytes.received_bytes += moved if way == "get" else 0
            counts.bytes.sent_bytes += moved if way == "put" else 0
            for _ in range(count):
                took_s = 0.02 + 0.01 * self.draw.random()
                self.tally.done(
                    index, "get" if way == "get" else "put", Transfer(size, took_s / 4, took_s), None
                )

    def _fail(self, name: str, second: int) -> None:
        index, lost = self.shape.clients.index(name), 1_000_000
        user = self.users[name]
        user.totals["users.received_bytes"] += lost
        user.totals["users.failed.get.connection-lost"] += 1
        self.truth.failures["get.connection-lost"] += 1
        self._on_wire(name, "get", lost)
        line = f"{name}: get f1.bin: the connection was lost after {lost} of {FILE_BYTES} bytes"
        self.tally.user(index).bytes.received_bytes += lost
        self.tally.failed(index, "get", Failure.CONNECTION_LOST, line)
        if name == self.shape.clients[0]:
            self.server.totals["server.starts"] += 1
            for at, kind, text in (
                (0.2, "server-ended", "vsftpd was ended by signal 9"),
                (1.1, "server-started", "vsftpd listens again"),
            ):
                self.events.append(
                    {"time_s": STARTED_S + second + at, "kind": kind, "host": "dut", "text": text}
                )

    def _on_wire(self, name: str, way: str, moved: int) -> None:
        segments = -(-moved // SEGMENT)
        there, back = ("tx", "rx") if way == "get" else ("rx", "tx")
        for host, forth, other in (("dut", there, back), (name, back, there)):
            totals = self.nics[host].totals
            totals[f"nic.{forth}_bytes"] += moved + HEADER * segments
            totals[f"nic.{forth}_packets"] += segments
            totals[f"nic.{other}_bytes"] += HEADER * (segments // 2)
            totals[f"nic.{other}_packets"] += segments // 2

    def _sense(self, second: int) -> None:
        shape = self.shape
        if shape.drops_at == second:
            self.nics["dut"].totals["nstat.TcpRetransSegs"] += 40
            self.nics["dut"].totals["nic.rx_missed_errors"] += 30
            self.nics["dut"].totals["nic.tx_packets"] += 200  # and 200 that no client got
        for name, one in self.nics.items():
            if self._is_away(name, second - 1):
                continue
            values: dict[str, float | None] = {
                key: float(self.base[name] + one.totals[key])
                for key in (
                    "nic.rx_bytes",
                    "nic.tx_bytes",
                    "nic.rx_packets",
                    "nic.tx_packets",
                    "nic.rx_dropped",
                    "nic.rx_missed_errors",
                    "nic.tx_dropped",
                    "nstat.TcpRetransSegs",
                    "nstat.TcpExtTCPDSACKRecv",
                    "nstat.TcpExtListenDrops",
                    "softnet.dropped",
                    "softnet.time_squeeze",
                )
            }
            values["nstat.IpExtInOctets"] = 900.0 * second
            one.keep(STARTED_S + second - 0.3, values, {key: _channel(key) for key in values})
            idle = 1 - self._share(second) * (0.8 + 0.4 * self.draw.random())
            self.cpus[name].keep(STARTED_S + second - 0.2, dict.fromkeys(_IDLE, idle), _IDLE)
        drawn_w = round(180 + 8 * self.draw.random(), 1)
        out: dict[str, float | None] = {"PSU1 Power Out": shape.frozen_w or drawn_w}
        scope = Channel("PSU1 Power Out", "W", "gauge", "psu-out:PSU1", shape.provenance)
        self.watts.keep(STARTED_S + second - 0.1, out, {"PSU1 Power Out": scope})

    def _share(self, second: int) -> float:
        every_s, share = self.shape.cpu_swing or (1, self.shape.cpu_share)
        return share if second // every_s % 2 else self.shape.cpu_share

    def _users_keep(self, one: _Host, second: int, running: int, name: str) -> None:
        names = (
            "users.received_bytes",
            "users.sent_bytes",
            "users.done_received_bytes",
            "users.done_sent_bytes",
            "users.gets",
            "users.puts",
            "users.checked",
            "users.logins",
            "users.unfinished",
        )
        failed = [key for key in one.totals if key.startswith("users.failed.")]
        values: dict[str, float | None] = {key: float(one.totals[key]) for key in (*names, *failed)}
        values["users.logins"] = float(running and self.shape.users // len(self.shape.clients))
        values["users.cpu_s"] = one.totals["users.cpu_s_milli"] / 1000
        if running:
            values["users.running"] = float(running)
        values["users.get_p50_s"] = None
        one.keep(STARTED_S + second, values, {key: _channel(key) for key in values})
        for key, value in values.items():
            if key != "users.running" and value is not None:
                self.truth.totals[name, f"{self.number}:{key}"] = value  # type: ignore[assignment]

    def _server_keep(self, second: int) -> None:
        total = self.server.totals
        values: dict[str, float | None] = {
            key: float(total[key])
            for key in (
                "server.sent_bytes",
                "server.received_bytes",
                "server.incomplete_sent_bytes",
                "server.incomplete_received_bytes",
                "server.gets",
                "server.puts",
                "server.incomplete_gets",
                "server.incomplete_puts",
                "server.starts",
            )
        }
        values["server.sent_bytes"] = (values["server.sent_bytes"] or 0) + (
            self.shape.server_extra_bytes if total["server.gets"] else 0
        )
        values["server.logins"] = float(self.shape.users if total["server.gets"] else 0)
        values["server.logins_refused"] = None
        channels = {key: _channel(key) for key in values}
        self.server.keep(STARTED_S + second, values, channels)

    def _taken(self) -> list[Series]:
        every = [*self.users.values(), self.server, *self.nics.values(), *self.cpus.values(), self.watts]
        return [one.taken() for one in every if one.samples]


def _manifest(shape: Shape) -> dict[str, Any]:
    half = (len(shape.clients) + 1) // 2
    groups = [
        {"name": "port1", "clients": list(shape.clients[:half]), "server": "eth1"},
        {"name": "port2", "clients": list(shape.clients[half:]), "server": "eth2"},
    ]
    users = {
        "server": {"host": "dut", "folder": "/dev/shm", "port": 21},
        "groups": groups,
        "users": shape.users,
        "sustained_bps": 1e6,
    }
    soak = {"duration_s": float(shape.duration_s), "interval_s": float(shape.interval_s), "segment_s": 3600.0}
    return {
        "schema_version": 1,
        "name": "ftp-soak",
        "linewatt_version": "0.1.0",
        "created_s": STARTED_S - 5,
        "campaign_text": "name: ftp-soak\nsoak: 10m\nusers: {server: dut, users: 8}\n",
        "campaign": {"name": "ftp-soak", "soak": soak, "users": users},
        "plan": [],
        "seed": 1,
        "order": "interleaved",
        "trials_planned": 0,
        "hosts": {name: {"lab": True, "facts": {}} for name in (*shape.clients, "dut")},
    }
