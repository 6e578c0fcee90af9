# SPDX-License-Identifier: Apache-2.0
"""``linewatt fit``: fit an energy model to power readings, with confidence intervals."""

from __future__ import annotations

from pathlib import Path

import typer

from linewatt.cli import Command, Group, Json, Results
from linewatt.features.tables.options import TableOrId

fit_app = typer.Typer(
    cls=Group, help="Fit energy per bit and per packet to power readings.", no_args_is_help=True
)


@fit_app.callback()
def _commands() -> None: ...


@fit_app.command("energy", cls=Command)
def energy_command(
    wanted: TableOrId,
    results: Results = Path("results"),
    as_json: Json = False,
) -> None:
    """Fit the energy per bit and per packet.

    P = P0 + E_bit * bit/s + E_packet * packets/s, with 95 % CI. Unsupported figures are withheld, with the
    reason: one packet size, one rate, power that does not follow the traffic linearly, or a coarse meter.

    Table columns: ports, header_bytes, packet_size_bytes, rate_gbps (per port), power_w (device). Stored
    result: UDP trials of several sizes and rates, each end separately. docs/power.md explains the method.
    """
    from linewatt.features.tables.fit_action import print_energy_fit

    print_energy_fit(table_or_id=wanted, results=results, as_json=as_json)
