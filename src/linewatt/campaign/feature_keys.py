# SPDX-License-Identifier: Apache-2.0
"""Keys that features add to campaign files, as they are written, resolved, stored and read again."""

from __future__ import annotations

import importlib.util
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pydantic import BaseModel, TypeAdapter

from linewatt.campaign.campaign import Campaign
from linewatt.core.feature import CampaignKey, campaign_keys
from linewatt.extras import install_command


def key_fields() -> dict[str, Any]:
    """The type and the field of each key, for the model of a campaign file."""
    return {key.key: key.load(key.field_path) for key in campaign_keys()}


def written_keys(entry: BaseModel) -> list[CampaignKey]:
    """Keys that a file has, and not as their default."""
    fields = type(entry).model_fields
    return [key for key in campaign_keys() if getattr(entry, key.key) != fields[key.key].default]


def values_of(entry: BaseModel, base: Path) -> dict[str, Any]:
    """What a campaign has of the keys of its file, whose files are relative to ``base``."""
    return {
        key.key: key.load(key.read_path)(entry, base) if key.read_path else getattr(entry, key.key)
        for key in written_keys(entry)
    }


def documents_of(values: Mapping[str, Any]) -> dict[str, Any]:
    """What is stored of such values, which are plain."""
    return {key.key: None for key in campaign_keys() if key.document_path} | {**values}


def stored_feature_values(stored: Mapping[str, Any]) -> dict[str, Any]:
    """The values of a campaign of a manifest. Raises pydantic's ValidationError."""
    return {
        key.key: TypeAdapter(_stored_type(key)).validate_python(stored[key.key])
        for key in campaign_keys()
        if stored.get(key.key) is not None
    }


def _stored_type(key: CampaignKey) -> Any:
    return key.load(key.document_path) if key.document_path else key.load(key.field_path)[0]


def resolve_campaign(campaign: Campaign, results: Path, stored: Mapping[str, Any] | None = None) -> Campaign:
    """The campaign as it is to be run: with what its keys look up in stored results.

    ``stored`` is what a result has of it, taken as it was. Raises InvalidInput for what cannot be had.
    """
    for key in campaign_keys() if campaign.feature_values else ():
        if key.resolve_path and key.key in campaign.feature_values:
            campaign = key.load(key.resolve_path)(campaign, results, (stored or {}).get(key.key))
    return campaign


@dataclass(frozen=True, slots=True)
class MissingPackages:
    """Packages that the controller lacks for a key of a campaign, and the command that installs them."""

    key: str
    names: tuple[str, ...]
    command: str

    @property
    def problem(self) -> str:
        verb = "is" if len(self.names) == 1 else "are"
        return f"{' and '.join(self.names)} {verb} not installed"

    def __str__(self) -> str:
        return f"{self.key}: {self.problem} on the controller; run there: {self.command}"


def missing_packages(campaign: Campaign) -> tuple[MissingPackages, ...]:
    """What the controller lacks for the keys of a campaign."""
    lacking = []
    for key in campaign_keys():
        if key.key in campaign.feature_values:
            names = [
                package.name for package in key.packages if importlib.util.find_spec(package.module) is None
            ]
            if names:
                lacking.append(MissingPackages(key.key, tuple(names), install_command(key.extra)))
    return tuple(lacking)
