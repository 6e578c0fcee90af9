# SPDX-License-Identifier: Apache-2.0
"""What tests of several commands share: a command of linewatt, run in this process."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.documents import valid_output

from linewatt.cli.entry_point import main

Run = Callable[..., tuple[int, str, str]]


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Run:
    """``run("show", "last")`` in an empty directory: exit code, stdout, stderr; documents are valid."""
    monkeypatch.chdir(tmp_path)

    def call(*arguments: str) -> tuple[int, str, str]:
        monkeypatch.setattr(sys, "argv", ["linewatt", *arguments])
        capsys.readouterr()
        try:
            main()
            code = 0
        except SystemExit as error:
            code = int(error.code or 0)
        captured = capsys.readouterr()
        if code in (0, 3, 4):  # what has failed has said why instead
            valid_output(arguments, captured.out)
        return code, captured.out, captured.err

    return call
