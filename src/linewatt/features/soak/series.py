# SPDX-License-Identifier: Apache-2.0
"""Which series of a soak are added up together: by side of the load, and by what they count."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from linewatt.analysis.power.totals import CPU_SCOPES, SYSTEM_SCOPES
from linewatt.features.soak.ledger import CLIENTS, NEEDED, SERVER, Ends, is_counted
from linewatt.features.soak.series_steps import SeriesInfo
from linewatt.loads.registry import SOAKING
from linewatt.records import UserGroup, Users

OTHERS = "others"
_IDLE = re.compile(r"cpu\d+\.idle_ratio")
_OF_LOADS = ("users", "server", *SOAKING)


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
        hosts = dict.fromkeys(one.host for one in series if one.source in SOAKING)
        return Roles(Ends(tuple(hosts), None), (), has_users=False)
    return Roles(Ends(users.clients, users.server.host), tuple(users.groups), has_users=True)


def track(one: SeriesInfo, side: str) -> str | None:
    """The name of the track that a series belongs to; None where nobody asks for it."""
    if one.channel == "users.cpu_s":
        return f"cpu|{one.host}"
    if one.channel == "users.running":
        return f"{side}|users.running"
    if one.source == "mpstat":
        return f"{side}|idle|{one.host}" if _IDLE.fullmatch(one.channel) else None
    if one.unit in ("W", "J"):
        return _power_track(one, side)
    if one.kind != "counter" or not is_counted(one.source, one.channel):
        return None
    return f"{side}|{one.channel}" if one.source in _OF_LOADS or one.channel in NEEDED else None


def _power_track(one: SeriesInfo, side: str) -> str | None:
    base, _, part = one.scope.partition(":")
    if base not in (*SYSTEM_SCOPES, *CPU_SCOPES):
        return None
    return f"{side}|power|{one.source}|{base}|{'part' if part else 'whole'}|{one.unit}|{one.provenance}"
