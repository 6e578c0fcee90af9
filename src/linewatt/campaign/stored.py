# SPDX-License-Identifier: Apache-2.0
"""A campaign as plain values, for a result's manifest, and back: ``resume`` needs no other file."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import asdict, fields, replace
from functools import cache
from pathlib import Path
from typing import Any

from pydantic import TypeAdapter, ValidationError

from linewatt.campaign.campaign import Campaign, PowerSource, power_config
from linewatt.campaign.feature_keys import documents_of
from linewatt.campaign.feature_keys import stored_feature_values as key_values
from linewatt.core.feature import campaign_keys
from linewatt.document import show_value
from linewatt.errors import StoreError
from linewatt.foreign import one_line
from linewatt.power_source_keys import stored_values, values_of
from linewatt.sensors import SENSORS
from linewatt.units import first_of


@cache
def _campaign() -> TypeAdapter[Campaign]:
    """Reads one: 15 ms to make, which only ``resume`` needs."""
    return TypeAdapter(Campaign)


def campaign_as_dict(campaign: Campaign) -> dict[str, Any]:
    """Every resolved value of the campaign; no secret is among them, a campaign holds none."""
    values = asdict(campaign)
    if not campaign.groups:
        del values["groups"]
    of_features = documents_of(values.pop("feature_values"))
    last = {name: values.pop(name) for name in ("hosts", "tests", "sysctl", "power", "sensors")}
    return {
        **values,
        **of_features,
        "path": str(campaign.path),
        "inventory": None if campaign.inventory is None else str(campaign.inventory),
        "topologies": {name: str(path) for name, path in campaign.topologies.items()},
        **last,
        "hosts": {name: spec.as_document() for name, spec in campaign.hosts.items()},
        "power": {
            host: {name: _source(source) for name, source in sources.items()}
            for host, sources in campaign.power.items()
        },
        "sensors": {name: cfg.model_dump(mode="json") for name, cfg in campaign.sensors.items()},
    }


def differences_from_stored(stored: Mapping[str, Any], now: Campaign) -> list[str]:
    """What a campaign says otherwise than the one that is stored, ``where: then → now`` each.

    That hosts share CPUs may be stored because it was seen on them: a file without it says nothing else.
    """
    document = json.loads(json.dumps(campaign_as_dict(now)))
    for name, spec in document["hosts"].items():
        spec["shares_cpus_with"] = spec["shares_cpus_with"] or stored.get("hosts", {}).get(name, {}).get(
            "shares_cpus_with", []
        )
    return list(_differing("", stored, document))


def with_limits(then: Campaign, now: Campaign) -> Campaign:
    """A stored campaign with the limits that its hosts have by now: they are no part of what is measured."""
    hosts = {
        name: replace(spec, limits=now.hosts[name].limits) if name in now.hosts else spec
        for name, spec in then.hosts.items()
    }
    return replace(then, hosts=hosts)


_NO_VALUES = ("path", "text", "inventory")
"""where a campaign comes from, and how it was written"""


def _differing(where: str, then: Any, now: Any) -> Iterator[str]:
    """What was not stored, for it was not known then, is no difference."""
    if isinstance(then, Mapping) and isinstance(now, Mapping):
        for key in [*then, *(key for key in now if where and key not in then)]:
            if where or key not in _NO_VALUES:
                yield from _differing(f"{where}.{key}".lstrip("."), then.get(key), now.get(key))
    elif then != now:
        yield f"{where}: {_brief(then)} → {_brief(now)}"


def _brief(value: Any) -> str:
    text = json.dumps(value, ensure_ascii=False)
    return text if len(text) <= _MOST_SHOWN else f"{text[: _MOST_SHOWN - 1]}…"


_MOST_SHOWN = 60


def campaign_from_dict(stored: dict[str, Any]) -> Campaign:
    """The campaign that :func:`campaign_as_dict` wrote. Raises StoreError when it cannot be read any more."""
    try:
        sensors = {name: SENSORS[name].Config(**cfg) for name, cfg in stored["sensors"].items()}
        power = {host: _sources(sources) for host, sources in stored.get("power", {}).items()}
        _refuse_unknown(stored)
        plain = {**stored, "sensors": {}, "power": {}, "path": Path(stored["path"])}
        plain["feature_values"] = key_values(stored)
        campaign = _campaign().validate_python(plain)
    except (KeyError, TypeError, AttributeError, ValidationError) as error:
        raise StoreError(
            f"the campaign in its manifest.json cannot be read by this linewatt: {_what_is_wrong(error)}; "
            "run the campaign's file again, or resume it with the version that wrote it"
        ) from error
    return replace(campaign, sensors=sensors, power=power)


def _refuse_unknown(stored: Mapping[str, Any]) -> None:
    """Raises StoreError for a key that is of no installed feature."""
    names = {field.name for field in fields(Campaign)}.union(key.key for key in campaign_keys())
    unknown = next((name for name, value in stored.items() if name not in names and value is not None), None)
    if unknown is not None:
        raise StoreError(
            f"the campaign in its manifest.json has {unknown}, which is of a feature that is not installed; "
            "install that"
        )


MOST_PLACES = 20
"""of what is wrong that are named; of more, how many there are"""


def _what_is_wrong(error: Exception) -> str:
    """The first thing that is wrong, and where the other errors are, in one line."""
    if not isinstance(error, ValidationError):
        return f"{error} is missing" if isinstance(error, KeyError) else one_line(str(error))
    errors = error.errors(include_url=False)
    where, *other_places = dict.fromkeys(".".join(str(part) for part in details["loc"]) for details in errors)
    also = f"; also wrong: {first_of(other_places, MOST_PLACES - 1, between=', ')}" if other_places else ""
    return one_line(f"{where}: {errors[0]['msg']}, got {show_value(errors[0]['input'])}{also}")


def _source(power_source: PowerSource) -> dict[str, Any]:
    values = {"driver": power_source.driver, **power_source.cfg.model_dump(mode="json", exclude_unset=True)}
    return values | stored_values(power_source.feature_values)


def _sources(stored: dict[str, dict[str, Any]]) -> dict[str, PowerSource]:
    sources = {}
    for name, values in stored.items():
        feature_values = values_of(values)
        settings = {
            key: value for key, value in values.items() if key != "driver" and key not in feature_values
        }
        driver = values["driver"]
        sources[name] = PowerSource(driver, power_config(driver, settings), feature_values)
    return sources
