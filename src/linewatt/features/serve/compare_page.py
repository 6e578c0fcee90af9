# SPDX-License-Identifier: Apache-2.0
"""``/compare``: two results, levels of one result, or several results against the oldest."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlencode

from fastapi import APIRouter, Request
from markupsafe import Markup
from starlette.concurrency import run_in_threadpool
from starlette.responses import RedirectResponse, Response

from linewatt.analysis.comparison import (
    METRICS_OF_ROWS,
    Comparison,
    Options,
    exit_finding,
    known_properties,
    levels_of,
)
from linewatt.errors import InvalidInput, LinewattError
from linewatt.features.serve.pages import rendered, templates
from linewatt.features.serve.report_frame import ReportFrame, in_frame
from linewatt.features.serve.responses import Body, body_response
from linewatt.features.serve.result_paths import key_of, refuse_links, result_at, url_of
from linewatt.features.serve.site import Site, site_of
from linewatt.report.comparison import (
    compare_stored,
    compared_by_kind,
    first_screen_of_comparison,
    kept_side,
    parse_factor,
    render_comparison_page,
    side_of,
)
from linewatt.store import reading_results

router = APIRouter()
MOST = 12
"""results on one page"""
_SLOWER = ("slower",)
"""verdict of two results, as with the command"""


@dataclass(frozen=True, slots=True)
class ComparisonRow:
    """A result compared with the base: its verdict in a sentence, or why there is none."""

    id: str
    url: str
    page_url: str
    words: str
    failed: bool


@router.get("/compare")
async def compare(
    request: Request, a: str = "", b: str = "", by: str = "", base: str = "", factor: str = ""
) -> Response:
    """Compare ``a`` and ``b``, or all ticked results (``id``): the oldest is the base."""
    site = site_of(request)
    ticked = list(dict.fromkeys(request.query_params.getlist("id")))
    references = [reference for reference in (a, b) if reference] or ticked
    if len(references) > MOST:
        raise InvalidInput(f"{len(references)} results are ticked; at most {MOST} are compared at once")
    paths = [await run_in_threadpool(result_at, site, reference) for reference in references]
    if ticked and not a and len(paths) == 2:
        first, second = sorted(path.name for path in paths)
        return RedirectResponse(f"/compare?{urlencode({'a': first, 'b': second})}", 302)
    if not paths or (len(paths) == 1 and not by):
        return await run_in_threadpool(_choice_page, request, site, paths)
    key = ("compare", by, base, factor, *await run_in_threadpool(key_of, *paths))
    make = several_page if len(paths) > 2 else two_page
    return body_response(request, await site.page_pool.page(key, make, paths, (by, base, factor)))


def _choice_page(request: Request, site: Site, paths: Sequence[Path]) -> Response:
    """The form that chooses what to compare."""
    seen = site.listed.now()
    ids = sorted((path.name for path in (*(path for path, _ in seen.rows), *seen.unread_paths)), reverse=True)
    chosen = paths[0].name if paths else ""
    return site.page(request, "compare.html.j2", chosen=chosen, ids=ids, by=_comparable_properties(paths))


def _comparable_properties(paths: Sequence[Path]) -> list[str]:
    """Properties of one result that have several levels to compare."""
    if not paths:
        return []
    with reading_results(paths[0]):
        sides = kept_side(paths[0])
        if sides.kind:
            return []
        side = side_of(paths[0], sides)
    return [name for name in known_properties(side.cases) if len(levels_of(side, name)) > 1]


Criteria = tuple[str, str, str]
"""property, base level, and smallest change that matters; "" for the default"""


def _compare(paths: Sequence[Path], criteria: Criteria) -> Comparison:
    """Compare results. Raises InvalidInput, StoreError."""
    by, base, factor = criteria
    for path in paths:
        refuse_links(path)
    with reading_results(*paths):
        if compared_by_kind([[path] for path in paths], plain=True):
            raise InvalidInput("published means are compared by 'linewatt compare', not on a page")
        smallest_ratio = parse_factor(factor) if factor else None
        options = Options(by or None, smallest_ratio, tuple(METRICS_OF_ROWS), ())
        return compare_stored([[(path, kept_side(path))] for path in paths], options, base or None)


def two_page(paths: Sequence[Path], criteria: Criteria) -> Body:
    """The comparison of two results, or of levels of one result. Raises InvalidInput, StoreError."""
    comparison = _compare(paths, criteria)
    names = [(path.name, url_of(path)) for path in paths]
    turned = urlencode({"a": paths[-1].name, "b": paths[0].name}) if len(paths) == 2 else ""
    navigation = Markup(  # noqa: S704  our own template
        rendered("comparison_links.html.j2", results=names, turned=turned)
    )
    with in_frame(ReportFrame(navigation=navigation)):
        page = render_comparison_page(
            comparison,
            exit_finding(comparison, _SLOWER if len(paths) == 2 else ()),
            (paths[0], paths[-1]),
            pages=templates(),
        )
    return Body(page.encode(), "text/html")


def several_page(paths: Sequence[Path], criteria: Criteria) -> Body:
    """Several results, each compared with the oldest."""
    first, *later_paths = sorted(paths, key=lambda path: path.name)
    rows = [_row_of_comparison(first, later, criteria) for later in later_paths]
    page = rendered(
        "compare_many.html.j2",
        here="/compare",
        first=first.name,
        first_url=url_of(first),
        rows=rows,
        history=f"/history?{urlencode([('id', path.name) for path in (first, *later_paths)])}",
    )
    return Body(page.encode(), "text/html")


def _row_of_comparison(first: Path, later: Path, criteria: Criteria) -> ComparisonRow:
    query = urlencode({"a": first.name, "b": later.name})
    try:
        comparison = _compare((first, later), criteria)
        screen = first_screen_of_comparison(comparison, exit_finding(comparison, _SLOWER))
        words, failed = (screen.sentence or screen.trust or "nothing to compare"), False
    except LinewattError as error:
        words, failed = str(error), True
    return ComparisonRow(later.name, url_of(later), f"/compare?{query}", words, failed)
