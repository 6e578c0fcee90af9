# SPDX-License-Identifier: Apache-2.0
"""Keys that features add to every source of power, as they are written, stored and used."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pydantic import BaseModel

from linewatt.core.feature import power_source_keys
from linewatt.model import Trial

SourceValues = Mapping[str, BaseModel]
"""key → what is stored for it"""


def key_fields() -> dict[str, Any]:
    """The type and the field of each key, for the model of a campaign's source."""
    return {key.key: key.load(key.field_path) for key in power_source_keys()}


def stored_values(values: SourceValues) -> dict[str, Any]:
    """What a manifest has of them."""
    return {key: value.model_dump(mode="json") for key, value in values.items()}


def values_of(stored: Mapping[str, Any]) -> dict[str, BaseModel]:
    """The values of a source of a manifest. Raises pydantic's ValidationError."""
    return {
        key.key: key.load(key.document_path).model_validate(stored[key.key])
        for key in power_source_keys()
        if stored.get(key.key) is not None
    }


def correct_trial(trial: Trial, by_source: Mapping[tuple[str, str], SourceValues]) -> Trial:
    """The trial as features show it, of what a campaign's sources have of their keys by host and source."""
    for key in power_source_keys():
        key_values = {source: values[key.key] for source, values in by_source.items() if key.key in values}
        if key_values:
            trial = key.load(key.correct_path)(trial, key_values)
    return trial
