# SPDX-License-Identifier: Apache-2.0
"""A chart with its words, and its way to SVG inside a page."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from markupsafe import Markup, escape

from linewatt.errors import StoreError
from linewatt.foreign import one_line
from linewatt.report.charts import specs
from linewatt.report.charts.specs import Spec

_SVG_ROOT = re.compile(r"<svg\b([^>]*)>")
_XMLNS = re.compile(r'\sxmlns(:\w+)?="[^"]*"')
_TAG = re.compile(r"<[^>]+>")
_UNSEEN = re.compile(r'<path class="(?:back|fore)ground"(?![^>]* (?:fill|stroke)=)[^>]*/>')
_BEYOND_PIXELS = re.compile(r"(\.[0-9]{2})[0-9]+")
_AS_IT_IS = re.compile(
    r' (?:(?:opacity|stroke-width)="1"|(?:role|aria-[a-z]+|pointer-events|font-family)="[^"]*"'
    r'|class="(?![^"]*(?:role-mark|-title|concat_))[^"]*"|transform="translate\(0,0\)"|font-weight="normal")'
)
"""defaults; what the parts of a chart say to screen readers: it is one image with words of its own; names of
what axes are made of; the font, which the whole has"""
_MOST_KEPT, _LARGEST_KEPT = 200, 50_000
"""charts that are kept for who asks for the same again, as a server is asked, and characters of one's
specification: together a few ten MiB at most"""


@dataclass(frozen=True, slots=True)
class Figure:
    """A chart: ``title`` and ``caption`` for the page, ``description`` for whoever cannot see it."""

    name: str
    title: str
    caption: str
    description: str
    spec: Spec
    wide: bool = False
    """several panels side by side"""
    over_time: bool = False
    """whether every panel of it has time along the same x axis, of which a reader may look at a part"""


@dataclass(frozen=True, slots=True)
class DrawnFigure:
    """A figure with its SVG."""

    figure: Figure
    svg: Markup


def render_svg(spec: Spec) -> str:
    """The chart as SVG text. Nothing is ever loaded from elsewhere."""
    words = json.dumps(_drawable(spec))
    return _kept_svg(words) if len(words) <= _LARGEST_KEPT else _svg(words)


def _svg(words: str) -> str:
    """The chart of a specification in JSON, of which vl-convert is given the values."""
    import vl_convert  # starts a JavaScript engine: only whoever draws pays for it

    svg: str = vl_convert.vegalite_to_svg(json.loads(words), vl_version=specs.VEGA_LITE, allowed_base_urls=[])
    return svg


_kept_svg = lru_cache(_MOST_KEPT)(_svg)


def _drawable(value: Any) -> Any:
    """The specification without control characters: vl-convert would end the process over one."""
    if isinstance(value, str):
        return one_line(value)
    if isinstance(value, dict):
        return {key: _drawable(member) for key, member in value.items()}
    return [_drawable(item) for item in value] if isinstance(value, list | tuple) else value


def draw_figures(figures: Sequence[Figure], name: str) -> Iterator[DrawnFigure]:
    """Figures with their SVG, whose ids begin with ``name``."""
    for number, figure in enumerate(figures, start=1):
        yield DrawnFigure(figure, inline_svg(render_svg(figure.spec), figure, f"{name}-{number}"))


def inline_svg(svg: str, figure: Figure, name: str) -> Markup:
    """``svg`` for use inside HTML: named for screen readers, with ids that no other chart has."""
    svg = _slim(svg).replace('id="', f'id="{name}-').replace("url(#", f"url(#{name}-")
    svg = svg.replace('xlink:href="#', f'xlink:href="#{name}-')
    root = _SVG_ROOT.match(svg)
    if root is None:
        raise StoreError(f"{figure.name}: the chart library gave no SVG")
    attributes = _XMLNS.sub("", root[1])
    opening = (
        f'<svg{attributes} font-family="sans-serif" role="img" aria-labelledby="{name}-title {name}-desc">'
        f'<title id="{name}-title">{escape(figure.title)}</title>'
        f'<desc id="{name}-desc">{escape(figure.description)}</desc>'
    )
    return Markup(opening + svg[root.end() :])  # noqa: S704 - vl-convert escapes text; a test holds it to that


def _slim(svg: str) -> str:
    """``svg`` without what nobody sees: empty grounds, decimals beyond hundredths of a pixel, defaults."""

    def tag(tag_match: re.Match[str]) -> str:
        return _AS_IT_IS.sub("", _BEYOND_PIXELS.sub(r"\1", tag_match[0]))

    return _TAG.sub(tag, _UNSEEN.sub("", svg))
