# SPDX-License-Identifier: Apache-2.0
"""``linewatt analyze``: regimes, knee, limits and power outliers of a table or a stored result."""

from __future__ import annotations

from pathlib import Path

from linewatt.cli import Json, Results
from linewatt.features.tables.options import TableOrId


def analyze(
    table_or_id: TableOrId,
    results: Results = Path("results"),
    as_json: Json = False,
) -> None:
    """Say what a series shows: regimes, knee, limits, ceilings.

    Power outliers, too. Columns of a table are those of derive, and line_rate_gbps, mtu (1500 where
    it is not named), app_cpu_idle_pct, irq_cpu_idle_pct (both of the receiver), fan_rpm, power_scope and
    power_provenance. Nothing is said that the table does not carry.
    """
    from linewatt.features.tables.analyze_action import print_analysis

    print_analysis(table_or_id=table_or_id, results=results, as_json=as_json)
