# SPDX-License-Identifier: Apache-2.0
"""Kinds of results that hold no trials, which features add: what each printer asks of one."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Protocol

from linewatt.core.feature import feature_functions

if TYPE_CHECKING:
    from jinja2 import Environment
    from rich.console import RenderableType

    from linewatt.analysis.findings import Findings
    from linewatt.records import Manifest
    from linewatt.report.listing import Listed
    from linewatt.report.printing.screen import Screen
    from linewatt.store.read import Result


class ResultKind(Protocol):
    """What a feature's ``result_kind`` leads to. All but ``name`` raise StoreError for a damaged file."""

    @property
    def name(self) -> str:
        """One word, as ``linewatt sql`` and the Python API have it."""

    def is_of(self, manifest: Manifest) -> bool:
        """Whether a result with this manifest is of this kind."""

    def noun(self, manifest: Manifest) -> str:
        """What it is, in a few words with their article."""

    def page(self, result: Result, pages: Environment | None) -> str:
        """Its report; ``pages`` are templates of a server in place of those of a file."""

    def document(self, result: Result) -> dict[str, Any]:
        """The document of ``show --json``."""

    def rows(self, result: Result) -> tuple[list[str], Sequence[Mapping[str, Any]]]:
        """Columns and rows of ``show --csv``. Raises InvalidInput where there are none."""

    def first_screen(self, result: Result) -> Screen | None:
        """What ``show`` prints first; None: all of it."""

    def terminal(self, result: Result, width: int | None) -> RenderableType:
        """All of it for a terminal that is ``width`` characters wide, None: without limit."""

    def markdown(self, result: Result) -> Iterator[str]:
        """All of it but the campaign's text, as lines of Markdown."""

    def listed(self, result: Result, heading: Mapping[str, Any]) -> Listed:
        """Its line of ``linewatt list``."""

    def findings(self, result: Result) -> Findings | None:
        """Its findings; None where they are not made, or would take too long for a table of all results."""


def result_kind(manifest: Manifest) -> ResultKind | None:
    """The kind of a result by its manifest; None: it holds trials."""
    kinds: list[ResultKind] = feature_functions("result_kind")
    return next((kind for kind in kinds if kind.is_of(manifest)), None)
