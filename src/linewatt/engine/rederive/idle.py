# SPDX-License-Identifier: Apache-2.0
"""Readings parsed again from their raw text, and idle windows made again from them."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import takewhile
from pathlib import Path
from typing import Any

from linewatt.campaign import Campaign, host_as_set
from linewatt.engine.live.feed import Feed, Reading
from linewatt.engine.live.meters import MeterRecords
from linewatt.engine.measuring import run_record
from linewatt.engine.measuring.idle import host_values
from linewatt.engine.measuring.run_record import Source
from linewatt.engine.rederive.differences import Again, changes
from linewatt.errors import LinewattError, ParseError
from linewatt.foreign import STORED, contained, read_json
from linewatt.hosts import Offset
from linewatt.model import Window
from linewatt.records import Idle
from linewatt.sensors import POWER_DRIVERS, SENSORS, Stamped
from linewatt.store import derived_document_path, numbered_files, raw_texts, value_of_document
from linewatt.store import read_json as read_stored_json


@dataclass(frozen=True, slots=True, kw_only=True)
class IdleAgain(Again[Mapping[str, Any]]):
    """One idle window by the name of its file."""

    name: str


def idle_again(result: Path, campaign: Campaign) -> Iterator[IdleAgain]:
    """Every idle window of a result. Raises StoreError."""
    for kind in ("idle", "idle-end"):
        for file in takewhile(Path.exists, numbered_files(result, kind)):
            path = derived_document_path(result, file.name)
            before = read_stored_json(path)
            stored = value_of_document(path, before, Idle)
            try:
                with contained(file.name):
                    hosts = _made(stored, result / "raw" / file.stem, campaign)
                    after = json.loads(json.dumps({**before, "hosts": hosts}))
            except LinewattError as error:
                yield IdleAgain(name=file.name, problem=str(error))
            else:
                figure_changes = tuple(changes(0, before, after))
                yield IdleAgain(name=file.name, after=after, same=after == before, changes=figure_changes)


def _made(stored: Idle, folder: Path, campaign: Campaign) -> dict[str, Any]:
    """What hosts did in a window, from its readings. Raises ParseError."""
    files = raw_texts(folder)
    if run_record.NAME not in files:
        raise ParseError("what was known of its sensors was not stored then; it stays as it is")
    idle_inputs = run_record.read_idle(files[run_record.NAME])
    readings = readings_of(idle_inputs.sources, files, campaign, {})
    window = Window(stored.window.start_s, stored.window.end_s)
    return {
        name: host_values(
            host_as_set(campaign.hosts[name], (stored.setting or {}).items(), campaign.server_host),
            readings[name],
            window,
            values.look,
            idle_inputs.meters.get(name, {}),
        ).as_written()
        for name, values in stored.hosts.items()
    }


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
    driver = POWER_DRIVERS[named.driver](named.cfg)
    if hasattr(driver, "open"):
        driver = MeterRecords(driver.name)
        driver.channels = dict(source.channels)
    return Feed(source.host, driver, named.cfg, source.source, essential=False)
