# SPDX-License-Identifier: Apache-2.0
"""Work that takes longer than a moment shows on a terminal how far it is, and nothing of it stays there."""

from __future__ import annotations

import io
import sys
import threading

import pytest

from linewatt.cli import waiting as module
from linewatt.cli.waiting import how_far


class Screen(io.StringIO):
    """A terminal."""

    def isatty(self) -> bool:
        return True


@pytest.mark.parametrize(
    ("screen", "moment_s", "shown"),
    [(Screen(), 0.0, True), (Screen(), 60.0, False), (io.StringIO(), 0.0, False)],
    ids=["long", "a moment", "no terminal"],
)
def test_a_bar_is_shown_where_somebody_waits(
    monkeypatch: pytest.MonkeyPatch, screen: io.StringIO, moment_s: float, shown: bool
) -> None:
    monkeypatch.setattr(sys, "stderr", screen)
    monkeypatch.setattr(module, "MOMENT_S", moment_s)
    monkeypatch.setattr(module, "BETWEEN_S", 0.0)
    monkeypatch.setenv("TERM", "xterm")
    before = threading.active_count()
    with how_far("reading results") as tell:
        tell(3, 12)
        tell(4, 12)
        assert threading.active_count() == before
    assert ("reading results" in screen.getvalue() and "4/12" in screen.getvalue()) == shown
    assert bool(screen.getvalue()) == shown
    assert not shown or screen.getvalue().endswith("\x1b[2K")
