# SPDX-License-Identifier: Apache-2.0
"""How a case, a mean, a change and a time are written, everywhere alike; missing is ``None``."""

from __future__ import annotations

import csv
import io
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from linewatt.analysis.metrics.unit import same
from linewatt.foreign import shown
from linewatt.model import Case
from linewatt.units import when as when

if TYPE_CHECKING:
    from linewatt.analysis.comparison.verdicts import Verdict
    from linewatt.analysis.metrics.metric import Response
    from linewatt.analysis.statistics.stats import Estimate
    from linewatt.store.read import Result

SCHEMA_VERSION = 1

_FORMULA = ("=", "+", "-", "@", "\t", "\r")
"""signs with which a spreadsheet takes a cell for a formula"""


def identity(result: Result) -> dict[str, Any]:
    """How a document of a result begins."""
    manifest = result.manifest
    return {
        "schema_version": SCHEMA_VERSION,
        "id": result.id,
        "name": manifest.name,
        "created_s": manifest.created_s,
        "imported_from": result.imported_from,
    }


def case_keys(case: Case) -> dict[str, Any]:
    """What a case is, its load level apart."""
    others = {name: value for name, value in case.parameters.items() if name != "test"}
    return {"test": case.test, "sender": case.sender, "receiver": case.receiver, **others, **_beside(case)}


def keyed_case(case: Case) -> dict[str, Any]:
    """What a case is, behind the key by which it is compared."""
    ends = {"case_key": case.key, "sender": case.sender, "receiver": case.receiver}
    return {**ends, **case.parameters, "load_level": case.load_level, **_beside(case)}


def _beside(case: Case) -> dict[str, Any]:
    """Of one pair of a group, the pairs that ran at once with it: its key does not say which."""
    others = [list(flow) for flow in case.beside if flow != (case.sender, case.receiver)]
    return {"beside": others} if case.beside else {}


def mean_keys(name: str, value: Estimate | None, from_si: Callable[[float], float] = same) -> dict[str, Any]:
    """A mean, its standard deviation, and how many runs have it, in the unit that ``name`` says."""
    if value is None:
        return {f"{name}_mean": None, f"{name}_sd": None, f"{name}_n": 0}
    return {
        f"{name}_mean": from_si(value.mean),
        f"{name}_sd": None if value.sd is None else from_si(value.sd),
        f"{name}_n": value.n,
    }


def numbers(response: Response, verdict: Verdict | None) -> dict[str, Any]:
    """A change as a ratio to the base, or for shares as a difference; its CI; p alone and among all."""
    change = None if verdict is None else verdict.change
    ends = (None, None, None) if change is None else (change.value, change.low, change.high)
    relative = response.relative
    row: dict[str, Any] = {}
    for name, value in zip(("", "_low", "_high"), ends, strict=True):
        row[f"ratio{name}"] = 1 + value if relative and value is not None else None
        row[f"difference{name}"] = None if relative else value
    return row | {
        "p": None if change is None else change.p,
        "p_holm": None if change is None else change.p_holm,
        "kind": None if verdict is None else verdict.kind,
        "verdict": None if verdict is None else verdict.words,
    }


def csv_of(columns: Sequence[str], rows: Sequence[Mapping[str, Any]]) -> str:
    """Rows as CSV; ``None`` is an empty cell, and no text is a formula to a spreadsheet."""
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow([spreadsheet_cell(column) for column in columns])
    writer.writerows([spreadsheet_cell(row.get(column)) for column in columns] for row in rows)
    return out.getvalue()


def spreadsheet_cell(value: Any) -> Any:
    """A cell that a spreadsheet shows as it is: a text that it would compute is quoted, as OWASP has it."""
    if not isinstance(value, str):
        return value
    text = shown(value)
    if not text.startswith(_FORMULA):
        return text
    try:
        float(text)
    except ValueError:
        return f"'{text}"
    return text


def p_text(p: float) -> str:
    """``0.012``, and ``<0.001`` for what is smaller."""
    return "<0.001" if p < 0.001 else f"{p:.3f}" if p < 0.0995 else f"{p:.2f}"
