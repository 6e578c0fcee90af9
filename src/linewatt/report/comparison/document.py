# SPDX-License-Identifier: Apache-2.0
"""A comparison as JSON and CSV."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import asdict
from typing import Any, get_args

from linewatt.analysis.cases.summary import FlagCount
from linewatt.analysis.comparison.compare import Comparison, Finding, Pair
from linewatt.analysis.comparison.differences import Difference
from linewatt.analysis.comparison.matching import Match
from linewatt.analysis.comparison.rows import Row
from linewatt.analysis.comparison.side import Side, SingleRun
from linewatt.declare import (
    COUNT,
    NUMBER,
    TEXT,
    Keys,
    Schema,
    choice,
    listing,
    maybe,
    of_class,
    one_of,
    record,
    said,
    version,
)
from linewatt.model import Case, Provenance
from linewatt.report.comparison.remarks import lab_words
from linewatt.report.comparison.tables import single_ratio
from linewatt.report.kinds import run_kinds
from linewatt.report.printing.export import (
    PrintedFlag,
    case_key_schema,
    keyed_case,
    keyed_case_schema,
    mean_keys,
    mean_schema,
    numbers,
    numbers_schema,
)

SCHEMA_VERSION = 1


def as_document(comparison: Comparison, verdict: Finding) -> dict[str, Any]:
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


def _side(side: Side) -> dict[str, Any]:
    named: dict[str, Any] = {"name": side.name, "id": side.id, "created_s": side.created_s}
    named |= {"searched_rates": list(side.searched)} if side.searched else {}
    named |= {"searched_instances": list(side.knees)} if side.knees else {}
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


def _row(row: Row) -> dict[str, Any]:
    change = row.verdict.change
    return {
        **_case(row.match),
        "response": row.response.name,
        **mean_keys("base", row.base),
        **mean_keys("other", row.other),
        **numbers(row.response, row.verdict),
        **({} if change or single_ratio(row) is None else {"ratio": single_ratio(row)}),
        "p_shuffled": None if change is None else change.permutation_p,
        "p_all": None if change is None else change.p_all,
        "kind": row.outcome,
        "also_different": list(row.besides),
        "scope": row.scope,
        "provenance": row.provenance,
    }


_HOSTS = frozenset({"sender", "receiver", "other_sender", "other_receiver"})


def _overall(row: Row) -> dict[str, Any]:
    """A row over pairs of hosts, which are not named in it."""
    return {"pairs": row.pairs, **{name: value for name, value in _row(row).items() if name not in _HOSTS}}


def _flags(pair: Pair) -> dict[str, Any]:
    def counted(flags: Sequence[FlagCount]) -> list[dict[str, Any]]:
        return [
            {"code": flag.code, "trials": flag.trials, "evidence": flag.example.evidence} for flag in flags
        ]

    return {**_case(pair.match), "base": counted(pair.base_flags), "other": counted(pair.other_flags)}


def schema() -> Schema:
    """Of :func:`as_document`."""
    counted = listing(record({"code": TEXT, "trials": COUNT, "evidence": TEXT}))
    left_over = {"side": TEXT, "why": TEXT, **keyed_case_schema()}
    pairs = {"pairs": said(COUNT, "Pairs of hosts that it is over."), **_row_schema()}
    keys = {
        "schema_version": version(SCHEMA_VERSION),
        "base": _side_schema(),
        "other": _side_schema(),
        "by": said(maybe(TEXT), "What of one result is compared, if anything."),
        "levels": listing(TEXT),
        "hosts": maybe(listing(TEXT)),
        "caveats": listing(TEXT, "What keeps it from being one of hardware."),
        "factor_ratio": said(maybe(NUMBER), "What a change must be beyond; null: the usual of its kind."),
        "matched": listing(TEXT, "How cases were matched."),
        "comparisons": listing(_matched(_row_schema()), "A case and response each."),
        "overall": listing(_matched(pairs, without=_HOSTS), "Over pairs of hosts that repeat a case."),
        "flags": listing(_matched({"base": counted, "other": counted}), "Findings on either side."),
        "remarks": listing(_matched({"remarks": listing(TEXT)})),
        "left_over": listing(record(left_over), "Cases that found no partner."),
        "differences": listing(of_class(Difference), "Of hosts and settings, those that matter first."),
        "exit_code": {"enum": [0, 3, 4], "description": "3: a change for the worse; 4: not every verdict."},
        "finding": said(maybe(TEXT), "Why, in words."),
    }
    return record(
        keys, "Two results, or levels of one, case by case; units are those that responses end with."
    )


def _side_schema() -> Schema:
    keys = {
        "name": TEXT,
        "id": TEXT,
        "created_s": maybe(NUMBER),
        "searched_rates?": listing(TEXT, "What its searches found; their steps are no runs of a case."),
        "searched_instances?": listing(TEXT),
    }
    for kind in run_kinds():
        run = {
            "id": TEXT,
            "created_s": maybe(NUMBER),
            **kind.run_keys(),
            "flags": listing(of_class(PrintedFlag)),
        }
        plural = f"{kind.name}s"
        keys[f"{plural}?"] = listing(record(run), f"The runs of a side of {plural}.")
    return record(keys)


def _matched(more: Keys, *, without: Collection[str] = ()) -> Schema:
    """Of what :func:`_case` begins: two cases, or two tasks of a kind."""
    levels = {"base_level": maybe(TEXT), "level": maybe(TEXT)}
    compared_schema = {"other_case_key": TEXT, "other_sender": TEXT, "other_receiver": TEXT}
    cases = {**keyed_case_schema(), **compared_schema, **levels}
    case_properties = {name: schema for name, schema in cases.items() if name not in without}
    return one_of(
        record({**case_properties, **more}),
        *(
            record(
                {
                    **case_key_schema(),
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


def _row_schema() -> Keys:
    return {
        "response": said(TEXT, "What is compared; its name ends with its unit."),
        **mean_schema("base"),
        **mean_schema("other"),
        **numbers_schema("refused"),
        "p_shuffled": said(maybe(NUMBER), "Of shuffled runs, alone."),
        "p_all": said(maybe(NUMBER), "Among all rows of the comparison (Holm): the p that decides."),
        "also_different": listing(TEXT, "What else differs that may be why."),
        "scope": said(maybe(TEXT), "Of watts in it."),
        "provenance": maybe(choice(*get_args(Provenance))),
    }


def csv_rows(comparison: Comparison) -> list[dict[str, Any]]:
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
