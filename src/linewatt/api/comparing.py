# SPDX-License-Identifier: Apache-2.0
"""Two results compared, with the verdicts of ``linewatt compare``."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from linewatt.analysis import comparison as sides
from linewatt.analysis.comparison import (
    ALLOWED_CODES,
    METRICS_OF_ROWS,
    Options,
    Outcome,
    Row,
    RunKind,
    known_properties,
)
from linewatt.errors import InvalidInput
from linewatt.model import Case, Provenance
from linewatt.store import reading_results

if TYPE_CHECKING:
    from linewatt.api.results import Result


@dataclass(frozen=True, slots=True)
class Verdict:
    """One response of two cases, of which A is the base; ``a`` and ``b`` are means in the unit of its name.

    ``change`` is relative (0.031 is + 3.1 %), or of shares and counts a difference; ``ci95`` its interval.
    Both are ``None`` where runs are too few or the two are not comparable: ``words`` say why. ``p_holm`` is
    among all cases of this response, ``p_all`` among all verdicts of the comparison: it decides. ``case``:
    ``None`` for soaks.
    """

    case: Case | None
    response: str
    kind: Outcome
    words: str
    a: float | None
    b: float | None
    change: float | None
    ci95: tuple[float, float] | None
    is_relative: bool
    p: float | None
    p_holm: float | None
    scope: str | None
    provenance: Provenance | None
    p_all: float | None = None


@dataclass(frozen=True, slots=True)
class Comparison:
    """All verdicts, by response and then by case; ``caveats`` keep them from being ones of hardware."""

    verdicts: tuple[Verdict, ...]
    caveats: tuple[str, ...]
    _found: sides.Comparison = field(repr=False)

    @property
    def worse(self) -> tuple[Verdict, ...]:
        """Those that are a change for the worse."""
        return tuple(verdict for verdict in self.verdicts if verdict.kind == "worse")

    def document(self, fail_on: Collection[str] = ()) -> dict[str, Any]:
        """The document of ``compare --json``; ``fail_on`` is what its ``exit_code`` is about."""
        from linewatt.report.comparison import comparison_document

        _known("fail_on", fail_on, sides.FAIL_ON)
        return comparison_document(self._found, sides.exit_finding(self._found, tuple(fail_on)))


def compare(
    a: Result,
    b: Result,
    *,
    by: str | None = None,
    factor: float | None = None,
    metrics: Iterable[str] = (),
    allow: Iterable[str] = (),
) -> Comparison:
    """Is ``b`` slower than ``a``, by how much, and how sure is that.

    ``by`` names what may be another thing in them (``network``, ``host`` …), ``factor`` is the ratio that a
    change must be beyond, ``metrics`` and ``allow`` are as for ``linewatt compare``. Two soaks are one run
    each, so that there is no verdict on them. Raises InvalidInput, StoreError.
    """
    from linewatt.report.comparison import compare_stored, compare_tasks, kept_side, lab_words

    run_kind = _run_kind(a, b)
    metric_names = tuple(metrics) or tuple(METRICS_OF_ROWS)
    _known("metrics", metric_names, METRICS_OF_ROWS)
    _known("allow", allowed := tuple(allow), run_kind.codes if run_kind else ALLOWED_CODES)
    with reading_results(a.path, b.path):
        loaded = [[(result.path, kept_side(result.path))] for result in (a, b)]
        if by is not None:
            cases = (runs.case for ((_, side),) in loaded for runs in side.cases)
            _known("by", (by,), known_properties(cases))
        options = Options(by, factor, metric_names, allowed)
        comparison = compare_tasks(loaded, options) if run_kind else compare_stored(loaded, options)
        return Comparison(tuple(map(_verdict, comparison.rows)), tuple(lab_words(comparison)), comparison)


def _run_kind(a: Result, b: Result) -> RunKind | None:
    """How two results are compared that are one run each; None: they have cases.

    Raises InvalidInput for two results that cannot be compared.
    """
    from linewatt.report import run_kinds

    run_kind_by_name = {kind.name: kind for kind in run_kinds()}
    for result in (a, b):
        if result.kind not in (*run_kind_by_name, "trials"):
            raise InvalidInput(
                f"{a.id}, {b.id}: a {result.kind} table has no runs, so that no difference can be tested"
            )
    if a.kind != b.kind:
        raise InvalidInput(
            f"{a.id} is of {a.kind}, {b.id} of {b.kind}; compare results of one kind, a soak with a soak"
        )
    if a.path.resolve() == b.path.resolve():
        raise InvalidInput(f"{a.id}: is compared with itself; name two results")
    return run_kind_by_name.get(a.kind)


def _known(what: str, named: Iterable[str], choices: Iterable[str]) -> None:
    names = list(choices)
    for name in named:
        if name not in names:
            raise InvalidInput(f"{what} {name!r}: must be one of {', '.join(names)}")


def _verdict(row: Row) -> Verdict:
    change = row.verdict.change
    return Verdict(
        case=row.match.base if isinstance(row.match.base, Case) else None,
        response=row.response.name,
        kind=row.outcome,
        words=row.verdict.words,
        a=None if row.base is None else row.base.mean,
        b=None if row.other is None else row.other.mean,
        change=None if change is None else change.value,
        ci95=None if change is None else (change.low, change.high),
        is_relative=row.response.relative,
        p=None if change is None else change.p,
        p_holm=None if change is None else change.p_holm,
        scope=row.scope,
        provenance=row.provenance,
        p_all=None if change is None else change.p_all,
    )
