# SPDX-License-Identifier: Apache-2.0
"""What reading power costs: a sweep of each source that can be had here, one controller with 96 BMCs at 1 Hz.

BMCs are the lab's (``ipmi_sim``), read by the engine's own code; meters on the network are servers of our own
(:mod:`bench.power_servers`). Beside a sweep stands the same by hand. Streams run on this machine; where it
has no RAPL or hwmon, finding nothing is what is timed.
"""

from __future__ import annotations

import asyncio
import os
import time
from dataclasses import replace
from typing import Any

from bench.cost import by_hand, cost, sweep_rows
from bench.effort import Effort
from bench.power_meters import meter_rows
from bench.power_streams import STREAMS, ipmitool_stream, stream_rows
from bench.rig import Rig, lab_of, rig
from bench.rows import MeasurementFailed, Row, Target
from linewatt.campaign.campaign import Campaign, PowerSource
from linewatt.campaign.reading.file import load_campaign
from linewatt.engine.live.meters import MeterFeed
from linewatt.engine.live.secrets import read_passwords
from linewatt.features.lab.api import Lab
from linewatt.sensors.registry import POWER_DRIVERS

ABOUT_S = 80
HOSTS = 96
_NO_HOST: Any = None


def measure(effort: Effort) -> list[Row]:
    """Sweeps first, then 96 BMCs."""
    sweeps, seconds = effort.of((100, 6.0), (20, 1.5), (3, 1.0))
    with rig() as own:
        rows, left_out = meter_rows(own.directory, sweeps)
        for stream in STREAMS:
            rows += stream_rows(stream, seconds)
        with lab_of(2, "1gbit") as lab:
            rows = [*_bmc_rows(_campaign(own, lab), sweeps, 2 * seconds), *rows]
        with lab_of(effort.of(HOSTS, HOSTS, 2), "1gbit") as lab:
            rows += asyncio.run(_many(_campaign(own, lab), effort.of(30.0, 10.0, 2.0)))
    notes = "; ".join(filter(None, (rows[0].note, *left_out)))
    return [replace(rows[0], note=notes), *rows[1:]]


def _campaign(own: Rig, lab: Lab) -> Campaign:
    pairs = [
        f"{one.name} -> {other.name}" for one, other in zip(lab.hosts[::2], lab.hosts[1::2], strict=True)
    ]
    campaign = load_campaign(own.campaign(lab.inventory, pairs=pairs))
    if not any(campaign.power.values()):
        raise MeasurementFailed("the lab has no BMCs: is ipmi_sim (openipmi) installed?")
    return campaign


def _source(campaign: Campaign, host: str) -> tuple[PowerSource, str | None]:
    (name,) = campaign.power[host]
    return campaign.power[host][name], read_passwords(campaign)[host, name]


def _bmc_rows(campaign: Campaign, sweeps: int, seconds: float) -> list[Row]:
    """One BMC, over its LAN port by linewatt itself, and by the stream that runs ipmitool."""
    source, password = _source(campaign, "h1")
    cfg: Any = source.cfg
    argv = ["ipmitool", "-I", "lanplus", "-C", "3", "-H", cfg.address, "-U", cfg.user]
    peer = by_hand("ipmitool sdr", [*argv, "-f", cfg.password_file, "sdr", "elist"], 5, os.environ)
    rows = sweep_rows("ipmi", lambda: POWER_DRIVERS["ipmi"](cfg), password, sweeps, peer)
    return [*rows, *stream_rows(ipmitool_stream(cfg), seconds)]


async def _many(campaign: Campaign, seconds: float) -> list[Row]:
    """All BMCs at 1 Hz in this process."""
    feeds = []
    for host in campaign.hosts:
        source, password = _source(campaign, host)
        cfg = source.cfg.model_copy(update={"interval_s": 1.0})
        feeds.append(MeterFeed(host, "bmc", POWER_DRIVERS["ipmi"](cfg), cfg, password))
    await asyncio.gather(*(feed.start(_NO_HOST) for feed in feeds))
    await asyncio.sleep(3)  # how often they are updated is looked at first, and often
    began_s = time.time()
    with cost() as found:
        await asyncio.sleep(seconds)
    readings = [feed.between(began_s, began_s + seconds) for feed in feeds]
    await asyncio.gather(*(feed.stop() for feed in feeds))
    down = [feed.host for feed in feeds if feed.failure is not None]
    gaps = tuple(max((one.span_s for one in records[1:]), default=seconds) for records in readings)
    note = f"{len(down)} of {len(feeds)} BMCs down" if down else ""
    share = 100 * found.cpu_s / found.wall_s
    return [
        Row(f"{len(feeds)} BMCs at 1 Hz, CPU of the controller", "percent", (share,), None, None, note),
        Row("longest time between two readings of a BMC", "s", gaps, Target(at_most=1.5)),
    ]
