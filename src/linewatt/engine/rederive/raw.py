# SPDX-License-Identifier: Apache-2.0
"""What sensors delivered, parsed again from their raw text."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from linewatt.campaign.campaign import Campaign
from linewatt.engine.live.feed import Feed, Reading
from linewatt.engine.live.meters import MeterRecords
from linewatt.engine.measuring.kept import Source
from linewatt.errors import ParseError
from linewatt.foreign import STORED, read_json
from linewatt.hosts.clock import Offset
from linewatt.sensors.base import Stamped
from linewatt.sensors.registry import POWER, SENSORS


def readings_of(
    sources: Sequence[Source], files: Mapping[str, str], campaign: Campaign, clocks: Mapping[str, Offset]
) -> dict[str, list[Reading]]:
    """Host → what its sensors delivered, in the order in which they were read. Raises ParseError."""
    readings: dict[str, list[Reading]] = {}
    for source in sources:
        text = files.get(f"{source.host}/{source.source}.jsonl", "")
        readings.setdefault(source.host, []).append(_reading(source, text, campaign, clocks.get(source.host)))
    return readings


def _reading(source: Source, text: str, campaign: Campaign, clock: Offset | None) -> Reading:
    """What a sensor delivered, parsed again. Raises ParseError."""
    feed = _feed(source, campaign)
    for line in text.splitlines():
        record = read_json(line, f"{source.host}/{source.source}.jsonl: damaged", STORED)
        if "read_s" not in record and clock is not None and isinstance(feed.sensor, Stamped):
            host_s = feed.sensor.time_s(record["text"])
            record["read_s"] = None if host_s is None else clock.to_controller(host_s)
        feed.take_again(record)
    feed.updates_s, feed.failure = dict(source.updates_s), source.failure
    return feed.whole()


def _feed(source: Source, campaign: Campaign) -> Feed:
    """A feed without a process, for records that are there already. Raises ParseError."""
    if not source.optional:
        if source.source not in SENSORS:
            raise ParseError(f"{source.host}: this linewatt has no sensor {source.source}")
        return Feed(source.host, SENSORS[source.source], campaign.sensors.get(source.source), source.source)
    named = campaign.power.get(source.host, {}).get(source.source)
    if named is None:
        raise ParseError(f"{source.host}: the campaign names no source of power {source.source}")
    driver = POWER[named.driver](named.cfg)
    if hasattr(driver, "open"):
        driver = MeterRecords(driver.name)
        driver.channels = dict(source.channels)
    return Feed(source.host, driver, named.cfg, source.source, essential=False)
