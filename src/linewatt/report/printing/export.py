# SPDX-License-Identifier: Apache-2.0
"""How a case, a mean, a change and a time are written, everywhere alike; missing is ``None``."""

from __future__ import annotations

import csv
import io
from collections.abc import Callable, Mapping, Sequence
from typing import Any, get_args

from linewatt.analysis.comparison.verdicts import Verdict
from linewatt.analysis.metrics.metric import Response
from linewatt.analysis.metrics.unit import same
from linewatt.analysis.statistics.stats import Estimate
from linewatt.declare import (
    BOOLEAN,
    COUNT,
    INTEGER,
    NUMBER,
    TEXT,
    Keys,
    choice,
    listing,
    maybe,
    pair,
    said,
    table,
    version,
)
from linewatt.foreign import shown
from linewatt.model import Case, Direction, Family, Shape
from linewatt.store.read import Result
from linewatt.units import when as when

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


def identity_schema() -> Keys:
    """Keys of :func:`identity`."""
    return {
        "schema_version": version(SCHEMA_VERSION),
        "id": said(TEXT, "The name of its directory."),
        "name": said(maybe(TEXT), "That of its campaign."),
        "created_s": said(maybe(NUMBER), "When it began, Unix seconds."),
        "imported_from": said(
            maybe(TEXT), "The file whose figures these are; null where linewatt measured them."
        ),
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


def case_schema() -> Keys:
    """Keys of :func:`case_keys`; what only some cases have need not be there."""
    return {
        "test": said(TEXT, "`tcp`, `udp-SIZE`, `tcp-rr`, `udp-rr`, or `ftp` of scripted users."),
        "sender": said(TEXT, "The host that data comes from; of a group all that send."),
        "receiver": TEXT,
        "direction": said(choice(*get_args(Direction)), "`forward`: the sender is the client."),
        "family": choice(*get_args(Family)),
        "instances": said(COUNT, "Load processes."),
        "network": TEXT,
        "rate_bps": said(maybe(NUMBER), "Offered by each instance; null: as fast as it goes."),
        "streams": said(COUNT, "Connections of an instance."),
        "zerocopy": said(maybe(BOOLEAN), "null: not known, as of imported files."),
        "load_level?": said(maybe(NUMBER), "Part (0 to 1) of the calibrated maximum that is offered."),
        "factors?": table(TEXT, "Factor → its level."),
        "load?": said(
            TEXT,
            "The program that makes the load, where it is not the default one.",
        ),
        "search?": said(choice("rate", "instances"), "What of it is searched: its trials are steps."),
        "data_ports?": said(COUNT, "Over how many ports instances are dealt."),
        "port_weights?": listing(INTEGER, "By which they are dealt."),
        "users?": listing(pair(TEXT), "What users do that are its load: (key, value)."),
        "shape?": said(choice(*get_args(Shape)), "Of the group that it is, or is one pair of."),
        "pairs?": said(COUNT, "Of a group: how many run at once."),
        "flow_of?": said(COUNT, "Of one pair of a group: how many run at once."),
        "beside?": listing(pair(TEXT), "Of one pair of a group: the others, (sender, receiver) each."),
    }


def case_key_schema() -> Keys:
    """The key by which a case is compared."""
    meaning = "Stable hash of what makes the case comparable: equal on every host, kernel and year."
    return {"case_key": said(TEXT, meaning)}


def keyed_case_schema() -> Keys:
    """Keys of :func:`keyed_case`."""
    return {**case_key_schema(), **case_schema(), "load_level": maybe(NUMBER)}


def mean_keys(name: str, value: Estimate | None, from_si: Callable[[float], float] = same) -> dict[str, Any]:
    """A mean, its standard deviation, and how many runs have it, in the unit that ``name`` says."""
    if value is None:
        return {f"{name}_mean": None, f"{name}_sd": None, f"{name}_n": 0}
    return {
        f"{name}_mean": from_si(value.mean),
        f"{name}_sd": None if value.sd is None else from_si(value.sd),
        f"{name}_n": value.n,
    }


def mean_schema(name: str, meaning: str = "") -> Keys:
    """Keys of :func:`mean_keys`."""
    return {
        f"{name}_mean": said(maybe(NUMBER), meaning),
        f"{name}_sd": said(maybe(NUMBER), "Sample standard deviation; null at one run."),
        f"{name}_n": said(COUNT, "How many runs have it."),
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


def numbers_schema(*kinds: str) -> Keys:
    """Keys of :func:`numbers`; ``kinds`` are further words of its outcome."""
    from linewatt.analysis.comparison.verdicts import Kind

    ratio = "Other ÷ base; null where the change is a difference."
    return {
        "ratio": said(maybe(NUMBER), ratio),
        "ratio_low": said(maybe(NUMBER), "Of its 95 % CI."),
        "ratio_high": maybe(NUMBER),
        "difference": said(
            maybe(NUMBER), "Other − base, of shares and counts; null where the change is a ratio."
        ),
        "difference_low": said(maybe(NUMBER), "Of its 95 % CI."),
        "difference_high": maybe(NUMBER),
        "p": said(maybe(NUMBER), "Of this one alone."),
        "p_holm": said(maybe(NUMBER), "Among all of its family, such as the cases of a metric."),
        "kind": said(maybe(choice(*get_args(Kind), *kinds)), "The verdict in a word."),
        "verdict": said(maybe(TEXT), "The verdict in words, with its numbers."),
    }


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
