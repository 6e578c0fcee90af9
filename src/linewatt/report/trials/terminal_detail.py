# SPDX-License-Identifier: Apache-2.0
"""The blocks of ``show --detail`` for a terminal."""

from __future__ import annotations

from collections.abc import Iterator

from rich.console import Group, RenderableType
from rich.text import Text

from linewatt.foreign import one_line
from linewatt.report.text_table import note_text
from linewatt.report.trials.detail import DetailCase, DetailGroup, Figure, Layout

_SHARES = ("usr", "sys", "irq", "soft", "idle")


def detail(group: DetailGroup) -> RenderableType:
    """All blocks of a test, then what is missing and why."""
    return Group(
        Text(f"{group.title}: each end in full", style="bold"),
        *(Text(line) for case in group.cases for line in _case_lines(case)),
        *map(note_text, group.notes),
    )


def _case_lines(case: DetailCase) -> Iterator[str]:
    yield f"{one_line(case.title)} ({case.trials})"
    for end in case.ends:
        yield from _block_lines(end)


def _block_lines(end: Layout) -> Iterator[str]:
    yield f"  {one_line(end.host)}  {end.role}"
    yield f"    {_figures(end.rates)}"
    for title, cells in end.shares:
        shares = "  ".join(f"{name} {cell.text:>6}" for name, cell in zip(_SHARES, cells, strict=True))
        yield f"    {title}  {shares}  %"
        if any(cell.sd for cell in cells):
            spread = "  ".join(
                f"{'':{len(name)}} {cell.sd:>6}" for name, cell in zip(_SHARES, cells, strict=True)
            )
            yield f"    {'±':>{len(title)}}  {spread}"
    yield f"    {_figures(end.costs)}"


def _figures(figures: tuple[Figure, ...]) -> str:
    return "   ".join(f"{figure.title} {figure.text}" for figure in figures)
