# SPDX-License-Identifier: Apache-2.0
"""Two sides of stored results, with verdicts."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Sequence
from pathlib import Path

import typer

from linewatt.analysis.comparison import (
    ALLOWED_CODES,
    FAIL_ON,
    METRICS_OF_ROWS,
    Comparison,
    Finding,
    Options,
    exit_finding,
)
from linewatt.cli.commands.compare import FORMATS
from linewatt.cli.output import checked_target, print_csv, print_json, print_rich
from linewatt.core.feature import FeatureOption
from linewatt.errors import InvalidInput
from linewatt.report import ComparisonView, KindComparison
from linewatt.report.comparison import (
    CSV_COLUMNS,
    Kept,
    compare_stored,
    compared_by_kind,
    comparison_csv_rows,
    comparison_document,
    first_screen_of_comparison,
    kept_side,
    match_stored,
    parse_factor,
    run_kind_of,
    show_comparison,
)
from linewatt.report.printing import screen_text
from linewatt.store import find_result, reading_results

NOTHING = "nothing"


def compare_results(  # noqa: PLR0913  one parameter an option
    *,
    result_words: list[str],
    by: str | None,
    base: str | None,
    factor: str | None,
    fail_on: list[str] | None,
    metric: list[str] | None,
    allow: list[str] | None,
    results: Path,
    as_json: bool,
    as_csv: bool,
    full: bool,
    output: Path | None,
    form: str | None,
    feature_option: FeatureOption | None,
) -> None:
    """Compare two results, two hosts, or levels within a result."""
    form = _form_meant(form, as_json=as_json, as_csv=as_csv)
    if feature_option and (form not in (None, "json") or full or factor or fail_on or metric or allow):
        raise InvalidInput(f"--{feature_option.word}: goes with --by, --base, --json and --output alone")

    target = None if output is None else checked_target(output)
    matters = None if factor is None else parse_factor(factor)
    metrics = checked_choices("--metric", metric, METRICS_OF_ROWS) or tuple(METRICS_OF_ROWS)
    result_words, hosts = _hosts_meant(result_words, by, base)
    by = by if hosts is None else HOST
    named = _fail_on(fail_on, metrics, two=len(result_words) == 2)
    paths = _paths(result_words, results, by, base)
    with reading_results(*(path for side in paths for path in side)):
        plain = not (factor or fail_on or metric or allow or output or hosts or form in FORMATS)
        if comparison := compared_by_kind(paths, by=by, base=base, plain=plain):
            _print_kind_comparison(comparison, as_json=as_json, as_csv=as_csv)
            return
        loaded = [[(path, kept_side(path)) for path in side] for side in paths]
        run_kind = run_kind_of(loaded, by)
        if feature_option is not None:
            if run_kind:
                raise InvalidInput(f"--{feature_option.word}: is of cases, and {run_kind.name}s have none")
            _compare_view(feature_option, loaded, by, hosts or base, target, as_json=as_json)
            return
        allowed = checked_choices("--allow", allow, run_kind.codes if run_kind else ALLOWED_CODES)
        options = Options(by, matters, metrics, allowed)
        outcome = compare_stored(loaded, options, hosts or base)
        verdict = exit_finding(outcome, named)
        if target is not None:
            from linewatt.report.comparison import render_comparison_page
            from linewatt.report.printing import write_page

            write_page(target, render_comparison_page(outcome, verdict, _page_paths(loaded)))
        _print_comparison(outcome, verdict, named, form, full=full)
    if verdict.exit_code:
        raise typer.Exit(verdict.exit_code)


def _page_paths(loaded: Sequence[Sequence[tuple[Path, Kept]]]) -> tuple[Path, Path]:
    """The results of A and B, whose trials a page shows; twice the same where one is compared by levels."""
    return loaded[0][0][0], loaded[-1][0][0]


def _form_meant(form: str | None, *, as_json: bool, as_csv: bool) -> str | None:
    """What was asked for; ``None`` is the screen. Raises InvalidInput."""
    forms = [*(["json"] if as_json else []), *(["csv"] if as_csv else []), *([form] if form else [])]
    if form is not None and form not in FORMATS:
        raise InvalidInput(f"--format {form!r}: must be one of {', '.join(FORMATS)}")
    if len(forms) > 1:
        raise InvalidInput("--json, --csv and --format: choose one")
    return forms[0] if forms else None


def checked_choices(option: str, words: Iterable[str] | None, choices: Iterable[str]) -> tuple[str, ...]:
    """Words of a repeatable option, which may also be joined by commas. Raises InvalidInput."""
    chosen_words = tuple(part.strip() for word in words or () for part in word.split(","))
    names = list(choices)
    for word in chosen_words:
        if word not in names:
            raise InvalidInput(f"{option} {word!r}: must be one of {', '.join(names)}")
    return chosen_words


def _fail_on(words: list[str] | None, metrics: Sequence[str], *, two: bool) -> tuple[str, ...]:
    """What ends with exit code 3. Raises InvalidInput where its metric is not compared."""
    if words is None:
        return ("slower",) if two and "throughput" in metrics else ()
    named = checked_choices("--fail-on", words, (*FAIL_ON, "any", NOTHING))
    if NOTHING in named:
        if len(named) > 1:
            raise InvalidInput(f"--fail-on {NOTHING}: goes alone")
        return ()
    if "any" in named:
        return tuple(name for name, group in FAIL_ON.items() if group in metrics)
    for name in named:
        if FAIL_ON[name] not in metrics:
            raise InvalidInput(f"--fail-on {name}: its metric is not among --metric {','.join(metrics)}")
    return named


HOST = "host"


def _hosts_meant(
    result_words: list[str], by: str | None, base: str | None
) -> tuple[list[str], tuple[str, str] | None]:
    """``ID:HOST ID:HOST`` as one result and two of its hosts; anything else as it is. Raises InvalidInput."""
    split = [("", "") if Path(word).exists() else _with_host(word) for word in result_words]
    named = [(result, host) for result, host in split if result]
    if not named:
        return result_words, None
    if len(result_words) != 2 or len(named) != 2 or not all(host for _, host in named):
        raise InvalidInput(f"{' '.join(result_words)}: two hosts of one result are ID:HOST ID:HOST")
    (result, first_host), (other_result, second_host) = named
    if result != other_result:
        raise InvalidInput(
            f"{' '.join(result_words)}: hosts are compared within one result; "
            f"of two, name the results alone, with --by {HOST} whatever their hosts are called"
        )
    if first_host == second_host:
        raise InvalidInput(f"{' '.join(result_words)}: names one host twice; name two")
    if by is not None or base is not None:
        raise InvalidInput(
            f"{' '.join(result_words)}: names what is compared, so that --by and --base go without"
        )
    return [result], (first_host, second_host)


def _with_host(word: str) -> tuple[str, str]:
    """``ID`` and ``HOST`` of ``ID:HOST``; nothing of what names no host."""
    kind = "baseline:" if word.startswith("baseline:") else ""
    result, colon, host = word.removeprefix(kind).rpartition(":")
    return (kind + result, host) if colon else ("", "")


def _paths(sides: Sequence[str], results: Path, by: str | None, base: str | None) -> list[list[Path]]:
    """The results of one side or two. Raises InvalidInput, StoreError."""
    if len(sides) > 2:
        raise InvalidInput(
            f"compare takes two results, or one with --by; got {len(sides)}. "
            "To follow cases over more results: linewatt history"
        )
    if len(sides) == 1 and by is None:
        raise InvalidInput(f"{sides[0]} alone: name a second result, or with --by what is compared within it")
    if len(sides) == 2 and base is not None:
        raise InvalidInput("--base names a level of one result; of two, the first is the base")
    paths = [[find_result(results, name) for name in _names(side)] for side in sides]
    all_paths = [path.resolve() for side in paths for path in side]
    if len(set(all_paths)) < len(all_paths):
        raise InvalidInput(f"{' and '.join(sides)} are the same result; name two, or one with --by")
    return paths


def _print_kind_comparison(comparison: KindComparison, *, as_json: bool, as_csv: bool) -> None:
    """Two results without trials. Raises Exit where not every difference could be tested."""
    if as_json:
        print_json(comparison.document())
    elif as_csv:
        rows = comparison.rows()
        print_csv([*dict.fromkeys(name for row in rows for name in row)], rows)
    else:
        print_rich(comparison.terminal)
    if not comparison.tested:
        raise typer.Exit(4)


def _print_comparison(
    outcome: Comparison, verdict: Finding, fail_on: Sequence[str], form: str | None, *, full: bool
) -> None:
    """As it was asked for: a screen, data, or what a pipeline shows."""
    if form == "json":
        print_json(comparison_document(outcome, verdict))
    elif form == "csv":
        print_csv(CSV_COLUMNS, comparison_csv_rows(outcome))
    elif form == "junit":
        from linewatt.report.comparison import render_junit

        sys.stdout.buffer.write(render_junit(outcome, verdict, fail_on).encode())
    elif form == "md":
        from linewatt.report.comparison import render_summary

        sys.stdout.buffer.write(render_summary(outcome, verdict, full).encode())
    elif full:
        print_rich(lambda width: show_comparison(outcome, verdict, width))
    else:
        screen = first_screen_of_comparison(outcome, verdict)
        print_rich(lambda width: screen_text(screen, width), in_lines=True)


def _names(side: str) -> list[str]:
    """Results that are joined by commas; the name of a directory may have some itself."""
    return (
        [side]
        if Path(side).is_dir()
        else [name.strip() for name in side.split(",") if name.strip()] or [side]
    )


def _compare_view(
    option: FeatureOption,
    loaded: Sequence[Sequence[tuple[Path, Kept]]],
    by: str | None,
    base: str | tuple[str, str] | None,
    target: Path | None,
    *,
    as_json: bool,
) -> None:
    """What only a feature knows of two sides. Raises InvalidInput where there is nothing of it.

    The page in ``target`` has the comparison of what was measured, too.
    """
    view: ComparisonView = option.load()
    a, b, matching = match_stored(loaded, by, base)
    paths = _page_paths(loaded)
    comparison = view.compare(paths, (a, b), matching)
    if target is not None:
        from linewatt.report.comparison import comparison_page_with_section
        from linewatt.report.printing import write_page

        write_page(target, comparison_page_with_section(a, b, matching, by, paths, comparison.section()))
    if as_json:
        print_json(comparison.document())
    else:
        print_rich(comparison.terminal)
