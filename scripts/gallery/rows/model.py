# SPDX-License-Identifier: Apache-2.0
"""The rows of the studies: what each prints, beside what a command of linewatt prints.

A value is cut out of the command's output and never computed here: the page shows what a reader would see.
"""

from __future__ import annotations

import contextlib
import csv
import html
import io
import os
import re
import shlex
import shutil
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Literal

from scripts.gallery.rows.campaigns import write_files

from linewatt.cli.entry_point import main as linewatt

ROOT = Path(__file__).resolve().parents[3]
State = Literal["right", "**differs**", "needs hosts", "not published"]
STATES: tuple[State, ...] = ("right", "**differs**", "needs hosts", "not published")
IMPORTS = {
    "x64-energy": "docs/published/x64_scaling_ports.csv --components docs/published/x64_components.csv",
    "psu-load": "docs/published/x64_scaling_ports.csv",
    "arm-energy": "docs/published/arm_vs_intel_all.csv",
    "pasted": "blocks.txt",
    "vxlan-published": "docs/published/vxlan.csv",
    "ftp-published": "docs/published/opteron_soak.csv",
}
"""name of a result in the commands of rows → what it is imported from"""
LAB_RESULT = "tests/captures/results/method-1"
TOPOLOGY = "tests/captures/topology/2.9.0-v2-devices/topology.xml"
MOST_SHOWN = 6
ANSWERS = {0, 3, 4}
"""exit codes of commands that have an answer"""
ROUNDING = 1e-6
"""of a difference of two decimals that are stored in binary"""
_NUMBER = re.compile(r"[-−]?(?:\d{1,3}(?:,\d{3})+|\d+)?(?:(?<=\d)\.\d*|\.\d+|(?<=\d))(?:e[+-]?\d+)?")


@dataclass(frozen=True, slots=True)
class Column:
    """Cells of columns of a published table: of the rows with these ``cells``, by the column ``order``."""

    table: str
    names: tuple[str, ...]
    cells: tuple[tuple[str, str], ...] = ()
    order: str = ""

    @property
    def values(self) -> tuple[str, ...]:
        path = ROOT / "docs" / "published" / f"{self.table}.csv"
        rows = [
            row
            for row in csv.DictReader(path.read_text(encoding="utf-8").splitlines())
            if all(row[name] == cell for name, cell in self.cells)
        ]
        if self.order:
            rows.sort(key=lambda row: row[self.order])
        return tuple(row[name] for row in rows for name in self.names)


@dataclass(frozen=True, slots=True)
class Row:
    """A figure or an answer of a study.

    ``published``: as the study prints it. ``pattern``: its matches in the output of ``command`` are the
    values (or their groups, if it has any), within ``section`` if that is given; ``columns``: of output that
    is CSV. ``is_answer``: the study has no figure, and the output answers in words. ``within``: how far off a
    value may be that was read from a chart, as a ratio. ``reason``: why values differ, or what the published
    table lacks. ``test``: what checks a row that only hosts or a table with these figures can show.
    """

    name: str
    command: str = ""
    published: str | Column = ""
    pattern: str = ""
    section: str = ""
    columns: tuple[str, ...] = ()
    is_answer: bool = False
    within: float = 0.0
    reason: str = ""
    test: str = ""


@dataclass(frozen=True, slots=True)
class Printed:
    """A row with what its command prints."""

    row: Row
    values: tuple[str, ...]

    @property
    def published(self) -> tuple[str, ...]:
        published = self.row.published
        return published.values if isinstance(published, Column) else (published,) if published else ()

    @property
    def state(self) -> State:
        if self.row.test:
            return "not published" if self.row.reason else "needs hosts"
        is_right = self.row.is_answer or agrees(self.published, self.values, self.row.within)
        return "right" if is_right else "**differs**"


def agrees(published: Sequence[str], printed: Sequence[str], within: float = 0.0) -> bool:
    """The same numbers, each to one of the last digit of the coarser; without numbers the same words."""
    wanted, shown = (list(_numbers(" ".join(texts))) for texts in (published, printed))
    if not wanted:
        return tuple(published) == tuple(printed)
    return len(wanted) == len(shown) and all(
        _is_close(a, b, within) for a, b in zip(wanted, shown, strict=True)
    )


