# SPDX-License-Identifier: Apache-2.0
"""``/compare``: two results, levels of one, or several against the oldest, by what the command compares."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlencode

from fastapi import APIRouter, Request
from markupsafe import Markup
from starlette.concurrency import run_in_threadpool
from starlette.responses import RedirectResponse, Response

from linewatt.analysis.comparison.compare import Comparison, finding
from linewatt.analysis.comparison.rows import METRICS, Options
from linewatt.errors import InvalidInput, LinewattError
from linewatt.features.serve.pages import rendered, templates
from linewatt.features.serve.report_frame import Within, within
from linewatt.features.serve.responses import Body, made
from linewatt.features.serve.result_paths import key_of, refused_link, result_at, url_of
from linewatt.features.serve.site import Site, site_of
from linewatt.report.comparison.first_screen import first_screen
from linewatt.report.comparison.of_results import compared, of_published
from linewatt.report.comparison.page import render
from linewatt.report.comparison.sides import kept
from linewatt.store.read import readable

router = APIRouter()
MOST = 12
"""results on one page"""
_SLOWER = ("slower",)
"""what a verdict of two results is about, as with the command"""


@dataclass(frozen=True, slots=True)
class Against:
    """One of several results against the base: its verdict in a sentence, or why there is none."""

    id: str
    url: str
    page_url: str
    words: str
    failed: bool


@router.get("/compare")
async def compare(
    request: Request, a: str = "", b: str = "", by: str = "", base: str = "", factor: str = ""
) -> Response:
    """By ``a`` and ``b``, or by every ``id`` that was ticked: of these the oldest is the base."""
    site = site_of(request)
    ticked = list(dict.fromkeys(request.query_params.getlist("id")))
    wanted = [one for one in (a, b) if one] or ticked
    if len(wanted) > MOST:
        raise InvalidInput(f"{len(wanted)} results are ticked; at most {MOST} are compared at once")
    paths = [await run_in_threadpool(result_at, site, one) for one in wanted]
    if ticked and not a and len(paths) == 2:
        first, second = sorted(path.name for path in paths)
        return RedirectResponse(f"/compare?{urlencode({'a': first, 'b': second})}", 302)
    if not paths or (len(paths) == 1 and not by):
        return await run_in_threadpool(_choose, request, site, paths)
    key = ("compare", by, base, factor, *await run_in_threadpool(key_of, *paths))
    make = several_page if len(paths) > 2 else two_page
    return made(request, await site.making.page(key, make, paths, (by, base, factor)))


def _choose(request: Request, site: Site, paths: Sequence[Path]) -> Response:
    """What to compare a result with."""
    ids = [path.name for path, _ in reversed(site.listed.now().rows)]
    chosen = paths[0].name if paths else ""
    return site.page(request, "compare.html.j2", chosen=chosen, ids=ids, by=_known(paths))


def _known(paths: Sequence[Path]) -> list[str]:
    """By what levels of one result can be compared."""
    from linewatt.analysis.comparison.matching import known_properties, levels_of
    from linewatt.report.comparison.sides import side_of

    if not paths:
        return []
    with readable(paths[0]):
        found = kept(paths[0])
        if found.is_soak:
            return []
        side = side_of(paths[0], found)
    return [name for name in known_properties(side.cases) if len(levels_of(side, name)) > 1]


Asked = tuple[str, str, str]
"""by what, the base among its levels, and how large a change matters"""


def _compared(paths: Sequence[Path], asked: Asked) -> Comparison:
    """Raises InvalidInput, StoreError."""
    by, base, factor = asked
    for path in paths:
        refused_link(path)
    with readable(*paths):
        if of_published([[path] for path in paths], plain=True):
            raise InvalidInput("published means are compared by 'linewatt compare', not on a page")
        options = Options(by or None, _ratio(factor), tuple(METRICS), ())
        return compared([[(path, kept(path))] for path in paths], options, base or None)


def _ratio(text: str) -> float | None:
    from linewatt.report.comparison.factor import parse_factor

    return parse_factor(text) if text else None


def two_page(paths: Sequence[Path], asked: Asked) -> Body:
    """The comparison of two results, or of levels of one. Raises InvalidInput, StoreError."""
    found = _compared(paths, asked)
    names = [(path.name, url_of(path)) for path in paths]
    turned = urlencode({"a": paths[-1].name, "b": paths[0].name}) if len(paths) == 2 else ""
    beside = Markup(  # noqa: S704  our own template
        rendered("compared.html.j2", results=names, turned=turned)
    )
    with within(Within(beside=beside)):
        page = render(found, finding(found, _SLOWER if len(paths) == 2 else ()), pages=templates())
    return Body(page.encode(), "text/html")


def several_page(paths: Sequence[Path], asked: Asked) -> Body:
    """Each of several results against the oldest."""
    first, *others = sorted(paths, key=lambda path: path.name)
    rows = [_against(first, other, asked) for other in others]
    page = rendered(
        "compare_many.html.j2",
        here="/compare",
        first=first.name,
        first_url=url_of(first),
        rows=rows,
        history=f"/history?{urlencode([('id', path.name) for path in (first, *others)])}",
    )
    return Body(page.encode(), "text/html")


def _against(first: Path, other: Path, asked: Asked) -> Against:
    query = urlencode({"a": first.name, "b": other.name})
    try:
        found = _compared((first, other), asked)
        screen = first_screen(found, finding(found, _SLOWER))
        words, failed = (screen.sentence or screen.trust or "nothing to compare"), False
    except LinewattError as error:
        words, failed = str(error), True
    return Against(other.name, url_of(other), f"/compare?{query}", words, failed)
