# SPDX-License-Identifier: Apache-2.0
"""A model of energy fitted to readings, printed."""

from __future__ import annotations

from pathlib import Path

from linewatt.cli import is_table, print_json, print_rich, read_bytes, stored_result
from linewatt.delimited import read_table
from linewatt.features.tables.energy_report import Fitted, document, of_result, rendered
from linewatt.features.tables.published import PACKET_POWER_COLUMNS, packet_energy_fit


def print_energy_fit(*, table_or_id: str, results: Path, as_json: bool) -> None:
    """Fit the energy per bit and per packet."""
    all_fitted = _of_table(table_or_id) if is_table(table_or_id) else _of_result(results, table_or_id)
    if as_json:
        print_json(document(all_fitted))
    else:
        print_rich(lambda width: rendered(all_fitted, width))


def _of_table(table_name: str) -> list[Fitted]:
    source, data = read_bytes(table_name)
    table, _ = read_table(data, source, known=PACKET_POWER_COLUMNS)
    return [Fitted(source, packet_energy_fit(table, source))]


def _of_result(results: Path, result_id: str) -> list[Fitted]:
    with stored_result(results, result_id) as result:
        return of_result(result)
