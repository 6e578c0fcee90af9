# SPDX-License-Identifier: Apache-2.0
"""``linewatt list``: stored results, one per line."""

from __future__ import annotations

from pathlib import Path

from linewatt.cli.options import Json, Read


def list_results(results: Read = Path("results"), as_json: Json = False) -> None:
    """List stored results with their main figures.

    Columns: best throughput, Mbps/W, findings, trials; fewer on a narrow terminal. For a damaged result,
    the reason.
    """
    from linewatt.cli.actions.list import print_results

    print_results(results=results, as_json=as_json)
