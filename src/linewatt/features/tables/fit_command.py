# SPDX-License-Identifier: Apache-2.0
"""``linewatt fit``: a model's figures from readings, and how far these carry them."""

from __future__ import annotations

from pathlib import Path

import typer

from linewatt.cli import Command, Group, Json, Results
from linewatt.features.tables.options import TableOrId

fit_app = typer.Typer(
    cls=Group, help="Fit a model to readings: what a bit and a packet cost.", no_args_is_help=True
)


@fit_app.callback()
def _commands() -> None: ...


@fit_app.command("energy", cls=Command)
def energy_command(
    wanted: TableOrId,
    results: Results = Path("results"),
    as_json: Json = False,
) -> None:
    """Fit what a bit and a packet cost in energy.

    P = P0 + E_bit * bit/s + E_packet * packets/s, each with its 95 % CI. What the readings do not carry
    (one packet size, one rate, watts that do not follow the traffic or not in a line, a meter too coarse) is
    withheld, with the reason.

    Columns of a table: ports, header_bytes, packet_size_bytes, rate_gbps of a port, power_w of the whole.
    Of a stored result: UDP trials of several sizes and rates, each end by itself. docs/power.md has the
    method.
    """
    from linewatt.features.tables.fit_action import print_energy_fit

    print_energy_fit(table_or_id=wanted, results=results, as_json=as_json)
