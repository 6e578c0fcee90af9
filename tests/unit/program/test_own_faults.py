# SPDX-License-Identifier: Apache-2.0
"""A fault of the program, no memory, and closed streams: one line and an exit code, never a traceback."""

from __future__ import annotations

import re
import subprocess
import sys
import tempfile
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import NoReturn

import pytest
from tests.unit.conftest import Run

from linewatt.cli import entry_point
from linewatt.document import parse_yaml
from linewatt.errors import InvalidInput


def _failing(error: BaseException) -> Callable[..., Callable[..., NoReturn]]:
    def program(**_: object) -> NoReturn:
        raise error

    return cache(lambda **_: program)


@pytest.mark.parametrize(
    "error",
    [ValueError("two\nlines \ud800"), PermissionError(13, "Permission denied", "/nowhere"), KeyError()],
)
def test_a_fault_of_the_program_is_one_line_and_its_traceback_in_a_file(
    error: Exception, run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(entry_point, "_parser", _failing(error))
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    code, out, err = run("features", "--secret word")
    assert (code, out, err.count("\n")) == (entry_point.OWN_FAULT, "", 1)
    assert type(error).__name__ in err
    assert "Traceback" in err, "what looks for one finds it"
    path = re.search(r"please report it with (\S+)$", err.rstrip())
    assert path is not None
    stored = Path(path[1])
    assert stored.parent == tmp_path
    assert stored.stat().st_mode & 0o077 == 0
    text = stored.read_text()
    assert "linewatt features '--secret word'" in text
    assert "Traceback (most recent call last)" in text


def test_a_fault_without_room_for_its_traceback_is_told_too(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(entry_point, "_parser", _failing(ValueError("why")))
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "gone"))
    code, _, err = run("features")
    assert (code, err.count("\n")) == (entry_point.OWN_FAULT, 1)
    assert "ValueError: why" in err
    assert "Traceback" in err


def test_no_memory_is_told_in_one_line(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(entry_point, "_parser", _failing(MemoryError()))
    code, _, err = run("features")
    assert (code, err.count("\n")) == (1, 1)
    assert "not enough memory" in err


@pytest.mark.parametrize("closed", [">&-", "2>&-", "<&-", "<&- >&- 2>&-"])
@pytest.mark.parametrize("words", ["features", "schema campaign", "list --results results"])
def test_closed_streams_are_no_fault(closed: str, words: str, tmp_path: Path) -> None:
    (tmp_path / "results").mkdir()
    done = subprocess.run(
        ["sh", "-c", f'exec "$0" -m linewatt {words} {closed}', sys.executable],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert "internal error" not in done.stderr
    assert "Traceback" not in done.stderr
    assert done.returncode == 0


@pytest.mark.parametrize(
    ("text", "where"),
    [
        ('name: "a\\ud800b"', r"t.yaml:1:7: name: \\ud800 is half of a character"),
        ('"a\\udfff": 1', r"t.yaml:1:1: \\udfff is half of a character"),
        ('pairs: ["a\\ud83d\\ude00 -> b"]', r"t.yaml:1:9: pairs\[0\]: \\ud83d is half of a character"),
    ],
)
def test_half_a_character_is_refused_where_it_stands(text: str, where: str) -> None:
    with pytest.raises(InvalidInput, match=where):
        parse_yaml(text, "t.yaml")
