# SPDX-License-Identifier: Apache-2.0
"""All of a stored result in a terminal, as data or as Markdown."""

from __future__ import annotations

from collections.abc import Sequence

from linewatt.analysis.cases import detail_blocks
from linewatt.cli.output import print_csv, print_json, print_rich, put
from linewatt.core.feature import FeatureOption
from linewatt.errors import InvalidInput
from linewatt.report import ResultView, document_of_result, result_kind, rows_of_result
from linewatt.report.printing import markdown_first_screen, render_markdown, render_table
from linewatt.report.trials import (
    EFFECT_COLUMNS,
    detail_documents,
    digest_of,
    effect_rows,
    show_trials,
    watts_at_documents,
    watts_table,
)
from linewatt.report.trials import digest_document as document
from linewatt.store import Result


def show_watts(result: Result, rates_bps: Sequence[float], *, as_json: bool) -> None:
    """Watts at each of these throughputs. Raises InvalidInput where none are known."""
    if kind := result_kind(result.manifest):
        noun = kind.noun(result.manifest)
        raise InvalidInput(f"--at: {result.id} is {noun}, without cases at several rates or load levels")
    view = digest_of(result)
    if as_json:
        print_json(document(view) | {"watts_at": watts_at_documents(view, rates_bps)})
        return
    table = watts_table(view, rates_bps)
    if not table.rows:
        raise InvalidInput(f"--at: {'; '.join(note.text for note in table.notes)}")
    print_rich(lambda width: render_table(table, width))


def show_view(result: Result, option: FeatureOption, *, as_json: bool) -> None:
    """What only a feature knows of a result."""
    if kind := result_kind(result.manifest):
        noun = kind.noun(result.manifest)
        raise InvalidInput(f"--{option.word}: {result.id} is {noun} without cases")
    result_view: ResultView = option.load()
    view = digest_of(result)
    if as_json:
        print_json(document(view) | {result_view.key: result_view.value(view)})
    else:
        print_rich(lambda width: result_view.terminal(view, width))


def show_markdown(result: Result, *, full: bool) -> None:
    """To paste into a pull request: the answer, or all of it."""
    text = None if full else markdown_first_screen(result)
    put((render_markdown(result) if text is None else text).rstrip("\n"))


def show_in_form(
    result: Result, *, as_json: bool, as_csv: bool, trials: bool, effects: bool, detail: bool
) -> None:
    _refuse(result, trials=trials, effects=effects, detail=detail)
    if as_json:
        shown = document_of_result(result, trials=trials)
        more = {"detail": detail_documents(detail_blocks(result.trials))} if detail else {}
        print_json(shown | more)
    elif effects:
        print_csv(EFFECT_COLUMNS, effect_rows(result))
    elif as_csv:
        print_csv(*rows_of_result(result, trials=trials))
    else:
        print_all(result, trials=trials, detail=detail)


def _refuse(result: Result, *, trials: bool, effects: bool, detail: bool) -> None:
    """Raises InvalidInput for what a result does not have."""
    kind = result_kind(result.manifest)
    if kind is not None and (trials or detail or effects):
        raise InvalidInput(
            f"--trials, --detail, --effects: {result.id} is {kind.noun(result.manifest)} without trials; "
            "--json has all of it"
        )


def print_all(result: Result, *, trials: bool, detail: bool) -> None:
    """All tables and findings."""
    if kind := result_kind(result.manifest):
        print_rich(lambda width: kind.terminal(result, width))
    else:
        view = digest_of(result)
        print_rich(lambda width: show_trials(view, width=width, trials=trials, detail=detail))
