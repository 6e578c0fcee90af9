# SPDX-License-Identifier: Apache-2.0
"""Advice on power supplies, printed."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any, TypeVar

from linewatt.cli import print_json, put_lines, say
from linewatt.document import read_bytes
from linewatt.errors import InvalidInput
from linewatt.features.advice.command import MOST_UNITS
from linewatt.features.advice.psu.advice import Advice, Option, Question, advise
from linewatt.features.advice.psu.supplies import MODES, Measured, Operation, Supply, measured
from linewatt.features.advice.psu.tables import CERTIFIED, EfficiencyTable, certified, read_efficiency_table
from linewatt.features.advice.psu_report import lines
from linewatt.units import ratio_from_percent

Word = TypeVar("Word", bound=str)
SCHEMA_VERSION = 1


def print_psu_advice(  # noqa: PLR0913  one parameter an option
    *,
    rating_w: float,
    load_w: float | None,
    count: int,
    mode: str,
    level: str | None,
    mains: str,
    table: Path | None,
    peak_w: float | None,
    in_w: float | None,
    out_w: float | None,
    tolerance_percent: float | None,
    price_per_kwh: float | None,
    as_json: bool,
) -> None:
    """Show the load of power supplies, and what a change would save."""
    check_positive({"--rating-w": rating_w, "--load-w": load_w, "--peak-w": peak_w})
    check_positive({"--in-w": in_w, "--out-w": out_w, "--tolerance-percent": tolerance_percent})
    check_positive({"--price-per-kwh": price_per_kwh})
    if not 1 <= count <= MOST_UNITS:
        raise InvalidInput(f"--count must be from 1 to {MOST_UNITS}, got {count}")
    if (in_w is None) != (out_w is None):
        raise InvalidInput("--in-w and --out-w belong together: give both or neither")
    load = out_w if load_w is None else load_w
    if load is None:
        raise InvalidInput("--load-w is missing: give the W of DC output, or the measured --in-w and --out-w")
    supply = Supply(count, rating_w, one_of("--mode", mode, MODES))
    readings = _readings(supply, in_w, out_w, tolerance_percent)
    peak = load if peak_w is None else peak_w
    _print(
        advise(Question(supply, load, peak, efficiency_table(level, mains, table), readings, price_per_kwh)),
        as_json=as_json,
    )


def _readings(
    supply: Supply, in_w: float | None, out_w: float | None, tolerance_percent: float | None
) -> Measured | None:
    """What was measured of a supply, if anything was."""
    if in_w is None or out_w is None:
        return None
    off = None if tolerance_percent is None else ratio_from_percent(tolerance_percent)
    return measured(supply, in_w, out_w, off)


def _print(advice: Advice, *, as_json: bool) -> None:
    for warning in advice.warnings:
        say(f"warning: {warning}")
    if as_json:
        print_json(document(advice))
    else:
        put_lines(lines(advice))


def check_positive(values: Mapping[str, float | None]) -> None:
    for name, value in values.items():
        if value is not None and not 0 < value < math.inf:
            raise InvalidInput(f"{name} must be more than 0 and finite, got {value:g}")


def one_of(name: str, text: str, choices: Iterable[Word]) -> Word:
    for choice in choices:
        if text == choice:
            return choice
    raise InvalidInput(f"{name} must be {' or '.join(choices)}, got {text!r}")


def efficiency_table(
    level: str | None, mains: str, file: Path | None, prefix: str = "--"
) -> EfficiencyTable | None:
    """The certified table, the user's own, or none; the names of both options begin with ``prefix``."""
    voltage = one_of("--mains", mains, CERTIFIED)
    if level is not None and file is not None:
        raise InvalidInput(f"{prefix}level and {prefix}table exclude each other: leave out the level")
    if file is None:
        return None if level is None else certified(level, voltage)
    source = str(file) if str(file).isprintable() else repr(str(file))
    try:
        data = read_bytes(file)
    except (OSError, ValueError) as error:
        why = (error.strerror if isinstance(error, OSError) else None) or str(error)
        raise InvalidInput(f"{source}: cannot be read: {why}") from None
    return read_efficiency_table(data, source)


def document(advice: Advice) -> dict[str, Any]:
    """The advice as JSON: SI, shares as ratios, missing is null beside its reason."""
    question = advice.question
    return {
        "schema_version": SCHEMA_VERSION,
        **_operation(advice.operation),
        "peak_w": question.peak_w,
        "redundant": advice.redundant,
        "table": None if question.table is None else asdict(question.table),
        "measured": None if question.measured is None else asdict(question.measured),
        "price_per_kwh": question.price_per_kwh,
        "options": [_option(option) for option in advice.options],
        "warnings": list(advice.warnings),
    }


def _operation(operation: Operation) -> dict[str, Any]:
    """A supply under a load. What follows from a table is an estimate, whoever measured the table."""
    return {**asdict(operation), "provenance": "estimate"}


def _option(option: Option) -> dict[str, Any]:
    saved = {
        "saved_w": option.saved_w,
        "saved_kwh_per_year": option.saved_kwh_per_year,
        "saved_cost_per_year": option.saved_cost_per_year,
        "saved_reason": option.reason,
    }
    return {"change": option.change, **_operation(option.operation), **saved}
