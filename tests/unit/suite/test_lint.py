# SPDX-License-Identifier: Apache-2.0
"""``scripts/lint.sh`` runs every checker and reports every failure."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]
CHECKERS = ("mypy", "ruff", "lint-imports", "python")
FOUND = "Found 3 errors in 2 files (checked 9 source files)"
WORKER_FAILED = "error: INTERNAL ERROR"
FAKE = """#!/bin/sh
echo "$(basename "$0") $*" >>calls
case "$(basename "$0") $*" in
    $FAILING*) echo "$REPORT"; exit 1 ;;
esac
"""


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    """A copy of the lint script. Each checker is a script that records its call and fails on request."""
    (tmp_path / "scripts").mkdir()
    for name in ("lint.sh", "privileges.sh"):
        shutil.copy(ROOT / "scripts" / name, tmp_path / "scripts")
    programs = tmp_path / ".venv" / "bin"
    programs.mkdir(parents=True)
    for name in CHECKERS:
        (programs / name).write_text(FAKE)
        (programs / name).chmod(0o755)
    return tmp_path


def lint(checkout: Path, failing: str = "none", report: str = "") -> tuple[int, str, list[str]]:
    """Exit status, output, and the calls of checkers. ``failing`` is how the failing call begins."""
    done = subprocess.run(
        [checkout / "scripts" / "lint.sh"],
        env={"PATH": "/usr/bin:/bin", "FAILING": failing, "REPORT": report},
        capture_output=True,
        text=True,
        check=False,
    )
    return done.returncode, done.stdout + done.stderr, (checkout / "calls").read_text().splitlines()


def test_lint_runs_each_checker_on_the_whole_repository(checkout: Path) -> None:
    status, _, calls = lint(checkout)
    assert status == 0
    imports, types, words, *style = sorted(calls)
    assert imports == "lint-imports --no-cache --no-logo"
    assert re.fullmatch(r"mypy --num-workers [1-9]\d*", types)
    assert words == "python -m scripts.plain_words"
    assert style == ["ruff check .", "ruff format --check ."]


@pytest.mark.parametrize(
    "failing", ["mypy", "ruff format", "ruff check", "lint-imports", "python -m scripts.plain_words"]
)
def test_lint_fails_with_the_report_of_any_checker(checkout: Path, failing: str) -> None:
    status, output, calls = lint(checkout, failing, FOUND)
    assert status == 1
    assert FOUND in output
    assert len(calls) == 5


def test_mypy_runs_again_without_workers_when_a_worker_fails(checkout: Path) -> None:
    status, output, calls = lint(checkout, "mypy --num-workers", WORKER_FAILED)
    assert status == 0
    assert WORKER_FAILED not in output
    assert "mypy " in calls


def test_mypy_without_workers_decides_after_a_worker_failed(checkout: Path) -> None:
    status, output, _ = lint(checkout, "mypy", WORKER_FAILED)
    assert status == 1
    assert WORKER_FAILED in output
