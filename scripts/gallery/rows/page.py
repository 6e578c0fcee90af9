# SPDX-License-Identifier: Apache-2.0
"""docs/studies/rows.md, written by ``make gallery``."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from scripts.gallery.rows import arm, numa, soak, vxlan, x64
from scripts.gallery.rows.campaigns import FOLDER
from scripts.gallery.rows.model import (
    IMPORTS,
    LAB_RESULT,
    MOST_SHOWN,
    STATES,
    TOPOLOGY,
    Printed,
    printed_rows,
)

PAGE = FOLDER / "rows.md"
STUDIES = {
    "000: x64 energy": x64.ROWS,
    "001: ARM energy": arm.ROWS,
    "002: NUMA and PSU": numa.ROWS,
    "003: VXLAN on Arm": vxlan.ROWS,
    "004: the 48-hour soak": soak.ROWS,
}
_HEAD = """\
# Rows of the studies

Written by `make gallery`, which runs each command. *Printed here* is cut out of its output (with `-o`: of the
page that it writes). A test fails when this page and the program differ. The campaign files are those of the
pages [x64 energy](x64-energy.md), [ARM](arm-energy.md), [NUMA and PSU](numa-psu.md),
[VXLAN on Arm](vxlan.md) and [48-hour soak](soak.md). The results are:

{results}

The states are:

- *Right*: the same numbers. The last digit that both have may differ by one; numbers that were read from a
  chart may differ by 12 %. Where the study has no number, the command prints the answer.
- *Differs*: with the reason.
- *Needs hosts*: linewatt does it with hosts, or before it contacts them; the named test checks it.
- *Not published*: the study's tables lack the figures. linewatt draws them if a table or a result has them;
  the named test checks it.
"""
_COLUMNS = "| row | command | published | printed here | state |\n| --- | --- | --- | --- | --- |"


def rows() -> dict[str, tuple[Printed, ...]]:
    """Title of a study → its rows, from results that are thrown away."""
    return printed_rows(STUDIES)


def page(studies: Mapping[str, Sequence[Printed]]) -> str:
    """The whole document."""
    states = [row.state for printed in studies.values() for row in printed]
    counts = ", ".join(f"{state.strip('*')} {states.count(state)}" for state in STATES)
    sections = (_section(title, printed) for title, printed in studies.items())
    head = _HEAD.format(results="\n".join(_result_lines()))
    return "\n".join([head, f"{len(states)} rows: {counts}.\n", *sections])


def _result_lines() -> Iterator[str]:
    for name, source in IMPORTS.items():
        yield f"- `{name}`: `linewatt import {source} --name {name}`"
    yield f"- `{Path(LAB_RESULT).name}`: a stored result of a lab, `{LAB_RESULT}`"
    yield f"- files: `topology.xml` is `{TOPOLOGY}`, `blocks.txt` the text in"
    yield "  [tables](../tables.md#importing-a-table)"


def _section(title: str, printed: Sequence[Printed]) -> str:
    return "\n".join([f"## {title}\n", _COLUMNS, *map(_line, printed), ""])


def _line(printed: Printed) -> str:
    row = printed.row
    command = f"`{row.command}`" if row.command else "–"
    why = "; ".join(part for part in (row.reason, row.test and f"`{row.test}`") if part)
    state = f"{printed.state}: {why}" if why else printed.state
    cells = (row.name, command, _list(printed.published), _list(printed.values), state)
    return f"| {' | '.join(cell.replace('|', '/') for cell in cells)} |"


def _list(values: Sequence[str]) -> str:
    shown = values if len(values) <= MOST_SHOWN else values[:3]
    more = f" … ({len(values)})" if len(shown) < len(values) else ""
    return (", ".join(shown) or "–") + more
