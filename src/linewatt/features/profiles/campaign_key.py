# SPDX-License-Identifier: Apache-2.0
"""What stands at ``profile`` of a campaign file."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from typing import TYPE_CHECKING

from pydantic import Field

if TYPE_CHECKING:  # which has this field
    from linewatt.campaign.entries import CampaignFile, HostEntry
    from linewatt.campaign.reading import Finding

FIELD = (
    bool,
    Field(
        default=False,
        description="Whether each case has one more trial, after all that are measured, in which perf "
        "records what the CPUs of both hosts do; see docs/profiles.md.",
    ),
)
"""its type and its field"""


def problems(
    entry: CampaignFile, names: Collection[str], hosts: Mapping[str, HostEntry]
) -> Iterator[Finding]:
    """Profiles are of cases of tests."""
    if entry.replaces_trials:
        yield ("profile",), "is of cases, and a soak has none; profile its load in a campaign without soak"
    elif entry.load_keys:
        yield ("profile",), "is of tests, and users are the load here; take it out"
