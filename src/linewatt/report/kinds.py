# SPDX-License-Identifier: Apache-2.0
"""Kinds of results that hold no trials, which features add: what each printer asks of one."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Protocol

from linewatt import store
from linewatt.core.feature import feature_result_kinds, result_kind_of
from linewatt.declare import Schema

if TYPE_CHECKING:
    from pathlib import Path

    from jinja2 import Environment
    from rich.console import RenderableType

    from linewatt.analysis import Findings
    from linewatt.analysis.comparison import RunKind, SingleRun
    from linewatt.analysis.metrics import Response
    from linewatt.records import Manifest
    from linewatt.report.listing import Listed
    from linewatt.report.printing.screen import Screen


class ResultKind(Protocol):
    """What the ``path`` of a feature's ``result_kind`` leads to.

    All but ``name`` raise StoreError for a damaged file.
    """

    @property
    def name(self) -> str:
        """One word, as ``linewatt sql`` and the Python API have it."""

    def noun(self, manifest: Manifest) -> str:
        """What it is, in a few words with their article."""

    def is_complete(self, result: store.Result) -> bool:
        """Whether nothing is left for ``linewatt resume``."""

    def sample_files(self, result: store.Result) -> list[Path]:
        """Its Parquet files, in the order of time."""

    def page(self, result: store.Result, pages: Environment | None) -> str:
        """Its report; ``pages`` are templates of a server in place of those of a file."""

    def document(self, result: store.Result) -> dict[str, Any]:
        """The document of ``show --json``."""

    def rows(self, result: store.Result) -> tuple[list[str], Sequence[Mapping[str, Any]]]:
        """Columns and rows of ``show --csv``. Raises InvalidInput where there are none."""

    def first_screen(self, result: store.Result) -> Screen | None:
        """What ``show`` prints first; None: all of it."""

    def terminal(self, result: store.Result, width: int | None) -> RenderableType:
        """All of it for a terminal that is ``width`` characters wide, None: without limit."""

    def markdown(self, result: store.Result) -> Iterator[str]:
        """All of it but the campaign's text, as lines of Markdown."""

    def listed(self, result: store.Result, heading: Mapping[str, Any]) -> Listed:
        """Its line of ``linewatt list``."""

    def findings(self, result: store.Result) -> Findings | None:
        """Its findings; None where they are not made, or would take too long for a table of all results."""

    def comparison(
        self, sides: Sequence[Sequence[Path]], *, by: str | None, base: str | None, plain: bool
    ) -> KindComparison | None:
        """What stored results, one of which is of this kind, are against each other, or levels of one result.

        ``by`` and ``base`` are those options; ``plain``: no other option and no format but JSON and CSV are
        asked for. None: they are compared as :attr:`run_kind` says. Raises InvalidInput for results that
        cannot be compared.
        """

    @property
    def run_kind(self) -> RunKind | None:
        """How results of this kind are compared, each of which is one run of what it was asked to do.

        None: :meth:`comparison` compares them.
        """

    def single_run(self, result: store.Result) -> SingleRun:
        """A result as one run, with all that it has. Not called without a run kind."""

    def followed_run(self, result: store.Result, response: Response) -> SingleRun:
        """The same for ``linewatt history``, which reads many: with its value of a response alone.

        Raises StoreError where it has none.
        """

    def schema(self) -> Schema:
        """Of :meth:`document`."""

    def comparison_schemas(self) -> list[Schema]:
        """Of the documents of comparisons that it makes."""


class KindComparison(Protocol):
    """Two results of a kind against each other."""

    @property
    def tested(self) -> bool:
        """Whether every difference could be tested."""

    def document(self) -> dict[str, Any]:
        """The document of ``compare --json``."""

    def rows(self) -> list[dict[str, Any]]:
        """The rows of ``compare --csv``."""

    def terminal(self, width: int | None) -> RenderableType:
        """All of it for a terminal."""


def result_kinds() -> list[ResultKind]:
    """Those of all features."""
    return [kind.load(kind.path) for kind in feature_result_kinds()]


def run_kinds() -> list[RunKind]:
    """How results that are one run each are compared, of all features."""
    return [kind.run_kind for kind in result_kinds() if kind.run_kind is not None]


def result_kind(manifest: Manifest) -> ResultKind | None:
    """The kind of a result by its manifest; None: it holds trials."""
    kind: ResultKind | None = result_kind_of(manifest)
    return kind
