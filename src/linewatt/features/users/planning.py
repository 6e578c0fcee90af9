# SPDX-License-Identifier: Apache-2.0
"""Users as the load of trials: their cases, and what a reader of the plan should know. Pure."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import replace
from typing import ClassVar

from linewatt.campaign import Campaign, Setting
from linewatt.campaign.entries import CampaignFile
from linewatt.errors import InvalidInput
from linewatt.features.users import factors
from linewatt.features.users.factors import ARRIVAL_RATE, THINK, value_of
from linewatt.features.users.model import KEY, Users, users_in
from linewatt.model import FTP, Case, Family, group_of


class UsersPlanning:
    """Keeps to :class:`~linewatt.campaign.feature_load.LoadPlanning`."""

    overhead_s: ClassVar[float] = 4.0
    """to start a server and users for each trial, and to take them away"""
    factor_names: ClassVar[Collection[str]] = factors.NAMES

    def check_factor(self, name: str, text: str) -> str:
        return factors.check(name, text)

    def with_setting(self, campaign: Campaign, setting: Setting) -> Campaign:
        users = users_in(campaign)
        for name, level in setting:
            is_of_own_server = ".vsftpd." in name
            if factors.is_of_users(name) and (
                users is None or (is_of_own_server and users.server_host is None)
            ):
                raise InvalidInput(f"{name}={level} is of users of a server that linewatt starts")
        if users is None:
            return campaign
        users = factors.applied(users, setting)
        if users.users < len(users.clients):
            raise InvalidInput(f"{users.users} users cannot be on {len(users.clients)} clients")
        return replace(campaign, feature_values={**campaign.feature_values, KEY: users})

    def described(self, value: Users, setting: Setting) -> Mapping[str, str]:
        return dict(factors.described(factors.applied(value, setting), ()))

    def named_server(self, entry: CampaignFile) -> str | None:
        users = entry.value_of(KEY)
        return users.server if users is not None and isinstance(users.server, str) else None

    def server(self, campaign: Campaign) -> str | None:
        users = users_in(campaign)
        return None if users is None else users.server_host

    def count_cases(self, entry: CampaignFile) -> int:
        return len(entry.families)

    def cases(self, campaign: Campaign) -> Iterator[Case]:
        users = users_in(campaign)
        if users is not None:
            yield from (case_of(users, family, campaign.factors) for family in campaign.families)

    def lines(self, campaign: Campaign) -> Iterator[str]:
        users = users_in(campaign)
        if users is not None:
            yield from users.described()
            yield "each trial has a server and users of its own; what a factor varies is as the case says"

    def notes(self, campaign: Campaign) -> Iterator[str]:
        """Loads of users that a window says little of."""
        users = users_in(campaign)
        if users is None:
            return
        if users.arrival_rate_hz or ARRIVAL_RATE in campaign.factors:
            yield (
                "users.arrival_rate: throughput is what is asked for, so factors are told apart by "
                "efficiency and watts alone; trials in which fewer transfers were done are found "
                "(arrivals-not-served)"
            )
            return
        levels = campaign.factors.get(THINK, ())
        longest_s = max((value_of(THINK, level) for level in levels), default=users.think_s)
        if longest_s > campaign.window_s:
            yield (
                f"users.think: users pause for {longest_s:g} s after a transfer, and the window is only "
                f"{campaign.window_s:g} s: not every user makes a transfer in it; make the window longer"
            )


PLANNING = UsersPlanning()


def case_of(users: Users, family: Family, varied: Collection[str]) -> Case:
    """Users of a server on one of the hosts: a case of all of them."""
    server = users.server_host or ""
    flows = tuple((client, server) for client in users.clients)
    ends = group_of("many-to-one", flows) if len(flows) > 1 else {"sender": flows[0][0], "receiver": server}
    return Case(FTP, family=family, users=factors.described(users, varied), **ends)
