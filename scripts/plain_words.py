# SPDX-License-Identifier: Apache-2.0
"""``python -m scripts.plain_words [FILE…]``: finds words that make a sentence hard to read.

Without files it reads README, CONTRIBUTING, SECURITY, CHANGELOG and docs/, which also has the texts of
findings and commands that the program prints. Code blocks and quoted messages are skipped. Status 1: found.

No linter of prose on PyPI takes a list of phrases of one's own without a download at run time.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

HABITS = {
    r"\b(is|are) none\b": "negate the verb: 'is not a …'",
    r"\bwhat is no\b": "negate the verb: 'what is not …'",
    r"\bthere is none\b": "name what is missing: 'no route'",
    r"\b(is|are) told\b": "say who reports what: 'linewatt reports …'",
    r"\bon record\b": "'stored', 'known'",
    r"\bcalled so\b": "'of this name'",
    r"\bknows? of it\b": "say what is not known",
    r"\bwhoever\b": "name the person or the program",
    r"\bin whose\b": "start another sentence",
    r"\bbut for\b": "'except', 'without'",
    r"\bas it were\b": "leave it out",
    r"\bin vain\b": "'without success', or say what failed",
    r"\bgoes? with it\b": "say what is removed, or what belongs to what",
    r"\bhas it that\b": "'says that'",
    r"\bnot a few\b": "give the number",
}
"""a habit, as a regular expression → what to write"""
_TOP = Path(__file__).parents[1]
_PAGES = ("README.md", "CONTRIBUTING.md", "SECURITY.md", "CHANGELOG.md")
_HABIT = re.compile("|".join(f"(?P<h{at}>{habit})" for at, habit in enumerate(HABITS)), re.IGNORECASE)
_QUOTED = re.compile(r"`[^`\n]*`|\"[^\"\n]*\"|“[^”\n]*”|\*\*?[^*\n]*\*\*?(?=:)")


def main(arguments: Sequence[str]) -> int:
    """Print each habit with its place and what to write; 1 where there is any."""
    pages = [Path(argument) for argument in arguments] or sorted(
        [*(_TOP / name for name in _PAGES), *(_TOP / "docs").rglob("*.md")]
    )
    problems = [
        problem for page in pages for problem in habits_of(page.name, page.read_text(encoding="utf-8"))
    ]
    print("\n".join(problems), end="\n" if problems else "")
    return 1 if problems else 0


def habits_of(name: str, text: str) -> Iterator[str]:
    """``NAME:LINE: WORDS: what to write`` for each habit of a page."""
    is_code = False
    for number, line in enumerate(text.splitlines(), start=1):
        if line.lstrip().startswith("```"):
            is_code = not is_code
        elif not is_code:
            for found in _HABIT.finditer(_QUOTED.sub("", line)):
                advice = list(HABITS.values())[int(str(found.lastgroup)[1:])]
                yield f"{name}:{number}: {found[0]!r}: {advice}"


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
