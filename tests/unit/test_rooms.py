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


@pytest.fixture
def two_commits(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A module moved to another room, and one that came."""
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


@pytest.mark.usefixtures("two_commits")
def test_rooms_are_counted_and_a_moved_file_neither_came_nor_went() -> None:
    head, _, *rows = rooms.table("HEAD~1", "HEAD").splitlines()
    assert head.startswith("| room | lines before | after | came | went |")
    assert rows == [
        "| beside | 1 | 1 | 0 | 0 | 1 | 1 | 0 | 0 |",
        "| `new/` | 0 | 46 | 2 | 0 | 0 | 2 | 0 | 2 |",
        "| `old/` | 44 | 0 | 0 | 0 | 1 | 0 | 1 | 0 |",
        "| all | 45 | 47 | 2 | 0 | 2 | 3 | 1 | 2 |",
    ]


PAGE = """# Size

Between `{before}`, before the rooms were tidied, and `0123456`. Lines are all lines.
`rooms.py {before} --into page.md` makes the counts anew.

{head} what came |
{line} --- |
| beside | 9 | 9 | 9 | 9 | 9 | 9 | 9 | 9 | sizes · units |
| `old/` | 9 | 9 | 9 | 9 | 9 | 9 | 9 | 9 | moved |
| all | 9 | 9 | 9 | 9 | 9 | 9 | 9 | 9 | |

Words below it.
"""


@pytest.mark.usefixtures("two_commits")
def test_the_table_of_a_page_is_made_anew_and_rooms_keep_their_words() -> None:
    before, after = (rooms.git("rev-parse", "--short=7", name).strip() for name in ("HEAD~1", "HEAD"))
    page = PAGE.format(before=before, head=rooms.HEAD[0], line=rooms.HEAD[1])
    made = rooms.renewed(page, before, "HEAD")
    assert made.splitlines()[2:] == [
        f"Between `{before}`, before the rooms were tidied, and `{after}`. Lines are all lines.",
        f"`rooms.py {before} --into page.md` makes the counts anew.",
        "",
        f"{rooms.HEAD[0]} what came |",
        f"{rooms.HEAD[1]} --- |",
        "| beside | 1 | 1 | 0 | 0 | 1 | 1 | 0 | 0 | sizes · units |",
        "| `new/` | 0 | 46 | 2 | 0 | 0 | 2 | 0 | 2 | |",
        "| `old/` | 44 | 0 | 0 | 0 | 1 | 0 | 1 | 0 | moved |",
        "| all | 45 | 47 | 2 | 0 | 2 | 3 | 1 | 2 | |",
        "",
        "Words below it.",
    ]
    assert rooms.renewed(made, before, "HEAD") == made
