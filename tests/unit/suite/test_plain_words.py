# SPDX-License-Identifier: Apache-2.0
"""The word list that ``make lint`` holds pages to."""

from __future__ import annotations

from pathlib import Path

import pytest
from scripts import plain_words

TOP = Path(__file__).parents[3]


def test_a_habit_is_named_with_its_place_and_what_to_write(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    page = tmp_path / "page.md"
    page.write_text("A first line.\nA change that is none, for whoever asks.\n")
    assert plain_words.main([str(page)]) == 1
    assert capsys.readouterr().out.splitlines() == [
        "page.md:2: 'is none': negate the verb: 'is not a …'",
        "page.md:2: 'whoever': name the person or the program",
    ]


def test_code_and_quoted_messages_are_not_prose(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text('Run `whoever`; it prints "is none".\n\n```sh\nwhoever\n```\nDone.\n')
    assert plain_words.main([str(page)]) == 0


def test_lint_looks_at_the_words_of_the_pages() -> None:
    assert (
        "check as_caller .venv/bin/python -m scripts.plain_words\n" in (TOP / "scripts/lint.sh").read_text()
    )


def test_every_habit_is_found_in_some_sentence() -> None:
    sentences = {
        r"\b(is|are) none\b": "that is none",
        r"\bwhat is no\b": "what is no part",
        r"\bthere is none\b": "there is none",
        r"\b(is|are) told\b": "are told",
        r"\bon record\b": "not on record",
        r"\bcalled so\b": "is called so",
        r"\bknows? of it\b": "no p knows of it",
        r"\bwhoever\b": "Whoever",
        r"\bin whose\b": "in whose place",
        r"\bbut for\b": "but for one",
        r"\bas it were\b": "as it were",
        r"\bin vain\b": "in vain",
        r"\bgoes? with it\b": "goes with it",
        r"\bhas it that\b": "has it that",
        r"\bnot a few\b": "not a few",
    }
    assert list(sentences) == list(plain_words.HABITS)
    for sentence in sentences.values():
        assert list(plain_words.habits_of("x", sentence)), sentence
