# SPDX-License-Identifier: Apache-2.0
"""Write the tables of docs/sql.md: ``python -m linewatt.report.data.page docs/sql.md``."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from linewatt.report.data.column import Column
from linewatt.report.data.views import VIEWS, View

_FIRST = "## `results`"
"""where the tables begin; the text before is written by hand"""


def page(text: str) -> str:
    """The document with new tables."""
    return text.partition(_FIRST)[0] + "\n".join(map(_view, VIEWS.values())).rstrip() + "\n"


def _view(view: View) -> str:
    rows = "\n".join(_row(family) for family in _families(view.columns))
    head = "| column | type | unit | meaning | why NULL |\n| --- | --- | --- | --- | --- |"
    return f"## `{view.name}`\n\n{view.about}\n\n{head}\n{rows}\n"


def _families(columns: Sequence[Column]) -> Iterator[list[Column]]:
    """A mean with its spread, interval, provenance and bound together; every other column alone."""
    family: list[Column] = []
    for column in columns:
        stem = family[0].name.removesuffix("mean") if family and family[0].name.endswith("_mean") else None
        if stem is not None and column.name.startswith(stem):
            family.append(column)
            continue
        if family:
            yield family
        family = [column]
    yield family


def _row(family: Sequence[Column]) -> str:
    first, *others = family
    names = ", ".join(f"`{column.name}`" for column in family)
    types = ", ".join(dict.fromkeys(column.type for column in family))
    meaning = first.meaning
    if others:
        meaning += "; standard deviation, trials with a value"
        meaning += ", 95 % CI of the mean" if any("_ci95_" in column.name for column in others) else ""
        meaning += ", provenance" if any(column.name.endswith("_provenance") for column in others) else ""
        meaning += (
            ", error bound (±)" if any(column.name.endswith("_uncertainty") for column in others) else ""
        )
    return f"| {names} | {types} | {first.unit} | {meaning} | {first.reason} |"


if __name__ == "__main__":
    import sys
    from pathlib import Path

    document = Path(sys.argv[1])
    document.write_text(page(document.read_text(encoding="utf-8")), encoding="utf-8")
