# SPDX-License-Identifier: Apache-2.0
"""A helper that snmpd runs (pass_persist): it answers with the rows of a walk, read anew for each question.

Rows are as ``snmpwalk -On`` prints them (``.1.3.6.1 = Gauge32: 3``) or as in a snmprec file (``1.3.6|2|3``).
"""

from __future__ import annotations

import re
import sys
from pathlib import Path

TYPES = {"2": "integer", "4": "string", "65": "counter", "66": "gauge", "70": "counter64"}
NAMES = {
    "INTEGER": "integer",
    "STRING": "string",
    "Counter32": "counter",
    "Gauge32": "gauge",
    "Counter64": "counter64",
}

Oid = tuple[int, ...]


def rows(file: Path) -> dict[Oid, tuple[str, str]]:
    """Object identifier → type and value, as pass_persist names them."""
    found = {}
    for line in file.read_text().splitlines():
        walk = re.fullmatch(r"\.?([\d.]+) = (\w+): (.*)", line)
        if walk:
            oid, kind, value = walk[1], NAMES[walk[2]], walk[3]
        else:
            oid, number, value = line.split("|")
            kind = TYPES[number]
        found[_oid(oid)] = kind, value
    return dict(sorted(found.items()))


def answer(file: Path, command: str, asked: str) -> str:
    known = rows(file)
    oid: Oid | None = _oid(asked)
    if command == "getnext":
        oid = next((one for one in known if one > (oid or ())), None)
    if oid is None or oid not in known:
        return "NONE"
    kind, value = known[oid]
    return f".{'.'.join(map(str, oid))}\n{kind}\n{value}"


def _oid(text: str) -> Oid:
    return tuple(int(part) for part in text.strip(".").split("."))


def main(file: Path) -> None:
    for line in sys.stdin:
        command = line.strip()
        said = "PONG" if command == "PING" else answer(file, command, sys.stdin.readline().strip())
        sys.stdout.write(said + "\n")
        sys.stdout.flush()


if __name__ == "__main__":
    main(Path(sys.argv[1]))
