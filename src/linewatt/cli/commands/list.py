# SPDX-License-Identifier: Apache-2.0
"""``linewatt list``: stored results, a line each."""

from __future__ import annotations

from pathlib import Path

from linewatt.cli.options import Json, Read
from linewatt.cli.output import print_json, print_rich, results_near, say


def list_results(results: Read = Path("results"), as_json: Json = False) -> None:
    """List stored results, one per line with its answer.

    Best throughput, Mbps/W, findings, trials; of a damaged result what is wrong. A narrow terminal gets
    fewer columns.
    """
    from linewatt.report import listing
    from linewatt.store import read

    listed_results, unread = read.read_each(results_near(results), listing.kept)
    rows: list[listing.Listed | read.Damaged] = [*listed_results, *unread]
    ordered_rows = sorted(rows, key=listing.id_of)
    if as_json:
        print_json({"schema_version": listing.SCHEMA_VERSION, "results": listing.as_document(ordered_rows)})
    elif not ordered_rows:
        say(f"no results below {results}; 'linewatt run CAMPAIGN.yaml' makes one, 'linewatt demo' shows how")
    else:
        print_rich(lambda width: listing.show(ordered_rows, width=width))
