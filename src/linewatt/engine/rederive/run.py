# SPDX-License-Identifier: Apache-2.0
"""Every trial of a result made again: raw files in, trials and differences out. Writes only when told to."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from linewatt.campaign import stored
from linewatt.campaign.campaign import Campaign
from linewatt.engine.feed import Feed, Reading
from linewatt.engine.measuring import kept
from linewatt.engine.measuring.kept import Kept, Source
from linewatt.engine.measuring.measure import measure
from linewatt.engine.meters import MeterRecords
from linewatt.engine.rederive import older
from linewatt.engine.rederive.differences import Change, Told, changes, told
from linewatt.errors import InvalidInput, LinewattError, ParseError, StoreError
from linewatt.hosts.clock import now_s
from linewatt.loads.registry import LOADS
from linewatt.model import METHOD, Trial
from linewatt.sensors.base import Stamped
from linewatt.sensors.registry import POWER, SENSORS
from linewatt.store import derived, read


@dataclass(frozen=True, slots=True)
class Again:
    """One trial: what is stored, what today's method makes of it, and what differs.

    ``after`` is None where it cannot be made again, ``problem`` says why. ``same``: to the byte.
    """

    number: int
    method: int
    after: Trial | None
    problem: str | None = None
    same: bool = False
    changes: tuple[Change, ...] = ()
    told: tuple[Told, ...] = ()


@dataclass(frozen=True, slots=True)
class Rederived:
    """A result made again."""

    result: read.Result
    trials: tuple[Again, ...]

    @property
    def changed(self) -> tuple[Again, ...]:
        """Trials whose document would be another one."""
        return tuple(one for one in self.trials if one.after is not None and not one.same)


def rederive(result: read.Result) -> Rederived:
    """Make every trial again. Raises InvalidInput where a result has no raw output, StoreError."""
    if result.imported_from is not None:
        raise InvalidInput(f"{result.id}: was imported from {result.imported_from}; import it again instead")
    if result.is_soak:
        raise InvalidInput(f"{result.id}: is a soak, whose figures are made anew whenever it is shown")
    campaign = stored.from_dict(result.manifest["campaign"])
    directories = read.trial_dirs(result.path)
    files = derived.files(result.path, [directory.name for directory in directories])
    pairs = zip(directories, files, strict=True)
    return Rederived(result, tuple(_again(result, campaign, one, Path(file)) for one, file in pairs))


def write(found: Rederived) -> Path | None:
    """Store all trials that were made again, if one is another now. Raises StoreError."""
    from linewatt import __version__

    if not found.changed:
        return None
    about = {"method": METHOD, "linewatt_version": __version__, "derived_s": now_s()}
    trials = [one.after for one in found.trials if one.after is not None]
    return derived.write(found.result.path, about, trials)


def _again(result: read.Result, campaign: Campaign, directory: Path, file: Path) -> Again:
    before_text = _text(file)
    before = json.loads(before_text)
    number, method = int(before["number"]), int(before.get("method", 1))
    try:
        after = _made(result, campaign, directory)
    except LinewattError as error:
        return Again(number, method, None, str(error))
    text = derived.text_of(after)
    now = json.loads(text)
    return Again(
        number,
        method,
        after,
        same=text == before_text,
        changes=tuple(changes(number, before, now)),
        told=tuple(told(number, before, now)),
    )


def _made(result: read.Result, campaign: Campaign, directory: Path) -> Trial:
    """A trial from its raw files. Raises ParseError, StoreError."""
    files = dict(_raw(directory / "raw"))
    known = files.get(kept.NAME)
    if known is None:
        trial = read.read_trial(directory)
        found = older.kept_of(result, campaign, trial, files, directory)
        again = _measured(found, files, campaign)
        return older.as_far_as_known(trial, again)
    return _measured(kept.read(known, files, campaign.hosts), files, campaign)


def _measured(found: Kept, files: Mapping[str, str], campaign: Campaign) -> Trial:
    readings: dict[str, list[Reading]] = {}
    for source in found.sources:
        clock = found.run.clocks.get(source.host)
        own = _reading(source, files.get(f"{source.host}/{source.source}.jsonl", ""), campaign, clock)
        readings.setdefault(source.host, []).append(own)
    return measure(found.run, readings, found.setup, LOADS["iperf3"], found.overhead_s).trial


def _reading(source: Source, text: str, campaign: Campaign, clock: Any) -> Reading:
    """What a sensor delivered, parsed again. Raises ParseError."""
    feed = _feed(source, campaign)
    for line in text.splitlines():
        try:
            record = json.loads(line)
        except ValueError as error:
            raise ParseError(f"{source.host}/{source.source}.jsonl: damaged: {error}") from error
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


def _raw(folder: Path) -> Iterator[tuple[str, str]]:
    for path in sorted(folder.rglob("*")):
        if path.is_file():
            yield path.relative_to(folder).as_posix(), _text(path)


def _text(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8")
    except (OSError, ValueError) as error:
        raise StoreError(f"{path}: cannot be read: {error}") from error


def as_document(found: Rederived) -> dict[str, Any]:
    """Everything that differs, for ``--json``."""
    return {
        "schema_version": 1,
        "id": found.result.id,
        "method": METHOD,
        "trials": [
            {
                "number": one.number,
                "method": one.method,
                "same": one.same,
                "problem": one.problem,
                "changes": [asdict(change) for change in one.changes],
                "findings": [asdict(finding) for finding in one.told],
            }
            for one in found.trials
        ],
    }
