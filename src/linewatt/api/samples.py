# SPDX-License-Identifier: Apache-2.0
"""Samples of a result for DuckDB, Arrow, pandas and NumPy, with the trial that each row is of."""

from __future__ import annotations

from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Any

from linewatt.errors import LinewattError
from linewatt.extras import package_install_command
from linewatt.store import sample_columns

_NUMBER = r"regexp_extract(filename, '/trials/([0-9]+)/samples[.]parquet$', 1)"
_TRIAL = f"CAST(nullif({_NUMBER}, '') AS INTEGER) AS trial"
"""by the file's folder: files of before it was stored do not have it"""


@dataclass(frozen=True, slots=True)
class Samples:
    """Rows of samples, each a reading (docs/schemas.md has the columns), read once they are asked for.

    ``paths`` are the Parquet files; ``trial`` is NULL in those of a soak.
    """

    paths: tuple[Path, ...]

    def duckdb(self, connection: Any = None) -> Any:
        """A ``duckdb.DuckDBPyRelation``, in ``connection`` if one is given: filter, aggregate, join it."""
        import duckdb

        read = [str(path) for path in self.paths]
        relation = (connection or duckdb.connect(":memory:")).read_parquet(
            read, filename=True, union_by_name=True
        )
        column_names = [column.name for column in sample_columns() if column.name != "trial"]
        return relation.select(", ".join((*column_names, _TRIAL)))

    def arrow(self) -> Any:
        """A ``pyarrow.Table``. Raises LinewattError where pyarrow is not installed."""
        _needed("pyarrow", "Arrow")
        return self.duckdb().to_arrow_table()

    def pandas(self) -> Any:
        """A ``pandas.DataFrame``. Raises LinewattError where pandas is not installed."""
        _needed("pandas", "pandas")
        return self.duckdb().df()

    def numpy(self) -> dict[str, Any]:
        """Column → array; a missing value is masked."""
        arrays: dict[str, Any] = self.duckdb().fetchnumpy()
        return arrays


def _needed(package: str, what: str) -> None:
    try:
        import_module(package)
    except ImportError:
        raise LinewattError(
            f"samples as {what} need {package}, which is not installed: {package_install_command(package)}; "
            "numpy() and duckdb() need nothing more"
        ) from None
