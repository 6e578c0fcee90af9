# SPDX-License-Identifier: Apache-2.0
"""All of a result in one form, whatever it holds: as a page, as JSON, as rows of CSV."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from linewatt.errors import InvalidInput

if TYPE_CHECKING:
    from jinja2 import Environment

    from linewatt.store.read import Result


def page_of(result: Result, pages: Environment | None = None) -> str:
    """Its report; ``pages`` are templates of a server in place of those of a file. Raises StoreError."""
    if result.is_soak:
        from linewatt.report.soak.digest import digest as read_soak
        from linewatt.report.soak.page import render as render_soak

        return render_soak(read_soak(result), pages)
    if result.imported_kind:
        from linewatt.report.published.printers import render_page
        from linewatt.report.published.view import view

        return render_page(view(result), pages)
    from linewatt.report.printing.html import render
    from linewatt.report.trials.digest import digest

    return render(digest(result), pages)


def document_of(result: Result, *, trials: bool = False) -> dict[str, Any]:
    """The document of ``show --json``. Raises InvalidInput where there are no trials, StoreError."""
    _refuse(result, trials=trials)
    if result.is_soak:
        from linewatt.report.soak.digest import digest as read_soak
        from linewatt.report.soak.document import as_json as soak_document

        return soak_document(read_soak(result))
    if result.imported_kind:
        from linewatt.report.published import printers
        from linewatt.report.published.view import view

        return printers.document(view(result))
    from linewatt.report.trials.digest import as_json, digest

    return as_json(digest(result), trials=trials)


def rows_of(result: Result, *, trials: bool = False) -> tuple[list[str], Sequence[Mapping[str, Any]]]:
    """Columns and rows of ``show --csv``. Raises InvalidInput for what has none, StoreError."""
    if result.is_soak:
        raise InvalidInput(f"{result.id} is a soak, without cases and trials; JSON has all of it")
    _refuse(result, trials=trials)
    if result.imported_kind:
        from linewatt.report.published.view import view as published

        rows: Sequence[Mapping[str, Any]] = published(result).rows
        return [*dict.fromkeys(name for row in rows for name in row)], rows
    from linewatt.report.trials.digest import case_rows, csv_columns, digest, trial_rows

    rows = trial_rows(result.trials, result.imported_from) if trials else case_rows(digest(result))
    further = (name for row in rows for name in row)
    return [*dict.fromkeys((*csv_columns(trials=trials), *further))], rows


def _refuse(result: Result, *, trials: bool) -> None:
    if trials and (result.is_soak or result.imported_kind):
        kind = "a soak" if result.is_soak else f"a published table ({result.imported_kind})"
        raise InvalidInput(f"--trials: {result.id} is {kind} without trials")
