# SPDX-License-Identifier: Apache-2.0
"""The kind of results that published tables are."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from linewatt.analysis import Findings
from linewatt.analysis.comparison import RunKind, SingleRun
from linewatt.analysis.metrics import Response
from linewatt.declare import Schema
from linewatt.errors import InvalidInput
from linewatt.features.tables import comparison_report
from linewatt.features.tables.printers import document, render_page, schema, show
from linewatt.features.tables.view import view
from linewatt.records import Manifest
from linewatt.report import Best, KindComparison, Listed, text_lines
from linewatt.report.printing import Screen
from linewatt.store import Result

if TYPE_CHECKING:
    from pathlib import Path

    from jinja2 import Environment
    from rich.console import RenderableType


class PublishedKind:
    """A :class:`linewatt.report.kinds.ResultKind`."""

    name = "published"

    def noun(self, manifest: Manifest) -> str:
        return f"a published table ({manifest.imported_kind})"

    def is_complete(self, result: Result) -> bool:
        return True

    def sample_files(self, result: Result) -> list[Path]:
        return []

    def page(self, result: Result, pages: Environment | None) -> str:
        return render_page(view(result), pages)

    def document(self, result: Result) -> dict[str, Any]:
        return document(view(result))

    def rows(self, result: Result) -> tuple[list[str], Sequence[Mapping[str, Any]]]:
        rows = view(result).rows
        return [*dict.fromkeys(name for row in rows for name in row)], rows

    def first_screen(self, result: Result) -> Screen | None:
        return None

    def terminal(self, result: Result, width: int | None) -> RenderableType:
        return show(view(result), width)

    def markdown(self, result: Result) -> Iterator[str]:
        from linewatt.report.printing import markdown_lines, markdown_table, markdown_top

        table_view = view(result)
        yield from markdown_top(None, result, (table_view.caveat, table_view.answer))
        for table in table_view.tables:
            yield from markdown_table(table, 2)
        yield from markdown_lines(text_lines("Notes", table_view.notes), 2)

    def listed(self, result: Result, heading: Mapping[str, Any]) -> Listed:
        table_view = view(result)
        throughput_bps, reason = table_view.throughput_bps, table_view.answer
        if table_view.findings is None:
            reason += " No check applies to a published table without trials."
        best = (
            None if throughput_bps is None else Best("soak", throughput_bps, reason="no watts in the table")
        )
        return Listed(heading, table_view.findings, reason, best=best, shown=table_view.findings)

    def findings(self, result: Result) -> Findings | None:
        return None

    def comparison(self, sides: Sequence[Sequence[Path]], *, plain: bool) -> KindComparison | None:
        return comparison_report.compared(sides, plain=plain)

    @property
    def run_kind(self) -> RunKind | None:
        return None

    def single_run(self, result: Result) -> SingleRun:
        raise InvalidInput(f"{result.id} is {self.noun(result.manifest)}, which has no runs")

    def followed_run(self, result: Result, response: Response) -> SingleRun:
        return self.single_run(result)

    def schema(self) -> Schema:
        return schema()

    def comparison_schemas(self) -> list[Schema]:
        return [comparison_report.schema()]


KIND = PublishedKind()
