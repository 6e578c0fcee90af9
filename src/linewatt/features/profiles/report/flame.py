# SPDX-License-Identifier: Apache-2.0
"""Flame graphs as SVG: how wide a box is, is how many samples had it; on it stands what it called.

Drawn here and not by Vega-Lite, whose static SVG has no titles: a reader's pointer on a box says its name and
share without a script.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from markupsafe import Markup

from linewatt.features.profiles.analysis.shares import PlaceProfile
from linewatt.features.profiles.analysis.tree import Node, call_tree
from linewatt.features.profiles.report.sentences import place_words
from linewatt.foreign import one_line
from linewatt.report.charts import DrawnFigure, Figure
from linewatt.units import format_percent

WIDTH_PX = 1200
ROW_PX = 17
LEAST_PX = 1.5
"""a box that is narrower is left out: a thousandth of the samples"""
DEEPEST = 64
_LETTER_PX = 6.4
_COLOURS = {
    "process": ("var(--card, #f6f6f4)", "var(--ink, #1d1d20)"),
    "user": ("var(--heat-1, #e3eefb)", "var(--heat-ink-1, #10233d)"),
    "kernel": ("var(--heat-3, #98c1ec)", "var(--heat-ink-3, #10233d)"),
    "module": ("var(--heat-5, #2f6fb8)", "var(--heat-ink-5, #ffffff)"),
}


@dataclass(frozen=True, slots=True)
class _Box:
    """One function where it was called from: its part of the width, its row from below."""

    node: Node
    left: float
    row: int
    kind: str


def flame_figure(place_profile: PlaceProfile, title: str, name: str) -> DrawnFigure | None:
    """The flame graph of a role's CPUs; ``None`` where they were never busy."""
    root = call_tree(place_profile.host, place_profile.place)
    if not root.samples:
        return None
    where = place_words(place_profile)
    figure = Figure(
        name=name,
        title=f"{title}: {where}",
        caption=(
            "Flame graph: the width of a box is the part of busy samples that had the function; what it "
            "called stands on it. From faint to strong: processes, user space, kernel, its modules. A box "
            "tells its share when the pointer rests on it."
        ),
        description=f"{root.samples:,} samples, {where}; the table has the hottest functions.",
        spec={},
        wide=True,
    )
    return DrawnFigure(figure, _svg(root, figure, name))


def _boxes(node: Node, offset_samples: float, row: int) -> Iterator[_Box]:
    kind = "process" if row == 0 else "user"
    if node.function.in_kernel:
        kind = "module" if ": " in node.function.binary else "kernel"
    yield _Box(node, offset_samples, row, kind)
    if row < DEEPEST:
        yield from _row_of(node, offset_samples, row + 1)


def _row_of(node: Node, offset_samples: float, row: int) -> Iterator[_Box]:
    for child in sorted(
        node.children.values(),
        key=lambda child_node: (child_node.function.symbol, child_node.function.binary),
    ):
        yield from _boxes(child, offset_samples, row)
        offset_samples += child.samples


def _svg(root: Node, figure: Figure, name: str) -> Markup:
    scale = WIDTH_PX / root.samples
    boxes = [box for box in _row_of(root, 0, 0) if box.node.samples * scale >= LEAST_PX]
    height = (max((box.row for box in boxes), default=0) + 1) * ROW_PX
    drawn = Markup("").join(_drawn(box, scale, height, root.samples) for box in boxes)
    size = WIDTH_PX, height
    return Markup(
        '<svg class="flame" viewBox="0 0 {} {}" width="{}" height="{}" font-family="sans-serif" '
        'font-size="11" role="img" aria-labelledby="{}-title {}-desc">'
        '<title id="{}-title">{}</title><desc id="{}-desc">{}</desc>{}</svg>'
    ).format(*size, *size, name, name, name, figure.title, name, figure.description, drawn)


def _drawn(box: _Box, scale: float, height: int, total_samples: int) -> Markup:
    """A box with its name, as much of it as there is room for, and all of it for the pointer."""
    fill, ink = _COLOURS[box.kind]
    symbol = one_line(box.node.function.symbol)
    x, width = box.left * scale, box.node.samples * scale
    y = height - (box.row + 1) * ROW_PX
    binary = f" ({box.node.function.binary})" if box.node.function.binary else ""
    share = format_percent(box.node.samples / total_samples)
    tooltip = f"{symbol}{one_line(binary)}: {share}, {box.node.samples:,} samples"
    letters = int((width - 6) / _LETTER_PX)
    label = symbol if len(symbol) <= letters else f"{symbol[: letters - 1]}…" if letters > 3 else ""
    text = Markup("")
    if label:
        text = Markup('<text x="{:.1f}" y="{}" fill="{}">{}</text>').format(x + 3, y + 12, ink, label)
    return Markup(
        '<g><title>{}</title><rect x="{:.2f}" y="{}" width="{:.2f}" height="{}" rx="1" fill="{}" '
        'stroke="var(--ground, #ffffff)" stroke-width="0.6"/>{}</g>'
    ).format(tooltip, x, y, width, ROW_PX - 1, fill, text)
