# SPDX-License-Identifier: Apache-2.0
"""Keys of a campaign whose value is looked up in stored results, before hosts are touched."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from linewatt.campaign.campaign import Campaign
from linewatt.core.feature import campaign_keys


def resolve_campaign(campaign: Campaign, results: Path, stored: Mapping[str, Any] | None = None) -> Campaign:
    """The campaign as it is to be run; ``stored`` is what a result has of it, which is taken as it was.

    Raises InvalidInput for a value that cannot be had.
    """
    for key in campaign_keys() if campaign.feature_values else ():
        if key.resolve_path and key.key in campaign.feature_values:
            campaign = key.load(key.resolve_path)(campaign, results, (stored or {}).get(key.key))
    return campaign
