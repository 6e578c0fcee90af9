# SPDX-License-Identifier: Apache-2.0
"""Lines, files and classes of each room of the product at two commits, as a table in Markdown.

    python scripts/rooms.py BEFORE [AFTER]

A room is a folder right below ``src/linewatt``; a file there stands "beside". Lines that came and went are
those of ``git diff``, to which a file that was moved and is alike for two fifths is one file.
"""

from __future__ import annotations

import re
import subprocess
import sys
from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass

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


if __name__ == "__main__":
    print(table(sys.argv[1], [*sys.argv[2:], "HEAD"][0]))
