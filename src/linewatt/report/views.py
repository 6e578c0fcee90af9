# SPDX-License-Identifier: Apache-2.0
"""What features print of results of trials in place of the rest, where an option asks for it."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from linewatt.declare import Schema

if TYPE_CHECKING:
    from rich.console import RenderableType

    from linewatt.analysis.comparison import Matching, Side
    from linewatt.report.section import Section
    from linewatt.report.trials.digest import Digest


class ResultView(Protocol):
    """What an option of ``show`` leads to."""

    @property
    def key(self) -> str:
        """That ``show --json`` has beside all others."""

    def value(self, view: Digest) -> Any:
        """What stands there. Raises StoreError for a damaged file."""

    def schema(self) -> Schema:
        """Of :meth:`value`."""

    def terminal(self, view: Digest, width: int | None) -> RenderableType:
        """All of it for a terminal that is ``width`` characters wide, None: without limit."""


class ComparisonView(Protocol):
    """What an option of ``compare`` leads to."""

    def compare(self, sides: tuple[Path, Path], ends: tuple[Side, Side], matching: Matching) -> ComparedView:
        """Two results, or levels of one, as far as their cases match.

        Raises InvalidInput where there is nothing to compare, and StoreError.
        """

    def schema(self) -> Schema:
        """Of :meth:`ComparedView.document`."""


class ComparedView(Protocol):
    """What was compared."""

    def document(self) -> dict[str, Any]:
        """The document of ``compare --json``."""

    def terminal(self, width: int | None) -> RenderableType:
        """All of it for a terminal."""

    def section(self) -> Section:
        """What the page of the comparison has of it."""
