# SPDX-License-Identifier: Apache-2.0
"""What hosts draw and how busy their CPUs are now, from the newest readings. Pure but for the clock."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from itertools import pairwise

from linewatt.analysis.cases import whole_sum
from linewatt.analysis.power import Total, power_of_system_now
from linewatt.engine.events import Placed, Watts
from linewatt.engine.live.feed import Feed
from linewatt.engine.measuring.ends import UNUSED
from linewatt.engine.measuring.window_power import MOST_W, POWER_UNITS
from linewatt.hosts import HostSpec, now_s
from linewatt.model import Channel, PowerResult, Role

FRESH_S = 5.0
FRESH_INTERVALS = 3
"""A reading that is older than so many intervals, and than so many seconds, is not of now."""
TOTALS = 4
"""A total has to grow from each of so many readings to the next: of one that its meter updates more seldom
than it is read, two readings tell of 0 W or of many times what was drawn."""


def is_current(feed: Feed) -> bool:
    """Whether the newest record of a sensor tells of now."""
    newest = feed.latest(1)
    oldest_s = now_s() - max(FRESH_S, FRESH_INTERVALS * feed.interval_s)
    return feed.failure is None and bool(newest) and newest[0].problem is None and newest[0].time_s > oldest_s


def watts_now(feeds: Iterable[Feed]) -> tuple[Watts, ...]:
    """Of each host whose meters tell it; nothing of others."""
    power: dict[str, list[PowerResult]] = {}
    for feed in feeds:
        power.setdefault(feed.host, []).extend(_readings(feed))
    totals = ((host, power_of_system_now(results)) for host, results in power.items() if results)
    return tuple(
        Watts(host, total.power_w, total.provenance, total.scope)
        for host, total in totals
        if isinstance(total, Total)
    )


def _readings(feed: Feed) -> Iterator[PowerResult]:
    """Each channel of watts or joules with its newest value; ``None`` where there is none of now."""
    current = is_current(feed)
    for channel in feed.channels_in(POWER_UNITS):
        watts = _newest_w(feed, channel) if current else None
        yield PowerResult(
            feed.source, channel.name, channel.scope, channel.provenance, channel.method, power_w=watts
        )


def _newest_w(feed: Feed, channel: Channel) -> float | None:
    of_total = channel.unit == "J"
    newest = [
        (record.time_s, value)
        for record in feed.latest(TOTALS if of_total else 1)
        if record.problem is None and (value := record.values.get(channel.name)) is not None
    ]
    if not of_total:
        return newest[-1][1] if newest else None
    if len(newest) < TOTALS or any(
        now <= then or more <= less for (then, less), (now, more) in pairwise(newest)
    ):
        return None
    (then, less), (now, more) = newest[0], newest[-1]
    return watts if (watts := (more - less) / (now - then)) <= MOST_W else None


@dataclass(frozen=True, slots=True)
class CpuNow:
    """How busy the CPUs of one end of a load are, over the newest interval of ``mpstat``.

    ``cpu_cores`` is of all of the host's ``cpus``, the ratios are means over the CPUs of a role, 0..1 of one
    CPU; ``None``: not known, or no CPUs have that role.
    """

    host: str
    role: Role
    cpus: int
    cpu_cores: float | None
    app_busy_ratio: float | None
    irq_busy_ratio: float | None


def cpu_now(
    ends: Iterable[Placed], feeds: Iterable[Feed], specs: Mapping[str, HostSpec]
) -> tuple[CpuNow, ...]:
    """Of each of these ends; of one whose ``mpstat`` says nothing now, that it is not known."""
    newest = {
        feed.host: feed.latest(1)[0].values for feed in feeds if feed.source == "mpstat" and is_current(feed)
    }
    return tuple(_end_now(end, newest.get(end.host, {}), specs[end.host]) for end in ends)


def _end_now(end: Placed, shares: Mapping[str, float | None], spec: HostSpec) -> CpuNow:
    cpus = spec.cpus or [int(name[len("cpu") : -len(_IDLE)]) for name in shares if name.endswith(_IDLE)]
    return CpuNow(
        end.host,
        end.role,
        len(cpus),
        whole_sum(_busy(cpu, shares) for cpu in cpus),
        _mean_busy(end.app_cpus, shares),
        _mean_busy(end.irq_cpus or spec.irq_cpus or (), shares),
    )


_IDLE = ".idle_ratio"


@cache
def _unused(cpu: int) -> tuple[str, ...]:
    """The channels of a CPU that are not its use: names of thousands of CPUs a second take milliseconds."""
    return tuple(f"cpu{cpu}.{column}_ratio" for column in UNUSED)


def _busy(cpu: int, shares: Mapping[str, float | None]) -> float | None:
    unused = whole_sum(shares.get(name) for name in _unused(cpu))
    return None if unused is None else 1 - unused


def _mean_busy(cpus: Iterable[int], shares: Mapping[str, float | None]) -> float | None:
    busy = [_busy(cpu, shares) for cpu in cpus]
    total = whole_sum(busy)
    return None if total is None else total / len(busy)
