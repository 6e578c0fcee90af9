# SPDX-License-Identifier: Apache-2.0
"""A soak as data, computed once for every view of it: terminal, JSON and page; docs/soak.md."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path

from linewatt.analysis.power import Total as PowerTotal
from linewatt.analysis.power import power_of_system
from linewatt.errors import StoreError
from linewatt.features.soak import figures
from linewatt.features.soak import storage as store
from linewatt.features.soak.balance import Balance, balance
from linewatt.features.soak.ledger import CLIENTS, SERVER, Ends, Figure, Ledger, Total, ledger
from linewatt.features.soak.scan import Chunks, MissingChunks, Scan
from linewatt.features.soak.series import Roles, roles, track
from linewatt.features.soak.series_steps import Counted, SeriesInfo
from linewatt.features.soak.storage import Part
from linewatt.features.soak.users_summary import UsersDone, users_done
from linewatt.loads import SOAKING_LOADS
from linewatt.missing import Missing
from linewatt.model import PowerResult, Provenance
from linewatt.records import AskedTest, Event, Host, SoakTimes, UserGroup, Users
from linewatt.store import Result
from linewatt.units import first_of

MOST_INTERVALS = 48
"""rows of the ledger by interval"""
_NICE_S = (1, 2, 5, 10, 20, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 14400, 21600, 43200, 86400, 172800)
Cells = list[float | None]


@dataclass(frozen=True, slots=True)
class HostPower:
    """Mean power of a host over the soak, of one scope, or why there is none; ``covered`` is the part of the
    time that has readings of each of its channels, without power those of any."""

    host: str
    total: PowerTotal | None
    reason: str | None
    covered: float


@dataclass(frozen=True, slots=True)
class GroupTotals:
    """What one group of clients did; a figure without a value says why."""

    name: str
    clients: int
    got_bytes: Figure
    put_bytes: Figure
    transfers: Figure
    failed: Figure


@dataclass(frozen=True, slots=True)
class Interval:
    """The ledger of a while, Unix seconds."""

    start_s: float
    end_s: float
    ledger: Ledger


@dataclass(frozen=True)
class Soak:
    """Everything that was read of a soak; what follows from it is computed when asked for."""

    result: Result
    plan: SoakTimes
    parts: tuple[Part, ...]
    series: tuple[SeriesInfo, ...]
    roles: Roles
    scan: Scan
    damaged: Mapping[Path, str]
    events: tuple[Event, ...]
    users: UsersDone | None
    missing: tuple[MissingChunks, ...] = ()
    """chunks that were stored and are not there"""
    gone: tuple[str, ...] = ()
    """what else was stored and is not there"""

    @property
    def hosts(self) -> Mapping[str, Host]:
        """Host name → what the manifest has of it."""
        return self.result.manifest.hosts

    @property
    def is_lab(self) -> bool:
        return any(host.lab for host in self.hosts.values())

    @property
    def asked(self) -> Users:
        """What the campaign asks of users."""
        return self.result.manifest.asked.users or Users()

    @property
    def sustained_users(self) -> int | None:
        """Users that moved as much as was asked for, the least where ``users_lack`` says why; ``None`` where
        nothing was asked for, or no load ran."""
        least_bps = self.asked.sustained_bps
        if self.users is None or least_bps is None or self.load_s <= 0:
            return None
        return self.users.sustained(least_bps, self.load_s)

    @property
    def users_lack(self) -> str | None:
        """Why what single users moved is not on record for all of the time."""
        names = [f"{path.parent.name}/{path.name}" for path in self.damaged if path.name.startswith("users-")]
        names += [f"{part.path.name}/{name}" for part in self.parts for name in store.users_gone(part)]
        names += [name for name in self.gone if "/" not in name]
        summed = {part.number: store.summed(part) for part in self.parts}
        chunks = [
            missing_span for missing_span in self.missing if not missing_span.is_of(summed[missing_span.part])
        ]
        lacking = [*names, *(f"part {chunk.part}, {chunk.numbers}" for chunk in chunks)]
        return f"what users moved is not on record of {first_of(lacking, 1)}" if lacking else None

    @property
    def ran_s(self) -> float:
        """Of all parts, without the time between them."""
        return sum(part.ended_s - part.started_s for part in self.parts)

    @property
    def complete(self) -> bool:
        return bool(self.parts) and self.parts[-1].why == "done"

    @cached_property
    def load_spans(self) -> tuple[tuple[float, float], ...]:
        """From when to when loads counted, part by part, Unix seconds."""
        spans = []
        names = {
            series_info.number
            for series_info in self.series
            if series_info.source in ("users", *SOAKING_LOADS)
        }
        for part in self.parts:
            part_totals = [
                total
                for (at, number), total in self.scan.totals.items()
                if at == part.number and number in names
            ]
            if part_totals:
                spans.append(
                    (min(total.first_s for total in part_totals), max(total.last_s for total in part_totals))
                )
        return tuple(spans)

    @property
    def load(self) -> str:
        """The name of the load beside the users, or that one would have."""
        return next(
            (series_info.source for series_info in self.series if series_info.source in SOAKING_LOADS),
            SOAKING_LOADS[0],
        )

    @property
    def load_s(self) -> float:
        return sum(end - start for start, end in self.load_spans)

    @cached_property
    def totals(self) -> tuple[Total, ...]:
        """Each counter over all parts, but for those of energy, which is told as mean power."""
        return self._totals(self.parts)

    def _totals(self, parts: Sequence[Part]) -> tuple[Total, ...]:
        numbers = {part.number for part in parts}
        by_number: dict[int, list[Counted]] = {}
        for (part, number), total in self.scan.totals.items():
            if part in numbers:
                by_number.setdefault(number, []).append(total)
        return tuple(
            _total(series_info, by_number.get(series_info.number, []))
            for series_info in self.series
            if series_info.kind == "counter" and series_info.unit != "J"
        )

    @cached_property
    def ledger(self) -> Ledger:
        return ledger(self.totals, self.roles.ends)

    @cached_property
    def balance(self) -> Balance:
        """Of the parts whose start and end are there: elsewhere the ends were first or last read at different
        moments."""
        cut = {part.number: "was cut off" for part in self.parts if part.why not in _ENDED}
        lacking = {
            missing_span.part: "lacks its first or last chunk"
            for missing_span in self.missing
            if missing_span.is_edge
        }
        left_out = lacking | cut
        whole_parts = [part for part in self.parts if part.number not in left_out]
        if not whole_parts:
            why = f"it {next(iter(left_out.values()))}, when its ends were read at different moments"
            return Balance((), None, f"cannot be told: {why}", None, f"drops: {why}")
        ran_s = sum(part.ended_s - part.started_s for part in whole_parts)
        whole_balance = balance(ledger(self._totals(whole_parts), self.roles.ends), ran_s, self.lost_clients)
        left_out_parts = [f"part {number} {why} and is left out" for number, why in sorted(left_out.items())]
        return replace(whole_balance, words="; ".join([whole_balance.words, *left_out_parts]))

    @cached_property
    def lost_clients(self) -> tuple[str, ...]:
        """Clients whose users were silent for a while."""
        gaps = (gap.host for gap in self.scan.gaps if gap.source == "users")
        reported_lost = (
            event.host for event in self.events if event.kind == "client-lost" and event.host is not None
        )
        return tuple(sorted({*gaps, *reported_lost} & set(self.roles.ends.clients)))

    def rate(self, *tracks: str, scale: float = 1.0, inside: bool = True) -> Cells:
        """The sum of tracks a second in each cell; None where one of their sources has no readings.

        ``inside``: also None where loads did not run all of the cell.
        """
        scan = self.scan
        known_tracks = [scan.tracks[name] for name in tracks if name in scan.tracks]
        if not known_tracks:
            return []
        total = sum(known_track.spread for known_track in known_tracks)
        covered, expected = (
            sum(known_track.covered for known_track in known_tracks),
            sum(known_track.expected for known_track in known_tracks),
        )
        cells = [
            float(value) * scale / scan.cell_s if covered_sources and covered_sources >= all_of else None
            for value, covered_sources, all_of in zip(total, covered, expected, strict=True)  # type: ignore[arg-type]
        ]
        return [value if not inside or self._is_load(at) else None for at, value in enumerate(cells)]

    def level(self, *tracks: str) -> Cells:
        """The sum over all series of tracks of their mean in each cell; None where there is no reading."""
        known_tracks = [self.scan.tracks[name] for name in tracks if name in self.scan.tracks]
        cells: Cells = [None] * (self.scan.cells if known_tracks else 0)
        for known_track in known_tracks:
            for at in known_track.seconds.nonzero()[0]:
                mean = float(known_track.spread[at] / known_track.seconds[at]) * known_track.series
                cells[at] = mean + (cells[at] or 0.0)
        return cells

    def _is_load(self, cell: int) -> bool:
        start_s = self.scan.start_s + cell * self.scan.cell_s
        edge_s = min(0.5, _EDGE * self.scan.cell_s)
        return any(
            first - edge_s <= start_s and start_s + self.scan.cell_s <= end + edge_s
            for first, end in self.load_spans
        )

    def load_rate(self, *tracks: str, scale: float = 1.0) -> Cells:
        """The sum of tracks a second of the time in each cell in which loads ran; None in cells of which they
        ran less than half.
        """
        cells = self.rate(*tracks, scale=scale, inside=False)
        shares = [self._load_share(at) for at in range(len(cells))]
        return [
            None if value is None or share < _HALF else value / share
            for value, share in zip(cells, shares, strict=True)
        ]

    def _load_share(self, cell: int) -> float:
        """The part of a cell in which loads ran."""
        start_s = self.scan.start_s + cell * self.scan.cell_s
        end_s = start_s + self.scan.cell_s
        ran_s = sum(max(0.0, min(end_s, end) - max(start_s, first)) for first, end in self.load_spans)
        return ran_s / self.scan.cell_s

    def mean_of(self, *channels: str) -> float | None:
        """What counters with these names counted on all hosts, a second of the time in which loads ran."""
        counts = [
            total.value for total in self.totals if total.channel in channels and total.value is not None
        ]
        return sum(counts) / self.load_s if counts and self.load_s > 0 else None

    @property
    def load_asked_bps(self) -> float | None:
        """The rate of the load beside the users, all that runs at once; ``None``: unlimited, or not the same
        all the time."""
        campaign = self.result.manifest.asked
        rates = {_rate_of(test) for test in campaign.tests}
        asked_bps = rates.pop() if len(rates) == 1 and not campaign.written.get("groups") else None
        return (
            None
            if asked_bps is None
            else asked_bps * (len(campaign.pairs) if campaign.concurrent_pairs else 1)
        )

    @cached_property
    def rates(self) -> figures.Rates | None:
        return figures.rates(self.payload, self.mean_bps)

    @property
    def mean_bps(self) -> float | None:
        """Payload over the time that loads ran and that is on record."""
        return self.total_bytes * 8 / self.load_s if self.load_s > 0 and self._moved else None

    @property
    def has_gaps(self) -> bool:
        """Whether there is time in which loads ran and no rate is known."""
        damaged = any(path.name.startswith("chunk-") for path in self.damaged)
        unread = (value is None and self._is_load(at) for at, value in enumerate(self.payload))
        return bool(self.missing) or damaged or any(unread)

    @cached_property
    def payload(self) -> Cells:
        """Payload of all loads, bit/s."""
        return self.rate(*_PAYLOAD, scale=8.0)

    @cached_property
    def total_bytes(self) -> float:
        return sum(self._moved)

    @property
    def moved_bytes(self) -> float | None:
        """The same; ``None`` where no counter of payload was read."""
        return self.total_bytes if self._moved else None

    @cached_property
    def _moved(self) -> tuple[float, ...]:
        names = {name.partition("|")[2] for name in _PAYLOAD}
        hosts = set(self.roles.ends.clients) if self.roles.has_users else None
        return tuple(
            total.value
            for total in self.totals
            if total.value is not None
            and total.channel in names
            and (hosts is None or total.host in hosts or total.channel.startswith("load."))
        )

    @cached_property
    def stalls(self) -> list[figures.Stall]:
        running = self.level("clients|users.running") or None
        return figures.stalls(self.payload, running)

    @cached_property
    def drift(self) -> figures.Drift | Missing:
        """Or why it is not known."""
        return figures.drift(self.payload, self.scan.cell_s)

    @cached_property
    def power(self) -> tuple[HostPower, ...]:
        hosts = dict.fromkeys(
            series_info.host for series_info in self.series if series_info.unit in ("W", "J")
        )
        return tuple(self._host_power(host) for host in hosts)

    @property
    def power_provenances(self) -> list[Provenance]:
        """Where the watts come from of each host that has some."""
        return [host_power.total.provenance for host_power in self.power if host_power.total is not None]

    def _host_power(self, host: str) -> HostPower:
        results: list[PowerResult] = []
        read_s: dict[tuple[str, str], float] = {}
        for series_info in self.series:
            if series_info.host != host or series_info.unit not in ("W", "J"):
                continue
            counted = [
                total for (_, number), total in self.scan.totals.items() if number == series_info.number
            ]
            lasted_s = sum(total.seconds for total in counted)
            mean_w = sum(total.weighted for total in counted) / lasted_s if lasted_s > 0 else None
            why = None if mean_w is not None else series_info.reason or "not read"
            results.append(
                PowerResult(
                    series_info.source,
                    series_info.channel,
                    series_info.scope,
                    series_info.provenance,
                    "",
                    mean_w,
                    reason=why,
                )
            )
            read_s[series_info.source, series_info.channel] = lasted_s
        total = power_of_system(results)
        if isinstance(total, Missing):
            return HostPower(host, None, total.reason, self._covered(max(read_s.values())))
        least_s = min(read_s[total.source, channel] for channel in total.channels)
        return HostPower(host, total, None, self._covered(least_s))

    def _covered(self, seconds: float) -> float:
        """The part of the soak that so many seconds are."""
        return min(1.0, seconds / self.ran_s) if self.ran_s > 0 else 0.0

    @property
    def groups(self) -> list[GroupTotals]:
        return [_group(group, self.totals) for group in self.roles.groups]

    def rate_of(self, group: GroupTotals) -> Figure:
        """Payload of a group both ways over the time that loads ran, bit/s."""
        moved = group.got_bytes + group.put_bytes
        if moved.value is None or self.load_s <= 0:
            return Figure(None, moved.reason or "no load counted")
        return Figure(8 * moved.value / self.load_s)

    @cached_property
    def client_cpu(self) -> tuple[float | None, dict[str, float]]:
        """CPU seconds of the clients' processes for each Gbit, and client → part of the time saturated."""
        used = [total for total in self.totals if total.channel == "users.cpu_s" and total.value is not None]
        shares = {}
        for cpu_total in used:
            share = figures.saturated_share(self.rate(f"cpu|{cpu_total.host}"))
            if share is not None and share > figures.SATURATED_TIME:
                shares[cpu_total.host] = share
        seconds = sum(cpu_total.value or 0.0 for cpu_total in used)
        book = self.ledger
        moved = sum(book.value(key, CLIENTS).value or 0.0 for key in ("get_bytes", "put_bytes"))
        return (figures.per_gbit(seconds, moved) if used else None), shares

    @cached_property
    def intervals(self) -> tuple[Interval, ...]:
        """The ledger by slices of time of one round length, at most :data:`MOST_INTERVALS`."""
        scan = self.scan
        span_s = max(part.ended_s for part in self.parts) - scan.start_s
        wanted_s = max(scan.cell_s, 0.9 * scan.slowest_s, span_s / MOST_INTERVALS)
        length_s = next((nice_s for nice_s in _NICE_S if nice_s >= wanted_s - 1e-9), wanted_s)
        cells = max(1, math.ceil(length_s / scan.cell_s - 1e-9))
        ends = Ends((CLIENTS,), SERVER if self.roles.ends.server else None)
        slices = []
        for first in range(0, int(span_s // scan.cell_s) + 1, cells):
            start_s = scan.start_s + first * scan.cell_s
            end_s = min(start_s + cells * scan.cell_s, scan.start_s + span_s)
            if end_s - start_s > 1e-6:
                last = scan.cells if end_s >= scan.start_s + span_s else first + cells
                slices.append(Interval(start_s, end_s, ledger(self._between(first, last), ends)))
        return tuple(slices)

    def _between(self, first: int, end: int) -> Iterator[Total]:
        counters = {series_info.channel for series_info in self.series if series_info.kind == "counter"}
        for name, cells in self.scan.tracks.items():
            side, _, channel = name.partition("|")
            if side in (CLIENTS, SERVER) and channel in counters:
                is_covered = cells.covered[first:end].any()
                value = float(cells.whole[first:end].sum()) if is_covered else None
                yield Total(side, "", channel, value, 0, None if is_covered else "no reading")


_ENDED = ("done", "interrupted")
"""why a part ended of which the last of all counters was read"""
_PAYLOAD = (
    "clients|users.received_bytes",
    "clients|users.sent_bytes",
    "clients|load.received_bytes",
    "server|load.received_bytes",
    "others|load.received_bytes",
)


_EDGE, _HALF = 0.05, 0.5
"""parts of a cell: loads may have run so much less of a whole one; of less than half there is no rate"""
_LATE_CELLS = 2
"""a part that ended has readings up to its end, or its last chunk is missing"""


def _rate_of(test: AskedTest) -> float | None:
    """All instances of a test together, bit/s; None: unlimited, or several counts in turn."""
    count = test.instances if isinstance(test.instances, list) else []
    if len(count) != 1 or not isinstance(test.rate_bps, (int, float)):
        return None
    return float(test.rate_bps) * count[0]


def digest(result: Result) -> Soak:
    """Read a soak. Raises StoreError when it has no part, or nothing of it can be read."""
    parts, campaign = tuple(store.parts(result.path)), result.manifest.asked
    if campaign.soak is None:
        raise StoreError(f"{result.id}: its campaign is that of no soak")
    if not parts:
        raise StoreError(f"{result.id}: the soak ended before its first part; run it again")
    with Chunks(parts) as chunks, ThreadPoolExecutor(1) as reader:
        scanned = reader.submit(_scan, chunks, campaign.users, campaign.soak)
        damaged: dict[Path, str] = {}
        tallies = (tally for part in parts for tally in store.users(part, damaged))
        users = users_done(tallies, damaged) if campaign.users else None
        series, host_roles, scan = scanned.result()
        missing = chunks.missing(_LATE_CELLS * scan.cell_s)
        damaged |= chunks.damaged
    events = tuple(event for part in parts for event in store.events(part, damaged))
    gone = tuple(_gone(result.path, parts))
    return Soak(
        result,
        campaign.soak,
        parts,
        tuple(series),
        host_roles,
        scan,
        damaged,
        events,
        users,
        tuple(missing),
        gone,
    )


def _gone(result: Path, parts: Sequence[Part]) -> Iterator[str]:
    """What was stored beside chunks and is not there."""
    for part in parts:
        yield from (f"{part.path.name}/{name}" for name in part.gone if not name.startswith("chunk-"))
    yield from (f"all of {name}" for name in store.parts_gone(result))


def _scan(chunks: Chunks, users: Users | None, times: SoakTimes) -> tuple[list[SeriesInfo], Roles, Scan]:
    series = chunks.series()
    host_roles = roles(users, series)
    named = {
        series_info.number: track(series_info, host_roles.side(series_info.host)) for series_info in series
    }
    tracks = {number: name for number, name in named.items() if name is not None}
    return series, host_roles, chunks.scan(series, tracks, times.interval_s)


def _group(group: UserGroup, totals: Sequence[Total]) -> GroupTotals:
    group_ledger = ledger(totals, Ends(tuple(group.clients), None))

    def of(key: str) -> Figure:
        return group_ledger.value(key, CLIENTS)

    return GroupTotals(
        group.name,
        len(group.clients),
        of("get_bytes"),
        of("put_bytes"),
        of("gets_done") + of("puts_done"),
        of("gets_failed") + of("puts_failed"),
    )


def _total(series_info: SeriesInfo, counts: Sequence[Counted]) -> Total:
    value = sum(counted.increase for counted in counts) if counts else None
    resets = sum(counted.resets for counted in counts)
    reason = None if counts else series_info.reason or "not read"
    return Total(series_info.host, series_info.source, series_info.channel, value, resets, reason)
