# SPDX-License-Identifier: Apache-2.0
"""A stored result in a terminal, as data or as Markdown."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from linewatt.analysis.cases import detail_blocks
from linewatt.cli.output import print_csv, print_json, print_rich, put, results_near
from linewatt.core.feature import FeatureOption
from linewatt.errors import InvalidInput
from linewatt.report import ResultView, document_of_result, result_kind, rows_of_result
from linewatt.report.printing import screen_text as screen_text
from linewatt.report.trials import (
    EFFECT_COLUMNS,
    detail_documents,
    digest_of,
    effect_rows,
    first_screen_of_trials,
)
from linewatt.report.trials import digest_document as document
from linewatt.store import Result, find_result, load_result, reading_results
from linewatt.units import parse_rate


def show_result(  # noqa: PLR0913  one parameter an option
    *,
    result_id: str,
    results: Path,
    as_json: bool,
    as_csv: bool,
    trials: bool,
    effects: bool,
    full: bool,
    as_md: bool,
    detail: bool,
    at: list[str] | None,
    feature_option: FeatureOption | None,
) -> None:
    """Show a result: how fast, limited by what, at what cost, how sure."""
    if as_json and as_csv:
        raise InvalidInput("--json and --csv: choose one")
    if as_md and (as_json or as_csv or trials or effects or detail):
        raise InvalidInput("--md: goes with --full alone")
    if effects and (trials or not as_csv):
        raise InvalidInput("--effects: goes with --csv alone; everything else has the effects anyway")
    if detail and as_csv:
        raise InvalidInput("--detail: goes with --json or alone; --csv has a row per case or trial")
    others = as_csv or as_md or full or trials or detail
    _alone("--at", at, others or feature_option is not None)
    if feature_option is not None:
        _alone(f"--{feature_option.word}", True, others)
    rates_bps = [_throughput(rate_text) for rate_text in at or ()]

    path = find_result(results_near(results), result_id)
    with reading_results(path):
        result = load_result(path)
        if rates_bps:
            _show_watts(result, rates_bps, as_json=as_json)
        elif feature_option is not None:
            _show_view(result, feature_option, as_json=as_json)
        elif as_md:
            _show_markdown(result, full=full)
        elif full or trials or detail or as_json or as_csv or effects:
            _show(result, as_json=as_json, as_csv=as_csv, trials=trials, effects=effects, detail=detail)
        else:
            _show_first(result)


def _alone(option: str, value: object, others: bool) -> None:
    """Raises InvalidInput for an option that no other but --json goes with."""
    if value and others:
        raise InvalidInput(f"{option}: goes with --json alone")


def _throughput(text: str) -> float:
    """Bit/s of all instances. Raises InvalidInput."""
    try:
        bps = parse_rate(text)
    except InvalidInput as error:
        raise InvalidInput(f"--at {text!r}: {error}") from None
    if text.strip()[-1:].isdigit() or not bps > 0:
        raise InvalidInput(f"--at {text!r}: must be a rate above 0 with its unit, such as 5G or 940M")
    return bps


def _show_watts(result: Result, rates_bps: Sequence[float], *, as_json: bool) -> None:
    from linewatt.report.printing import render_table
    from linewatt.report.trials import watts_at_documents, watts_table

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


def _show_view(result: Result, option: FeatureOption, *, as_json: bool) -> None:
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


def _show_markdown(result: Result, *, full: bool) -> None:
    from linewatt.report.printing import markdown_first_screen, render_markdown

    text = None if full else markdown_first_screen(result)
    put((render_markdown(result) if text is None else text).rstrip("\n"))


def _show_first(result: Result) -> None:
    """The answer; of a result without any number all there is."""
    if kind := result_kind(result.manifest):
        screen = kind.first_screen(result)
    else:
        screen = first_screen_of_trials(digest_of(result))
    if screen is None:
        _print(result, trials=False, detail=False)
    else:
        print_rich(lambda width: screen_text(screen, width))


def _show(result: Result, *, as_json: bool, as_csv: bool, trials: bool, effects: bool, detail: bool) -> None:
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
        _print(result, trials=trials, detail=detail)


def _refuse(result: Result, *, trials: bool, effects: bool, detail: bool) -> None:
    """Raises InvalidInput for what a result does not have."""
    kind = result_kind(result.manifest)
    if kind is not None and (trials or detail or effects):
        raise InvalidInput(
            f"--trials, --detail, --effects: {result.id} is {kind.noun(result.manifest)} without trials; "
            "--json has all of it"
        )


def _print(result: Result, *, trials: bool, detail: bool) -> None:
    """All tables and findings."""
    if kind := result_kind(result.manifest):
        print_rich(lambda width: kind.terminal(result, width))
    else:
        from linewatt.report.trials import show_trials

        view = digest_of(result)
        print_rich(lambda width: show_trials(view, width=width, trials=trials, detail=detail))
