# SPDX-License-Identifier: Apache-2.0
"""Each case over all results, printed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import typer

from linewatt.analysis.comparison import METRICS_OF_ROWS
from linewatt.cli import checked_choices, checked_target, how_far, print_json, print_rich
from linewatt.errors import InvalidInput
from linewatt.features.history import report
from linewatt.features.history.build import Loaded, history_of
from linewatt.features.history.command import NOTHING, REGRESSION
from linewatt.features.history.regressions import regressions
from linewatt.report.comparison import Kept, kept_side, parse_factor
from linewatt.store import find_result, read_each, reading_results


def print_history(  # noqa: PLR0913  one parameter an option
    *,
    results: Path,
    case: str | None,
    test: str | None,
    metric: list[str] | None,
    since: str | None,
    factor: str | None,
    fail_on: str,
    as_json: bool,
    output: Path | None,
) -> None:
    """Follow each case over all results and find lasting changes."""
    metrics = checked_choices("--metric", metric, METRICS_OF_ROWS) or ("throughput",)
    if fail_on not in (REGRESSION, NOTHING):
        raise InvalidInput(f"--fail-on {fail_on!r}: must be {REGRESSION} or {NOTHING}")
    matters = None if factor is None else parse_factor(factor)
    target = None if output is None else checked_target(output)
    with how_far("reading results") as tell:
        loaded, damaged = read_each(results, lambda path: (path, kept_side(path)), tell)
    loaded = _results_since(results, sorted(loaded, key=lambda entry: entry[1].created_s or 0), since)
    with reading_results(*(path for path, _ in loaded)):
        case_history = history_of(results, loaded, metrics, case, test, matters, damaged)
        if not case_history.courses and not case_history.left_out and not damaged:
            raise InvalidInput(_empty_message(results, loaded, case, test, metrics))
        if fail_on == REGRESSION:
            case_history = replace(case_history, regressions=regressions(case_history.courses))
        if target is not None:
            from linewatt.features.history.page import render
            from linewatt.report.printing import write_page

            write_page(target, render(case_history))
        if as_json:
            print_json(report.as_document(case_history))
        else:
            print_rich(lambda width: report.show(case_history, width))
    if case_history.regressions is not None and case_history.regressions.exit_code:
        raise typer.Exit(case_history.regressions.exit_code)


def _results_since(results: Path, loaded: Loaded, since: str | None) -> list[tuple[Path, Kept]]:
    """The result ``since`` and all later ones, in time order. Raises InvalidInput, StoreError."""
    if since is None:
        return list(loaded)

    first = find_result(results, since).resolve()
    places = [at for at, (path, _) in enumerate(loaded) if path.resolve() == first]
    if not places:
        raise InvalidInput(f"--since {since}: no readable result of this name below {results}")
    return list(loaded[places[0] :])


def _empty_message(
    results: Path, loaded: Loaded, case: str | None, test: str | None, metrics: Sequence[str]
) -> str:
    if not loaded:
        return f"no results below {results}; name their directory with --results"
    filters = [f"--case {case}"] if case is not None else []
    filters += [f"--test {test}"] if test is not None else []
    requested = " ".join([*filters, " or ".join(metrics)])
    message = f"none of the {len(loaded)} results below {results} has a case with {requested}"
    searches = any(recorded.searched for _, recorded in loaded)
    return (
        f"{message}; steps of searches are in no history: 'linewatt show' has their rates" * searches
        or message
    )
