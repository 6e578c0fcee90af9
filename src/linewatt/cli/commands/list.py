# SPDX-License-Identifier: Apache-2.0
"""``linewatt list``: stored results, a line each."""

from __future__ import annotations

from pathlib import Path

from linewatt.cli.options import Json, Read


def list_results(results: Read = Path("results"), as_json: Json = False) -> None:
    """List stored results, one per line with its answer.

    Best throughput, Mbps/W, findings, trials; of a damaged result what is wrong. A narrow terminal gets
    fewer columns.
    """
    from linewatt.cli.actions.list import print_results

    print_results(results=results, as_json=as_json)
