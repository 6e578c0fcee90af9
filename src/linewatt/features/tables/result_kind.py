# SPDX-License-Identifier: Apache-2.0
"""The kind of results that published tables are."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from rich.console import Group, RenderableType
from rich.text import Text

from linewatt.analysis import Findings
from linewatt.analysis.comparison import RunKind, SingleRun
from linewatt.analysis.metrics import Response
from linewatt.declare import TEXT, Schema, keys_of, listing, one_of, record
from linewatt.errors import InvalidInput
from linewatt.features.tables import comparison_report
from linewatt.features.tables.first_screen import first_screen_of_view
from linewatt.features.tables.view import view, view_schemas
from linewatt.foreign import one_line
from linewatt.json_document import document_of, of_class
from linewatt.records import Manifest
from linewatt.report import Best, KindComparison, Listed, Section, text_lines
from linewatt.report.charts import draw_figures
from linewatt.report.printing import Identity, Screen, html_page, identity_of_result, render_table
from linewatt.store import Result
from linewatt.units import format_time_utc

if TYPE_CHECKING:
    from pathlib import Path

    from jinja2 import Environment


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
        table_view = view(result)
        notes = (text_lines("", table_view.notes),)
        tables = Section("Published figures", "published", table_view.tables, notes=notes)
        figures = Section("Figures", "figures", figures=tuple(draw_figures(table_view.figures, "figure")))
        return html_page(
            "published.html.j2",
            result,
            {},
            pages,
            kind="report",
            complete=True,
            view=table_view,
            tables=tables,
            figures=figures,
            campaign_title="Imported table",
            campaign_words=f"The table that was imported, {result.imported_from}.",
            elsewhere=None,
            glossary=(),
        )

    def document(self, result: Result) -> dict[str, Any]:
        table_view = view(result)
        return {
            **document_of(identity_of_result(result)),
            "imported_kind": result.imported_kind,
            "provenance": "published",
            "answer": table_view.answer,
            **table_view.document,
            "warnings": list(table_view.notes),
        }

    def rows(self, result: Result) -> tuple[list[str], Sequence[Mapping[str, Any]]]:
        rows = view(result).rows
        return [*dict.fromkeys(name for row in rows for name in row)], rows

    def first_screen(self, result: Result) -> Screen | None:
        return first_screen_of_view(view(result))

    def terminal(self, result: Result, width: int | None) -> RenderableType:
        table_view, manifest = view(result), result.manifest
        head = [
            Text(one_line(str(manifest.name or result.id)), style="bold"),
            Text(one_line(f"{result.id} · {format_time_utc(manifest.created_s)}")),
            Text(f"! {one_line(table_view.caveat)}", style="yellow"),
        ]
        parts: list[RenderableType] = [Group(*head), Text(one_line(table_view.answer), style="bold")]
        parts += [render_table(table, width) for table in table_view.tables]
        parts += [Group(*(Text(one_line(note)) for note in table_view.notes))] if table_view.notes else []
        return Group(*(part for renderable in parts for part in (renderable, Text())))

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

    def comparison(
        self, sides: Sequence[Sequence[Path]], *, by: str | None, base: str | None, plain: bool
    ) -> KindComparison | None:
        return comparison_report.compared(sides, by=by, base=base, plain=plain)

    @property
    def run_kind(self) -> RunKind | None:
        return None

    def single_run(self, result: Result) -> SingleRun:
        raise InvalidInput(f"{result.id} is {self.noun(result.manifest)}, which has no runs")

    def followed_run(self, result: Result, response: Response) -> SingleRun:
        return self.single_run(result)

    def schema(self) -> Schema:
        """Of each kind of table what it adds."""
        keys = {
            **keys_of(of_class(Identity)),
            "provenance": {"const": "published", "description": "linewatt did not measure it."},
            "answer": TEXT,
            "warnings": listing(TEXT),
        }
        return one_of(
            *(
                record({**keys, "imported_kind": {"const": kind}, **more}, "A published table.")
                for kind, schemas in view_schemas().items()
                for more in schemas
            )
        )

    def comparison_schemas(self) -> list[Schema]:
        return [comparison_report.schema()]


KIND = PublishedKind()
