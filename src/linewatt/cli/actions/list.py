# SPDX-License-Identifier: Apache-2.0
"""Stored results in a line each."""

from __future__ import annotations

from pathlib import Path

from linewatt import report
from linewatt.cli.output import print_json, print_rich, results_near, say
from linewatt.cli.waiting import how_far
from linewatt.store import Damaged, read_each


def print_results(*, results: Path, as_json: bool) -> None:
    """List stored results with their main figures."""
    with how_far("reading results") as tell:
        listed_results, unread = read_each(results_near(results), report.listing.kept, tell)
    rows: list[report.listing.Listed | Damaged] = [*listed_results, *unread]
    ordered_rows = sorted(rows, key=report.listing.id_of)
    if as_json:
        print_json(report.document_of_list(ordered_rows))
    elif not ordered_rows:
        say(f"no results below {results}; 'linewatt run CAMPAIGN.yaml' makes one, 'linewatt demo' shows how")
    else:
        print_rich(lambda width: report.listing.show(ordered_rows, width=width))