def _numbers(text: str) -> Iterator[str]:
    return (found.replace(",", "").replace("−", "-") for found in _NUMBER.findall(text) if found)


def _is_close(published: str, printed: str, within: float) -> bool:
    off = abs(float(printed) - float(published))
    if within:
        return off <= within * abs(float(published))
    return off <= (1 + ROUNDING) * 10.0 ** -min(_decimals(published), _decimals(printed))


def _decimals(number: str) -> int:
    return len(number.partition("e")[0].partition(".")[2])


def printed_rows(studies: Mapping[str, Sequence[Row]]) -> dict[str, tuple[Printed, ...]]:
    """Title of a study → its rows with their values. Raises ValueError where an output lacks a value."""
    with working_folder():
        output_of = cache(run_command)
        return {
            title: tuple(
                Printed(row, values_in(row, output_of(row.command)) if row.command and not row.test else ())
                for row in rows
            )
            for title, rows in studies.items()
        }


def values_in(row: Row, output: str) -> tuple[str, ...]:
    """The values of a row in what its command prints. Raises ValueError where there are none."""
    if row.columns:
        return tuple(cells[name] for cells in csv.DictReader(io.StringIO(output)) for name in row.columns)
    if row.section:
        section = re.search(row.section, output, re.MULTILINE | re.DOTALL)
        output = section[0] if section else ""
    matches = re.finditer(row.pattern, output, re.MULTILINE | re.DOTALL)
    groups = (group for match in matches for group in (match.groups() or (match[0],)))
    values = tuple(" ".join(group.split()) for group in groups if group)
    if not values:
        raise ValueError(f"{row.name}: {row.command} prints nothing like {row.section!r} {row.pattern!r}")
    return values


def run_command(command: str) -> str:
    """What a command prints, or the text of the page that it writes. Raises ValueError where it fails."""
    output, messages = io.StringIO(), io.StringIO()
    words = shlex.split(command)
    before = sys.argv
    sys.argv = words
    try:
        with contextlib.redirect_stdout(output), contextlib.redirect_stderr(messages):
            linewatt()
        code = 0
    except SystemExit as error:
        code = int(error.code or 0)
    finally:
        sys.argv = before
    if code not in ANSWERS:
        raise ValueError(f"{command}: exit {code}: {messages.getvalue()}")
    if "-o" in words:
        return html.unescape(Path(words[words.index("-o") + 1]).read_text(encoding="utf-8"))
    return output.getvalue()


@contextlib.contextmanager
def working_folder() -> Iterator[None]:
    """Work in a folder with the published tables, results of them, and the files of the pages."""
    with tempfile.TemporaryDirectory() as name, _environment(COLUMNS="100000", XDG_CACHE_HOME=name):
        folder = Path(name)
        shutil.copytree(ROOT / "docs" / "published", folder / "docs" / "published")
        shutil.copytree(ROOT / LAB_RESULT, folder / "results" / Path(LAB_RESULT).name)
        shutil.copy(ROOT / TOPOLOGY, folder)
        write_files(folder)
        (folder / "blocks.txt").write_text(_pasted_blocks(), encoding="utf-8")
        with contextlib.chdir(folder):
            for result, source in IMPORTS.items():
                run_command(f"linewatt import {source} --name {result}")
            yield


def _pasted_blocks() -> str:
    """The host blocks that docs/tables.md shows as text."""
    text = (ROOT / "docs" / "tables.md").read_text(encoding="utf-8")
    (blocks,) = re.findall(r"^```\n(udp-1500 .*?)^```", text, re.MULTILINE | re.DOTALL)
    return str(blocks)


@contextlib.contextmanager
def _environment(**values: str) -> Iterator[None]:
    before = {name: os.environ.get(name) for name in values}
    os.environ.update(values)
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                del os.environ[name]
            else:
                os.environ[name] = value
