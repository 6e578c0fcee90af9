# SPDX-License-Identifier: Apache-2.0
"""All of a result in one form, whatever it holds: as a page, as JSON, as rows of CSV."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from linewatt.errors import InvalidInput
from linewatt.report.kinds import result_kind
from linewatt.store import Result

if TYPE_CHECKING:
    from jinja2 import Environment


def page_of_result(result: Result, pages: Environment | None = None) -> str:
    """Its report; ``pages`` are templates of a server in place of those of a file. Raises StoreError."""
    if kind := result_kind(result.manifest):
        return kind.page(result, pages)
    from linewatt.report.printing.html import render_html
    from linewatt.report.trials.digest import digest_of

    return render_html(digest_of(result), pages)


def document_of_result(result: Result, *, trials: bool = False) -> dict[str, Any]:
    """The document of ``show --json``. Raises InvalidInput where there are no trials, StoreError."""
    _refuse(result, trials=trials)
    if kind := result_kind(result.manifest):
        return kind.document(result)
    from linewatt.report.trials.digest import digest_document, digest_of

    return digest_document(digest_of(result), trials=trials)


def rows_of_result(result: Result, *, trials: bool = False) -> tuple[list[str], Sequence[Mapping[str, Any]]]:
    """Columns and rows of ``show --csv``. Raises InvalidInput for what has none, StoreError."""
    _refuse(result, trials=trials)
    if kind := result_kind(result.manifest):
        return kind.rows(result)
    from linewatt.report.trials.digest import case_rows, csv_columns, digest_of, trial_rows

    rows = trial_rows(result.trials, result.imported_from) if trials else case_rows(digest_of(result))
    further = (name for row in rows for name in row)
    return [*dict.fromkeys((*csv_columns(trials=trials), *further))], rows


def _refuse(result: Result, *, trials: bool) -> None:
    kind = result_kind(result.manifest)
    if trials and kind is not None:
        raise InvalidInput(f"--trials: {result.id} is {kind.noun(result.manifest)} without trials")
