# SPDX-License-Identifier: Apache-2.0
"""A comparison as it was asked for: a screen, data, or what a pipeline shows."""

from __future__ import annotations

import sys
from collections.abc import Sequence

from linewatt.analysis.comparison import Comparison, Finding
from linewatt.cli.output import print_csv, print_json, print_rich
from linewatt.errors import InvalidInput
from linewatt.report.comparison import (
    CSV_COLUMNS,
    comparison_csv_rows,
    comparison_document,
    first_screen_of_comparison,
    show_comparison,
)
from linewatt.report.printing import screen_text as text_of

CI = ("junit", "md")


def form_of(form: str | None, *, as_json: bool, as_csv: bool) -> str | None:
    """What was asked for; ``None`` is the screen. Raises InvalidInput."""
    forms = [*(["json"] if as_json else []), *(["csv"] if as_csv else []), *([form] if form else [])]
    if form is not None and form not in CI:
        raise InvalidInput(f"--format {form!r}: must be one of {', '.join(CI)}")
    if len(forms) > 1:
        raise InvalidInput("--json, --csv and --format: choose one")
    return forms[0] if forms else None


def print_comparison(
    found: Comparison, verdict: Finding, fail_on: Sequence[str], form: str | None, *, full: bool
) -> None:
    """Print it on stdout."""
    if form == "json" or form == "csv":
        if form == "json":
            print_json(comparison_document(found, verdict))
        else:
            print_csv(CSV_COLUMNS, comparison_csv_rows(found))
    elif form is not None:
        from linewatt.report.comparison import render_junit, render_summary

        text = (
            render_junit(found, verdict, fail_on) if form == "junit" else render_summary(found, verdict, full)
        )
        sys.stdout.buffer.write(text.encode())
    elif full:
        print_rich(lambda width: show_comparison(found, verdict, width))
    else:
        screen = first_screen_of_comparison(found, verdict)
        print_rich(lambda width: text_of(screen, width))
