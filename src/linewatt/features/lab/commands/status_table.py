# SPDX-License-Identifier: Apache-2.0
"""The table of ``linewatt lab status``."""

from __future__ import annotations

from linewatt.cli import print_rich
from linewatt.features.lab.api import LabStatus
from linewatt.hosts.facts import format_cpulist
from linewatt.report import Head, Row, RowGroup, Table, text_cells
from linewatt.report.printing import render_table


def print_table_of_labs(labs: list[LabStatus]) -> None:
    """Print it as wide as the terminal."""
    table = table_of_labs(labs)
    print_rich(lambda width: render_table(table, width))


def table_of_labs(labs: list[LabStatus]) -> Table:
    """A row a host; of a narrow terminal addresses give way first."""
    ranks = {"sshd": 0, "bmc": 0, "cpus": 1, "guest": 2, "address": 3, "data ipv4": 4, "data ipv6": 5}
    names = ("sshd", "bmc", "address", "data ipv4", "data ipv6", "cpus", "guest")
    rows: list[Row] = []
    for lab in labs:
        if not lab.hosts:
            rows.append(Row(text_cells(lab.name, lab.state, "-"), text_cells(*["-"] * len(names))))
        for host in lab.hosts:
            part = host.layout
            cells = (
                "answers" if host.answers else "silent" if host.runs else "down",
                host.bmc or "-",
                part.address,
                " ".join(port.ipv4 for port in part.ports),
                " ".join(port.ipv6 for port in part.ports),
                format_cpulist(part.cpus),
                "-" if part.guest is None else part.guest.description,
            )
            rows.append(Row(text_cells(lab.name, lab.state, part.name), text_cells(*cells)))
    has_guest = any(host.layout.guest for lab in labs for host in lab.hosts)
    heads = tuple(
        Head(name, kind="text", rank=ranks[name], page_only=name == "guest" and not has_guest)
        for name in names
    )
    keys = tuple(Head(name, kind="text") for name in ("lab", "state", "host"))
    return Table("", keys, heads, (RowGroup("", tuple(rows)),))
