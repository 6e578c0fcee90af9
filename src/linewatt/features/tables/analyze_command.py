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
    """Analyze a series: regimes, knee, limits, hidden ceilings.

    Also finds power outliers. Table columns: those of derive, line_rate_gbps, mtu (default 1500),
    app_cpu_idle_pct and irq_cpu_idle_pct (both of the receiver), fan_rpm, power_scope, power_provenance. If a
    column is missing, conclusions that need it are left out.
    """
    from linewatt.features.tables.analyze_action import print_analysis

    print_analysis(table_or_id=table_or_id, results=results, as_json=as_json)
