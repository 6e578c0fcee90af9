# SPDX-License-Identifier: Apache-2.0
"""The same charts for a page that runs a script: what stands at a point is told where a reader points. Pure.

Nothing is drawn otherwise: marks get their values in words, lines over time get points that cannot be seen.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from linewatt.report.charts import Figure, Spec

_MARKS = ("point", "bar", "rect", "square", "circle", "arc")
"""that a reader can point at; texts and rules say themselves what they are"""
_PARTS = ("layer", "vconcat", "hconcat", "concat")
_PANELS = ("row", "column", "facet")
_CHANNELS = (*_PANELS, "x", "y", "color", "shape", "yOffset", "xOffset", "theta")
_NUMBER = ",.4~r"
_NAMES = {"time_s": "Time (s)", "level": "Case", "bar": "Case", "percent": "Share (%)"}
_UNSEEN: Spec = {"type": "point", "filled": True, "size": 90, "opacity": 0}


def interactive(figure: Figure) -> Spec:
    """The specification with tooltips; ``usermeta`` says from where to where time goes along x."""
    spec = _told(figure.spec, {}, over_time=figure.over_time)
    span = next(_spans(figure.spec), None) if figure.over_time else None
    return spec if span is None else spec | {"usermeta": {"span": span}}


def _told(view: Spec, above: Mapping[str, Any], *, over_time: bool) -> Spec:
    chart = dict(view)
    encoding = {**above, **view.get("encoding", {})}
    for part in _PARTS:
        if part in view:
            inherited = encoding if part == "layer" else above
            chart[part] = [
                part for subview in view[part] for part in _parts(subview, inherited, over_time=over_time)
            ]
    if "spec" in view:
        chart["spec"] = _told(view["spec"], _facets(view), over_time=over_time)
    if _mark(view) in _MARKS and (fields := _fields(encoding)):
        chart["encoding"] = {**view.get("encoding", {}), "tooltip": fields}
    return chart


def _parts(view: Spec, above: Mapping[str, Any], *, over_time: bool) -> Iterator[Spec]:
    """A part of a chart; behind a line over time the points that a reader points at."""
    yield _told(view, above, over_time=over_time)
    encoding = {**above, **view.get("encoding", {})}
    if over_time and _mark(view) == "line" and (fields := _fields(encoding)):
        shown = {
            name: channel_spec
            for name, channel_spec in view.get("encoding", {}).items()
            if name in ("x", "y", "color")
        }
        points = {"mark": _UNSEEN, "encoding": {**shown, "tooltip": fields}}
        yield points | ({"transform": view["transform"]} if "transform" in view else {})


def _mark(view: Spec) -> str:
    mark = view.get("mark", "")
    return str(mark.get("type", "")) if isinstance(mark, Mapping) else str(mark)


def _facets(view: Spec) -> dict[str, Any]:
    """What tells panels apart, as encodings."""
    facet = view.get("facet", {})
    return {"facet": facet} if "field" in facet else dict(facet)


def _fields(encoding: Mapping[str, Any]) -> list[Spec]:
    """What a tooltip tells: each field once, numbers in four digits; nothing of what is only in a panel."""
    tooltips: dict[str, Spec] = {}
    outside_panels = False
    for channel in _CHANNELS:
        channel_spec = encoding.get(channel)
        if (
            not isinstance(channel_spec, Mapping)
            or "field" not in channel_spec
            or channel_spec["field"] in tooltips
        ):
            continue
        if _is_place(channel, channel_spec, encoding):
            continue
        outside_panels = outside_panels or channel not in _PANELS
        kind = channel_spec.get("type", "nominal")
        number = {"format": _NUMBER} if kind == "quantitative" else {}
        tooltips[channel_spec["field"]] = {
            "field": channel_spec["field"],
            "type": kind,
            "title": _title(channel_spec),
            **number,
        }
    return list(tooltips.values()) if outside_panels else []


def _is_place(channel: str, channel_spec: Mapping[str, Any], encoding: Mapping[str, Any]) -> bool:
    """Whether its numbers say where a mark is and nothing else: an end of a bar, or what words stand for."""
    ends = encoding.get(f"{channel}2", {})
    return "field" in ends or "[datum.value]" in (channel_spec.get("axis") or {}).get("labelExpr", "")


def _title(channel_spec: Mapping[str, Any]) -> str:
    title = channel_spec.get("title")
    if isinstance(title, Sequence) and not isinstance(title, str):
        title = " ".join(map(str, title))
    return str(title) if title else _NAMES.get(channel_spec["field"], str(channel_spec["field"]).capitalize())


def _spans(value: Any) -> Iterator[list[float]]:
    """Domains of x axes."""
    if isinstance(value, Mapping):
        domain = value.get("encoding", {}).get("x", {}).get("scale", {}).get("domain")
        if domain:
            yield list(domain)
        for name, part in value.items():
            if name != "data" and isinstance(part, Mapping | list):
                yield from _spans(part)
    elif isinstance(value, list):
        for part in value:
            yield from _spans(part)
