# SPDX-License-Identifier: Apache-2.0
"""The kind of results that soaks are."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from linewatt.analysis import Findings
from linewatt.analysis.comparison import RunKind, SingleRun
from linewatt.analysis.metrics import Response
from linewatt.declare import Schema
from linewatt.errors import InvalidInput
from linewatt.features.soak.comparison import SOAK_RUNS
from linewatt.features.soak.digest import digest
from linewatt.features.soak.document import as_json, schema
from linewatt.features.soak.first_screen import first_screen
from linewatt.features.soak.flags import findings
from linewatt.features.soak.listing import MOST_BYTES, listed_soak, samples_bytes
from linewatt.features.soak.quantities import followed_run, soak_run
from linewatt.features.soak.storage import chunk_files, is_done
from linewatt.features.soak.terminal import show
from linewatt.records import Manifest
from linewatt.report import KindComparison, Listed
from linewatt.report.printing import Screen
from linewatt.store import Result

if TYPE_CHECKING:
    from pathlib import Path

    from jinja2 import Environment
    from rich.console import RenderableType


class SoakKind:
    """A :class:`linewatt.report.kinds.ResultKind`."""

    name = "soak"

    def noun(self, manifest: Manifest) -> str:
        return "a soak"

    def is_complete(self, result: Result) -> bool:
        return is_done(result.path)

    def sample_files(self, result: Result) -> list[Path]:
        return chunk_files(result.path)

    def page(self, result: Result, pages: Environment | None) -> str:
        from linewatt.features.soak.page import render

        return render(digest(result), pages)

    def document(self, result: Result) -> dict[str, Any]:
        return as_json(digest(result))

    def rows(self, result: Result) -> tuple[list[str], Sequence[Mapping[str, Any]]]:
        raise InvalidInput(f"{result.id} is a soak, without cases and trials; JSON has all of it")

    def first_screen(self, result: Result) -> Screen | None:
        return first_screen(digest(result))

    def terminal(self, result: Result, width: int | None) -> RenderableType:
        return show(digest(result), width)

    def markdown(self, result: Result) -> Iterator[str]:
        from linewatt.features.soak.markdown import markdown_of_soak

        return markdown_of_soak(digest(result))

    def listed(self, result: Result, heading: Mapping[str, Any]) -> Listed:
        return listed_soak(result, heading)

    def findings(self, result: Result) -> Findings | None:
        return None if samples_bytes(result) > MOST_BYTES else findings(digest(result))

    def comparison(
        self, sides: Sequence[Sequence[Path]], *, by: str | None, base: str | None, plain: bool
    ) -> KindComparison | None:
        return None

    @property
    def run_kind(self) -> RunKind | None:
        return SOAK_RUNS

    def single_run(self, result: Result) -> SingleRun:
        return soak_run(result)

    def followed_run(self, result: Result, response: Response) -> SingleRun:
        return followed_run(result, response)

    def schema(self) -> Schema:
        return schema()

    def comparison_schemas(self) -> list[Schema]:
        return []


KIND = SoakKind()
