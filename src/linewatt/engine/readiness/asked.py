# SPDX-License-Identifier: Apache-2.0
"""What checks of features are asked with: a host that answers, and what is known of it so far."""

from __future__ import annotations

from dataclasses import dataclass

from linewatt.campaign import Campaign
from linewatt.hosts import Host
from linewatt.hosts.facts import Facts


@dataclass(frozen=True, slots=True)
class AskedHost:
    """A host of ``linewatt check``."""

    host: Host
    campaign: Campaign
    facts: Facts
    root: bool
    """whether it has root's rights"""
