# SPDX-License-Identifier: Apache-2.0
"""What documents show: their blocks, links, headings and commands."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[1]
DOCUMENTS = (
    "README.md",
    "CONTRIBUTING.md",
    "SECURITY.md",
    "CHANGELOG.md",
    *sorted(str(path.relative_to(ROOT)) for path in (ROOT / "docs").rglob("*.md")),
)
_FENCE = re.compile(r"^( *)```([\w-]*)\n(.*?)^\1```", re.DOTALL | re.MULTILINE)
_SPAN = re.compile(r"(?<!`)(`+)(?!`)(.+?)(?<!`)\1(?!`)", re.DOTALL)
_NOT_WORDS = (">", "<", "|", "&", ";")


@dataclass(frozen=True)
class Shown:
    """A linewatt command that a document shows: its words, without the program."""

    text: str
    words: tuple[str, ...]


def text_of(document: str) -> str:
    return (ROOT / document).read_text(encoding="utf-8")


def fenced(document: str) -> list[tuple[str, str]]:
    """Language and text of each fenced block, in order."""
    return [(found[2], found[3]) for found in _FENCE.finditer(text_of(document))]


def blocks(document: str, language: str) -> list[str]:
    """Fenced blocks of a language, ``""`` for those of none."""
    return [text for block_language, text in fenced(document) if block_language == language]


def prose(document: str) -> str:
    """A document without its fenced blocks."""
    return _FENCE.sub("", text_of(document))


def shell_lines(document: str) -> Iterator[list[str]]:
    """The words of each command of its ``sh`` blocks."""
    for block in blocks(document, "sh"):
        yield from _lines_of(block)


def _lines_of(block: str) -> Iterator[list[str]]:
    for line in block.replace("\\\n", " ").splitlines():
        if words := shlex.split(line, comments=True):
            yield words


def commands(document: str) -> list[Shown]:
    """linewatt commands of its ``sh`` blocks, in order: each is typed as it stands."""
    return [shown for words in shell_lines(document) if (shown := _linewatt(words))]


def commands_of(block: str) -> list[Shown]:
    """linewatt commands of one ``sh`` block."""
    return [shown for words in _lines_of(block) if (shown := _linewatt(words))]


def mentioned(document: str) -> list[Shown]:
    """linewatt commands within sentences and tables, and in blocks that show syntax (``[ID]``, ``…``)."""
    lines = [line for block in blocks(document, "") for line in block.splitlines()]
    spans = [" ".join(found[2].split()) for found in _SPAN.finditer(prose(document))]
    typed = re.compile(r"(?:sudo )?(?:\S*/)?linewatt [a-z]")
    found = []
    for text in (*lines, *spans):
        if typed.match(text):
            words = (
                text.partition("#")[0]
                .partition(" || ")[0]
                .replace("[", " ")
                .replace("]", " ")
                .replace("|", " ")
                .split()
            )
            if shown := _linewatt(words):
                found.append(shown)
    return found


def _linewatt(words: list[str]) -> Shown | None:
    rest = words[1:] if words[0] == "sudo" else words
    if rest[0].rpartition("/")[2] != "linewatt":
        return None
    end = next((at for at, word in enumerate(rest) if word.startswith(_NOT_WORDS)), len(rest))
    return Shown(" ".join(words), tuple(rest[1:end]))
