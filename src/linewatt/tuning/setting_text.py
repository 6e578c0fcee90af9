# SPDX-License-Identifier: Apache-2.0
"""Settings written as words ``key=value``, and saying what is wrong with one."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from difflib import get_close_matches

from linewatt.errors import InvalidInput, ParseError
from linewatt.foreign import STORED, read_json, shortened

_SWITCH = {
    "on": "on",
    "true": "on",
    "yes": "on",
    "1": "on",
    "off": "off",
    "false": "off",
    "no": "off",
    "0": "off",
}
_WORD = re.compile(r"([^\s=]+)=(\S+)")
MAX_U32 = 2**32 - 1
BRIEF = 60
"""characters of a target that a message names in full"""


def parse_words(text: str) -> dict[str, str]:
    """``a=1 b=2`` as a mapping. Raises ParseError: it is canonical text, as a knob wrote it."""
    words = {}
    for word in text.split():
        match = _WORD.fullmatch(word)
        if match is None:
            raise ParseError(f"{word!r} is not of the form key=value")
        words[match[1]] = match[2]
    return words


def format_words(words: Mapping[str, object]) -> str:
    return " ".join(f"{key}={value}" for key, value in words.items())


def asked(value: str, example: str) -> dict[str, str]:
    """What a user asks for, ``rx=1024 tx=1024``; commas will do for blanks. Raises InvalidInput."""
    words: dict[str, str] = {}
    for word in re.split(r"[\s,]+", value.strip()):
        match = _WORD.fullmatch(word)
        if match is None or match[1] in words:
            raise InvalidInput(f"{value!r} is not understood; write it like {example}")
        words[match[1]] = match[2]
    return words


def switch(value: str) -> str:
    """``on`` or ``off``, also from YAML's true and false. Raises InvalidInput."""
    try:
        return _SWITCH[value.strip().lower()]
    except KeyError:
        raise InvalidInput(f"{value!r} is neither on nor off") from None


def whole(value: str, lowest: int = 0, highest: int = MAX_U32) -> int:
    """A whole number within bounds. Raises InvalidInput."""
    if not re.fullmatch(r"[0-9]{1,19}", value, re.ASCII) or not lowest <= int(value) <= highest:
        raise InvalidInput(f"{value!r} is not a whole number from {lowest} to {highest}")
    return int(value)


def choices(names: Iterable[str], asked_for: str = "") -> str:
    """The names there are, those alike first, for the end of a message."""
    all_names = list(names)
    if near := near_names(all_names, asked_for):
        return f"did you mean {' or '.join(near)}?"
    return f"there are {', '.join(all_names)}" if all_names else "there are none"


def near_names(names: Iterable[str], asked_for: str) -> list[str]:
    """Up to three names that are spelled alike."""
    return get_close_matches(asked_for, list(names), n=3, cutoff=0.6)


def brief_target(target: str) -> str:
    """A target as a message names it: a list of many items by its first one."""
    words = target.split()
    return target if len(target) <= BRIEF or len(words) < 2 else f"{words[0]} … ({len(words)} items)"


def settings_apart(*texts: str) -> tuple[str, ...]:
    """Settings as a message tells them apart: of those that are JSON, item by item, the items that differ."""
    return tuple(shortened(text) for text in _apart(texts))


def _apart(texts: tuple[str, ...]) -> tuple[str, ...]:
    try:
        values = [read_json(text, "a setting", STORED) for text in texts]
    except ParseError:
        return texts
    if not all(isinstance(value, dict) for value in values):
        return texts
    names = sorted({name for value in values for name in value})
    differing = [name for name in names if any(value.get(name) != values[0].get(name) for value in values)]
    return tuple(json.dumps({name: value.get(name) for name in differing}) for value in values)
