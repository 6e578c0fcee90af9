# SPDX-License-Identifier: Apache-2.0
"""``linewatt derive``: derive metrics from a table of raw figures."""

from __future__ import annotations

import typer


def derive_command(
    table: str = typer.Argument(..., metavar="TABLE", help="A table with a header line; - reads stdin."),
    as_json: bool = typer.Option(False, "--json", help="Print JSON; missing figures are null."),
    as_csv: bool = typer.Option(False, "--csv", help="Print CSV: the table with the new columns."),
) -> None:
    """Derive efficiency, scaling and energy from a raw table.

    Input columns: instances, throughput_mbps, throughput_gbps or throughput_bps (or throughput with
    throughput_unit), remote_cpu_pct, local_cpu_pct, cpu_pct (or app_cpu_idle_pct with irq_cpu_idle_pct),
    base_frequency_ghz, psu_out_w, cpu_w, power_w, idle_w. Other columns are copied. If a cell is unusable,
    the cells derived from it stay empty, with a warning on stderr. docs/metrics.md defines every column. A
    table with quantity, value and unit is a soak summary: docs/soak.md.
    """
    from linewatt.features.tables.derive_action import print_derived

    print_derived(table=table, as_json=as_json, as_csv=as_csv)
