# SPDX-License-Identifier: Apache-2.0
"""An idea is written once: no two places of the program share more than twelve lines of code."""

from __future__ import annotations

import itertools
from collections import defaultdict
from collections.abc import Iterable
from pathlib import Path

SOURCES = Path(__file__).parents[3] / "src" / "linewatt"
SHARED_LINES = 12
THIN = set("()[]{},: ")


def code_lines(text: str) -> list[tuple[int, str]]:
    """Line numbers and lines, without what says nothing: blank lines, comments, brackets alone, imports."""
    lines = [(number, line.strip()) for number, line in enumerate(text.splitlines(), 1)]
    return [
        (number, line)
        for number, line in lines
        if set(line) - THIN and not line.startswith(("#", "import ", "from "))
    ]


def copies(texts: Iterable[tuple[str, str]], longest: int = SHARED_LINES) -> list[str]:
    """Places that share a run of more than ``longest`` lines, as ``a.py:10 ~ b.py:40``, a pair once."""
    places: dict[tuple[str, ...], list[tuple[str, int]]] = defaultdict(list)
    for name, text in texts:
        lines = code_lines(text)
        for start in range(len(lines) - longest):
            run = tuple(line for _, line in lines[start : start + longest + 1])
            places[run].append((name, lines[start][0]))
    pairs: dict[tuple[str, str], str] = {}
    for sites in places.values():
        for (left, at), (right, there) in itertools.combinations(sites, 2):
            pairs.setdefault((left, right), f"{left}:{at} ~ {right}:{there}")
    return list(pairs.values())


def test_no_two_places_of_the_program_share_more_than_twelve_lines() -> None:
    texts = [(str(path.relative_to(SOURCES)), path.read_text()) for path in sorted(SOURCES.rglob("*.py"))]
    assert len(texts) > 100
    assert copies(texts) == []


def test_a_copy_is_found_under_other_comments_and_indents() -> None:
    body = [f"value_{at} = measure({at})" for at in range(SHARED_LINES + 1)]
    indented = "if ready:\n    # by hand\n" + "\n\n".join(f"    {line}" for line in body)
    assert copies([("a.py", "\n".join(body)), ("b.py", indented)]) == ["a.py:1 ~ b.py:3"]
    assert copies([("a.py", "\n".join(body)), ("b.py", "\n".join(body[1:]))]) == []
