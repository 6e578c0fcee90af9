# SPDX-License-Identifier: Apache-2.0
"""``linewatt derive``: the metrics of a campaign from anybody's raw columns."""

from __future__ import annotations

import typer


def derive_command(
    table: str = typer.Argument(..., metavar="TABLE", help="A table with a header line; - reads stdin."),
    as_json: bool = typer.Option(False, "--json", help="Print JSON: numbers as numbers, missing as null."),
    as_csv: bool = typer.Option(False, "--csv", help="Print CSV: the table with the new columns added."),
) -> None:
    """Derive efficiency, scaling and energy from a raw table.

    Columns it reads: instances, throughput_mbps, throughput_gbps or throughput_bps (or throughput with
    throughput_unit), remote_cpu_pct, local_cpu_pct, cpu_pct (or app_cpu_idle_pct with irq_cpu_idle_pct),
    base_frequency_ghz, psu_out_w, cpu_w, power_w, idle_w. Others pass through. A cell that cannot be used
    leaves what is derived from it empty, with a warning on stderr. docs/metrics.md defines every column.
    A table of quantity, value and unit is the summary of a soak: docs/soak.md.
    """
    from linewatt.features.tables.derive_action import print_derived

    print_derived(table=table, as_json=as_json, as_csv=as_csv)
