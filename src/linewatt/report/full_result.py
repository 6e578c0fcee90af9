# SPDX-License-Identifier: Apache-2.0
"""A result in one form, whatever it holds: its first screen, all of it as a page, as JSON, as rows of CSV."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from linewatt import store
from linewatt.errors import InvalidInput
from linewatt.report.kinds import result_kind
from linewatt.report.printing.screen import Screen

if TYPE_CHECKING:
    from jinja2 import Environment


@dataclass(frozen=True, slots=True)
class _Shown:
    """``None``: nothing has a number, or what there is has no such screen."""

    screen: Screen | None


def first_screen_of_stored(path: Path) -> Screen | None:
    """What ``show`` prints first, made once as long as the result stays as it is; ``None``: all there is.

    Without the tables and lists that a page has. Raises StoreError.
    """
    return store.cached_of_result(
        path, "screen", _Shown, lambda: _Shown(_first_screen(store.load_result(path)))
    ).screen


def _first_screen(result: store.Result) -> Screen | None:
    if kind := result_kind(result.manifest):
        screen = kind.first_screen(result)
    else:
        from linewatt.report.trials.answer.throughput_strip import first_screen_with_strip
        from linewatt.report.trials.digest import digest_of

        screen = first_screen_with_strip(digest_of(result))
    return screen and replace(screen, tables=(), lists=())


def document_of_stored(path: Path) -> dict[str, Any]:
    """The document of ``show --json``, made once as long as the result stays as it is. Raises StoreError."""
    return store.cached_of_result(
        path, "document", dict[str, Any], lambda: document_of_result(store.load_result(path))
    )


def page_of_result(result: store.Result, pages: Environment | None = None) -> str:
    """Its report; ``pages`` are templates of a server in place of those of a file. Raises StoreError."""
    if kind := result_kind(result.manifest):
        return kind.page(result, pages)
    from linewatt.report.printing.html import render_html
    from linewatt.report.trials.digest import digest_of

    return render_html(digest_of(result), pages)


def document_of_result(result: store.Result, *, trials: bool = False) -> dict[str, Any]:
    """The document of ``show --json``. Raises InvalidInput where there are no trials, StoreError."""
    _refuse(result, trials=trials)
    if kind := result_kind(result.manifest):
        return kind.document(result)
    from linewatt.report.trials.digest import digest_document, digest_of

    return digest_document(digest_of(result), trials=trials)


def rows_of_result(
    result: store.Result, *, trials: bool = False
) -> tuple[list[str], Sequence[Mapping[str, Any]]]:
    """Columns and rows of ``show --csv``. Raises InvalidInput for what has none, StoreError."""
    _refuse(result, trials=trials)
    if kind := result_kind(result.manifest):
        return kind.rows(result)
    from linewatt.report.trials.digest import case_rows, csv_columns, digest_of, trial_rows

    rows = trial_rows(result.trials, result.imported_from) if trials else case_rows(digest_of(result))
    further = (name for row in rows for name in row)
    return [*dict.fromkeys((*csv_columns(trials=trials), *further))], rows


def _refuse(result: store.Result, *, trials: bool) -> None:
    kind = result_kind(result.manifest)
    if trials and kind is not None:
        raise InvalidInput(f"--trials: {result.id} is {kind.noun(result.manifest)} without trials")
