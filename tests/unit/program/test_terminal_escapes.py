# SPDX-License-Identifier: Apache-2.0
"""Nothing that a host answers acts on the operator's terminal."""

from __future__ import annotations

import io
import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
import typer
from rich.live import Live
from rich.panel import Panel
from rich.table import Table
from rich.text import Text
from tests.unit.engine.test_check_command import campaign

from linewatt.cli import output, progress
from linewatt.cli.actions import check as check_command
from linewatt.cli.entry_point import main
from linewatt.engine import events
from linewatt.engine.readiness.readiness import Check
from linewatt.errors import HostError
from linewatt.model import Case, Trial

EVIL = "iperf3\x1b]0;owned\x07\x1b[2J\x9b31m\rlinewatt: all is well\u202e\u2028"
CASE = Case("tcp", "h1", "h2")
FAILED = Trial(3, 1, CASE, CASE.key, "failed", 0.0, reason=EVIL)
EVENTS: list[events.Event] = [
    events.Phase(EVIL),
    events.Warned(EVIL),
    events.TrialStored(FAILED, 3),
    events.TrialStarted(2, 3, replace(CASE, factors=((EVIL, EVIL),)), 1, 5.0, 10.0),
    events.Throughput(1e6, 8.0),
]


def acts(text: str) -> list[str]:
    """What a terminal would act on, but for ends of lines."""
    return [one for one in text if one != "\n" and (ord(one) < 0x20 or 0x7F <= ord(one) < 0xA0)]


def test_what_is_said_put_or_written_as_rows_has_no_control_characters(
    capsys: pytest.CaptureFixture[str],
) -> None:
    output.say(EVIL)
    output.put(EVIL)
    output.print_csv(["a"], [{"a": EVIL}])
    output.print_json({"a": EVIL})
    out, err = capsys.readouterr()
    assert not acts(out + err)
    assert "owned" in out
    assert "owned" in err


def test_an_event_with_control_characters_stays_one_line_without_them(
    capsys: pytest.CaptureFixture[str],
) -> None:
    with progress.PlainProgress() as show:
        for event in (*EVENTS, events.Phase("a\nlinewatt: put back 3 settings")):
            show(event)
    lines = capsys.readouterr().err.splitlines()
    assert len(lines) == 4
    assert not acts("".join(lines))


def _table() -> Table:
    table = Table(title=EVIL)
    table.add_column(EVIL)
    table.add_row(EVIL)
    return table


@pytest.mark.parametrize("made", [lambda: Text(EVIL, style="red"), _table, lambda: Panel(EVIL), lambda: EVIL])
def test_nothing_that_is_rendered_has_control_characters_of_its_own(made: Callable[[], object]) -> None:
    said = io.StringIO()
    console = output.console(file=said, force_terminal=True, color_system=None, width=200)
    console.print(made())
    assert not acts(said.getvalue().replace("\x1b[0m", "").replace("\x1b[3m", "").replace("\x1b[1m", ""))
    assert "owned" in said.getvalue()


def test_a_live_line_moves_the_cursor_and_its_text_does_not() -> None:
    said = io.StringIO()
    console = output.console(file=said, force_terminal=True, color_system=None, width=200)
    with Live("", console=console, auto_refresh=False) as live:
        live.update(Text(EVIL), refresh=True)
    assert "\\x1b]0;owned" in said.getvalue()
    assert "\x1b]0" not in said.getvalue()
    assert "\x07" not in said.getvalue()


def test_a_check_that_quotes_a_process_shows_its_name_without_acting_on_it(
    capsys: pytest.CaptureFixture[str],
) -> None:
    output.put("\n".join(check_command.lines(campaign(), [Check("h1", "ports", "fail", EVIL, EVIL)], 80)))
    assert not acts(capsys.readouterr().out)


def test_an_error_that_quotes_a_host_is_shown_without_acting_on_it(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object, **__: object) -> None:
        raise HostError(EVIL)

    monkeypatch.setattr(typer.Typer, "__call__", fail)
    with pytest.raises(SystemExit):
        main()
    assert not acts(capsys.readouterr().err)


def test_events_for_programs_are_json_whatever_a_host_said(capsys: pytest.CaptureFixture[str]) -> None:
    with progress.JsonProgress() as show:
        show(events.Warned(EVIL))
    out = capsys.readouterr().out
    assert not acts(out)
    assert json.loads(out)["text"] == EVIL


def test_no_other_module_of_the_command_line_prints_past_the_escape() -> None:
    for path in Path(output.__file__).parent.glob("*.py"):
        if path.name != "output.py":
            text = path.read_text(encoding="utf-8")
            assert "typer.echo" not in text, path.name
            assert "Console(" not in text, path.name
