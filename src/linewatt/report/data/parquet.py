# SPDX-License-Identifier: Apache-2.0
"""A result's cases or trials as a Parquet file: all columns of their view, typed."""

from __future__ import annotations

import json
import tempfile
from pathlib import Path

from linewatt.errors import InvalidInput
from linewatt.report.data import database
from linewatt.report.data.column import VIEWS_SCHEMA_VERSION
from linewatt.report.data.views import VIEWS, Source
from linewatt.report.kinds import result_kind
from linewatt.store import Result


def parquet_table(result: Result, *, trials: bool = False) -> bytes:
    """A row a case, or with ``trials`` a row a trial; zstd. Its key ``linewatt`` says version and result.

    Raises InvalidInput for what has neither.
    """
    if kind := result_kind(result.manifest):
        raise InvalidInput(
            f"--format parquet: {result.id} is {kind.noun(result.manifest)}, without cases and trials"
        )
    view = VIEWS["trials" if trials else "cases"]
    about = {"schema_version": VIEWS_SCHEMA_VERSION, "view": view.name, "result": result.id}
    connection = database.opened()
    try:
        database.make_table(
            connection, view.name, view.columns, view.rows(Source(result.path, lambda _: result))
        )
        with tempfile.TemporaryDirectory(prefix="linewatt-") as folder:
            path = Path(folder, "table.parquet")
            key = f"KV_METADATA {{linewatt: {database.quoted(json.dumps(about))}}}"
            options = f"FORMAT parquet, COMPRESSION zstd, {key}"
            connection.execute(f"COPY {view.name} TO {database.quoted(str(path))} ({options})")
            return path.read_bytes()
    finally:
        connection.close()
