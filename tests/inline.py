# SPDX-License-Identifier: Apache-2.0
"""Commands of linewatt in this process: a tenth of what a process of their own costs.

Imports, the parser and what a command keeps for the next one of its process are shared. What a process shows
of itself (signals, its end, a terminal, its working directory) is for ``tests.forked``.
"""

from __future__ import annotations

import contextlib
import io
import subprocess
import sys
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import Any
from unittest.mock import patch

import typer
import typer.testing

from linewatt.cli.entry_point import app, main, whole


def run(*words: str | Path) -> subprocess.CompletedProcess[str]:
    """A command to its end, with its output, as ``subprocess.run`` returns it."""
    arguments = [str(word) for word in words]
    out, err, status = io.StringIO(), io.StringIO(), 0
    with (
        patch.object(sys, "argv", ["linewatt", *arguments]),
        contextlib.redirect_stdout(out),
        contextlib.redirect_stderr(err),
    ):
        try:
            main()
        except SystemExit as end:
            status = int(end.code or 0)
    return subprocess.CompletedProcess(arguments, status, out.getvalue(), err.getvalue())


@cache
def _parser() -> Any:
    return typer.main.get_command(whole())


def invoke(words: Sequence[str], **options: Any) -> typer.testing.Result:
    """A command line in typer's runner, which would make the parser of all commands anew for each."""
    with patch.object(typer.testing, "_get_command", lambda _: _parser()):
        return typer.testing.CliRunner().invoke(app, words, **options)
