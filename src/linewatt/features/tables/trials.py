# SPDX-License-Identifier: Apache-2.0
"""The rows of a table that a command names, as trials."""

from __future__ import annotations

from linewatt.cli import folded_warnings, read_bytes
from linewatt.delimited import read_table
from linewatt.errors import InvalidInput
from linewatt.features.tables.analysed import EXTRA, AnalysedTable, trials_of
from linewatt.features.tables.inputs import RECOGNISED
from linewatt.features.tables.published import refuse_no_figures


def trials_of_table(table_name: str, *, figures: bool = False) -> tuple[str, AnalysedTable, list[str]]:
    """How messages name a table, its rows as trials, what of it could not be read. Raises InvalidInput.

    ``figures``: also for a number of which nothing can be made.
    """

    source, data = read_bytes(table_name)
    table, warnings = read_table(data, source, known=(*RECOGNISED, *EXTRA))
    if figures:
        refuse_no_figures(table, source)
    try:
        read = trials_of(table)
    except InvalidInput as error:
        raise InvalidInput(f"{source}: {error}") from None
    return source, read, folded_warnings([*warnings, *read.warnings])
