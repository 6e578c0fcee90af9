# SPDX-License-Identifier: Apache-2.0
"""What users and loads of a soak counted, as running totals of each host. Pure."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Mapping

from linewatt.features.users.worker.tally import COUNTS, Tally, WorkerReport
from linewatt.hosts import Offset
from linewatt.model import Channel, ChannelKind, Sample
from linewatt.store import Series

USERS = "users"
POINTS = (50, 99)
"""percentiles of each interval; those of all of it come from the stored histograms"""
_TIMES = {
    "get.total": "users.get",
    "get.first_byte": "users.get_first_byte",
    "put.total": "users.put",
    "put.first_byte": "users.put_first_byte",
    "login": "users.login",
}
LEAST_APART_S = 1e-6
"""A host's clock is compared again and again; a report never falls before the one that it follows."""


class UserTotals:
    """Reports of all workers, added up: samples until they are taken, and the tally of that time."""

    def __init__(self) -> None:
        self._totals: dict[str, Counter[str]] = {}
        self._samples: dict[str, list[Sample]] = {}
        self._channels: dict[str, dict[str, Channel]] = {}
        self._tally: Tally | None = None
        self._running: dict[str, int] = {}
        self._said: set[tuple[str, str]] = set()
        self._last_s: dict[str, float] = {}

    @property
    def running(self) -> int:
        """Users at work, as of the last reports."""
        return sum(self._running.values())

    def begin(self, hosts: Iterable[str], time_s: float) -> None:
        """Nothing was done yet: where every total starts."""
        for host in hosts:
            self._totals[host] = Counter()
            self._last_s[host] = time_s
            self._keep(host, time_s, time_s, dict.fromkeys(_counted(Tally()), 0.0))

    def add(self, report: WorkerReport, clock: Offset) -> list[tuple[str, str]]:
        """Take a report; returns each kind of failure that is new, and its first line."""
        host, span_s = report.worker, report.end_s - report.start_s
        total = self._totals.setdefault(host, Counter())
        total.update(_counted(report.tally))
        total["users.cpu_s"] += report.cpu_s  # type: ignore[assignment]  # Counter adds floats as well
        time_s = max(clock.to_controller(report.end_s), self._last_s.get(host, -math.inf) + LEAST_APART_S)
        self._last_s[host] = time_s
        self._keep(host, time_s - span_s, time_s, total)
        self._running[host] = report.running
        self._gauges(host, time_s, span_s, report)
        if self._tally is None:
            self._tally = Tally()
        self._tally.merge(report.tally)
        new = {kind: line for kind, line in report.tally.said.items() if kind not in self._said}
        self._said |= new.keys()
        return [(f"{action} {failure}", line) for (action, failure), line in new.items()]

    def lost(self, host: str) -> None:
        """The users of a client are gone: none of them is at work until it reports again."""
        self._running.pop(host, None)

    def _keep(self, host: str, before_s: float, time_s: float, values: Mapping[str, float]) -> None:
        host_channels = self._channels.get(host, {})
        for name, value in values.items():
            if (
                value and name not in host_channels
            ):  # a kind of failure that is new: there was none until then
                self._sample(host, Sample(before_s, name, 0.0), "counter")
            self._sample(host, Sample(time_s, name, float(value)), "counter")

    def _gauges(self, host: str, time_s: float, span_s: float, report: WorkerReport) -> None:
        self._sample(host, Sample(time_s, "users.running", float(report.running)), "gauge")
        for name, prefix in _TIMES.items():
            times, nothing = report.tally.times[name], "no login" if name == "login" else "no transfer"
            for point, value in zip(POINTS, times.percentiles_s(POINTS), strict=True):
                reason = nothing if value is None else None
                sample = Sample(time_s, f"{prefix}_p{point}_s", value, span_s, reason)
                self._sample(host, sample, "gauge")

    def _sample(self, host: str, sample: Sample, kind: ChannelKind) -> None:
        channels = self._channels.setdefault(host, {})
        if sample.channel not in channels:
            unit = _unit(sample.channel)
            channels[sample.channel] = Channel(sample.channel, unit, kind, scope="host")
        self._samples.setdefault(host, []).append(sample)

    def taken(self) -> tuple[list[Series], Tally | None]:
        """What came since this was called last."""
        series = [
            Series(host, USERS, dict(self._channels[host]), samples)
            for host, samples in self._samples.items()
        ]
        tally, self._tally, self._samples = self._tally, None, {}
        return series, tally


def _counted(tally: Tally) -> dict[str, int]:
    total = tally.total()
    plain = {f"users.{name}": getattr(total, name) for name in COUNTS}
    failures = {f"users.failed.{action}.{name}": count for (action, name), count in total.failures.items()}
    return {
        "users.received_bytes": total.bytes.received_bytes,
        "users.sent_bytes": total.bytes.sent_bytes,
        **plain,
        **failures,
    }


def _unit(channel: str) -> str:
    if channel.endswith("_bytes"):
        return "B"
    return "s" if channel.endswith("_s") else "count"
