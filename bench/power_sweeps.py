# SPDX-License-Identifier: Apache-2.0
"""What reading power costs: a sweep of each source that can be had here, one controller with 96 BMCs at 1 Hz.

BMCs are the lab's (``ipmi_sim``), read by the engine's own code. Beside a sweep stands an ``ipmitool sdr`` by
hand. Streams run on the host; where a machine has no RAPL or hwmon, finding nothing is what is timed.
"""

from __future__ import annotations

import asyncio
import os
import resource
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from bench.rig import Rig, lab_of, rig
from bench.rows import MeasurementFailed, Peer, Row, Target
from linewatt.campaign.campaign import Campaign, PowerSource
from linewatt.campaign.file import load
from linewatt.engine.meters import MeterFeed
from linewatt.engine.secrets import passwords
from linewatt.hosts.base import HostSpec
from linewatt.lab import Lab
from linewatt.sensors.registry import POWER

ABOUT_S = 75
HOSTS = 96
_STREAMS: dict[str, dict[str, Any]] = {
    "rapl": {},
    "hwmon": {},
    "estimate": {"scope": "system", "idle_w": 50.0, "max_w": 150.0},
}
_NO_HOST: Any = None


@dataclass
class Cost:
    """Wall and CPU time of something, in seconds, filled in at its end."""

    wall_s: float = 0.0
    cpu_s: float = 0.0


@contextmanager
def cost(who: int = resource.RUSAGE_SELF) -> Iterator[Cost]:
    """What the body takes: this process's CPU time, or with RUSAGE_CHILDREN that of children it waits for."""
    found = Cost()
    began_s, before = time.monotonic(), resource.getrusage(who)
    yield found
    after = resource.getrusage(who)
    found.wall_s = time.monotonic() - began_s
    found.cpu_s = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def measure(*, quick: bool) -> list[Row]:
    """Sweeps first, then 96 BMCs."""
    with rig() as own:
        with lab_of(2, "1gbit") as lab:
            rows = [*_ipmi_rows(_campaign(own, lab), 20 if quick else 100), *_stream_rows(3 if quick else 10)]
        with lab_of(HOSTS, "1gbit") as lab:
            return [*rows, *asyncio.run(_many(_campaign(own, lab), 10.0 if quick else 30.0))]


def _campaign(own: Rig, lab: Lab) -> Campaign:
    pairs = [
        f"{one.name} -> {other.name}" for one, other in zip(lab.hosts[::2], lab.hosts[1::2], strict=True)
    ]
    campaign = load(own.campaign(lab.inventory, pairs=pairs))
    if not any(campaign.power.values()):
        raise MeasurementFailed("the lab has no BMCs: is ipmi_sim (openipmi) installed?")
    return campaign


def _source(campaign: Campaign, host: str) -> tuple[PowerSource, str | None]:
    (name,) = campaign.power[host]
    return campaign.power[host][name], passwords(campaign)[host, name]


def _ipmi_rows(campaign: Campaign, sweeps: int) -> list[Row]:
    source, password = _source(campaign, "h1")
    with cost() as login:
        session = POWER["ipmi"](source.cfg).open(password)
    taken = []
    for _ in range(sweeps):
        with cost() as one:
            session.read()
        taken.append(one)
    sensors = len(session.channels)
    session.close()
    by_hand = [_by_hand(source.cfg) for _ in range(5)]
    note = f"{sensors} sensors; opening it: {login.wall_s:.3f} s"
    return [
        Row(
            "ipmi, a sweep, wall",
            "s",
            tuple(one.wall_s for one in taken),
            None,
            Peer("ipmitool sdr", tuple(one.wall_s for one in by_hand)),
            note,
        ),
        Row(
            "ipmi, a sweep, CPU of the controller",
            "s",
            (sum(one.cpu_s for one in taken) / sweeps,),
            None,
            Peer("ipmitool sdr", tuple(one.cpu_s for one in by_hand)),
        ),
    ]


def _by_hand(cfg: Any) -> Cost:
    argv = ["ipmitool", "-I", "lanplus", "-C", "3", "-H", cfg.address, "-U", cfg.user]
    with cost(resource.RUSAGE_CHILDREN) as found:
        subprocess.run(
            [*argv, "-f", cfg.password_file, "sdr", "elist"], check=True, capture_output=True, timeout=30
        )
    return found


def _stream_rows(seconds: float) -> list[Row]:
    """CPU time a record of the streams, run by hand on this machine at their highest rate."""
    host = HostSpec("here", "local", "lo", cpus=tuple(sorted(os.sched_getaffinity(0))))
    rows = []
    for name, settings in _STREAMS.items():
        driver = POWER[name](POWER[name].Config(interval_s=0.1, **settings))
        argv = ["timeout", "-s", "INT", f"{seconds:g}", *driver.command(driver.cfg, host)]
        with cost(resource.RUSAGE_CHILDREN) as found:
            done = subprocess.run(argv, check=False, capture_output=True, text=True)
        records = [line for line in done.stdout.splitlines() if driver.ends_record(line)]
        if not records:
            raise MeasurementFailed(f"{name} delivered nothing: {done.stderr.strip()[-200:]}")
        channels = sum(value is not None for value in driver.parse(records[-1]).values())
        note = f"{channels} channels here"
        rows.append(Row(f"{name}, a record, CPU of the host", "s", (found.cpu_s / len(records),), note=note))
    return rows


async def _many(campaign: Campaign, seconds: float) -> list[Row]:
    """All BMCs at 1 Hz in this process."""
    feeds = []
    for host in campaign.hosts:
        source, password = _source(campaign, host)
        cfg = source.cfg.model_copy(update={"interval_s": 1.0})
        feeds.append(MeterFeed(host, "bmc", POWER["ipmi"](cfg), cfg, password))
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
