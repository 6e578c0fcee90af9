# SPDX-License-Identifier: Apache-2.0
"""Clients, switch and server with its ports, and the rate of each: how the machines of a soak are joined."""

from __future__ import annotations

from linewatt.features.soak.digest import Soak
from linewatt.report import plural
from linewatt.report.charts import Figure, Link, link_diagram
from linewatt.units import format_rate


def soak_diagram(soak: Soak) -> Figure | None:
    """Of a soak that ran; ``None`` where no groups of clients are named."""
    group_by_name = {group.name: group for group in soak.asked.groups}
    links = [
        Link(
            f"{group.name}: {plural(group.clients, 'client')}",
            group_by_name[group.name].server or "",
            "rate not read" if (rate := soak.rate_of(group).value) is None else format_rate(rate),
            group_by_name[group.name].switch or "",
        )
        for group in soak.groups
    ]
    server = soak.asked.server.host or "server"
    note = f"Rates: payload both ways, mean over the time that loads ran. {_switches_note(links)}"
    total = "rate not read" if soak.mean_bps is None else format_rate(soak.mean_bps)
    return link_diagram(links, "network", server, total, note) if links else None


def _switches_note(links: list[Link]) -> str:
    named = [link for link in links if link.switch]
    if not named:
        return "Switches are not on record: the campaign names none (users.groups.GROUP.switch)."
    of = "" if len(named) == len(links) else f" for {plural(len(named), 'group')} of {len(links)}"
    return f"Switches: as the campaign names them{of}."
