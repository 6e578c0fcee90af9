# SPDX-License-Identifier: Apache-2.0
"""Names of results stored, listed and removed."""

from __future__ import annotations

import time
from contextlib import suppress
from dataclasses import asdict
from pathlib import Path

import typer

from linewatt.cli import print_json, put, put_lines, results_there, say
from linewatt.errors import StoreError
from linewatt.features.history import baselines
from linewatt.foreign import one_line
from linewatt.store import find_result
from linewatt.units import format_time_utc

SCHEMA_VERSION = 1


def store_baseline(*, name: str, result_id: str, results: Path, as_json: bool) -> None:
    """Give a result a name."""
    before = None
    with suppress(StoreError):  # a damaged file is replaced
        before = baselines.get(results, name)
    new = baselines.put(results, name, find_result(results, result_id), time.time())
    if before is not None and before.id != new.id:
        say(f"{name} was {before.id}")
    if as_json:
        print_json({"schema_version": SCHEMA_VERSION, **asdict(new)})
        return
    put(new.id)


def print_baselines(*, results: Path, as_json: bool) -> None:
    """List baselines and their results."""
    results_there(results)
    listed = [
        stored for name in baselines.names(results) if (stored := baselines.get(results, name)) is not None
    ]
    if as_json:
        print_json(
            {
                "schema_version": SCHEMA_VERSION,
                "baselines": [asdict(baseline) for baseline in listed],
            }
        )
    else:
        put_lines(map(_baseline_line, listed))
        if not listed:
            say(f"no baseline below {results}; 'linewatt baseline set NAME ID' names one")
    if not all(baseline.is_there for baseline in listed):
        raise typer.Exit(1)


def _baseline_line(baseline: baselines.Baseline) -> str:
    gone = "" if baseline.is_there else "  is not there any more: deleted or moved"
    return one_line(f"{baseline.name}  {baseline.id}  set {format_time_utc(baseline.set_s)}{gone}")


def delete_baseline(*, name: str, results: Path) -> None:
    """Remove a name; the result stays."""
    baselines.remove(results, name)
    say(f"{name}: removed; its result is as it was")
