# SPDX-License-Identifier: Apache-2.0
"""Commands of linewatt in this process, which end with their work or with one line."""

from __future__ import annotations

import contextlib
import io
import sys

import pytest
from tests.hostile_files import limited

from linewatt.cli.entry_point import main
from linewatt.foreign import STORED, read_json


def check_command(*arguments: str) -> str:
    """A command of linewatt in this process does its work, or ends with one line that says why not.

    What it printed, without colours.
    """
    out, err = io.StringIO(), io.StringIO()
    streams = contextlib.redirect_stdout(out), contextlib.redirect_stderr(err)
    with pytest.MonkeyPatch.context() as patch, streams[0], streams[1], limited(" ".join(arguments)):
        patch.setattr(sys, "argv", ["linewatt", *arguments])
        try:
            main()
            code: object = 0
        except SystemExit as error:
            code = error.code or 0
    lines = [line for line in err.getvalue().splitlines() if line.startswith("linewatt: ")]
    assert code in (0, 1, 2, 3, 4), err.getvalue()[-500:]
    assert len(lines) <= 1
    assert lines or code != 2
    assert "Traceback" not in err.getvalue()
    out.getvalue().encode()  # as a terminal or a file takes it
    if "--json" in arguments and not lines:
        read_json(out.getvalue(), "what was printed", STORED)
    return out.getvalue()
