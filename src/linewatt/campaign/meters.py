# SPDX-License-Identifier: Apache-2.0
"""Meters that a file cannot mean: a window too short for what it declares, a password in clear. Pure."""

from __future__ import annotations

from collections.abc import Iterator

from linewatt.campaign.campaign import Campaign
from linewatt.document import KeyPath
from linewatt.sensors.power.dynamics import declared, too_short


def check_secrets(campaign: Campaign) -> Iterator[tuple[KeyPath, str]]:
    """Sources that would be sent a password unencrypted, and nobody said that this may be."""
    for host, sources in campaign.power.items():
        for name, source in sources.items():
            if getattr(source.cfg, "shows_password", False):
                yield (
                    ("hosts", host, "power", name),
                    "would send the password unencrypted (http, basic); use https://, auth: digest, or say "
                    "insecure: true if everybody on that network may read it",
                )


def check_meters(campaign: Campaign) -> Iterator[tuple[KeyPath, str]]:
    """Sources whose readings would say nothing of a window."""
    if campaign.soak is not None:
        return
    for host, sources in campaign.power.items():
        for name, source in sources.items():
            cfg = source.cfg
            known = declared(cfg.refresh_s, cfg.averaging_s)
            cut_s = max(0.0, max(cfg.interval_s, known.settle_s or 0.0) - campaign.omit_s)
            if cfg.refresh_s is None and cfg.averaging_s is None:
                continue
            refused = too_short(campaign.window_s, cut_s, known, cfg.interval_s)
            if refused:
                yield ("hosts", host, "power", name), refused
