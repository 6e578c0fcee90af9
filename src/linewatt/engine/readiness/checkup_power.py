# SPDX-License-Identifier: Apache-2.0
"""One reading of every source of power: what it delivers, or what it says instead."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing

from linewatt.analysis.power import Shown
from linewatt.campaign import Campaign, PowerSource
from linewatt.campaign.planning import ALLOW_COMMANDS, Program
from linewatt.engine.live.meters import plausible
from linewatt.engine.live.secrets import Passwords
from linewatt.engine.live.sensor_feed import SensorFeed
from linewatt.engine.readiness.readiness import PowerAnswer
from linewatt.errors import HostError, InvalidInput, LinewattError
from linewatt.foreign import contained
from linewatt.hosts import Host, within_limit
from linewatt.model import Channel
from linewatt.sensors import POWER_DRIVERS
from linewatt.sensors.power import CALL_LIMIT_S, CommandConfig, no_meter

AT_ONCE = 32
"""meters that are read at once"""
FIRST_LIMIT_S = 5.0
"""beyond its own interval, for a program on the host to deliver"""


def is_meter(source: PowerSource) -> bool:
    """Whether it is read from the controller."""
    return hasattr(POWER_DRIVERS[source.driver], "open")


async def ask_meters(campaign: Campaign, secrets: Passwords) -> list[PowerAnswer]:
    """Meters need no host. Each call of theirs has its own limit, so that a silent one delays no other."""
    meter_sources = [
        (host, name, source)
        for host, sources in campaign.power.items()
        for name, source in sources.items()
        if is_meter(source)
    ]
    if not meter_sources:
        return []
    loop = asyncio.get_running_loop()
    pool = ThreadPoolExecutor(max_workers=min(AT_ONCE, len(meter_sources)))
    try:
        calls = [
            loop.run_in_executor(pool, _read_once, host, name, source, secrets[host, name])
            for host, name, source in meter_sources
        ]
        return list(await asyncio.gather(*calls))
    finally:
        pool.shutdown(wait=False, cancel_futures=True)  # Ctrl-C waits for no meter


def _read_once(host: str, name: str, source: PowerSource, password: str | None) -> PowerAnswer:
    """Open, read, close; in a thread."""
    try:
        with contained(name), closing(POWER_DRIVERS[source.driver](source.cfg).open(password)) as session:
            values, reasons = plausible(session.read(), session.reasons)
            return _answer(host, name, source, session.channels, values, reasons)
    except LinewattError as error:
        return _no_answer(host, name, source, str(error))


async def ask_streams(campaign: Campaign, host: Host, *, allow_commands: bool) -> list[PowerAnswer]:
    """Sources that are programs on the host: started, read once, stopped; the user's own where allowed."""
    sources = campaign.power.get(host.spec.name, {}).items()
    questions = (
        _stream_once(host, name, source, allow_commands) for name, source in sources if not is_meter(source)
    )
    return list(await asyncio.gather(*questions))


async def _stream_once(host: Host, name: str, source: PowerSource, allow_commands: bool) -> PowerAnswer:
    spec = host.spec
    if isinstance(source.cfg, CommandConfig) and not allow_commands:
        program_words = Program(name, spec.name, tuple(source.cfg.argv), source.cfg.root).words
        why = f"{program_words}, which check does only with {ALLOW_COMMANDS}"
        return _no_answer(spec.name, name, source, why, asked=False)
    driver = POWER_DRIVERS[source.driver](source.cfg)
    feed = SensorFeed(spec.name, driver, source.cfg, name, essential=False)
    limit_s = FIRST_LIMIT_S + source.cfg.interval_s
    try:
        await feed.start(host)
        await feed.wait_past(1.0, limit_s)  # the first record, whenever it came
        latest = feed.latest(1)
        problem = latest[0].problem if latest else feed.failure
        if problem is None:
            channels = {channel_name: driver.channel(channel_name) for channel_name in latest[0].values}
            return _answer(spec.name, name, source, channels, latest[0].values, latest[0].reasons)
        return _no_answer(spec.name, name, source, problem)
    except (HostError, InvalidInput) as error:
        return _no_answer(spec.name, name, source, str(error))
    finally:
        await within_limit(feed.stop(), CALL_LIMIT_S, f"{spec.name}: the end of {name}")


def _answer(
    host: str,
    name: str,
    source: PowerSource,
    channel_by_name: Mapping[str, Channel],
    values: Mapping[str, float | None],
    reasons: Mapping[str, str],
) -> PowerAnswer:
    """Channels with a value; where none has one, why."""
    channels = tuple(sorted(channel for channel, value in values.items() if value is not None))
    distinct_reasons: Sequence[str] = list(dict.fromkeys(reasons.values())) or ["delivers no value"]
    problem = no_meter(channel_by_name, values) if channels else "; ".join(distinct_reasons)
    shown = tuple(
        Shown(name, channel.name, channel.scope, value)
        for channel in channel_by_name.values()
        if channel.unit == "W"
        and channel.provenance != "estimate"
        and (value := values.get(channel.name)) is not None
    )
    return PowerAnswer(host, name, source.driver, channels, source.cfg.simulated, problem, shown=shown)


def _no_answer(host: str, name: str, source: PowerSource, why: str, *, asked: bool = True) -> PowerAnswer:
    """Why a source delivers nothing."""
    return PowerAnswer(host, name, source.driver, simulated=source.cfg.simulated, problem=why, asked=asked)


def not_asked(campaign: Campaign, host: str, why: str) -> list[PowerAnswer]:
    """Programs on a host that cannot be reached."""
    return [
        _no_answer(host, name, source, why, asked=False)
        for name, source in campaign.power.get(host, {}).items()
        if not is_meter(source)
    ]
