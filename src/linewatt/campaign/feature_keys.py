# SPDX-License-Identifier: Apache-2.0
"""Keys that features add to campaign files, as they are written, stored and read again."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pydantic import BaseModel, TypeAdapter

from linewatt.core.feature import campaign_keys


def key_fields() -> dict[str, Any]:
    """The type and the field of each key, for the model of a campaign file."""
    return {key.key: key.load(key.field_path) for key in campaign_keys()}


def written_values(entry: BaseModel) -> dict[str, Any]:
    """What a file has at each key, without those that have their default."""
    fields = type(entry).model_fields
    values = {key.key: getattr(entry, key.key) for key in campaign_keys()}
    return {key: value for key, value in values.items() if value != fields[key].default}


def stored_values(stored: Mapping[str, Any]) -> dict[str, Any]:
    """The values of a campaign of a manifest. Raises pydantic's ValidationError."""
    return {
        key: TypeAdapter(kind).validate_python(stored[key])
        for key, (kind, _field) in key_fields().items()
        if key in stored
    }
