# SPDX-License-Identifier: Apache-2.0
"""Which series of a soak are added up together: by side of the load, and by what they count."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from linewatt.analysis.power import CPU_SCOPES, SYSTEM_SCOPES
from linewatt.features.soak.ledger import CLIENTS, NEEDED, SERVER, Ends, is_counted
from linewatt.features.soak.series_steps import SeriesInfo
from linewatt.loads import SOAKING_LOADS
from linewatt.records import UserGroup, Users

OTHERS = "others"
_IDLE = re.compile(r"cpu\d+\.idle_ratio")
_OF_LOADS = ("users", "server", *SOAKING_LOADS)


@dataclass(frozen=True, slots=True)
class Roles:
    """Who is what: the ends of the ledger, and groups of clients."""

    ends: Ends
    groups: tuple[UserGroup, ...]
    has_users: bool

    def side(self, host: str) -> str:
        if host == self.ends.server:
            return SERVER
        return CLIENTS if host in self.ends.clients else OTHERS


def roles(users: Users | None, series: Sequence[SeriesInfo]) -> Roles:
    """From the users of the campaign; without any every host that ran a load is an end."""
    if users is None:
        hosts = dict.fromkeys(
            series_info.host for series_info in series if series_info.source in SOAKING_LOADS
        )
        return Roles(Ends(tuple(hosts), None), (), has_users=False)
    return Roles(Ends(users.clients, users.server.host), tuple(users.groups), has_users=True)


def track(series_info: SeriesInfo, side: str) -> str | None:
    """The name of the track that a series belongs to; None where nobody asks for it."""
    if series_info.channel == "users.cpu_s":
        return f"cpu|{series_info.host}"
    if series_info.channel == "users.running":
        return f"{side}|users.running"
    if series_info.source == "mpstat":
        return f"{side}|idle|{series_info.host}" if _IDLE.fullmatch(series_info.channel) else None
    if series_info.unit in ("W", "J"):
        return _power_track(series_info, side)
    if series_info.kind != "counter" or not is_counted(series_info.source, series_info.channel):
        return None
    return (
        f"{side}|{series_info.channel}"
        if series_info.source in _OF_LOADS or series_info.channel in NEEDED
        else None
    )


def _power_track(series_info: SeriesInfo, side: str) -> str | None:
    base, _, part = series_info.scope.partition(":")
    if base not in (*SYSTEM_SCOPES, *CPU_SCOPES):
        return None
    part_or_whole = "part" if part else "whole"
    source = f"{series_info.source}|{base}|{part_or_whole}|{series_info.unit}|{series_info.provenance}"
    return f"{side}|power|{source}"
