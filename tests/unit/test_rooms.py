# SPDX-License-Identifier: Apache-2.0
"""The table of rooms counts what is there, and no move as what came and went."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest
from scripts import rooms

pytestmark = pytest.mark.skipif(shutil.which("git") is None, reason="git is not installed")
MODULE = "class A:\n    pass\n\n\n" + "".join(f"x{number} = {number}\n" for number in range(40))


def commit(said: str) -> None:
    author = ["-c", "user.name=n", "-c", "user.email=e@example.org", "-c", "commit.gpgsign=false"]
    subprocess.run(["git", "add", "-A"], check=True)
    subprocess.run(["git", *author, "commit", "-qm", said, "--no-verify"], check=True)


def test_rooms_are_counted_and_a_moved_file_neither_came_nor_went(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    subprocess.run(["git", "init", "-q"], check=True)
    package = tmp_path / "src" / "linewatt"
    (package / "old").mkdir(parents=True)
    (package / "old" / "a.py").write_text(MODULE)
    (package / "units.py").write_text("y = 1\n")
    (package / "py.typed").write_text("")
    commit("before")
    (package / "new").mkdir()
    (package / "old" / "a.py").rename(package / "new" / "a.py")
    (package / "new" / "b.py").write_text("class B:\n    pass\n")
    commit("after")
    head, _, *rows = rooms.table("HEAD~1", "HEAD").splitlines()
    assert head.startswith("| room | lines before | after | came | went |")
    assert rows == [
        "| beside | 1 | 1 | 0 | 0 | 1 | 1 | 0 | 0 |",
        "| `new/` | 0 | 46 | 2 | 0 | 0 | 2 | 0 | 2 |",
        "| `old/` | 44 | 0 | 0 | 0 | 1 | 0 | 1 | 0 |",
        "| all | 45 | 47 | 2 | 0 | 2 | 3 | 1 | 2 |",
    ]
