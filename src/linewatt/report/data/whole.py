# SPDX-License-Identifier: Apache-2.0
"""A result of any kind as the document of ``show --json`` and as the rows of ``show --csv``."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from linewatt.errors import InvalidInput
from linewatt.store.read import Result


def document(result: Result, *, trials: bool = False) -> dict[str, Any]:
    """All that is known of a result; with ``trials`` each of them, too. Raises InvalidInput, StoreError."""
    if result.is_soak:
        from linewatt.report.soak import document as soak_document
        from linewatt.report.soak.digest import digest as read_soak

        _refuse(result, trials=trials)
        return soak_document.as_json(read_soak(result))
    if result.imported_kind:
        from linewatt.report.published import printers
        from linewatt.report.published.view import view

        _refuse(result, trials=trials)
        return printers.document(view(result))
    from linewatt.report.trials.digest import as_json, digest

    return as_json(digest(result), trials=trials)


def rows(result: Result, *, trials: bool = False) -> tuple[list[str], Sequence[Mapping[str, Any]]]:
    """Column names, and a row a case or a trial; of a published table those that it holds.

    Raises InvalidInput for what has none, StoreError.
    """
    if result.is_soak:
        raise InvalidInput(f"{result.id} is a soak, without cases and trials; JSON has all of it")
    if result.imported_kind:
        from linewatt.report.published.view import view

        _refuse(result, trials=trials)
        found = view(result).rows
        return [*dict.fromkeys(name for row in found for name in row)], found
    from linewatt.report.trials.digest import case_rows, csv_columns, digest, trial_rows

    made = trial_rows(result.trials, result.imported_from) if trials else case_rows(digest(result))
    further = (name for row in made for name in row)
    return [*dict.fromkeys((*csv_columns(trials=trials), *further))], made


def _refuse(result: Result, *, trials: bool) -> None:
    if trials:
        kind = "a soak" if result.is_soak else f"a published table ({result.imported_kind})"
        raise InvalidInput(f"--trials: {result.id} is {kind} without trials")
