# SPDX-License-Identifier: Apache-2.0
"""Lines, files and classes of each room of the product at two commits, as a table in Markdown.

    python scripts/rooms.py BEFORE [AFTER] [--into docs/architecture.md]

``--into`` makes the table of a page anew, in its place; the words behind the counts of each room stay.
A room is a folder right below ``src/linewatt``; a file there stands "beside". Lines that came and went are
those of ``git diff``, to which a file that was moved and is alike for two fifths is one file.
"""

from __future__ import annotations

import argparse
import re
import subprocess
from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

PACKAGE = "src/linewatt/"
COUNTED = (".py", ".j2")
HEAD = (
    "| room | lines before | after | came | went | files before | after | classes before | after |",
    "| --- | --: | --: | --: | --: | --: | --: | --: | --: |",
)


@dataclass
class Room:
    lines: int = 0
    files: int = 0
    classes: int = 0


def git(*words: str) -> str:
    return subprocess.run(["git", *words], capture_output=True, text=True, check=True).stdout


def room_of(path: str) -> str:
    folder, inside, _ = path.removeprefix(PACKAGE).partition("/")
    return f"{folder}/" if inside else "beside"


def counted(commit: str) -> Mapping[str, Room]:
    """What each room has at a commit."""
    rooms: dict[str, Room] = defaultdict(Room)
    for path in git("ls-tree", "-r", "--name-only", commit, PACKAGE).splitlines():
        if path.endswith(COUNTED):
            text, room = git("show", f"{commit}:{path}"), rooms[room_of(path)]
            room.lines += text.count("\n")
            room.files += 1
            room.classes += len(re.findall(r"^class ", text, re.MULTILINE))
    return rooms


def changed(before: str, after: str) -> Mapping[str, tuple[int, int]]:
    """Lines that came and went in each room, moves left out; a file counts where it is now."""
    rooms: dict[str, tuple[int, int]] = defaultdict(lambda: (0, 0))
    fields = iter(git("diff", "--numstat", "-z", "-M40%", before, after, "--", PACKAGE).split("\0")[:-1])
    for field in fields:
        came, went, path = field.split("\t")
        if not path:  # it was moved: both names follow
            path = [next(fields), next(fields)][1]
        if path.endswith(COUNTED):
            so_far = rooms[room_of(path)]
            rooms[room_of(path)] = so_far[0] + int(came), so_far[1] + int(went)
    return rooms


def table(before: str, after: str) -> str:
    then, now, lines = counted(before), counted(after), changed(before, after)
    rows = []
    for name in sorted({*then, *now}):
        a, b = then.get(name, Room()), now.get(name, Room())
        counts = a.lines, b.lines, *lines.get(name, (0, 0)), a.files, b.files, a.classes, b.classes
        rows.append((f"`{name}`" if "/" in name else name, *counts))
    total = [sum(column) for column in list(zip(*rows, strict=True))[1:]]
    rows.append(("all", *total))
    return "\n".join(
        [*HEAD, *(f"| {row[0]} | {' | '.join(f'{one:,}' for one in row[1:])} |" for row in rows)]
    )


def renewed(page: str, before: str, after: str) -> str:
    """A page with its table of rooms, and the commit named above it, of now; each room keeps its words."""
    old = re.search(rf"^{re.escape(HEAD[0])}.+\n(?:\|.+\n)+", page, re.MULTILINE)
    if old is None:
        raise SystemExit("the page has no table of rooms with words behind the counts")
    rows = [line.split("|", HEAD[0].count("|")) for line in old[0].splitlines()]
    words = {row[1]: row[-1] for row in rows}
    made = [line + words.get(line.split("|")[1], " |") for line in table(before, after).splitlines()]
    now = git("rev-parse", "--short=7", after).strip()
    above = re.sub(rf"(`{before}`[^`]* and `)\w+`", rf"\g<1>{now}`", page[: old.start()])
    return above + "\n".join(made) + "\n" + page[old.end() :]


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("before")
    parser.add_argument("after", nargs="?", default="HEAD")
    parser.add_argument("--into", type=Path, metavar="PAGE", help="make the table of this page anew")
    given = parser.parse_args()
    if given.into is None:
        print(table(given.before, given.after))
    else:
        given.into.write_text(renewed(given.into.read_text(), given.before, given.after))
