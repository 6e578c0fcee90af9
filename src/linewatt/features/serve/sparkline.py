# SPDX-License-Identifier: Apache-2.0
"""A small inline line chart that starts at zero. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from markupsafe import Markup

from linewatt.report import Glance

_WIDTH, _HEIGHT, _EDGE = 96.0, 24.0, 2.5


def sparkline(glance: Glance) -> Markup:
    """The line as SVG with a text description; gaps stay gaps."""
    points = list(_points_of(glance))
    lines = "".join(f'<polyline points="{_format_points(run)}"/>' for run in _runs(points) if len(run) > 1)
    single_points = [run[0] for run in _runs(points) if len(run) == 1]
    dots = [*single_points, *(point for point in points[-1:] if point is not None)]
    marks = "".join(f'<circle cx="{x:.1f}" cy="{y:.1f}" r="2"/>' for x, y in dots)
    return Markup(
        '<svg class="spark" viewBox="0 0 {:g} {:g}" width="{:g}" height="{:g}" role="img" aria-label="{}">'
        "<title>{}</title>{}</svg>"
    ).format(
        _WIDTH,
        _HEIGHT,
        _WIDTH,
        _HEIGHT,
        glance.words,
        glance.words,
        Markup(lines + marks),  # noqa: S704  numbers alone
    )


Place = tuple[float, float]


def _points_of(glance: Glance) -> Iterator[Place | None]:
    values = glance.values_bps
    top = max((value for value in values if value is not None), default=0.0) or 1.0
    at = glance.at if glance.over == "instances" else tuple(range(len(values)))
    span = (at[-1] - at[0]) or 1
    for place, value in zip(at, values, strict=True):
        x = _EDGE + (_WIDTH - 2 * _EDGE) * (place - at[0]) / span
        yield None if value is None else (x, _HEIGHT - _EDGE - (_HEIGHT - 2 * _EDGE) * value / top)


def _runs(points: Sequence[Place | None]) -> list[list[Place]]:
    """Runs of points without a gap."""
    runs: list[list[Place]] = [[]]
    for point in points:
        if point is None:
            runs.append([])
        else:
            runs[-1].append(point)
    return [run for run in runs if run]


def _format_points(points: Sequence[Place]) -> str:
    return " ".join(f"{x:.1f},{y:.1f}" for x, y in points)
