# SPDX-License-Identifier: Apache-2.0
"""Calibrations that sources of power name: found in a result, and of that very meter of that very host."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, TypeVar

from pydantic import ValidationError

from linewatt.campaign import PowerSource, power_config
from linewatt.campaign.entries import CampaignFile, HostEntry
from linewatt.campaign.reading import Finding, resolve_path
from linewatt.document import file_problem, read_text
from linewatt.errors import InvalidInput, LinewattError
from linewatt.features.calibration.documents import Calibration, CalibrationUsed
from linewatt.foreign import STORED, read_json
from linewatt.hosts import now_s
from linewatt.records import Document, Manifest
from linewatt.sensors import POWER_DRIVERS
from linewatt.sensors.power import Secret

SIDES: Mapping[str, str] = {"wall": "AC in", "psu-in": "AC in", "system": "AC in"}
"""scopes of one side of the power supplies; of any other each is its own"""
_FILE = re.compile(r"calibration(-([0-9]{1,4}))?\.json")
_NOT_THE_METER = {
    *("interval_s", "tolerance_percent", "refresh_s", "averaging_s", "simulated", "calibration"),
    *("user", "ca_file", *Secret.model_fields),
}
"""settings that may differ though the meter is the same: how it is read, and by whom"""
_CLOCKS_APART_S = 300.0

D = TypeVar("D", bound=Document)


def check_calibrations(entry: CampaignFile, hosts: Mapping[str, HostEntry], base: Path) -> Iterator[Finding]:
    """Calibrations that cannot be had or are of something else, and campaigns that know none."""
    for name, host in hosts.items():
        for source, cfg in host.power.items():
            if cfg.calibration is None:
                continue
            at = ("hosts", name, "power", source, "calibration")
            for key in ("soak", "energy"):
                if entry.value_of(key) is not None:
                    yield at, f"{key} has no corrected figures; take the calibration out, or {key}"
            try:
                calibration_of(name, host, source, base)
            except LinewattError as error:
                yield at, str(error)


def calibration_of(host: str, entry: HostEntry, source: str, base: Path) -> CalibrationUsed:
    """By what a source is corrected whose key ``calibration`` is written. Raises InvalidInput."""
    settings = entry.power[source].model_dump(mode="json", exclude_unset=True)
    named = settings.pop("calibration")
    path = resolve_path(base, named).absolute()
    result = path if path.is_dir() else path.parent
    matches = [pair for pair in _files(path) if (pair[1].host, pair[1].meter.source) == (host, source)]
    if not matches:
        raise InvalidInput(_none(path, host, source))
    references = {calibration.reference.source for _, calibration in matches}
    if len(references) > 1:
        raise InvalidInput(
            f"{path} has {source} of {host} against {' and '.join(sorted(references))}; name a file: "
            f"{' or '.join(file.name for file, _ in matches)}"
        )
    file, calibration = matches[-1]
    _usable(file, calibration)
    driver = settings.pop("driver")
    _same_meter(result, host, entry, source, PowerSource(driver, power_config(driver, settings)))
    return CalibrationUsed(result=result.name, file=file.name, calibration=calibration)


def _files(path: Path) -> list[tuple[Path, Calibration]]:
    """What is at a path, in the order in which it was made."""
    if not path.is_dir():
        if wrong := file_problem(path):
            raise InvalidInput(
                f"{path} {wrong}; name a result of linewatt calibrate, or its calibration.json"
            )
        return [(path, _read(path, Calibration))]
    numbered = [
        (int(match[2] or 1), file) for file in path.iterdir() if (match := _FILE.fullmatch(file.name))
    ]
    return [(file, _read(file, Calibration)) for _, file in sorted(numbered)]


def _read(path: Path, shape: type[D]) -> D:
    try:
        return shape.model_validate(read_json(read_text(path), str(path), STORED))
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False, include_context=False)[0]
        where = ".".join(map(str, first["loc"]))
        raise InvalidInput(
            f"{path}: is not a {shape.__name__.lower()} of linewatt: {where}: {first['msg']}"
        ) from None


def _none(path: Path, host: str, source: str) -> str:
    available = (
        ", ".join(f"{calibration.meter.source} of {calibration.host}" for _, calibration in _files(path))
        or "none"
    )
    return f"{path} has no calibration of {source} of {host}; it has: {available}"


def _usable(file: Path, calibration: Calibration) -> None:
    meter, reference = calibration.meter, calibration.reference
    if calibration.gain is None or calibration.offset_w is None:
        raise InvalidInput(
            f"{file} has no gain and offset, so it cannot correct readings: {calibration.withheld}"
        )
    if SIDES.get(meter.scope, meter.scope) != SIDES.get(reference.scope, reference.scope):
        raise InvalidInput(
            f"{file} compares {meter.scope} with {reference.scope}: the power drawn between them is not an "
            f"error of {meter.source}, so there is nothing to correct"
        )
    if calibration.gain.value <= -1 or len({step.reference_w for step in calibration.steps}) < 3:
        raise InvalidInput(f"{file}: its gain or steps do not come from linewatt calibrate")
    if calibration.measured_s > now_s() + _CLOCKS_APART_S:
        raise InvalidInput(f"{file} was made later than now; set this machine's clock")


def _same_meter(result: Path, host: str, entry: HostEntry, source: str, now: PowerSource) -> None:
    """Raises InvalidInput where a name stands for another meter, or another host, than it did."""
    file = result / "manifest.json"
    if wrong := file_problem(file):
        raise InvalidInput(
            f"{file} {wrong}, so nothing tells which meter was calibrated; name a whole result"
        )
    manifest = _read(file, Manifest)
    stored = (manifest.asked.written.get("power") or {}).get(host, {}).get(source)
    if not isinstance(stored, dict) or "driver" not in stored:
        raise InvalidInput(f"{file} does not say which meter {source} of {host} was")
    then, is_now = _identity(stored), _identity({"driver": now.driver, **_dump(now)})
    for key in is_now:
        if then.get(key) != is_now[key]:
            raise InvalidInput(
                f"{result} is of another meter: {key} of {source} was {then.get(key)!r}, "
                f"and is {is_now[key]!r}"
            )
    host_record = manifest.hosts.get(host)
    address = host_record.said.get("address") if host_record is not None else None
    if not hasattr(POWER_DRIVERS[now.driver], "open") and address != entry.address:
        raise InvalidInput(f"{result} is of another host: {host} was {address!r}, and is {entry.address!r}")


def _identity(stored: Mapping[str, Any]) -> dict[str, Any]:
    """Settings that say which meter it is, those that were left out as well."""
    settings = {key: value for key, value in stored.items() if key not in ("driver", *_NOT_THE_METER)}
    try:
        all_settings = power_config(stored["driver"], settings).model_dump(mode="json")
    except (KeyError, ValidationError):
        all_settings = settings
    return {"driver": stored["driver"]} | {
        k: value for k, value in all_settings.items() if k not in _NOT_THE_METER
    }


def _dump(source: PowerSource) -> dict[str, Any]:
    return source.cfg.model_dump(mode="json", exclude_unset=True)
