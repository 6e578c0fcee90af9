# SPDX-License-Identifier: Apache-2.0
"""``make mutants`` finds the mutation that no test notices, and notices the others."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from scripts import mutants
from scripts.mutants import CHECKS, ROOT, SOURCES, equivalent, mutants_of
from tests import amounts

EXAMPLE = """
from collections.abc import Iterator

LIMIT = 8.0
LEAST = 1.0


class Flag(str):
    pass


def check(value: float, *, known: bool) -> Iterator[Flag]:
    if value > LIMIT:
        yield Flag("above")
    yield from below(value, known=known)


def below(value: float, least: float = LEAST, *, known: bool) -> list[Flag]:
    return [*(low() if value < least and known else ())]


def low() -> list[Flag]:
    return [Flag("below")]
"""
WELL = """
import pytest

from example_checks import check


@pytest.mark.parametrize(
    ("value", "known", "said"),
    [(9.0, True, ["above"]), (7.0, True, []), (1.5, True, []), (0.5, True, ["below"]), (0.5, False, [])],
)
def test_each_is_told(value: float, known: bool, said: list[str]) -> None:
    assert list(check(value, known=known)) == said
"""
BADLY = """
from example_checks import check


def test_what_is_above_is_told() -> None:
    assert "above" in list(check(100.0, known=True))
    assert "above" not in list(check(0.0, known=True))
"""


ENDLESS = """
LIMIT = 8.0


def lowered(value: float) -> float:
    while True:
        if value <= LIMIT:
            return value
        value = min(value, LIMIT)
"""
ENDS = """
from example_checks import lowered


def test_it_ends() -> None:
    assert lowered(1.0) == 1.0
    assert lowered(9.0) == 8.0
"""


def mutated(
    root: Path, tests: str, source: str = EXAMPLE, *more: str, plugins: str = ""
) -> subprocess.CompletedProcess[str]:
    (root / "example_checks.py").write_text(source)
    (root / "test_example.py").write_text(tests)
    words = ["--sources", "example_checks.py", "--tests", "test_example.py", "--jobs", "2", *more]
    return subprocess.run(
        [sys.executable, "-m", "scripts.mutants", *words],
        cwd=root,
        env={
            "PYTHONPATH": f"{root}:{ROOT}",
            "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1",
            "PYTEST_PLUGINS": plugins,
        },
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )


def test_where_tests_hold_every_check_nothing_survives(tmp_path: Path) -> None:
    done = mutated(tmp_path, WELL)
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.endswith("12 mutations, 0 survived, 0 left out\n")


def test_what_no_test_notices_is_named_with_its_line_and_the_exit_code_says_so(tmp_path: Path) -> None:
    done = mutated(tmp_path, BADLY)
    assert done.returncode == 1
    survived = {
        line.partition(": survived: ")[2] for line in done.stdout.splitlines() if "survived: " in line
    }
    assert "call deleted: yield from below(value, known=known)" in survived
    assert "threshold × 10: 8.0" in survived
    assert "threshold × 10: 1.0" in survived
    assert "comparison turned round: value > LIMIT" not in survived
    line = 1 + EXAMPLE.splitlines().index("    yield from below(value, known=known)")
    assert f"example_checks.py:{line}: survived: call deleted" in done.stdout


def test_a_mutation_by_which_a_test_hangs_is_ended_whatever_limit_pytest_has(tmp_path: Path) -> None:
    """One grew to 22 GB in 13 minutes: pytest's own limit of 15 had taken the place of that of two."""
    (tmp_path / "pytest.ini").write_text("[pytest]\ntimeout = 900\n")
    done = mutated(tmp_path, ENDS, ENDLESS, "--limit", "2", plugins="pytest_timeout")
    assert "comparison turned round: value <= LIMIT" not in done.stdout
    assert done.stdout.endswith(", 0 left out\n"), done.stdout + done.stderr


def test_the_test_that_noticed_a_mutation_is_remembered(tmp_path: Path) -> None:
    """A mutation's name may have tabs; that of a test cannot."""
    file = tmp_path / "mutants"
    assert mutants._last_noticed_by(file) == {}
    file.write_text(
        "a\tb: call deleted: c\ttest_x.py::test_one\na\tb: call deleted: c\ttest_x.py::test_two\nd"
    )
    assert mutants._last_noticed_by(file) == {"a\tb: call deleted: c": "test_x.py::test_two"}
    assert mutants.UNSHRUNK == amounts.UNSHRUNK


def test_there_are_mutations_of_every_room_of_checks() -> None:
    files = [path for pattern in SOURCES for path in ROOT.glob(pattern)]
    counts = {path: len(list(mutants_of(path))) for path in files}
    assert sum(counts.values()) >= 100
    assert all(counts[path] for path in (ROOT / CHECKS).glob("[!_]*.py"))


@pytest.mark.parametrize("name", equivalent() or ["none"])
def test_a_mutation_that_is_left_out_has_a_reason(name: str) -> None:
    assert len(equivalent().get(name, "there is none")) > 10
