# SPDX-License-Identifier: Apache-2.0
"""``linewatt compare`` of two soaks."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from linewatt.analysis.comparison.compare import Options
from linewatt.cli.output import print_csv, print_json, print_rich
from linewatt.errors import InvalidInput
from linewatt.store.read import Result


def compare(
    loaded: Sequence[Result],
    options: Options,
    fail_on: Sequence[str],
    target: Path | None,
    *,
    as_json: bool,
    as_csv: bool,
) -> int:
    """Print two soaks side by side; returns the exit code. Raises InvalidInput, StoreError."""
    _check(loaded, options)
    from linewatt.analysis.comparison.soaks import compare_soaks, finding
    from linewatt.cli.compare import side_of
    from linewatt.report.comparison import soaks as report
    from linewatt.report.soak.side import soak_side

    base, other = (soak_side(one, side_of(name, one)) for name, one in zip(("A", "B"), loaded, strict=True))
    found = compare_soaks(base, other, options.metrics, options.allowed)
    verdict = finding(found, fail_on)
    if target is not None:
        from linewatt.report.html import write

        write(target, report.render(found, verdict))
    if as_json:
        print_json(report.as_document(found, verdict))
    elif as_csv:
        print_csv(report.CSV_COLUMNS, report.rows(found))
    else:
        print_rich(lambda width: report.show(found, verdict, width))
    return verdict.exit_code


def _check(loaded: Sequence[Result], options: Options) -> None:
    """What cannot be asked of soaks. Raises InvalidInput."""
    from linewatt.analysis.comparison.soaks import CODES

    soaks = [one for one in loaded if one.is_soak]
    if options.by is not None:
        raise InvalidInput(
            f"--by {options.by}: {soaks[0].id} is a soak, one long load without cases or levels; name two "
            "soaks, without --by"
        )
    if len(soaks) < len(loaded):
        trials = next(one for one in loaded if not one.is_soak)
        raise InvalidInput(
            f"{soaks[0].id} is a soak and {trials.id} has cases and trials; compare a soak with a soak"
        )
    for name in options.allowed:
        if name not in CODES:
            raise InvalidInput(f"--allow {name}: nothing of soaks; must be one of {', '.join(CODES)}")
