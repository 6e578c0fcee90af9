# SPDX-License-Identifier: Apache-2.0
"""How a case, a mean, a change and a time are written, everywhere alike; missing is ``None``."""

from __future__ import annotations

import csv
import io
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from typing import Any, Final, Literal

from linewatt.analysis.comparison import Kind, Verdict
from linewatt.analysis.metrics import Response, unscaled
from linewatt.analysis.statistics import Estimate
from linewatt.declare import SELDOM, Keys, keys_of, said
from linewatt.foreign import shown
from linewatt.json_document import document_of, of_class
from linewatt.model import Case, Direction, Family, Flag, Shape
from linewatt.records import Count
from linewatt.store import Result

SCHEMA_VERSION: Final = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class Versioned:
    """How most documents begin."""

    schema_version: Literal[1] = SCHEMA_VERSION
    """Counts up when a key is removed, renamed, or means another thing."""


@dataclass(frozen=True, slots=True)
class PrintedFlag(Flag):
    """A flag in a document that is no trial: all its keys are there."""

    effect_ratio: float | None = None


_FORMULA = ("=", "+", "-", "@", "\t", "\r")
"""signs with which a spreadsheet takes a cell for a formula"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Identity(Versioned):
    """How a document of a result begins."""

    id: str
    """The name of its directory."""
    name: str | None
    """That of its campaign."""
    created_s: float | None
    """When it began, Unix seconds."""
    imported_from: str | None
    """The file whose figures these are; null where linewatt measured them."""


def identity_of_result(result: Result) -> Identity:
    """Of a result."""
    manifest = result.manifest
    return Identity(
        id=result.id,
        name=manifest.name,
        created_s=manifest.created_s,
        imported_from=result.imported_from,
    )


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


@dataclass(frozen=True, slots=True, kw_only=True)
class CaseKeys:
    """What a case is."""

    test: str
    """`tcp`, `udp-SIZE`, `tcp-rr`, `udp-rr`, or `ftp` of scripted users."""
    sender: str
    """The host that data comes from; of a group all that send."""
    receiver: str
    direction: Direction
    """`forward`: the sender is the client."""
    family: Family
    instances: Count
    """Load processes."""
    network: str
    rate_bps: float | None
    """Offered by each instance; null: as fast as it goes."""
    streams: Count
    """Connections of an instance."""
    zerocopy: bool | None
    """null: not known, as of imported files."""
    load_level: float | None = field(default=None, metadata=SELDOM)
    """Part (0 to 1) of the calibrated maximum that is offered."""
    factors: dict[str, str] | None = field(default=None, metadata=SELDOM)
    """Factor → its level."""
    load: str | None = field(default=None, metadata=SELDOM)
    """The program that makes the load, where it is not the default one."""
    search: Literal["rate", "instances"] | None = field(default=None, metadata=SELDOM)
    """What of it is searched: its trials are steps."""
    data_ports: Count | None = field(default=None, metadata=SELDOM)
    """Over how many ports instances are dealt."""
    port_weights: list[int] | None = field(default=None, metadata=SELDOM)
    """By which they are dealt."""
    chosen_ports: list[int] | None = field(default=None, metadata=SELDOM)
    """Which data ports of the hosts carry it, from 0, where these are not the first ones."""
    users: tuple[tuple[str, str], ...] = field(default=(), metadata=SELDOM)
    """What users do that are its load: (key, value)."""
    shape: Shape | None = field(default=None, metadata=SELDOM)
    """Of the group that it is, or is one pair of."""
    pairs: Count | None = field(default=None, metadata=SELDOM)
    """Of a group: how many run at once."""
    flow_of: Count | None = field(default=None, metadata=SELDOM)
    """Of one pair of a group: how many run at once."""
    beside: list[tuple[str, str]] | None = field(default=None, metadata=SELDOM)
    """Of one pair of a group: the others, (sender, receiver) each."""


@dataclass(frozen=True, slots=True, kw_only=True)
class KeyedCase(CaseKeys):
    """The same, and the key by which the case is compared."""

    case_key: str
    """Stable hash of what makes the case comparable: equal on every host, kernel and year."""


def case_of(case: Case) -> CaseKeys:
    """A case as a part of a document."""
    return CaseKeys(**case_keys(case))


def keyed_case_of(case: Case, key: str | None = None) -> KeyedCase:
    """The same with its key, or the key under which it is stored."""
    return KeyedCase(**case_keys(case), case_key=key or case.key)


@dataclass(frozen=True, slots=True, kw_only=True)
class LeveledCase(KeyedCase):
    """Keys of :func:`keyed_case`: the load level is always there."""

    load_level: float | None


@dataclass(frozen=True, slots=True)
class MeanKeys:
    """Keys of :func:`mean_keys` behind the name of what it is of."""

    mean: float | None
    sd: float | None
    """Sample standard deviation; null at one run."""
    n: Count
    """How many runs have it."""


def mean_of(value: Estimate | None, from_si: Callable[[float], float] = unscaled) -> MeanKeys:
    """A mean, its standard deviation, and how many runs have it, in the unit that ``from_si`` makes."""
    if value is None:
        return MeanKeys(None, None, 0)
    return MeanKeys(from_si(value.mean), None if value.sd is None else from_si(value.sd), value.n)


def mean_keys(
    name: str, value: Estimate | None, from_si: Callable[[float], float] = unscaled
) -> dict[str, Any]:
    """The same as keys that begin with ``name``."""
    return {f"{name}_{key}": member for key, member in document_of(mean_of(value, from_si)).items()}


def mean_schema(name: str, meaning: str = "") -> Keys:
    """Keys of :func:`mean_keys`."""
    mean, *others = _keys_of_mean().items()
    return {f"{name}_{key}": part for key, part in ((mean[0], said(mean[1], meaning)), *others)}


@cache
def _keys_of_mean() -> Keys:
    return keys_of(of_class(MeanKeys))


@dataclass(frozen=True, slots=True, kw_only=True)
class Numbers:
    """A change as a ratio to the base, or for shares as a difference; its CI; p alone and among all."""

    ratio: float | None
    """Other ÷ base; null where the change is a difference."""
    ratio_low: float | None
    """Of its 95 % CI."""
    ratio_high: float | None
    difference: float | None
    """Other − base, of shares and counts; null where the change is a ratio."""
    difference_low: float | None
    """Of its 95 % CI."""
    difference_high: float | None
    p: float | None
    """Of this one alone."""
    p_holm: float | None
    """Among all of its family, such as the cases of a metric."""
    kind: Kind | None
    """The verdict in a word."""
    verdict: str | None
    """The verdict in words, with its numbers."""


def verdict_numbers(response: Response, verdict: Verdict | None) -> Numbers:
    """Those of a verdict, as far as there is one."""
    change = None if verdict is None else verdict.change
    changes = _NOTHING if change is None else (change.value, change.low, change.high)
    if response.relative:
        ratios, differences = tuple(None if end is None else 1 + end for end in changes), _NOTHING
    else:
        ratios, differences = _NOTHING, changes
    return Numbers(
        **dict(zip(("ratio", "ratio_low", "ratio_high"), ratios, strict=True)),
        **dict(zip(("difference", "difference_low", "difference_high"), differences, strict=True)),
        p=None if change is None else change.p,
        p_holm=None if change is None else change.p_holm,
        kind=None if verdict is None else verdict.kind,
        verdict=None if verdict is None else verdict.words,
    )


_NOTHING: tuple[float | None, ...] = (None, None, None)


def csv_of(columns: Sequence[str], rows: Sequence[Mapping[str, Any]]) -> str:
    """Rows as CSV; ``None`` is an empty cell, and no text is a formula to a spreadsheet."""
    return csv_lines(columns, ([row.get(column) for column in columns] for row in rows))


def csv_lines(columns: Sequence[str], rows: Iterable[Iterable[Any]]) -> str:
    """The same of rows that have a value for each column."""
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerows(map(_spreadsheet_cell, row) for row in (columns, *rows))
    return out.getvalue()


def _spreadsheet_cell(value: Any) -> Any:
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
