# SPDX-License-Identifier: Apache-2.0
"""``linewatt fit``: a model's figures from readings, and how far these carry them."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import typer

from linewatt.cli.help import Command, Group
from linewatt.cli.options import Json, Results
from linewatt.cli.table_or_result import TableOrId, is_table, read_bytes, stored_result

if TYPE_CHECKING:  # what is slow to import is imported when the command runs
    from linewatt.features.tables.energy_report import Fitted

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
    from linewatt.cli.output import print_json, print_rich
    from linewatt.features.tables.energy_report import document, rendered

    all_fitted = _of_table(wanted) if is_table(wanted) else _of_result(results, wanted)
    if as_json:
        print_json(document(all_fitted))
    else:
        print_rich(lambda width: rendered(all_fitted, width))


def _of_table(table_name: str) -> list[Fitted]:
    from linewatt.delimited import read_table
    from linewatt.features.tables.energy_report import Fitted
    from linewatt.features.tables.published import PACKET_POWER_COLUMNS, packet_energy_fit

    source, data = read_bytes(table_name)
    table, _ = read_table(data, source, known=PACKET_POWER_COLUMNS)
    return [Fitted(source, packet_energy_fit(table, source))]


def _of_result(results: Path, result_id: str) -> list[Fitted]:
    from linewatt.features.tables.energy_report import of_result

    with stored_result(results, result_id) as result:
        return of_result(result)
