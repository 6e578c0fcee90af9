# SPDX-License-Identifier: Apache-2.0
"""The table of where the time of a test run goes."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

from tests import costs

TESTS = """
import pytest

def burn(seconds):
    import time
    end = time.process_time() + seconds
    while time.process_time() < end:
        pass

@pytest.fixture
def inner():
    burn(0.2)

@pytest.fixture
def outer(inner, request):
    burn(0.1)

def test_light():
    pass

def test_heavy(outer):
    burn(0.1)
"""


def notes_of_a_run(directory: Path) -> list[dict[str, Any]]:
    (directory / "conftest.py").write_text(
        "from tests import costs\ndef pytest_configure(config):\n    costs.record(config)\n"
    )
    (directory / "test_some.py").write_text(TESTS)
    env = {**os.environ, costs.DIRECTORY: str(directory / "notes"), "PYTHONPATH": str(Path.cwd())}
    argv = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-p", "no:xdist", "test_some.py"]
    subprocess.run(argv, cwd=directory, env=env, check=True, stdout=subprocess.PIPE)
    return costs.read_notes(directory / "notes")


def test_cpu_seconds_are_noted_for_each_test_and_each_fixture(tmp_path: Path) -> None:
    notes = notes_of_a_run(tmp_path)
    tests = {note["test"]: note["cpu_s"] for note in notes if "test" in note}
    fixtures = {note["fixture"]: note["cpu_s"] for note in notes if "fixture" in note}
    light, heavy = (tests[f"test_some.py::test_{name}"] for name in ("light", "heavy"))
    assert light < 0.2
    assert 0.4 <= heavy < 1.0
    assert fixtures["inner"] >= 0.2
    assert 0.1 <= fixtures["outer"] < 0.2  # what it stands on is not counted twice
    assert sum("session" in note for note in notes) == 1


def test_the_dearest_come_first_and_the_rest_is_summed_up() -> None:
    notes = [
        {"test": f"tests/unit/test_{name}.py::test", "cpu_s": cpu_s, "wall_s": 2 * cpu_s}
        for name, cpu_s in (("a", 1.0), ("b", 3.0), ("c", 2.0))
    ]
    rows = costs.tables(notes, shown=1).split("\n\n")[1].splitlines()
    assert rows[2] == "| `tests/unit/test_b.py` | 1 | 3.0 | 6.0 |"
    assert rows[3] == "| 2 more | 2 | 3.0 | 6.0 |"
    assert rows[4] == "| all | 3 | 6.0 | 12.0 |"


def test_a_line_that_was_cut_off_is_left_out(tmp_path: Path) -> None:
    (tmp_path / "1.jsonl").write_text('{"test": "a", "cpu_s": 1, "wall_s": 1}\n{"test": "b", "cp')
    assert [note["test"] for note in costs.read_notes(tmp_path)] == ["a"]


def test_without_control_groups_children_are_counted_by_rusage(tmp_path: Path) -> None:
    assert costs.cpu_group(tmp_path / "not-there") is None
