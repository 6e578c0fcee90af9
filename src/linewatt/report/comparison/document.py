# SPDX-License-Identifier: Apache-2.0
"""A comparison as JSON and CSV."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import Any

from linewatt.analysis.comparison import (
    Comparison,
    Difference,
    Finding,
    Match,
    Outcome,
    Pair,
    Row,
    Side,
    SingleRun,
)
from linewatt.analysis.flags import FlagCount
from linewatt.declare import (
    COUNT,
    FLAT,
    NUMBER,
    PREFIXED,
    SELDOM,
    TEXT,
    Keys,
    Schema,
    keys_of,
    listing,
    maybe,
    one_of,
    record,
    said,
    version,
)
from linewatt.json_document import document_of, fill, of_class
from linewatt.model import Case, Provenance
from linewatt.records import Count
from linewatt.report.comparison.remarks import lab_words
from linewatt.report.comparison.tables import single_ratio
from linewatt.report.kinds import run_kinds
from linewatt.report.printing.export import (
    KeyedCase,
    LeveledCase,
    MeanKeys,
    Numbers,
    PrintedFlag,
    keyed_case,
    mean_of,
    verdict_numbers,
)

SCHEMA_VERSION = 1


def comparison_document(comparison: Comparison, verdict: Finding) -> dict[str, Any]:
    """The document of ``compare --json``; values of a response are in the unit that its name ends with."""
    return {
        "schema_version": SCHEMA_VERSION,
        "base": _side(comparison.base),
        "other": _side(comparison.other),
        "by": comparison.options.by,
        "levels": list(comparison.levels),
        "hosts": None if comparison.hosts is None else list(comparison.hosts),
        "caveats": lab_words(comparison),
        "factor_ratio": comparison.options.matters,
        "matched": list(comparison.words),
        "comparisons": [_row(row) for row in comparison.rows],
        "overall": [_overall(row) for row in comparison.overall],
        "flags": [_flags(pair) for pair in comparison.pairs if pair.base_flags or pair.other_flags],
        "remarks": [
            {**_case(pair.match), "remarks": list(pair.remarks)} for pair in comparison.pairs if pair.remarks
        ],
        "left_over": [
            {"side": unmatched.side, "why": unmatched.why, **keyed_case(unmatched.case)}
            for unmatched in comparison.left_over
        ],
        "differences": [asdict(difference) for difference in comparison.differences],
        "exit_code": verdict.exit_code,
        "finding": verdict.words or None,
    }


@dataclass(frozen=True, slots=True, kw_only=True)
class SideKeys:
    """What every side has."""

    name: str
    id: str
    created_s: float | None
    searched_rates: tuple[str, ...] = field(default=(), metadata=SELDOM)
    """What its searches found; their steps are no runs of a case."""
    searched_instances: tuple[str, ...] = field(default=(), metadata=SELDOM)


def _side(side: Side) -> dict[str, Any]:
    searched = {"searched_rates": tuple(side.searched), "searched_instances": tuple(side.knees)}
    named = document_of(fill(SideKeys, side, **searched))
    runs = [
        _single_run(result.id, result.created_s, run) for result in side.runs if (run := result.single_run)
    ]
    return named if side.single_run is None else {**named, f"{side.single_run.kind.name}s": runs}


def _single_run(id_: str, created_s: float | None, run: SingleRun) -> dict[str, Any]:
    flags = [asdict(flag) for flag in run.flags]
    return {"id": id_, "created_s": created_s, **run.document(), "flags": flags}


def _case(match: Match) -> dict[str, Any]:
    levels = {"base_level": match.base_level or None, "level": match.level or None}
    base, compared = match.base, match.other
    if not isinstance(base, Case):
        keys = {"case_key": base.key, "test": base.test, "other_case_key": compared.key}
        return keys | base.document() | levels
    if not isinstance(compared, Case):
        raise TypeError("a case is compared with a task")
    ends = {"other_sender": compared.sender, "other_receiver": compared.receiver}
    return {**keyed_case(base), "other_case_key": compared.key, **ends, **levels}


@dataclass(frozen=True, slots=True, kw_only=True)
class RowKeys:
    """What a row has behind what is compared in it."""

    response: str
    """What is compared; its name ends with its unit."""
    base: MeanKeys = field(metadata=PREFIXED)
    other: MeanKeys = field(metadata=PREFIXED)
    numbers: Numbers = field(metadata=FLAT)
    p_shuffled: float | None
    """Of shuffled runs, alone."""
    p_all: float | None
    """Among all rows of the comparison (Holm): the p that decides."""
    kind: Outcome | None
    """The verdict in a word."""
    also_different: tuple[str, ...]
    """What else differs that may be why."""
    scope: str | None
    """Of watts in it."""
    provenance: Provenance | None


def _row(row: Row) -> dict[str, Any]:
    change, row_numbers = row.verdict.change, verdict_numbers(row.response, row.verdict)
    if change is None and (ratio := single_ratio(row)) is not None:
        row_numbers = replace(row_numbers, ratio=ratio)
    row_keys = RowKeys(
        response=row.response.name,
        base=mean_of(row.base),
        other=mean_of(row.other),
        numbers=row_numbers,
        p_shuffled=None if change is None else change.permutation_p,
        p_all=None if change is None else change.p_all,
        kind=row.outcome,
        also_different=tuple(row.besides),
        scope=row.scope,
        provenance=row.provenance,
    )
    return {**_case(row.match), **document_of(row_keys)}


_HOSTS = frozenset({"sender", "receiver", "other_sender", "other_receiver"})


def _overall(row: Row) -> dict[str, Any]:
    """A row over pairs of hosts, which are not named in it."""
    return {"pairs": row.pairs, **{name: value for name, value in _row(row).items() if name not in _HOSTS}}


@dataclass(frozen=True, slots=True)
class CountedFlag:
    code: str
    trials: Count
    evidence: str


@dataclass(frozen=True, slots=True)
class FlagsKeys:
    """Findings on either side of a pair."""

    base: list[CountedFlag]
    other: list[CountedFlag]


def _flags(pair: Pair) -> dict[str, Any]:
    def counted(flags: Sequence[FlagCount]) -> list[CountedFlag]:
        return [CountedFlag(flag.code, flag.trials, flag.example.evidence) for flag in flags]

    keys = FlagsKeys(counted(pair.base_flags), counted(pair.other_flags))
    return {**_case(pair.match), **document_of(keys)}


def schema() -> Schema:
    """Of :func:`comparison_document`."""
    row, flags = keys_of(of_class(RowKeys)), keys_of(of_class(FlagsKeys))
    left_over = {"side": TEXT, "why": TEXT, **keys_of(of_class(LeveledCase))}
    pairs = {"pairs": said(COUNT, "Pairs of hosts that it is over."), **row}
    keys = {
        "schema_version": version(SCHEMA_VERSION),
        "base": _schema_of_side(),
        "other": _schema_of_side(),
        "by": said(maybe(TEXT), "What of one result is compared, if anything."),
        "levels": listing(TEXT),
        "hosts": maybe(listing(TEXT)),
        "caveats": listing(TEXT, "What keeps it from being one of hardware."),
        "factor_ratio": said(maybe(NUMBER), "What a change must be beyond; null: the usual of its kind."),
        "matched": listing(TEXT, "How cases were matched."),
        "comparisons": listing(_matched(row), "A case and response each."),
        "overall": listing(_matched(pairs, without=_HOSTS), "Over pairs of hosts that repeat a case."),
        "flags": listing(_matched(flags), "Findings on either side."),
        "remarks": listing(_matched({"remarks": listing(TEXT)})),
        "left_over": listing(record(left_over), "Cases that found no partner."),
        "differences": listing(of_class(Difference), "Of hosts and settings, those that matter first."),
        "exit_code": {"enum": [0, 3, 4], "description": "3: a change for the worse; 4: not every verdict."},
        "finding": said(maybe(TEXT), "Why, in words."),
    }
    return record(
        keys, "Two results, or levels of one, case by case; units are those that responses end with."
    )


def _schema_of_side() -> Schema:
    head, flags = {"id": TEXT, "created_s": maybe(NUMBER)}, listing(of_class(PrintedFlag))
    runs = {
        f"{kind.name}s?": listing(
            record({**head, **kind.run_keys(), "flags": flags}), f"The runs of a side of {kind.name}s."
        )
        for kind in run_kinds()
    }
    return record({**keys_of(of_class(SideKeys)), **runs})


def _matched(more: Keys, *, without: Collection[str] = ()) -> Schema:
    """Of what :func:`_case` begins: two cases, or two tasks of a kind."""
    levels = {"base_level": maybe(TEXT), "level": maybe(TEXT)}
    compared_schema = {"other_case_key": TEXT, "other_sender": TEXT, "other_receiver": TEXT}
    cases = {**keys_of(of_class(LeveledCase)), **compared_schema, **levels}
    case_properties = {name: schema for name, schema in cases.items() if name not in without}
    return one_of(
        record({**case_properties, **more}),
        *(
            record(
                {
                    "case_key": keys_of(of_class(KeyedCase))["case_key"],
                    "test": {"const": kind.name},
                    "other_case_key": TEXT,
                    **kind.task_keys(),
                    **levels,
                    **more,
                }
            )
            for kind in run_kinds()
        ),
    )


def comparison_csv_rows(comparison: Comparison) -> list[dict[str, Any]]:
    """Rows of ``compare --csv``: one a case and response."""
    flags = {pair.match: pair for pair in comparison.pairs}
    return [
        _row(row)
        | {
            "factors": None
            if not isinstance(row.match.base, Case)
            else " ".join(f"{name}={level}" for name, level in row.match.base.factors) or None,
            "also_different": ", ".join(row.besides) or None,
            "base_flags": " ".join(flag.code for flag in flags[row.match].base_flags),
            "other_flags": " ".join(flag.code for flag in flags[row.match].other_flags),
        }
        for row in comparison.rows
    ]


CSV_COLUMNS = (
    *("test", "sender", "receiver", "other_sender", "other_receiver", "direction", "family", "instances"),
    *("network", "rate_bps", "streams", "zerocopy", "load_level", "factors", "case_key", "other_case_key"),
    *("base_level", "level", "response", "base_mean", "base_sd", "base_n", "other_mean", "other_sd"),
    *("other_n", "ratio", "ratio_low", "ratio_high", "difference", "difference_low", "difference_high"),
    *("p", "p_holm", "p_shuffled", "kind", "verdict", "scope", "provenance", "also_different"),
    *("base_flags", "other_flags", "p_all"),
)
"""Column names of ``compare --csv``, the same for every comparison."""
