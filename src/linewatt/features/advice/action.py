# SPDX-License-Identifier: Apache-2.0
"""Advice on power supplies, printed."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, TypeVar

from linewatt.cli import print_json, put_lines, say, stored_result
from linewatt.delimited import parse_number
from linewatt.document import read_bytes
from linewatt.errors import InvalidInput
from linewatt.features.advice.command import MOST_UNITS
from linewatt.features.advice.psu.advice import Advice, Option, Question, UnitPrices, advise
from linewatt.features.advice.psu.stored_load import OUTPUT, HostLoad, host_loads
from linewatt.features.advice.psu.supplies import MODES, Measured, Operation, Supply, measured
from linewatt.features.advice.psu.tables import CERTIFIED, EfficiencyTable, certified, read_efficiency_table
from linewatt.features.advice.psu_report import lines
from linewatt.records import Supplies
from linewatt.report.trials import digest_of
from linewatt.units import ratio_from_percent

Word = TypeVar("Word", bound=str)
SCHEMA_VERSION = 1
_CURRENCY = r"[^\W\d_]{0,12}|[$€£¥₹]"


def print_psu_advice(  # noqa: PLR0913  one parameter an option
    *,
    rating_w: float | None,
    load_w: float | None,
    result_id: str | None,
    host: str | None,
    results: Path,
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
    unit_price: Sequence[str],
    currency: str,
    as_json: bool,
) -> None:
    """Show the load of power supplies, and what a change would save."""
    check_positive({"--rating-w": rating_w, "--load-w": load_w, "--peak-w": peak_w})
    check_positive({"--in-w": in_w, "--out-w": out_w, "--tolerance-percent": tolerance_percent})
    check_positive({"--price-per-kwh": price_per_kwh})
    prices = _unit_prices(unit_price)
    if prices is not None and price_per_kwh is None:
        raise InvalidInput("--unit-price: the years until a unit is paid need --price-per-kwh, too")
    if not re.fullmatch(_CURRENCY, currency):
        raise InvalidInput(
            f"--currency {currency!r}: give a sign, or a word of at most 12 letters such as EUR"
        )
    if not 1 <= count <= MOST_UNITS:
        raise InvalidInput(f"--count must be from 1 to {MOST_UNITS}, got {count}")
    if (in_w is None) != (out_w is None):
        raise InvalidInput("--in-w and --out-w belong together: give both or neither")
    stored = None if result_id is None else _stored(results, result_id, host)
    if stored is None and host is not None:
        raise InvalidInput("--host: names a host of a stored result; give it with --from ID")
    units = Supply(count, rating_w, one_of("--mode", mode, MODES)) if rating_w is not None else None
    if stored is not None:
        if units is None:
            supplies = _declared(stored)
            units = Supply(supplies.count, supplies.rating_w, supplies.mode)
            level = supplies.level if level is None and table is None else level
        load_w, in_w, out_w, peak_w = _from_stored(stored.load, load_w, in_w, out_w, peak_w)
    if units is None:
        raise InvalidInput("--rating-w is missing: give the rated W of DC output of one unit")
    load = out_w if load_w is None else load_w
    if load is None:
        raise InvalidInput(
            "--load-w is missing: give the W of DC output, the measured --in-w and --out-w, or --from ID"
        )
    readings = _readings(units, in_w, out_w, tolerance_percent)
    peak = load if peak_w is None else peak_w
    _print(
        advise(
            Question(
                units,
                load,
                peak,
                efficiency_table(level, mains, table),
                readings,
                price_per_kwh,
                prices,
                currency,
            )
        ),
        None if stored is None else stored.load,
        as_json=as_json,
    )


def _unit_prices(options: Sequence[str]) -> UnitPrices | None:
    """Of ``PRICE`` and ``W=PRICE``. Raises InvalidInput."""
    of_any: float | None = None
    by_rating: dict[float, float] = {}
    for option in options:
        rating, equals, price = option.rpartition("=")
        value, rating_w = parse_number(price), parse_number(rating) if equals else None
        needed = (value, rating_w) if equals else (value,)
        if value is None or not all(number is not None and 0 < number < math.inf for number in needed):
            raise InvalidInput(f"--unit-price {option}: write PRICE, or W=PRICE such as 500=180, above 0")
        if rating_w in by_rating or (rating_w is None and of_any is not None):
            raise InvalidInput(f"--unit-price {option}: is the second price of these units; give one")
        if rating_w is None:
            of_any = value
        else:
            by_rating[rating_w] = value
    return UnitPrices(of_any, tuple(by_rating.items())) if options else None


@dataclass(frozen=True, slots=True)
class _Stored:
    """A host of a stored result: what it draws, and the supplies that it declares."""

    load: HostLoad
    supplies: Supplies | None
    result_id: str


def _stored(results: Path, result_id: str, host: str | None) -> _Stored:
    """The host that is asked for. Raises InvalidInput where it, or its DC output, is not in the result."""
    with stored_result(results, result_id) as result:
        loads = host_loads(digest_of(result))
        if host is not None and host not in loads:
            which = f"; it has that of {' and '.join(loads)}" if loads else ""
            raise InvalidInput(f"{result.id}: has no DC output of the supplies of {host}{which}")
        if not loads:
            raise InvalidInput(f"{result.id}: has no DC output of power supplies (scope {OUTPUT})")
        if host is None and len(loads) > 1:
            raise InvalidInput(f"{result.id}: has DC output of {' and '.join(loads)}: name one with --host")
        load = loads[host or next(iter(loads))]
        return _Stored(load, result.manifest.asked.psus.get(load.host), result.id)


def _declared(stored: _Stored) -> Supplies:
    """The supplies that the host declares. Raises InvalidInput where it declares none."""
    if stored.supplies is None:
        raise InvalidInput(
            f"{stored.result_id}: {stored.load.host} declares no power supplies (hosts.{stored.load.host}"
            ".psus): give --rating-w, and --count unless there are two"
        )
    return stored.supplies


def _from_stored(
    load: HostLoad, load_w: float | None, in_w: float | None, out_w: float | None, peak_w: float | None
) -> tuple[float, float | None, float | None, float]:
    """Load, input, output and peak: as given, else those of the result."""
    if load_w is not None or out_w is not None:
        given_w = load_w or out_w or load.load_w
        return given_w, in_w, out_w, peak_w or max(load.peak_w, given_w)
    output_w = None if load.in_w is None else load.load_w
    return load.load_w, load.in_w, output_w, peak_w or max(load.peak_w, load.load_w)


def _readings(
    supply: Supply, in_w: float | None, out_w: float | None, tolerance_percent: float | None
) -> Measured | None:
    """What was measured of a supply, if anything was."""
    if in_w is None or out_w is None:
        return None
    off = None if tolerance_percent is None else ratio_from_percent(tolerance_percent)
    return measured(supply, in_w, out_w, off)


def _print(advice: Advice, load: HostLoad | None, *, as_json: bool) -> None:
    for warning in advice.warnings:
        say(f"warning: {warning}")
    if as_json:
        print_json(document(advice) | {"host": None if load is None else asdict(load)})
        return
    if load is not None:
        put_lines([load.words])
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
        "currency": question.currency or None,
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
        "saved_bounds_w": option.saved_bounds_w,
        "payback": None if option.payback is None else asdict(option.payback),
    }
    return {"change": option.change, **_operation(option.operation), **saved}
