# SPDX-License-Identifier: Apache-2.0
"""The view ``samples``: the sample files of all trials. A query opens only those that it asks for.

``result`` and ``trial`` are folder names in the path of a file. A filter on them is a filter on file names,
which DuckDB applies before it opens a file.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from linewatt.errors import StoreError
from linewatt.report.data import database
from linewatt.report.data.views import View
from linewatt.store import trial_dirs

FILE = "samples.parquet"
_PATTERN = frozenset("*?[")
"""characters that make a name a pattern; DuckDB cannot escape them"""


def sample_files(results: Iterable[Path]) -> list[str]:
    """Sample files of these results, without links. Raises StoreError for a path that DuckDB cannot read."""
    paths = []
    for result in results:
        folder = Path(os.path.abspath(result))  # noqa: PTH100  resolve() would follow a link
        if _PATTERN & set(str(folder)):
            raise StoreError(
                f"{folder}: cannot read samples below a folder with *, ? or [ in its name; rename it"
            )
        for trial in trial_dirs(folder):
            path = f"{trial}/{FILE}"
            if os.path.isfile(path) and not os.path.islink(path):  # noqa: PTH113, PTH114  thousands of them
                paths.append(path)
    return paths


def view_of(connection: Any, view: View, files: Sequence[str]) -> None:
    """Create the view; the first file determines its columns. Raises duckdb.Error."""
    column_names = ", ".join(column.name for column in view.columns if column.name not in ("result", "trial"))
    if not files:
        database.make_table(connection, view.name, view.columns, ())
        return
    paths = ", ".join(map(database.quoted, files))
    text = f"""
        CREATE VIEW {view.name} AS
        SELECT string_split(filename, '/')[-4] AS result,
          CAST(string_split(filename, '/')[-2] AS BIGINT) AS trial, {column_names}
        FROM read_parquet([{paths}], filename = true)
    """  # noqa: S608  names of our own and quoted paths
    connection.execute(text)
